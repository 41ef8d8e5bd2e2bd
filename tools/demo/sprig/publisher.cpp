// SPDX-License-Identifier: MIT
#include "publisher.h"

#include <unistd.h>

#include <stdexcept>

namespace sprig {
namespace {

[[noreturn]] void fail(const char* what, const jitsframe::Error& error)
{
    char reason[160];
    error.format(reason, sizeof(reason));
    throw std::runtime_error(std::string(what) + ": " + reason);
}

jitsframe::AreaOptions area_options(std::uintptr_t text_start, std::size_t text_size)
{
    jitsframe::AreaOptions options;
    options.text_start = text_start;
    options.text_size = text_size;
    options.owner = "sprig";
    return options;
}

}  // namespace

Publisher::Publisher(std::uintptr_t text_start, std::size_t text_size)
    : area_(jitsframe::Area::create(area_options(text_start, text_size))),
      perf_map_("/tmp/perf-" + std::to_string(getpid()) + ".map"),
      names_(std::fopen(perf_map_.c_str(), "w"))
{
    if (!area_)
        fail("area", area_.error());
    if (!names_)
        throw std::runtime_error("cannot write " + perf_map_);
}

Publisher::~Publisher()
{
    std::fclose(names_);
}

void Publisher::publish(std::uintptr_t start, const Emitted& code, const std::string& name)
{
    jitsframe::FunctionRows rows{.rows = code.rows, .pauth_key_b = code.pauth_key_b};
    if (jitsframe::Error error = area_->publish(start, static_cast<std::uint32_t>(code.code.size()), rows))
        fail("publish", error);
    std::fprintf(names_, "%lx %zx %s\n", static_cast<unsigned long>(start), code.code.size(), name.c_str());
}

void Publisher::retire(std::uintptr_t start)
{
    if (jitsframe::Error error = area_->retire(start))
        fail("retire", error);
}

std::string Publisher::status() const
{
    const auto& status = area_->status();
    if (status.registration == jitsframe::Registration::registered)
        return "registered with the kernel";
    return std::string("not registered: ") + status.why;
}

}  // namespace sprig
