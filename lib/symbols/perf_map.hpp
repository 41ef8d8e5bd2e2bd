/* SPDX-License-Identifier: MIT */
#ifndef JITSFRAME_LIB_SYMBOLS_PERF_MAP_HPP
#define JITSFRAME_LIB_SYMBOLS_PERF_MAP_HPP

#include "out_file.hpp"
#include "record.hpp"

namespace jitsframe::perf_map {

[[nodiscard]] Error open(OutFile &file, std::string_view directory) noexcept;
void put(OutFile &file, const Record &record) noexcept;

} // namespace jitsframe::perf_map

#endif
