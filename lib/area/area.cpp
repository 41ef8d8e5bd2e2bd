// SPDX-License-Identifier: MIT
#include <jitsframe/area.hpp>

#include "generations.hpp"
#include "inject.hpp"
#include "live_section.hpp"
#include "reader.hpp"
#include "registration.hpp"
#include "shared.hpp"

#include <linux/jit_sframe.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <limits>
#include <mutex>
#include <new>

#include <sys/mman.h>
#include <unistd.h>

namespace jitsframe {

static_assert(sizeof(struct jit_sframe_area) == 128);
static_assert(offsetof(struct jit_sframe_area, live) == 8);
static_assert(sizeof(struct jit_sframe_area) % SectionPlace::block_align == 0);

namespace {

/* Where the first block may lie: no section is below header_size. */
constexpr std::uint64_t blocks_at = sizeof(struct jit_sframe_area);

/* What a function's rows come to, more or less; only the first guess of room for them. */
constexpr std::uint32_t guessed_fde_bytes = 24;

Error failed(Code code, const char *what, const char *why, std::uint64_t at = 0) noexcept
{
	return {code, 0, what, why, at};
}

/* The FDEs that one function becomes: each at most max_live_rows rows. */
class Pieces {
public:
	explicit Pieces(const Publication &function) noexcept : function_(function) {}

	[[nodiscard]] std::uint32_t count() const noexcept
	{
		const std::size_t rows = function_.rows.rows.size();

		return rows ? static_cast<std::uint32_t>((rows + max_live_rows - 1) / max_live_rows)
			    : 1;
	}
	[[nodiscard]] std::size_t first_row(std::uint32_t piece) const noexcept
	{
		return std::size_t{piece} * max_live_rows;
	}
	[[nodiscard]] std::size_t rows(std::uint32_t piece) const noexcept
	{
		return std::min(function_.rows.rows.size() - first_row(piece), max_live_rows);
	}
	/* From the function's start. */
	[[nodiscard]] std::uint32_t offset(std::uint32_t piece) const noexcept
	{
		return piece ? function_.rows.rows[first_row(piece)].offset : 0;
	}
	[[nodiscard]] std::uint32_t size(std::uint32_t piece) const noexcept
	{
		const std::uint32_t end =
			piece + 1 < count() ? offset(piece + 1) : function_.size;

		return end - offset(piece);
	}
	std::uint32_t encode(const Abi &abi, std::uint32_t piece, std::byte *out) const noexcept
	{
		return static_cast<std::uint32_t>(
			encode_fde(abi, function_.rows, first_row(piece), rows(piece), out));
	}

private:
	const Publication &function_;
};

using FdeBuffer = std::array<std::byte, max_live_fde_bytes>;

/* Append one function to `section`, seen by nobody until commit(). */
bool stage_function(LiveSection &section, const Abi &abi, const Publication &function) noexcept
{
	const Pieces pieces(function);
	FdeBuffer fde;

	for (std::uint32_t i = 0; i < pieces.count(); i++) {
		const std::uint32_t bytes = pieces.encode(abi, i, fde.data());

		if (!section.stage(function.start + pieces.offset(i), pieces.size(i), fde.data(),
				   bytes, static_cast<std::uint32_t>(pieces.rows(i)), i != 0))
			return false;
	}
	return true;
}

struct Room {
	std::uint64_t entries = 0;
	std::uint64_t fre_bytes = 5; /* the attributes that tombstones lead to */
};

} // namespace

/* An address range of entries that a flip leaves behind: a function being replaced. */
struct Dropped {
	std::uint32_t first = 0;
	std::uint32_t end = 0;

	[[nodiscard]] bool contains(std::uint32_t i) const noexcept { return i >= first && i < end; }
};

class Area::Impl {
public:
	Impl(std::byte *base, std::uint64_t bytes, const AreaOptions &options) noexcept
		: base_(base), bytes_(bytes), text_start_(options.text_start),
		  text_size_(options.text_size), abi_(options.abi ? *options.abi : host_abi()),
		  initial_functions_(options.initial_functions), producers_(options.producers)
	{
	}
	~Impl();
	Impl(const Impl &) = delete;
	Impl &operator=(const Impl &) = delete;

	void write_head(const AreaOptions &options) noexcept;
	void enroll(const AreaOptions &options) noexcept;

	Error publish(const Publication &function) noexcept;
	Error publish_all(std::span<const Publication> functions) noexcept;
	Error replace(const Publication &function) noexcept;
	Error retire(std::uint64_t start) noexcept;
	std::uint32_t retire_range(std::uint64_t start, std::uint64_t size) noexcept;
	Error compact(std::uint32_t functions) noexcept;
	AreaStats stats() noexcept;
	std::vector<std::byte> snapshot(std::uint64_t *address) noexcept;

	std::byte *base_;
	std::uint64_t bytes_;
	std::uint64_t text_start_;
	std::uint64_t text_size_;
	const Abi &abi_;
	Status status_{Registration::not_asked, 0, "the caller did not ask for it"};

private:
	/* Held over each producer's call; nothing with one producer, whose calls do not meet. */
	[[nodiscard]] std::unique_lock<std::mutex> lock() noexcept
	{
		return producers_ == Producers::several ? std::unique_lock(mutex_)
							: std::unique_lock<std::mutex>();
	}

	[[nodiscard]] Error check(const Publication &function) const noexcept;
	[[nodiscard]] Error check_free(const Publication &function, std::uint32_t first,
				       const Dropped &except,
				       bool *blocked_by_tombstone) const noexcept;
	[[nodiscard]] Error publish_one(const Publication &function) noexcept;
	[[nodiscard]] bool try_append(std::span<const Publication> functions) noexcept;
	[[nodiscard]] bool try_retarget(const Publication &function, std::uint32_t i) noexcept;
	[[nodiscard]] Dropped function_at(std::uint32_t i) const noexcept;
	void retire_pieces(const Dropped &pieces) noexcept;

	[[nodiscard]] Room room_for(std::span<const Publication> functions,
				    const Dropped &dropped) const noexcept;
	[[nodiscard]] Error find_place(const Room &need, std::uint32_t spare,
				       SectionPlace &place) const noexcept;
	[[nodiscard]] bool fit(SectionPlace &place) const noexcept;
	[[nodiscard]] Error flip(std::span<const Publication> functions, const Dropped &dropped,
				 std::uint32_t spare = 0) noexcept;
	void build(LiveSection &to, std::span<const Publication> functions,
		   const Dropped &dropped) const noexcept;

	std::uint32_t initial_functions_;
	Producers producers_;
	std::mutex mutex_;
	LiveSection section_;
	std::uint32_t generation_ = first_generation();
	std::uint64_t appends_ = 0;
	std::uint64_t retargets_ = 0;
	std::uint64_t retires_ = 0;
	std::uint64_t flips_ = 0;
};

Area::Impl::~Impl()
{
	if (status_.registration == Registration::registered)
		unregister_area(reinterpret_cast<std::uint64_t>(base_));
	end_generations(generation_);
	munmap(base_, bytes_);
}

void Area::Impl::write_head(const AreaOptions &options) noexcept
{
	struct jit_sframe_area head = {};

	head.magic = JIT_SFRAME_MAGIC;
	head.version = JIT_SFRAME_VERSION;
	head.header_size = sizeof(head);
	head.text_start = text_start_;
	head.text_size = text_size_;
	head.area_size = bytes_;
	head.flags = (options.fp_fallback ? 0u : JIT_SFRAME_NO_FP_FALLBACK) |
		     (options.frame_reg ? JIT_SFRAME_FRAME_REG : 0u);
	head.frame_reg = options.frame_reg.value_or(0);
	options.owner.copy(head.owner, sizeof(head.owner) - 1);
	/* Nobody knows of the area yet: plain stores. */
	std::memcpy(base_, &head, sizeof(head));
}

void Area::Impl::enroll(const AreaOptions &options) noexcept
{
	const auto *head = reinterpret_cast<const struct jit_sframe_area *>(base_);
	const struct jit_sframe_register area = {
		.area = reinterpret_cast<std::uint64_t>(base_),
		.area_size = bytes_,
		.text_start = text_start_,
		.text_size = text_size_,
		.flags = head->flags,
		.frame_reg = head->frame_reg,
	};

	name_mapping(base_, bytes_);
	if (options.register_with_kernel)
		status_ = register_area(area);
}

/* What can be said without looking at the section. */
Error Area::Impl::check(const Publication &function) const noexcept
{
	if (!function.size)
		return failed(Code::invalid_argument, "publish", "a function of no bytes");
	if (function.start < text_start_ || function.start - text_start_ >= text_size_ ||
	    function.size > text_size_ - (function.start - text_start_))
		return failed(Code::outside_text, "publish", "not inside the area's text",
			      function.start);
	return check_rows(abi_, function.size, function.rows);
}

/*
 * Does the live section let `function` be there? An entry whose start lies
 * inside it must go, dead or not: a search would land on it. If only dead ones
 * are in the way, a flip gets rid of them. `first`: section_.lower_bound().
 */
Error Area::Impl::check_free(const Publication &function, std::uint32_t first,
			     const Dropped &except, bool *blocked_by_tombstone) const noexcept
{
	if (first && !except.contains(first - 1) &&
	    function.start - section_.start(first - 1) < section_.size(first - 1))
		return failed(Code::overlap, "publish", "live code reaches into it",
			      section_.start(first - 1));
	for (std::uint32_t i = first; i < section_.entries(); i++) {
		const std::uint64_t start = section_.start(i);

		if (start - function.start >= function.size)
			break;
		if (!except.contains(i) && section_.size(i))
			return failed(Code::overlap, "publish", "live code starts inside it", start);
		if (start != function.start)
			*blocked_by_tombstone = true;
	}
	return {};
}

bool Area::Impl::try_append(std::span<const Publication> functions) noexcept
{
	if (!section_.exists())
		return false;
	inject_point(InjectPoint::append_begin);
	for (const Publication &function : functions) {
		if (!stage_function(section_, abi_, function)) {
			section_.drop();
			return false;
		}
	}
	section_.commit();
	appends_ += functions.size();
	return true;
}

/* The caller has seen to it that nothing starts inside the function behind entry i. */
bool Area::Impl::try_retarget(const Publication &function, std::uint32_t i) noexcept
{
	const Pieces pieces(function);
	FdeBuffer fde;

	if (pieces.count() != 1)
		return false;

	const std::uint32_t bytes = pieces.encode(abi_, 0, fde.data());
	if (!section_.retarget(i, function.size, fde.data(), bytes,
			       static_cast<std::uint32_t>(pieces.rows(0))))
		return false;
	retargets_++;
	return true;
}

Error Area::Impl::publish_one(const Publication &function) noexcept
{
	const std::uint32_t i = section_.lower_bound(function.start);
	bool blocked = false;

	if (Error error = check_free(function, i, {}, &blocked))
		return error;
	if (i == section_.entries() && try_append({&function, 1}))
		return {};
	if (i < section_.entries() && section_.start(i) == function.start && !blocked &&
	    try_retarget(function, i))
		return {};
	return flip({&function, 1}, {});
}

Error Area::Impl::publish(const Publication &function) noexcept
{
	if (Error error = check(function))
		return error;

	const auto held = lock();
	return publish_one(function);
}

Error Area::Impl::publish_all(std::span<const Publication> functions) noexcept
{
	const Publication *previous = nullptr;
	bool blocked = false;

	for (const Publication &function : functions) {
		if (Error error = check(function))
			return error;
		if (previous && function.start < previous->start)
			return failed(Code::invalid_argument, "publish_all", "not sorted by start",
				      function.start);
		if (previous && function.start - previous->start < previous->size)
			return failed(Code::overlap, "publish_all", "two of them overlap",
				      function.start);
		previous = &function;
	}
	if (functions.empty())
		return {};

	const auto held = lock();
	if (functions.size() == 1)
		return publish_one(functions[0]);
	for (const Publication &function : functions)
		if (Error error = check_free(function, section_.lower_bound(function.start), {},
					     &blocked))
			return error;
	if (section_.lower_bound(functions[0].start) == section_.entries() && try_append(functions))
		return {};
	return flip(functions, {});
}

/* The entries of the function whose first is entry i. */
Dropped Area::Impl::function_at(std::uint32_t i) const noexcept
{
	Dropped pieces = {i, i + 1};

	while (pieces.end < section_.entries() && section_.size(pieces.end) &&
	       section_.is_continuation(pieces.end))
		pieces.end++;
	return pieces;
}

Error Area::Impl::replace(const Publication &function) noexcept
{
	bool blocked = false;

	if (Error error = check(function))
		return error;

	const auto held = lock();
	const std::uint32_t i = section_.lower_bound(function.start);
	if (i == section_.entries() || section_.start(i) != function.start || !section_.size(i) ||
	    section_.is_continuation(i))
		return failed(Code::not_found, "replace", "nothing live starts there",
			      function.start);

	const Dropped old = function_at(i);
	if (Error error = check_free(function, i, old, &blocked))
		return error;
	if (old.end - old.first == 1 && !blocked && try_retarget(function, i))
		return {};
	return flip({&function, 1}, old);
}

void Area::Impl::retire_pieces(const Dropped &pieces) noexcept
{
	inject_point(InjectPoint::retire_begin);
	for (std::uint32_t i = pieces.first; i < pieces.end; i++)
		section_.retire(i);
	retires_++;
	inject_point(InjectPoint::retire_end);
}

Error Area::Impl::retire(std::uint64_t start) noexcept
{
	const auto held = lock();
	const std::uint32_t i = section_.lower_bound(start);

	if (i == section_.entries() || section_.start(i) != start || !section_.size(i) ||
	    section_.is_continuation(i))
		return failed(Code::not_found, "retire", "nothing live starts there", start);
	retire_pieces(function_at(i));
	return {};
}

std::uint32_t Area::Impl::retire_range(std::uint64_t start, std::uint64_t size) noexcept
{
	const auto held = lock();
	std::uint32_t i = section_.lower_bound(start), retired = 0;

	while (i < section_.entries() && section_.start(i) - start < size) {
		if (!section_.size(i) || section_.is_continuation(i)) {
			i++;
			continue;
		}
		const Dropped pieces = function_at(i);

		retire_pieces(pieces);
		retired++;
		i = pieces.end;
	}
	return retired;
}

Error Area::Impl::compact(std::uint32_t functions) noexcept
{
	const auto held = lock();

	return flip({}, {}, functions);
}

/* What a section of the survivors and of `functions` needs at least. */
Room Area::Impl::room_for(std::span<const Publication> functions,
			  const Dropped &dropped) const noexcept
{
	FdeBuffer fde;
	Room need;

	for (std::uint32_t i = 0; i < section_.entries(); i++) {
		if (!section_.size(i) || dropped.contains(i))
			continue;
		need.entries++;
		need.fre_bytes += section_.fde_bytes(i);
	}
	for (const Publication &function : functions) {
		const Pieces pieces(function);

		for (std::uint32_t i = 0; i < pieces.count(); i++)
			need.fre_bytes += pieces.encode(abi_, i, fde.data());
		need.entries += pieces.count();
	}
	return need;
}

/*
 * Put a block of place's capacity where the live one is not: at the bottom or at
 * the top of the area, in turn, so that the room between is never in pieces.
 */
bool Area::Impl::fit(SectionPlace &place) const noexcept
{
	const std::uint64_t bytes = place.bytes();
	const bool bottom_taken = section_.exists() && section_.place().offset == blocks_at;
	const std::uint64_t low = bottom_taken ? blocks_at + section_.place().bytes() : blocks_at;
	const std::uint64_t high =
		section_.exists() && !bottom_taken ? section_.place().offset : bytes_;

	if (high - low < bytes)
		return false;
	place.offset = bottom_taken ? high - bytes : low;
	return true;
}

/*
 * Twice what is needed, so that appends are paid for by the flips between them;
 * where the area has not so much, what it has.
 */
Error Area::Impl::find_place(const Room &need, std::uint32_t spare,
			     SectionPlace &place) const noexcept
{
	constexpr std::uint64_t max = std::numeric_limits<std::uint32_t>::max();
	constexpr std::array percents = {200u, 125u, 100u};

	for (const std::uint64_t percent : percents) {
		const std::uint64_t initial = percent == percents[0] ? initial_functions_ : 0;
		const std::uint64_t more = std::max<std::uint64_t>(initial, spare);
		const std::uint64_t entries =
			std::max(need.entries * percent / 100, need.entries + more);
		const std::uint64_t fre_bytes =
			std::max(need.fre_bytes * percent / 100,
				 need.fre_bytes + more * guessed_fde_bytes);

		if (entries > max || fre_bytes > max)
			continue;
		place = {blocks_at, static_cast<std::uint32_t>(entries),
			 static_cast<std::uint32_t>(fre_bytes)};
		if (fit(place))
			return {};
	}
	return failed(Code::area_full, "flip", "no room in the area for a section of so many bytes",
		      need.entries * sizeof(std::uint64_t) * 2 + need.fre_bytes);
}

/* Merge by start: survivors of the live section and newcomers, both sorted. */
void Area::Impl::build(LiveSection &to, std::span<const Publication> functions,
		       const Dropped &dropped) const noexcept
{
	std::size_t next = 0;

	for (std::uint32_t i = 0; i < section_.entries(); i++) {
		if (!section_.size(i) || dropped.contains(i))
			continue;
		for (; next < functions.size() && functions[next].start < section_.start(i); next++)
			(void)stage_function(to, abi_, functions[next]);
		to.stage_copy(section_, i);
		inject_point(InjectPoint::flip_entry);
	}
	for (; next < functions.size(); next++)
		(void)stage_function(to, abi_, functions[next]);
	to.commit();
}

Error Area::Impl::flip(std::span<const Publication> functions, const Dropped &dropped,
		       std::uint32_t spare) noexcept
{
	SectionPlace place;

	inject_point(InjectPoint::flip_begin);
	if (Error error = find_place(room_for(functions, dropped), spare, place))
		return error;

	/*
	 * The block may be what an earlier flip let go, and a reader may still
	 * be in it. Pairs with the reader's barrier before it loads live again:
	 * if it saw a byte written below, it sees that flip too (I2).
	 */
	std::atomic_thread_fence(std::memory_order_release);
	inject_point(InjectPoint::flip_fenced);
	LiveSection next = LiveSection::begin(base_, place, abi_);
	inject_point(InjectPoint::flip_header);
	build(next, functions, dropped);
	inject_point(InjectPoint::flip_built);

	/* Whoever acquires live (I3) finds the whole section. */
	generation_++;
	shared::store<std::uint64_t>(base_ + offsetof(struct jit_sframe_area, live),
				     JIT_SFRAME_LIVE(generation_, place.offset),
				     std::memory_order_release);
	section_ = next;
	flips_++;
	inject_point(InjectPoint::flip_published);
	return {};
}

AreaStats Area::Impl::stats() noexcept
{
	const auto held = lock();

	return {appends_,
		retargets_,
		retires_,
		flips_,
		section_.alive(),
		section_.tombstones(),
		generation_,
		section_.exists() ? section_.place().bytes() : 0,
		bytes_};
}

std::vector<std::byte> Area::Impl::snapshot(std::uint64_t *address) noexcept
{
	const auto held = lock();
	std::vector<std::byte> copy;

	*address = 0;
	if (!section_.exists())
		return copy;
	*address = section_.address();
	copy.resize(section_.used_bytes());
	shared::load_bytes(copy.data(), base_ + section_.place().offset, copy.size());
	return copy;
}

namespace {

Error check_options(const AreaOptions &options) noexcept
{
	if (!options.text_size || options.text_start + (options.text_size - 1) < options.text_start)
		return failed(Code::invalid_argument, "create area", "an empty or wrapping text",
			      options.text_size);
	if (options.reserve_bytes > JIT_SFRAME_MAX_AREA_SIZE)
		return failed(Code::invalid_argument, "create area", "reserve of more than 4 GiB",
			      options.reserve_bytes);
	if (!options.initial_functions)
		return failed(Code::invalid_argument, "create area", "room for no function");
	return {};
}

std::uint64_t whole_pages(std::uint64_t bytes) noexcept
{
	const auto page = static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));

	return std::max(page, (bytes + page - 1) / page * page);
}

} // namespace

Result<Area> Area::create(const AreaOptions &options) noexcept
{
	if (Error error = check_options(options))
		return error;

	const std::uint64_t bytes = whole_pages(options.reserve_bytes);
	void *map = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (map == MAP_FAILED)
		return Error{errno == ENOMEM ? Code::no_memory : Code::system, errno,
			     "create area", "cannot map the reserve", bytes};

	std::unique_ptr<Impl> impl(
		new (std::nothrow) Impl(static_cast<std::byte *>(map), bytes, options));
	if (!impl) {
		munmap(map, bytes);
		return failed(Code::no_memory, "create area", "no memory");
	}
	impl->write_head(options);
	impl->enroll(options);
	return Area(std::move(impl));
}

Area::Area(std::unique_ptr<Impl> impl) noexcept : impl_(std::move(impl)) {}
Area::Area(Area &&other) noexcept = default;
Area &Area::operator=(Area &&other) noexcept = default;
Area::~Area() = default;

Status Area::status() const noexcept
{
	return impl_->status_;
}

Error Area::publish(std::uint64_t start, std::uint32_t size, const FunctionRows &rows) noexcept
{
	return impl_->publish({start, size, rows});
}

Error Area::publish(std::uint64_t start, std::uint32_t size, const FrameRows &rows) noexcept
{
	if (Error error = rows.error())
		return error;
	return impl_->publish({start, size, rows.view()});
}

Error Area::publish_all(std::span<const Publication> functions) noexcept
{
	return impl_->publish_all(functions);
}

Error Area::replace(std::uint64_t start, std::uint32_t size, const FunctionRows &rows) noexcept
{
	return impl_->replace({start, size, rows});
}

Error Area::replace(std::uint64_t start, std::uint32_t size, const FrameRows &rows) noexcept
{
	if (Error error = rows.error())
		return error;
	return impl_->replace({start, size, rows.view()});
}

Error Area::retire(std::uint64_t start) noexcept
{
	return impl_->retire(start);
}

std::uint32_t Area::retire_range(std::uint64_t start, std::uint64_t size) noexcept
{
	return impl_->retire_range(start, size);
}

Error Area::compact(std::uint32_t functions) noexcept
{
	return impl_->compact(functions);
}

Result<Found> Area::lookup(std::uint64_t pc) const noexcept
{
	return lookup_live(impl_->base_, impl_->bytes_, impl_->abi_, pc);
}

AreaStats Area::stats() const noexcept
{
	return impl_->stats();
}

const void *Area::address() const noexcept
{
	return impl_->base_;
}

std::uint64_t Area::size() const noexcept
{
	return impl_->bytes_;
}

const Abi &Area::abi() const noexcept
{
	return impl_->abi_;
}

std::vector<std::byte> Area::snapshot(std::uint64_t *address) const noexcept
{
	return impl_->snapshot(address);
}

const char *to_string(Registration registration) noexcept
{
	switch (registration) {
	case Registration::registered:
		return "registered";
	case Registration::not_asked:
		return "not asked";
	case Registration::kernel_lacks:
		return "kernel lacks it";
	case Registration::blocked:
		return "blocked";
	case Registration::refused:
		return "refused";
	}
	return "unknown";
}

} // namespace jitsframe
