/* SPDX-License-Identifier: MIT */
/* What each machine does in its own way: ARCHITECTURE/host.cpp. */
#ifndef JITSFRAME_LIB_CODE_HOST_HPP
#define JITSFRAME_LIB_CODE_HOST_HPP

#include <cstddef>

namespace jitsframe::host {

/* A context synchronisation event of this core: what it fetched ahead is gone. Signal safe. */
void serialise() noexcept;

/*
 * Stores to the writable view are done before cache lines are cleaned by their
 * other, executable address.
 */
void finish_stores() noexcept;

/* Instructions that trap, whatever the alignment of `to`. */
void fill_with_traps(std::byte *to, std::size_t bytes) noexcept;

} // namespace jitsframe::host

#endif
