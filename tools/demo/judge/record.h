// SPDX-License-Identifier: MIT
// The truth: what sprig/record.h writes, read again.
#pragma once

#include <cstdint>
#include <istream>
#include <map>
#include <string>
#include <vector>

namespace judge {

struct Version {
    std::uint64_t start;
    std::uint64_t size;
    std::uint64_t published;
    std::uint64_t freed;
    std::string tier;
    std::string name;
    std::vector<std::pair<std::uint64_t, std::uint64_t>> ahead;
};

class Record {
public:
    // Throws std::runtime_error: cut off, or not a record.
    static Record read(std::istream& input);
    static Record read_file(const std::string& path);

    // Takes the names from the perf map, whose lines are the versions in order.
    // Throws std::runtime_error if one is not.
    void use_perf_map(std::istream& map);

    std::uint32_t pid() const { return pid_; }
    unsigned register_bit() const { return register_bit_; }
    bool in_text(std::uint64_t pc) const { return pc - text_start_ < text_size_; }

    // The code that was at pc at that time, or null.
    const Version* version(std::uint64_t pc, std::uint64_t time) const;

    // Appends the true chain of a thread interrupted at pc: pc and all return
    // addresses, innermost first, the last into main(). Throws
    // std::runtime_error if the record cannot say, which is a fault of the record.
    void truth(std::uint64_t pc, std::uint64_t time, std::uint64_t context_register, std::vector<std::uint64_t>& chain) const;

private:
    struct Context {
        std::uint32_t parent;
        std::uint32_t site;
    };

    void read_line(const std::string& line);
    void index_versions();

    std::uint32_t pid_ = 0;
    unsigned register_bit_ = 0;
    std::uint64_t text_start_ = 0, text_size_ = 0;
    std::uint64_t contexts_address_ = 0, contexts_stride_ = 0;
    std::vector<Version> versions_;
    std::vector<std::uint64_t> sites_;      // return addresses
    std::vector<Context> contexts_;
    std::vector<std::vector<std::uint32_t>> by_granule_;
    bool complete_ = false;
};

}  // namespace judge
