// SPDX-License-Identifier: MIT
#include "code_memory.h"

#include <sys/mman.h>

#include <cerrno>
#include <cstring>
#include <iterator>
#include <system_error>

namespace sprig {
namespace {

[[noreturn]] void fail(const char* what)
{
    throw std::system_error(errno, std::generic_category(), what);
}

std::size_t rounded(std::size_t bytes)
{
    return (bytes + CodeMemory::granule - 1) & ~(CodeMemory::granule - 1);
}

}  // namespace

// A shared anonymous mapping shows as /dev/zero, which perf takes for memory
// whose names are in the perf map; a memfd it takes for a file. mremap() of
// length 0 maps the same pages once more.
CodeMemory::CodeMemory(std::size_t size) : size_(size)
{
    void* first = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (first == MAP_FAILED)
        fail("code memory");
    void* second = mremap(first, 0, size, MREMAP_MAYMOVE);
    if (second == MAP_FAILED)
        fail("second view of code memory");
    // perf learns of executable memory from mmap() and mprotect() alike.
    if (mprotect(second, size, PROT_READ | PROT_EXEC) != 0)
        fail("executable view of code memory");
    writable_ = static_cast<std::uint8_t*>(first);
    executable_ = static_cast<std::uint8_t*>(second);
    free_.emplace(start(), size);
}

CodeMemory::~CodeMemory()
{
    munmap(writable_, size_);
    munmap(executable_, size_);
}

std::uintptr_t CodeMemory::allocate(std::size_t bytes)
{
    bytes = rounded(bytes);
    for (auto hole = free_.begin(); hole != free_.end(); ++hole) {
        auto [code, room] = *hole;
        if (room < bytes)
            continue;
        free_.erase(hole);
        if (room > bytes)
            free_.emplace(code + bytes, room - bytes);
        return code;
    }
    return 0;
}

void CodeMemory::free(std::uintptr_t code, std::size_t bytes)
{
    auto hole = free_.emplace(code, rounded(bytes)).first;
    if (auto next = std::next(hole); next != free_.end() && hole->first + hole->second == next->first) {
        hole->second += next->second;
        free_.erase(next);
    }
    if (hole == free_.begin())
        return;
    if (auto before = std::prev(hole); before->first + before->second == hole->first) {
        before->second += hole->second;
        free_.erase(hole);
    }
}

// What was cached of other code at these addresses is dropped, where a machine
// does not see to that by itself.
void CodeMemory::write(std::uintptr_t code, std::span<const std::uint8_t> bytes)
{
    std::memcpy(writable_ + (code - start()), bytes.data(), bytes.size());
    char* written = reinterpret_cast<char*>(code);
    __builtin___clear_cache(written, written + bytes.size());
}

}  // namespace sprig
