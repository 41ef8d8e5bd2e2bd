/* SPDX-License-Identifier: MIT */
/* Was this made by the process that we are, or by one that forked us? No system call to ask. */
#ifndef JITSFRAME_LIB_CODE_FORK_MARK_HPP
#define JITSFRAME_LIB_CODE_FORK_MARK_HPP

#include <cstdint>

namespace jitsframe {

class ForkMark {
public:
	ForkMark() noexcept;
	/* True in the child of the process that made this mark. Signal safe. */
	[[nodiscard]] bool is_inherited() const noexcept;
	/* Differs between parent and child, and from 0; says nothing else. */
	[[nodiscard]] std::uint64_t process() const noexcept { return made_by_; }

private:
	std::uint64_t made_by_;
};

} // namespace jitsframe

#endif
