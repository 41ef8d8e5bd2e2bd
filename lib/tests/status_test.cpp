// SPDX-License-Identifier: MIT
/*
 * What the area says of the kernel, with the prctl taken away in every way a
 * sandbox has, and that publishing makes no system call at all.
 */
#include <jitsframe/area.hpp>

#include "in_child.hpp"
#include "seccomp.hpp"

#include <linux/jit_sframe.h>

#include <gtest/gtest.h>

#include <cerrno>
#include <cstddef>

#include <linux/audit.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace jitsframe;

namespace {

constexpr std::uint64_t text = 0x7e0000000000;

AreaOptions options()
{
	AreaOptions o;

	o.text_start = text;
	o.text_size = 1 << 20;
	return o;
}

/* prctl(PR_JIT_SFRAME) fails with `error` from here on. */
bool forbid_prctl(int error)
{
	sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_prctl, 0, 3),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, args)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, PR_JIT_SFRAME, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | static_cast<unsigned>(error)),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	return seccomp::install(filter, std::size(filter)) == 0;
}

using seccomp::forbid_everything;

/* The area works the same whatever the kernel said. */
bool works(Area &area)
{
	return !area.publish(text, 64, x86_64::leaf()) && area.lookup(text + 8) &&
	       !area.retire(text) && !area.lookup(text + 8);
}

AreaOptions x86_options()
{
	AreaOptions o = options();

	o.abi = &x86_64::abi;
	return o;
}

TEST(Status, SaysWhatThisKernelDoes)
{
	struct jit_sframe_query query = {};
	const bool has = prctl(PR_JIT_SFRAME, JIT_SFRAME_QUERY, &query, sizeof(query), 0) == 0;
	Area area = std::move(Area::create(x86_options())).value();

	EXPECT_EQ(area.status().registration,
		  has ? Registration::registered : Registration::kernel_lacks);
	EXPECT_EQ(area.status().os_errno, has ? 0 : EINVAL);
	EXPECT_STRNE(area.status().why, "");
	EXPECT_TRUE(works(area));

	AreaOptions quiet = x86_options();
	quiet.register_with_kernel = false;
	Area other = std::move(Area::create(quiet)).value();
	EXPECT_EQ(other.status().registration, Registration::not_asked);
}

TEST(Status, TextOfAnotherAreaIsRefused)
{
	Area area = std::move(Area::create(x86_options())).value();

	if (area.status().registration != Registration::registered)
		GTEST_SKIP() << area.status().why;
	Area second = std::move(Area::create(x86_options())).value();
	EXPECT_EQ(second.status().registration, Registration::refused);
	EXPECT_EQ(second.status().os_errno, EBUSY);
	EXPECT_TRUE(works(second));
}

class Blocked : public testing::TestWithParam<int> {};

TEST_P(Blocked, IsSaidAndWorks)
{
	const int error = GetParam();

	expect_ok(in_child([error] {
		if (!forbid_prctl(error))
			return no_seccomp;
		Area area = std::move(Area::create(x86_options())).value();
		const Status status = area.status();

		if (status.registration != Registration::blocked || status.os_errno != error)
			return 1;
		return works(area) ? 0 : 2;
	}));
}

INSTANTIATE_TEST_SUITE_P(BySeccomp, Blocked, testing::Values(EPERM, EACCES, ENOSYS));

/* What every kernel without the series does: EINVAL for an unknown prctl. */
TEST(Status, KernelWithoutItByDefault)
{
	expect_ok(in_child([] {
		if (!forbid_prctl(EINVAL))
			return no_seccomp;
		Area area = std::move(Area::create(x86_options())).value();

		if (area.status().registration != Registration::kernel_lacks)
			return 1;
		return works(area) ? 0 : 2;
	}));
}

TEST(Status, OtherErrorsAreRefusals)
{
	for (const int error : {EBUSY, ENOSPC, ENOMEM, EOPNOTSUPP, E2BIG, EFAULT, ENOTTY})
		expect_ok(in_child([error] {
			if (!forbid_prctl(error))
				return no_seccomp;
			Area area = std::move(Area::create(x86_options())).value();
			const Status status = area.status();

			return status.registration == Registration::refused &&
					       status.os_errno == error && works(area)
				       ? 0
				       : 1;
		}));
}

/* Every move, growth included, with every system call but the exit deadly. */
int publish_a_lot(Area &area)
{
	FrameRows frame(x86_64::abi);

	for (std::uint32_t i = 0; i < 4000; i++) {
		frame.clear().push(1, x86_64::rbp).move_sp(5, -64).entry(40);
		if (area.publish(text + (4000 + i) * 64, 64, frame))
			return 2;
	}
	for (std::uint32_t i = 0; i < 4000; i += 2)
		if (area.retire(text + (4000 + i) * 64) ||
		    area.publish(text + (4000 + i) * 64, 32, x86_64::leaf()))
			return 3;
	for (std::uint32_t i = 0; i < 20; i++)
		if (area.publish(text + (3999 - i) * 64, 64, frame))
			return 4;
	if (area.replace(text + 3999 * 64, 60, frame) || area.compact())
		return 5;
	area.retire_range(text, 1 << 20);
	return area.stats().flips > 20 && area.stats().retargets > 1900 ? 0 : 6;
}

TEST(NoSystemCall, WhateverIsPublished)
{
	if (under_tsan)
		GTEST_SKIP() << "TSan's run time maps memory of its own as it goes";
	for (const Producers producers : {Producers::one, Producers::several})
		expect_ok(in_child([producers] {
			AreaOptions o = x86_options();
			o.producers = producers;
			Area area = std::move(Area::create(o)).value();

			/*
			 * The area's end is a system call again, so not to its
			 * end; nor by _exit(), before which ASan makes some.
			 */
			return static_cast<int>(
				syscall(__NR_exit_group,
					forbid_everything() ? publish_a_lot(area) : no_seccomp));
		}));
}

/* The proof that the test above can fail. */
TEST(NoSystemCall, TheFilterKills)
{
	const int status = in_child([] {
		if (!forbid_everything())
			return no_seccomp;
		syscall(__NR_getppid);
		return 0;
	});

	if (WIFEXITED(status) && WEXITSTATUS(status) == no_seccomp)
		GTEST_SKIP() << "seccomp filters cannot be installed here";
	EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGSYS);
}

} // namespace
