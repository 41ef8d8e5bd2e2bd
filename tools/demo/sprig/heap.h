// SPDX-License-Identifier: MIT
// Where arrays and closures live: a region that is released as a whole when
// main() has returned.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "state.h"

namespace sprig {

class Heap {
public:
    Array* array(std::int64_t length);
    Closure* closure(std::int64_t slot, std::int64_t captures);
    void release();

private:
    static constexpr std::size_t chunk_words = 64 << 10;

    std::int64_t* allocate(std::size_t words);

    struct Chunk {
        std::unique_ptr<std::int64_t[]> words;
        std::size_t size;
    };
    std::vector<Chunk> chunks_;
    std::size_t chunk_ = 0;             // the one in use
    std::size_t used_ = 0;              // words of it
};

}  // namespace sprig
