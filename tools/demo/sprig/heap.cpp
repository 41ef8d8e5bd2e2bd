// SPDX-License-Identifier: MIT
#include "heap.h"

namespace sprig {

std::int64_t* Heap::allocate(std::size_t words)
{
    while (chunk_ < chunks_.size() && chunks_[chunk_].size - used_ < words) {
        chunk_++;
        used_ = 0;
    }
    if (chunk_ == chunks_.size()) {
        std::size_t size = words > chunk_words ? words : chunk_words;
        chunks_.push_back({std::make_unique<std::int64_t[]>(size), size});
    }
    std::int64_t* made = &chunks_[chunk_].words[used_];
    used_ += words;
    return made;
}

Array* Heap::array(std::int64_t length)
{
    auto* made = reinterpret_cast<Array*>(allocate(1 + static_cast<std::size_t>(length)));
    made->length = length;
    return made;
}

Closure* Heap::closure(std::int64_t slot, std::int64_t captures)
{
    auto* made = reinterpret_cast<Closure*>(allocate(1 + static_cast<std::size_t>(captures)));
    made->slot = slot;
    return made;
}

void Heap::release()
{
    chunk_ = 0;
    used_ = 0;
}

}  // namespace sprig
