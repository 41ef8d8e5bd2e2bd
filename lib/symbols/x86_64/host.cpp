// SPDX-License-Identifier: MIT
#include "../host.hpp"

#include <elf.h>

namespace jitsframe::host {

const std::uint32_t elf_machine = EM_X86_64;

} // namespace jitsframe::host
