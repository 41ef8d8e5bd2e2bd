// SPDX-License-Identifier: MIT
/* The C API: translation only; every rule and error is the C++ layer's. */
#include "handles.hpp"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <memory>
#include <new>

using namespace jitsframe;
using capi::abi_from;
using capi::null_handle;
using capi::tell;

namespace {

static_assert(static_cast<int>(Code::system) == JITSFRAME_SYSTEM);
static_assert(static_cast<int>(Code::area_full) == JITSFRAME_AREA_FULL);
static_assert(static_cast<int>(Code::not_found) == JITSFRAME_NOT_FOUND);
static_assert(static_cast<int>(Registration::registered) == JITSFRAME_REGISTERED);
static_assert(static_cast<int>(Registration::refused) == JITSFRAME_REFUSED);
static_assert(static_cast<int>(Rule::Base::reg) == JITSFRAME_BASE_REG);

Rule rule_from(const struct jitsframe_rule &rule) noexcept
{
	return {static_cast<Rule::Base>(rule.base), rule.deref, rule.reg, rule.offset};
}

/* sizeof(struct jitsframe_options) in 0.1: no program has a smaller one. */
constexpr std::size_t first_options_size = 56;
/* So that a struct_size that nobody set is not believed; as the kernel bounds its own structs. */
constexpr std::size_t largest_options_size = 4096;

static_assert(offsetof(struct jitsframe_options, register_with_kernel) < first_options_size);
static_assert(sizeof(struct jitsframe_options) >= first_options_size);

bool is_options_size(std::size_t bytes) noexcept
{
	return bytes >= first_options_size && bytes <= largest_options_size;
}

struct jitsframe_options default_options() noexcept
{
	const AreaOptions defaults;
	struct jitsframe_options options = {};

	options.struct_size = sizeof(options);
	options.reserve_bytes = defaults.reserve_bytes;
	options.initial_functions = defaults.initial_functions;
	options.frame_reg = JITSFRAME_NO_FRAME_REG;
	options.fp_fallback = defaults.fp_fallback;
	options.register_with_kernel = defaults.register_with_kernel;
	return options;
}

/* Does a newer program's struct ask for something that this library does not know? */
bool asks_for_unknown(const struct jitsframe_options *options) noexcept
{
	const auto *bytes = reinterpret_cast<const unsigned char *>(options);
	const std::size_t size = options->struct_size;

	return size > sizeof(*options) &&
	       std::any_of(bytes + sizeof(*options), bytes + size,
			   [](unsigned char byte) { return byte != 0; });
}

/* The caller's struct, of its size, as one of ours. */
Error known_options(const struct jitsframe_options *from,
		    struct jitsframe_options &options) noexcept
{
	if (!from || !is_options_size(from->struct_size))
		return {Code::invalid_argument, 0, "create area", "options not initialised", 0};
	if (asks_for_unknown(from))
		return {Code::unsupported, 0, "create area",
			"an option that this library is too old for", from->struct_size};
	options = default_options();
	std::memcpy(static_cast<void *>(&options), from,
		    std::min(from->struct_size, sizeof(options)));
	if (options.frame_reg != JITSFRAME_NO_FRAME_REG && options.frame_reg > UINT16_MAX)
		return {Code::invalid_argument, 0, "create area", "no such frame register",
			options.frame_reg};
	return {};
}

AreaOptions native_options(const struct jitsframe_options &options) noexcept
{
	AreaOptions native;

	native.text_start = options.text_start;
	native.text_size = options.text_size;
	native.reserve_bytes = options.reserve_bytes;
	native.initial_functions = options.initial_functions;
	if (options.frame_reg != JITSFRAME_NO_FRAME_REG)
		native.frame_reg = static_cast<std::uint16_t>(options.frame_reg);
	if (options.owner)
		native.owner = options.owner;
	native.abi = abi_from(options.arch);
	native.producers = options.several_producers ? Producers::several : Producers::one;
	native.fp_fallback = options.fp_fallback;
	native.register_with_kernel = options.register_with_kernel;
	return native;
}

/* Do something to the rows, unless there are none. */
template <typename Step>
void step(struct jitsframe_rows *rows, Step &&take) noexcept
{
	if (rows)
		take(rows->rows);
}

} // namespace

size_t jitsframe_error_format(const struct jitsframe_error *error, char *buffer,
			      size_t size) noexcept
{
	if (!error)
		return Error{}.format(buffer, size);
	return Error{static_cast<Code>(error->code), error->os_errno, error->what, error->why,
		     error->at}
		.format(buffer, size);
}

struct jitsframe_rows *jitsframe_rows_new(jitsframe_arch arch) noexcept
{
	return new (std::nothrow) jitsframe_rows{FrameRows(*abi_from(arch))};
}

void jitsframe_rows_free(struct jitsframe_rows *rows) noexcept
{
	delete rows;
}

void jitsframe_rows_clear(struct jitsframe_rows *rows) noexcept
{
	step(rows, [](FrameRows &r) { r.clear(); });
}

void jitsframe_rows_clear_all(struct jitsframe_rows *rows) noexcept
{
	step(rows, [](FrameRows &r) { r.clear_rows(); });
}

void jitsframe_rows_push(struct jitsframe_rows *rows, uint32_t at, uint16_t reg) noexcept
{
	step(rows, [=](FrameRows &r) { r.push(at, reg); });
}

void jitsframe_rows_pop(struct jitsframe_rows *rows, uint32_t at, uint16_t reg) noexcept
{
	step(rows, [=](FrameRows &r) { r.pop(at, reg); });
}

void jitsframe_rows_move_sp(struct jitsframe_rows *rows, uint32_t at, int32_t bytes) noexcept
{
	step(rows, [=](FrameRows &r) { r.move_sp(at, bytes); });
}

void jitsframe_rows_save_fp(struct jitsframe_rows *rows, uint32_t at, int32_t sp_offset) noexcept
{
	step(rows, [=](FrameRows &r) { r.save_fp(at, sp_offset); });
}

void jitsframe_rows_restore_fp(struct jitsframe_rows *rows, uint32_t at) noexcept
{
	step(rows, [=](FrameRows &r) { r.restore_fp(at); });
}

void jitsframe_rows_save_ra(struct jitsframe_rows *rows, uint32_t at, int32_t sp_offset) noexcept
{
	step(rows, [=](FrameRows &r) { r.save_ra(at, sp_offset); });
}

void jitsframe_rows_restore_ra(struct jitsframe_rows *rows, uint32_t at) noexcept
{
	step(rows, [=](FrameRows &r) { r.restore_ra(at); });
}

void jitsframe_rows_sign_ra(struct jitsframe_rows *rows, uint32_t at, bool is_signed) noexcept
{
	step(rows, [=](FrameRows &r) { r.sign_ra(at, is_signed); });
}

void jitsframe_rows_set_fp(struct jitsframe_rows *rows, uint32_t at, int32_t sp_offset) noexcept
{
	step(rows, [=](FrameRows &r) { r.set_fp(at, sp_offset); });
}

void jitsframe_rows_cfa_from_sp(struct jitsframe_rows *rows, uint32_t at,
				int32_t cfa_distance) noexcept
{
	step(rows, [=](FrameRows &r) { r.cfa_from_sp(at, cfa_distance); });
}

void jitsframe_rows_entry(struct jitsframe_rows *rows, uint32_t at) noexcept
{
	step(rows, [=](FrameRows &r) { r.entry(at); });
}

void jitsframe_rows_remember(struct jitsframe_rows *rows) noexcept
{
	step(rows, [](FrameRows &r) { r.remember(); });
}

void jitsframe_rows_recall(struct jitsframe_rows *rows, uint32_t at) noexcept
{
	step(rows, [=](FrameRows &r) { r.recall(at); });
}

void jitsframe_rows_continue_from(struct jitsframe_rows *rows,
				  const struct jitsframe_rows *other) noexcept
{
	if (other)
		step(rows, [other](FrameRows &r) { r.continue_from(other->rows); });
}

void jitsframe_rows_sp_from_fp(struct jitsframe_rows *rows, uint32_t at, int32_t fp_offset) noexcept
{
	step(rows, [=](FrameRows &r) { r.sp_from_fp(at, fp_offset); });
}

void jitsframe_rows_lose_sp(struct jitsframe_rows *rows) noexcept
{
	step(rows, [](FrameRows &r) { r.lose_sp(); });
}

void jitsframe_rows_outermost(struct jitsframe_rows *rows, uint32_t at) noexcept
{
	step(rows, [=](FrameRows &r) { r.outermost(at); });
}

void jitsframe_rows_row(struct jitsframe_rows *rows, const struct jitsframe_row *row) noexcept
{
	if (!row)
		return;

	const Row native = {row->offset,         row->outermost,      row->ra_signed,
			    rule_from(row->cfa), rule_from(row->ra), rule_from(row->fp)};
	step(rows, [&native](FrameRows &r) { r.row(native); });
}

void jitsframe_rows_signal(struct jitsframe_rows *rows, bool on) noexcept
{
	step(rows, [=](FrameRows &r) { r.signal(on); });
}

void jitsframe_rows_pauth_key_b(struct jitsframe_rows *rows, bool on) noexcept
{
	step(rows, [=](FrameRows &r) { r.pauth_key_b(on); });
}

void jitsframe_rows_repeat_block(struct jitsframe_rows *rows, uint8_t bytes) noexcept
{
	step(rows, [=](FrameRows &r) { r.repeat_block(bytes); });
}

jitsframe_code jitsframe_rows_error(const struct jitsframe_rows *rows,
				    struct jitsframe_error *error) noexcept
{
	return rows ? tell(rows->rows.error(), error) : null_handle(error);
}

void jitsframe_options_init(struct jitsframe_options *options, size_t struct_size) noexcept
{
	if (!options || !is_options_size(struct_size))
		return;

	struct jitsframe_options defaults = default_options();
	defaults.struct_size = struct_size;
	std::memset(static_cast<void *>(options), 0, struct_size);
	std::memcpy(static_cast<void *>(options), &defaults,
		    std::min(struct_size, sizeof(defaults)));
}

struct jitsframe_area *jitsframe_area_new(const struct jitsframe_options *options,
					  struct jitsframe_error *error) noexcept
{
	struct jitsframe_options known;

	if (Error broken = known_options(options, known)) {
		tell(broken, error);
		return nullptr;
	}

	Result<Area> area = Area::create(native_options(known));
	tell(area.error(), error);
	if (!area)
		return nullptr;

	auto *handle = new (std::nothrow) jitsframe_area{std::move(*area)};
	if (!handle)
		tell({Code::no_memory, 0, "create area", "no memory", 0}, error);
	return handle;
}

void jitsframe_area_free(struct jitsframe_area *area) noexcept
{
	delete area;
}

struct jitsframe_status jitsframe_area_status(const struct jitsframe_area *area) noexcept
{
	if (!area)
		return {JITSFRAME_NOT_ASKED, 0, "a null handle"};

	return capi::status_to(area->area.status());
}

jitsframe_code jitsframe_publish(struct jitsframe_area *area, uint64_t start, uint32_t size,
				 const struct jitsframe_rows *rows,
				 struct jitsframe_error *error) noexcept
{
	if (!area || !rows)
		return null_handle(error);
	return tell(area->area.publish(start, size, rows->rows), error);
}

jitsframe_code jitsframe_publish_all(struct jitsframe_area *area,
				     const struct jitsframe_publication *functions, size_t count,
				     struct jitsframe_error *error) noexcept
{
	if (!area || (!functions && count))
		return null_handle(error);

	const std::unique_ptr<Publication[]> native(new (std::nothrow) Publication[count]);
	if (!native)
		return tell({Code::no_memory, 0, "publish_all", "no memory", count}, error);
	for (size_t i = 0; i < count; i++) {
		if (!functions[i].rows)
			return null_handle(error);
		if (Error broken = functions[i].rows->rows.error())
			return tell(broken, error);
		native[i] = {functions[i].start, functions[i].size, functions[i].rows->rows.view()};
	}
	return tell(area->area.publish_all({native.get(), count}), error);
}

jitsframe_code jitsframe_replace(struct jitsframe_area *area, uint64_t start, uint32_t size,
				 const struct jitsframe_rows *rows,
				 struct jitsframe_error *error) noexcept
{
	if (!area || !rows)
		return null_handle(error);
	return tell(area->area.replace(start, size, rows->rows), error);
}

jitsframe_code jitsframe_retire(struct jitsframe_area *area, uint64_t start,
				struct jitsframe_error *error) noexcept
{
	return area ? tell(area->area.retire(start), error) : null_handle(error);
}

uint32_t jitsframe_retire_range(struct jitsframe_area *area, uint64_t start, uint64_t size) noexcept
{
	return area ? area->area.retire_range(start, size) : 0;
}

jitsframe_code jitsframe_lookup(const struct jitsframe_area *area, uint64_t pc,
				struct jitsframe_found *found,
				struct jitsframe_error *error) noexcept
{
	if (!area || !found)
		return null_handle(error);

	const Result<Found> native = area->area.lookup(pc);
	if (!native)
		return tell(native.error(), error);

	*found = capi::found_to(*native);
	return tell({}, error);
}

const void *jitsframe_area_address(const struct jitsframe_area *area) noexcept
{
	return area ? area->area.address() : nullptr;
}

uint64_t jitsframe_area_size(const struct jitsframe_area *area) noexcept
{
	return area ? area->area.size() : 0;
}
