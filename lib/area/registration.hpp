/* SPDX-License-Identifier: MIT */
/* The only system calls of a registered area: at its beginning and its end. */
#ifndef JITSFRAME_LIB_AREA_REGISTRATION_HPP
#define JITSFRAME_LIB_AREA_REGISTRATION_HPP

#include <jitsframe/area.hpp>

#include <linux/jit_sframe.h>

namespace jitsframe {

[[nodiscard]] Status register_area(const struct jit_sframe_register &area) noexcept;
void unregister_area(std::uint64_t area) noexcept;

/* For people and for tools that look for the area: [anon:jit_sframe]. */
void name_mapping(void *address, std::uint64_t bytes) noexcept;

} // namespace jitsframe

#endif
