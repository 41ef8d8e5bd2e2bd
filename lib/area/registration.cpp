// SPDX-License-Identifier: MIT
#include "registration.hpp"

#include <cerrno>

#include <sys/prctl.h>

namespace jitsframe {

namespace {

/* linux/prctl.h has these only since 5.17. */
constexpr int set_vma = 0x53564d41;
constexpr unsigned long set_vma_anon_name = 0;

int jit_sframe_prctl(unsigned long op, const void *argument, unsigned long bytes) noexcept
{
	return prctl(PR_JIT_SFRAME, op, reinterpret_cast<unsigned long>(argument), bytes, 0ul) ? errno
											      : 0;
}

/* A kernel without the prctl answers EINVAL to anything, so ask what cannot be refused. */
bool kernel_knows() noexcept
{
	struct jit_sframe_query query = {};

	return jit_sframe_prctl(JIT_SFRAME_QUERY, &query, sizeof(query)) == 0;
}

const char *refusal(int os_errno) noexcept
{
	switch (os_errno) {
	case EBUSY:
		return "the text overlaps that of a registered area";
	case ENOSPC:
		return "the process has as many areas as the kernel allows";
	case ENOMEM:
		return "the kernel has no memory for the registration";
	case EOPNOTSUPP:
		return "the kernel does not do this for such a task";
	case E2BIG:
		return "the kernel knows an older, shorter request";
	case EFAULT:
		return "the kernel cannot read the area";
	default:
		return "the kernel refused the registration";
	}
}

} // namespace

Status register_area(const struct jit_sframe_register &area) noexcept
{
	const int error = jit_sframe_prctl(JIT_SFRAME_REGISTER, &area, sizeof(area));

	switch (error) {
	case 0:
		return {Registration::registered, 0, "the kernel unwinds with this area"};
	case EPERM:
	case EACCES:
	case ENOSYS:
		return {Registration::blocked, error, "a sandbox forbids the prctl"};
	case EINVAL:
		if (!kernel_knows())
			return {Registration::kernel_lacks, error,
				"this kernel has no PR_JIT_SFRAME"};
		[[fallthrough]];
	default:
		return {Registration::refused, error, refusal(error)};
	}
}

void unregister_area(std::uint64_t area) noexcept
{
	const struct jit_sframe_unregister argument = {area};

	/* It was registered by us; if the process took that back itself, so be it. */
	(void)jit_sframe_prctl(JIT_SFRAME_UNREGISTER, &argument, sizeof(argument));
}

void name_mapping(void *address, std::uint64_t bytes) noexcept
{
	/* A kernel without CONFIG_ANON_VMA_NAME leaves it nameless: nothing depends on it. */
	(void)prctl(set_vma, set_vma_anon_name, reinterpret_cast<unsigned long>(address),
		    static_cast<unsigned long>(bytes), "jit_sframe");
}

} // namespace jitsframe
