// SPDX-License-Identifier: MIT
#include <jitsframe/rows.hpp>

#include <algorithm>
#include <new>

namespace jitsframe {

namespace {

constexpr std::int32_t word = 8; /* bytes of a push on every ABI here */

bool same_frame(const Row &a, const Row &b) noexcept
{
	Row moved = b;

	moved.offset = a.offset;
	return a == moved;
}

} // namespace

FrameRows::FrameRows(const Abi &abi) noexcept : abi_(&abi)
{
	clear();
}

FrameRows::FrameRows(FrameRows &&other) noexcept : abi_(other.abi_)
{
	*this = std::move(other);
}

FrameRows &FrameRows::operator=(FrameRows &&other) noexcept
{
	if (this == &other)
		return *this;
	abi_ = other.abi_;
	state_ = other.state_;
	remembered_ = other.remembered_;
	has_remembered_ = other.has_remembered_;
	signal_ = other.signal_;
	pauth_key_b_ = other.pauth_key_b_;
	repeat_block_ = other.repeat_block_;
	count_ = other.count_;
	capacity_ = other.capacity_;
	heap_ = std::move(other.heap_);
	error_ = other.error_;
	if (!heap_)
		std::copy_n(other.inline_.begin(), count_, inline_.begin());
	other.capacity_ = inline_rows;
	other.clear();
	return *this;
}

bool FrameRows::counts_from_fp() const noexcept
{
	const Rule &cfa = state_.row.cfa;

	return cfa.base == Rule::Base::reg && cfa.reg == abi_->fp_reg && !cfa.deref;
}

FrameRows::State FrameRows::entry_state() const noexcept
{
	State state;

	state.depth = abi_->entry_cfa_offset;
	state.row.cfa = Rule::in_reg(abi_->sp_reg, state.depth);
	return state;
}

const Row *FrameRows::data() const noexcept
{
	return heap_ ? heap_.get() : inline_.data();
}

Row *FrameRows::data() noexcept
{
	return heap_ ? heap_.get() : inline_.data();
}

void FrameRows::fail(Code code, const char *why, std::uint64_t at) noexcept
{
	if (!error_)
		error_ = {code, 0, "frame rows", why, at};
}

bool FrameRows::need_depth(std::uint32_t at) noexcept
{
	if (!state_.depth_known)
		fail(Code::invalid_rows, "where SP is, is not known here", at);
	return state_.depth_known;
}

bool FrameRows::reserve(std::size_t count) noexcept
{
	if (count <= capacity_)
		return true;

	const std::size_t capacity = std::max(count, 2 * capacity_);
	std::unique_ptr<Row[]> bigger(new (std::nothrow) Row[capacity]);
	if (!bigger) {
		fail(Code::no_memory, "no memory for the rows", count);
		return false;
	}
	std::copy_n(data(), count_, bigger.get());
	heap_ = std::move(bigger);
	capacity_ = capacity;
	return true;
}

/* The state as the row from `at` on. */
FrameRows &FrameRows::commit(std::uint32_t at) noexcept
{
	if (error_)
		return *this;
	state_.row.offset = at;
	if (count_) {
		Row &last = data()[count_ - 1];

		if (at < last.offset) {
			fail(Code::invalid_rows, "steps must come in ascending code offset", at);
			return *this;
		}
		if (at == last.offset) {
			last = state_.row;
			return *this;
		}
		if (same_frame(last, state_.row))
			return *this;
	}
	if (reserve(count_ + 1))
		data()[count_++] = state_.row;
	return *this;
}

FrameRows &FrameRows::clear() noexcept
{
	clear_rows();
	return commit(0);
}

FrameRows &FrameRows::clear_rows() noexcept
{
	count_ = 0;
	error_ = {};
	state_ = entry_state();
	has_remembered_ = false;
	signal_ = pauth_key_b_ = false;
	repeat_block_ = 0;
	return *this;
}

FrameRows &FrameRows::continue_from(const FrameRows &other) noexcept
{
	const State state = other.state_, remembered = other.remembered_;
	const bool has_remembered = other.has_remembered_, signal = other.signal_;
	const bool pauth_key_b = other.pauth_key_b_;
	const Error error = other.error_;

	/* `other` may be this object. */
	abi_ = other.abi_;
	clear_rows();
	state_ = state;
	remembered_ = remembered;
	has_remembered_ = has_remembered;
	signal_ = signal;
	pauth_key_b_ = pauth_key_b;
	error_ = error;
	return commit(0);
}

FrameRows &FrameRows::assign(const FunctionRows &rows) noexcept
{
	clear_rows();
	for (const Row &one : rows.rows)
		row(one);
	signal_ = rows.signal;
	pauth_key_b_ = rows.pauth_key_b;
	repeat_block_ = rows.repeat_block;
	return *this;
}

FrameRows &FrameRows::push(std::uint32_t at, std::uint16_t reg) noexcept
{
	move_sp(at, -word);
	if (reg == abi_->fp_reg && state_.row.fp.base == Rule::Base::none)
		return save_fp(at, 0);
	return *this;
}

FrameRows &FrameRows::pop(std::uint32_t at, std::uint16_t reg) noexcept
{
	Row &row = state_.row;

	if (reg != abi_->fp_reg)
		return move_sp(at, word);
	/* Only the saved slot can hold the caller's FP, so SP was there, wherever it moved. */
	if (counts_from_fp() && row.fp.base == Rule::Base::cfa)
		cfa_from_sp(at, -row.fp.offset - word);
	else
		move_sp(at, word);
	return restore_fp(at);
}

FrameRows &FrameRows::move_sp(std::uint32_t at, std::int32_t bytes) noexcept
{
	/* Lost already: what counts from FP does not care. */
	if (!state_.depth_known && counts_from_fp())
		return commit(at);
	if (!need_depth(at))
		return *this;
	state_.depth -= bytes;
	if (state_.row.cfa.reg == abi_->sp_reg)
		state_.row.cfa.offset = state_.depth;
	return commit(at);
}

FrameRows &FrameRows::save_fp(std::uint32_t at, std::int32_t sp_offset) noexcept
{
	if (!need_depth(at))
		return *this;
	state_.row.fp = Rule::at_cfa(sp_offset - state_.depth);
	return commit(at);
}

FrameRows &FrameRows::restore_fp(std::uint32_t at) noexcept
{
	if (counts_from_fp()) {
		fail(Code::invalid_rows, "FP given back while the CFA counts from it", at);
		return *this;
	}
	state_.row.fp = {};
	return commit(at);
}

FrameRows &FrameRows::save_ra(std::uint32_t at, std::int32_t sp_offset) noexcept
{
	if (!need_depth(at))
		return *this;
	state_.row.ra = Rule::at_cfa(sp_offset - state_.depth);
	return commit(at);
}

FrameRows &FrameRows::restore_ra(std::uint32_t at) noexcept
{
	state_.row.ra = {};
	return commit(at);
}

FrameRows &FrameRows::sign_ra(std::uint32_t at, bool is_signed) noexcept
{
	state_.row.ra_signed = is_signed;
	return commit(at);
}

FrameRows &FrameRows::set_fp(std::uint32_t at, std::int32_t sp_offset) noexcept
{
	if (!need_depth(at))
		return *this;
	state_.row.cfa = Rule::in_reg(abi_->fp_reg, state_.depth - sp_offset);
	return commit(at);
}

FrameRows &FrameRows::sp_from_fp(std::uint32_t at, std::int32_t fp_offset) noexcept
{
	if (!counts_from_fp()) {
		fail(Code::invalid_rows, "SP from an FP that the CFA does not count from", at);
		return *this;
	}
	state_.depth = state_.row.cfa.offset - fp_offset;
	state_.depth_known = true;
	return commit(at);
}

FrameRows &FrameRows::lose_sp() noexcept
{
	if (!counts_from_fp())
		fail(Code::invalid_rows, "SP lost while the CFA does not count from FP",
		     count_ ? data()[count_ - 1].offset : 0);
	state_.depth_known = false;
	return *this;
}

FrameRows &FrameRows::cfa_from_sp(std::uint32_t at, std::int32_t cfa_distance) noexcept
{
	state_.depth = cfa_distance;
	state_.depth_known = true;
	state_.row.cfa = Rule::in_reg(abi_->sp_reg, cfa_distance);
	return commit(at);
}

FrameRows &FrameRows::entry(std::uint32_t at) noexcept
{
	state_ = entry_state();
	return commit(at);
}

FrameRows &FrameRows::remember() noexcept
{
	remembered_ = state_;
	has_remembered_ = true;
	return *this;
}

FrameRows &FrameRows::recall(std::uint32_t at) noexcept
{
	if (!has_remembered_) {
		fail(Code::invalid_rows, "recall without remember", at);
		return *this;
	}
	state_ = remembered_;
	return commit(at);
}

FrameRows &FrameRows::outermost(std::uint32_t at) noexcept
{
	state_.row = {};
	state_.row.outermost = true;
	state_.depth_known = false;
	return commit(at);
}

FrameRows &FrameRows::row(const Row &row) noexcept
{
	state_.row = row;
	if (row.cfa == Rule::in_reg(abi_->sp_reg, row.cfa.offset)) {
		state_.depth = row.cfa.offset;
		state_.depth_known = true;
	} else {
		state_.depth_known = false;
	}
	return commit(row.offset);
}

FrameRows &FrameRows::signal(bool on) noexcept
{
	signal_ = on;
	return *this;
}

FrameRows &FrameRows::pauth_key_b(bool on) noexcept
{
	pauth_key_b_ = on;
	return *this;
}

FrameRows &FrameRows::repeat_block(std::uint8_t bytes) noexcept
{
	repeat_block_ = bytes;
	return *this;
}

FunctionRows FrameRows::view() const noexcept
{
	return {{data(), count_}, signal_, pauth_key_b_, repeat_block_};
}

} // namespace jitsframe
