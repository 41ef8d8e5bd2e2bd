/* SPDX-License-Identifier: MIT */
/*
 * Counts membarrier(PRIVATE_EXPEDITED_SYNC_CORE) where it counts: at the system
 * call. A seccomp filter hands each to a supervisor, which counts it and lets
 * it go on. A filter holds for the thread that installs it and those that it
 * starts, and goes with them.
 */
#ifndef JITSFRAME_LIB_TESTS_MEMBARRIER_COUNTER_HPP
#define JITSFRAME_LIB_TESTS_MEMBARRIER_COUNTER_HPP

#include "seccomp.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <thread>

#include <linux/membarrier.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

namespace membarrier_counter {

using Count = std::atomic<std::uint64_t>;

/* The listener's descriptor, or -1. */
inline int notify_of_barriers()
{
	sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_membarrier, 0, 3),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, args)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, MEMBARRIER_CMD_PRIVATE_EXPEDITED_SYNC_CORE, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	return seccomp::install(filter, std::size(filter), SECCOMP_FILTER_FLAG_NEW_LISTENER);
}

/* Until those who have the filter are gone. */
inline void supervise(int listener, Count &barriers)
{
	for (;;) {
		pollfd watched = {listener, POLLIN, 0};
		seccomp_notif request;
		seccomp_notif_resp response = {};

		if (poll(&watched, 1, -1) < 0)
			continue;
		if (!(watched.revents & POLLIN))
			return;
		std::memset(&request, 0, sizeof(request));
		if (ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &request))
			continue;
		barriers++;
		response.id = request.id;
		response.flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
		ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &response);
	}
}

/* Run body(count) on a thread whose barriers are counted. False: that cannot be done here. */
inline bool run(const std::function<void(const Count &)> &body)
{
	Count barriers{0};
	std::atomic<int> listener{-2};
	std::thread worker([&] {
		listener = notify_of_barriers();
		listener.notify_one();
		if (listener >= 0)
			body(barriers);
	});

	listener.wait(-2);
	if (listener >= 0) {
		supervise(listener, barriers);
		close(listener);
	}
	worker.join();
	return listener >= 0;
}

} // namespace membarrier_counter

#endif
