// SPDX-License-Identifier: MIT
#include "symbols.h"

#include <sstream>

namespace judge {
namespace {

// "sprig::(anonymous namespace)::merge_sort(long*, ...) [clone .x]" -> "sprig::merge_sort"
std::string shortened(std::string name)
{
    const std::string anonymous = "(anonymous namespace)::";
    for (std::size_t at; (at = name.find(anonymous)) != std::string::npos;)
        name.erase(at, anonymous.size());
    return name.substr(0, name.find('('));
}

}  // namespace

void Symbols::read(std::istream& nm)
{
    for (std::string line; std::getline(nm, line);) {
        std::istringstream fields(line);
        std::uint64_t address;
        char kind;
        if (!(fields >> std::hex >> address >> kind) || std::string("tT").find(kind) == std::string::npos)
            continue;
        std::string name;
        std::getline(fields >> std::ws, name);
        by_address_.emplace(address, shortened(std::move(name)));
    }
}

std::string Symbols::name(std::uint64_t address) const
{
    auto next = by_address_.upper_bound(address);
    // Behind the last function there is nothing that runs: a guess that went wrong.
    bool known = next != by_address_.begin() && (next != by_address_.end() || address - std::prev(next)->first < 4096);
    return known ? std::prev(next)->second : "[unknown]";
}

}  // namespace judge
