/* SPDX-License-Identifier: MIT */
/* Tests under a seccomp filter: it stays for good, so each goes into a child. */
#ifndef JITSFRAME_LIB_TESTS_IN_CHILD_HPP
#define JITSFRAME_LIB_TESTS_IN_CHILD_HPP

#include <gtest/gtest.h>

#include <functional>

#include <sys/wait.h>
#include <unistd.h>

/* What a child returns that could not install its filter. */
inline constexpr int no_seccomp = 77;

#ifdef __SANITIZE_THREAD__
inline constexpr bool under_tsan = true;
#else
inline constexpr bool under_tsan = false;
#endif

/* Returns the wait status. */
inline int in_child(const std::function<int()> &body)
{
	const pid_t child = fork();
	int status = -1;

	if (!child)
		_exit(body());
	waitpid(child, &status, 0);
	return status;
}

inline void expect_ok(int status)
{
	if (WIFEXITED(status) && WEXITSTATUS(status) == no_seccomp)
		GTEST_SKIP() << "seccomp filters cannot be installed here";
	ASSERT_TRUE(WIFEXITED(status)) << "killed by signal " << WTERMSIG(status);
	EXPECT_EQ(WEXITSTATUS(status), 0);
}

#endif
