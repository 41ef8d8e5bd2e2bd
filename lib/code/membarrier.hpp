/* SPDX-License-Identifier: MIT */
#ifndef JITSFRAME_LIB_CODE_MEMBARRIER_HPP
#define JITSFRAME_LIB_CODE_MEMBARRIER_HPP

#include <jitsframe/code.hpp>

namespace jitsframe {

/* Register the process for PRIVATE_EXPEDITED_SYNC_CORE, if it can be. */
SyncStatus register_membarrier() noexcept;

/* Every thread of the process has synchronised when this returns 0; else errno. */
int synchronise_all_cores() noexcept;

/* From now on every thread owes a maybe_synchronize(). */
void let_threads_owe() noexcept;

} // namespace jitsframe

#endif
