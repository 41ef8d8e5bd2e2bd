// SPDX-License-Identifier: MIT
// Memory for code: one small window, mapped twice, so that no page is ever
// writable and executable, and handed out lowest address first, so that freed
// code is soon overwritten by other code.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>

namespace sprig {

class CodeMemory {
public:
    static constexpr std::size_t granule = 32;

    // Throws std::system_error.
    explicit CodeMemory(std::size_t size);
    ~CodeMemory();
    CodeMemory(const CodeMemory&) = delete;
    CodeMemory& operator=(const CodeMemory&) = delete;

    std::uintptr_t start() const { return reinterpret_cast<std::uintptr_t>(executable_); }
    std::size_t size() const { return size_; }
    bool contains(std::uintptr_t pc) const { return pc - start() < size_; }

    // Where the code will run, or 0 if there is no room.
    std::uintptr_t allocate(std::size_t bytes);
    void free(std::uintptr_t code, std::size_t bytes);
    // Puts there what will run at `code`, for this thread to see. Async-signal-safe.
    void write(std::uintptr_t code, std::span<const std::uint8_t> bytes);

private:
    std::size_t size_;
    std::uint8_t* writable_;
    std::uint8_t* executable_;
    std::map<std::uintptr_t, std::size_t> free_;    // start -> bytes; neighbours are merged
};

}  // namespace sprig
