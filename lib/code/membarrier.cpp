// SPDX-License-Identifier: MIT
#include "membarrier.hpp"

#include "host.hpp"

#include <atomic>
#include <cerrno>

#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace jitsframe {

namespace {

constexpr int sync_core_commands = MEMBARRIER_CMD_PRIVATE_EXPEDITED_SYNC_CORE |
				   MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED_SYNC_CORE;

long membarrier(int command) noexcept
{
	return syscall(__NR_membarrier, command, 0u, 0);
}

SyncStatus failed(int os_errno) noexcept
{
	if (os_errno == EPERM || os_errno == EACCES)
		return {SyncMeans::blocked, os_errno, "a sandbox forbids membarrier()"};
	return {SyncMeans::kernel_lacks, os_errno, "this kernel has no membarrier()"};
}

/*
 * One for the process, since a thread runs code of any domain. Released by
 * let_threads_owe() before the new code's address is; acquired by
 * maybe_synchronize(), called by a thread that has acquired the address.
 */
constinit std::atomic<std::uint64_t> owed{0};

/* Initial-exec: a lazily made thread-local would allocate, perhaps in a signal handler. */
[[gnu::tls_model("initial-exec")]] constinit thread_local std::uint64_t paid = 0;

} // namespace

SyncStatus register_membarrier() noexcept
{
	const long known = membarrier(MEMBARRIER_CMD_QUERY);

	if (known < 0)
		return failed(errno);
	if ((known & sync_core_commands) != sync_core_commands)
		return {SyncMeans::kernel_lacks, EINVAL,
			"this kernel's membarrier() does not synchronise cores"};
	if (membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED_SYNC_CORE))
		return failed(errno);
	return {SyncMeans::membarrier, 0, "membarrier() synchronises every core"};
}

int synchronise_all_cores() noexcept
{
	if (!membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED_SYNC_CORE))
		return 0;
	return errno;
}

void let_threads_owe() noexcept
{
	owed.fetch_add(1, std::memory_order_release);
}

bool maybe_synchronize() noexcept
{
	const std::uint64_t now = owed.load(std::memory_order_acquire);

	if (now == paid)
		return false;
	host::serialise();
	paid = now;
	return true;
}

} // namespace jitsframe
