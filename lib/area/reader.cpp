// SPDX-License-Identifier: MIT
#include "reader.hpp"

#include "../sframe/lookup_row.hpp"
#include "shared.hpp"

#include <linux/jit_sframe.h>

namespace {

using jitsframe::shared::load;
using jitsframe::shared::load_bytes;

const std::byte *pointer(std::uint64_t address) noexcept
{
	return reinterpret_cast<const std::byte *>(address);
}

template <typename T>
int read_acquire(T *dst, std::uint64_t address) noexcept
{
	*dst = load<T>(pointer(address), std::memory_order_acquire);
	return 0;
}

int read_relaxed(void *dst, std::uint64_t address, std::size_t bytes) noexcept
{
	load_bytes(static_cast<std::byte *>(dst), pointer(address), bytes);
	return 0;
}

} // namespace

#define SFRAME_READ(sec, dst, off, len) read_relaxed(dst, (sec)->base + (off), len)
#define SFRAME_READ_ACQUIRE_U32(sec, dst, off) \
	read_acquire<std::uint32_t>(reinterpret_cast<std::uint32_t *>(dst), (sec)->base + (off))
#define SFRAME_READ_ACQUIRE_U64(sec, dst, off) \
	read_acquire<std::uint64_t>(reinterpret_cast<std::uint64_t *>(dst), (sec)->base + (off))
#include "../sframe/shared_decoder.hpp"

namespace jitsframe {

namespace {

static_assert(max_live_rows == JIT_SFRAME_MAX_LIVE_ROWS);

/* A flip takes far longer than a lookup: more than a few in a row are never met. */
constexpr int max_tries = 16;

/* One attempt. What it yields is good only if live did not change. */
int lookup_once(const std::byte *area, std::uint64_t bytes, const Abi &abi, std::uint64_t live,
		std::uint64_t pc, struct sframe_section &sec, struct sframe_fde &fde,
		struct sframe_row &row) noexcept
{
	const std::uint32_t offset = JIT_SFRAME_LIVE_OFFSET(live);

	if (!offset)
		return -ENOENT;
	if (offset < sizeof(struct jit_sframe_area) || offset % 8 || offset >= bytes)
		return -EINVAL;

	sec = {};
	sec.base = sec.address = reinterpret_cast<std::uint64_t>(area) + offset;
	sec.size = bytes - offset;
	sec.max_rows = JIT_SFRAME_MAX_LIVE_ROWS;
	sec.abi_arch = abi.abi_arch;
	sec.live = 1;

	int ret = sframe_section_open(&sec);
	if (!ret)
		ret = sframe_find_fde(&sec, pc, &fde);
	return ret ? ret : sframe_find_row(&sec, &fde, pc, &row);
}

} // namespace

Result<Found> lookup_live(const std::byte *area, std::uint64_t bytes, const Abi &abi,
			  std::uint64_t pc) noexcept
{
	const std::byte *live_at = area + offsetof(struct jit_sframe_area, live);
	std::uint64_t live = load<std::uint64_t>(live_at, std::memory_order_acquire);
	struct sframe_section sec;
	struct sframe_fde fde;
	struct sframe_row row;

	for (int i = 0; i < max_tries; i++) {
		const int ret = lookup_once(area, bytes, abi, live, pc, sec, fde, row);

		/*
		 * Pairs with the release fence between a flip and the reuse of
		 * what it let go: whoever read a rewritten byte above reads the
		 * new live below, errors included.
		 */
		std::atomic_thread_fence(std::memory_order_acquire);
		const std::uint64_t again =
			load<std::uint64_t>(live_at, std::memory_order_acquire);
		if (again == live) {
			if (ret)
				return lookup_error(ret);
			return found_from(sec, fde, row);
		}
		live = again;
	}
	return lookup_error(-ENOENT);
}

} // namespace jitsframe
