/* SPDX-License-Identifier: MIT */
#ifndef JITSFRAME_LIB_SYMBOLS_HOST_HPP
#define JITSFRAME_LIB_SYMBOLS_HOST_HPP

#include <cstdint>

namespace jitsframe::host {

/* e_machine of this machine's ELF files: ARCHITECTURE/host.cpp. */
extern const std::uint32_t elf_machine;

} // namespace jitsframe::host

#endif
