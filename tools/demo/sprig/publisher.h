// SPDX-License-Identifier: MIT
// Tells the world about code: the area (frames) and the perf map (names).
#pragma once

#include <cstdint>
#include <cstdio>
#include <string>
#include <jitsframe/area.hpp>

#include "emitted.h"

namespace sprig {

class Publisher {
public:
    // Throws std::runtime_error.
    Publisher(std::uintptr_t text_start, std::size_t text_size);
    ~Publisher();
    Publisher(const Publisher&) = delete;
    Publisher& operator=(const Publisher&) = delete;

    // Before the code may run.
    void publish(std::uintptr_t start, const Emitted& code, const std::string& name);
    // When no frame of it is left.
    void retire(std::uintptr_t start);

    // Whether the kernel reads the area, in words.
    std::string status() const;
    const std::string& perf_map() const { return perf_map_; }
    const jitsframe::Area& area() const { return *area_; }

private:
    jitsframe::Result<jitsframe::Area> area_;
    std::string perf_map_;
    std::FILE* names_;
};

}  // namespace sprig
