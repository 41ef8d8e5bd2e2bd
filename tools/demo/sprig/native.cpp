// SPDX-License-Identifier: MIT
#include "native.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <exception>

#include "engine.h"
#include "output.h"

// Called by enter.S: the context that compiled code starts with.
extern "C" sprig::Context* sprig_enter_context(const std::uintptr_t* frame, std::uintptr_t return_address)
{
    return sprig::running_engine->enter_context(frame, return_address);
}

namespace sprig::native {
namespace {

constexpr std::int64_t max_array_length = 1 << 24;

const char* message(Failure failure)
{
    switch (failure) {
    case Failure::index:
        return "index outside the array";
    case Failure::division:
        return "division by zero";
    case Failure::stack:
        return "too deep a recursion";
    case Failure::length:
        return "no length for an array";
    }
    return "unknown failure";
}

// Compiled frames cannot be unwound by exceptions: what the compiler throws ends here.
template <typename Work>
auto guarded(Work work) noexcept -> decltype(work())
{
    try {
        return work();
    } catch (const std::exception& error) {
        std::fprintf(stderr, "sprig: %s\n", error.what());
        std::exit(1);
    }
}

void merge_sort(std::int64_t* first, std::int64_t* spare, std::int64_t count, const Closure* before)
{
    if (count < 2)
        return;
    std::int64_t half = count / 2;
    merge_sort(first, spare, half, before);
    merge_sort(first + half, spare, count - half, before);
    std::copy(first, first + half, spare);
    std::int64_t left = 0, right = half, out = 0;
    while (left < half && right < count) {
        bool take_right = running_engine->call(before, first[right], spare[left]) != 0;
        first[out++] = take_right ? first[right++] : spare[left++];
    }
    std::copy(spare + left, spare + half, first + out);
}

}  // namespace

Context* find_context(Context* parent, std::uint32_t site)
{
    return guarded([&] { return running_engine->contexts().child(parent, site); });
}

std::uintptr_t compile(std::int64_t slot)
{
    return guarded([&] { return running_engine->compile(slot); });
}

void tier_up(std::int64_t slot)
{
    guarded([&] { running_engine->tier_up(slot); });
}

void fail(Failure failure, int line)
{
    output::flush();
    std::fprintf(stderr, "sprig: line %d: %s\n", line, message(failure));
    std::exit(2);
}

Closure* make_closure(std::int64_t slot, std::int64_t captures)
{
    return guarded([&] { return running_engine->heap().closure(slot, captures); });
}

Array* make_array(std::int64_t length, std::int64_t value)
{
    if (length < 0 || length > max_array_length)
        fail(Failure::length, 0);
    Array* made = guarded([&] { return running_engine->heap().array(length); });
    std::fill_n(made->begin(), length, value);
    return made;
}

std::int64_t print(std::int64_t value)
{
    return guarded([&] { return output::print(value); });
}

Array* map(const Array* array, const Closure* function)
{
    Array* made = make_array(array->length, 0);
    for (std::int64_t i = 0; i < array->length; i++)
        made->begin()[i] = running_engine->call(function, array->begin()[i]);
    return made;
}

std::int64_t fold(const Array* array, const Closure* function, std::int64_t value)
{
    for (std::int64_t i = 0; i < array->length; i++)
        value = running_engine->call(function, value, array->begin()[i]);
    return value;
}

std::int64_t sort(Array* array, const Closure* before)
{
    Array* spare = make_array(array->length, 0);
    merge_sort(array->begin(), spare->begin(), array->length, before);
    return array->length;
}

}  // namespace sprig::native
