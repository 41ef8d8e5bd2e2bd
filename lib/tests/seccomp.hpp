/* SPDX-License-Identifier: MIT */
/* System calls taken away, as a sandbox does it. */
#ifndef JITSFRAME_LIB_TESTS_SECCOMP_HPP
#define JITSFRAME_LIB_TESTS_SECCOMP_HPP

#include <cstddef>
#include <iterator>

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace seccomp {

/* On this thread, for good. -1: seccomp filters cannot be installed here. */
inline int install(sock_filter *filter, unsigned short length, unsigned flags = 0)
{
	const sock_fprog program = {length, filter};

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		return -1;
	return static_cast<int>(syscall(__NR_seccomp, SECCOMP_SET_MODE_FILTER, flags, &program));
}

/* This system call fails with `error` on this thread from here on. False: no seccomp. */
inline bool refuse(unsigned number, int error)
{
	sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | static_cast<unsigned>(error)),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	return install(filter, std::size(filter)) == 0;
}

/* Any system call but exit_group kills this thread's process. False: no seccomp. */
inline bool forbid_everything()
{
	sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_exit_group, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
	};
	return install(filter, std::size(filter)) == 0;
}

} // namespace seccomp

#endif
