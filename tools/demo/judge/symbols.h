// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <istream>
#include <map>
#include <string>

namespace judge {

// Names of native functions, from what `nm --demangle` prints of a program that is
// loaded where it was linked.
class Symbols {
public:
    void read(std::istream& nm);
    // The function at or before the address, or "[unknown]".
    std::string name(std::uint64_t address) const;

private:
    std::map<std::uint64_t, std::string> by_address_;
};

}  // namespace judge
