// SPDX-License-Identifier: MIT
/*
 * A runtime that has the seam of Windows' growable function tables: it keeps an
 * array of entries for each heap of code and tells the system how many of them
 * count. It is written in the C API, as a runtime's platform layer would be.
 *
 * The methods that are compiled, where native() calls back into this file (the
 * emitter is own_emitter's; a runtime of this kind knows the frame of a method
 * when it has compiled it):
 *
 *   Outer(n):  return Middle(n) + 1
 *   Middle(n): return n == 0 ? native(n + 5) : Inner(n - 1) + 2
 *   Inner(n):  return Middle(n) + 3
 */
#include "assembler.hpp"
#include "proof.hpp"

#include <jitsframe/code.hpp>
#include <jitsframe/jitsframe.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <string>

namespace {

void require(jitsframe_code code, const jitsframe_error &error)
{
	char text[200];

	if (code == JITSFRAME_OK)
		return;
	jitsframe_error_format(&error, text, sizeof(text));
	std::fprintf(stderr, "%s\n", text);
	std::exit(1);
}

/* --- the runtime --- */

struct Free {
	void operator()(jitsframe_shapes *shapes) const { jitsframe_shapes_free(shapes); }
	void operator()(jitsframe_rows *rows) const { jitsframe_rows_free(rows); }
	void operator()(jitsframe_area *area) const { jitsframe_area_free(area); }
	void operator()(jitsframe_function_table *table) const
	{
		jitsframe_delete_growable_function_table(table);
	}
};

/* What the runtime's code generator knows of a method's frame, in the words of the C API. */
using Rows = std::unique_ptr<jitsframe_rows, Free>;
Rows frame_of(const Assembler &method);

/* port: where the runtime reserves the range that all its heaps of code come from */
jitsframe_area *open_area(std::uint64_t base, std::uint64_t size)
{
	jitsframe_options options;
	jitsframe_error error;

	jitsframe_options_init(&options, sizeof(options));
	options.text_start = base;
	options.text_size = size;
	options.owner = "function_tables";
	options.several_producers = true;
	jitsframe_area *area = jitsframe_area_new(&options, &error);
	require(error.code, error);
	return area;
}
/* --- */

/* One heap of code, with its function table. */
class CodeHeap {
public:
	/* port: where the runtime calls RtlAddGrowableFunctionTable() */
	CodeHeap(jitsframe::CodeMemory &memory, jitsframe_shapes *shapes, jitsframe_area *area)
		: memory_(memory), shapes_(shapes)
	{
		const std::uint64_t base = memory_.text_start();
		jitsframe_function_table *table;
		jitsframe_error error;

		require(jitsframe_add_growable_function_table(&table, entries_.data(), 0, maximum, base,
							      base + memory_.text_size(), shapes_,
							      area, &error),
			error);
		table_.reset(table);
	}
	/* --- */

	std::uint64_t add(const Assembler &method)
	{
		jitsframe::WriteScope scope = memory_.begin();
		const auto size = static_cast<std::uint32_t>(method.code().size());
		const jitsframe::CodeSpan span = scope.allocate(size).value();

		std::copy(method.code().begin(), method.code().end(), span.writable);
		scope.commit();
		publish(span.address, method);
		return span.address;
	}

	/* port: where the runtime writes an entry and calls RtlGrowFunctionTable() */
	void publish(std::uint64_t address, const Assembler &method)
	{
		const auto begin = static_cast<std::uint32_t>(address - memory_.text_start());
		const auto size = static_cast<std::uint32_t>(method.code().size());
		const Rows rows = frame_of(method);
		jitsframe_function_entry &entry = entries_[count_];
		jitsframe_error error;

		entry.begin = begin;
		entry.end = begin + size;
		require(jitsframe_shapes_add(shapes_, rows.get(), size, method.body(), &entry.shape,
					     &error),
			error);
		require(jitsframe_grow_function_table(table_.get(), ++count_, &error), error);
	}
	/* --- */

	/* port: where the runtime marks the entry of a collected method as dead */
	void remove(std::uint64_t address)
	{
		const std::uint32_t index = index_of(address);
		jitsframe_error error;

		require(jitsframe_retire_function(table_.get(), index, &error), error);
		require(jitsframe_shapes_remove(shapes_, entries_[index].shape, &error), error);
		(void)memory_.free(address);
	}
	/* --- */

	/* port: where the runtime calls RtlDeleteGrowableFunctionTable(): the heap is unloaded */
	void unload() { table_.reset(); }
	/* --- */

	[[nodiscard]] proof::Function named(const std::string &name, std::uint64_t address) const
	{
		const jitsframe_function_entry &entry = entries_[index_of(address)];

		return {name, address, entry.end - entry.begin};
	}

private:
	static constexpr std::uint32_t maximum = 1000;

	/* The last one: those before it at this address are dead. */
	[[nodiscard]] std::uint32_t index_of(std::uint64_t address) const
	{
		std::uint32_t index = count_;

		while (index-- > 0)
			if (memory_.text_start() + entries_[index].begin == address)
				break;
		return index;
	}

	jitsframe::CodeMemory &memory_;
	jitsframe_shapes *shapes_;
	std::array<jitsframe_function_entry, maximum> entries_{};
	std::uint32_t count_ = 0;
	std::unique_ptr<jitsframe_function_table, Free> table_;
};

/* By name, or by the slot through which others call it. */
using Slots = std::map<std::string, std::uint64_t>;

void compile_outer(CodeHeap &heap, Slots &slots)
{
	Assembler a;

	a.prologue(1032);
	a.call_slot(&slots["Middle"], 0);
	a.add_to_result(1);
	a.epilogue(true);
	slots["Outer"] = heap.add(a);
}

void compile_middle(CodeHeap &heap, Slots &slots, std::int64_t (*native)(std::int64_t))
{
	Assembler a;

	a.prologue(24);
	const std::size_t jump = a.jump_if_number();
	a.call_native(native, 5);
	a.epilogue(false);
	a.land(jump);
	a.call_slot(&slots["Inner"], -1);
	a.add_to_result(2);
	a.epilogue(true);
	slots["Middle"] = heap.add(a);
}

/* With more code in the body, and the same frame. */
void compile_inner(CodeHeap &heap, Slots &slots, int additions)
{
	Assembler a;

	a.prologue(1032);
	a.call_slot(&slots["Middle"], 0);
	a.add_to_result(static_cast<std::int8_t>(3 + additions));
	for (int i = 0; i < additions; i++)
		a.add_to_result(-1);
	a.epilogue(true);
	slots["Inner"] = heap.add(a);
}

struct jitsframe_rule rule_of(const jitsframe::Rule &rule)
{
	return {static_cast<jitsframe_base>(rule.base), rule.deref, rule.reg, rule.offset};
}

Rows frame_of(const Assembler &method)
{
	Rows rows(jitsframe_rows_new(JITSFRAME_ARCH_HOST));

	jitsframe_rows_clear_all(rows.get());
	for (const jitsframe::Row &row : method.rows().view().rows) {
		const jitsframe_row told = {row.offset,       row.outermost,   row.ra_signed,
					    rule_of(row.cfa), rule_of(row.ra), rule_of(row.fp)};

		jitsframe_rows_row(rows.get(), &told);
	}
	return rows;
}

/* --- the proof --- */

const jitsframe_area *area_used = nullptr;
const CodeHeap *heap_used = nullptr;
const Slots *slots_used = nullptr;

jitsframe::Result<jitsframe::Found> look_up(std::uint64_t pc)
{
	jitsframe_found found;
	jitsframe_error error;

	if (jitsframe_lookup(area_used, pc, &found, &error))
		return jitsframe::Error{static_cast<jitsframe::Code>(error.code), 0, error.what,
					error.why, error.at};

	const auto rule = [](const jitsframe_rule &from) {
		return jitsframe::Rule{static_cast<jitsframe::Rule::Base>(from.base), from.deref,
				       from.reg, from.offset};
	};
	jitsframe::Found native = {found.start, found.size, found.signal, found.pauth_key_b, {}};
	native.row.cfa = rule(found.row.cfa);
	native.row.ra = rule(found.row.ra);
	native.row.fp = rule(found.row.fp);
	return native;
}

std::vector<proof::Function> methods()
{
	std::vector<proof::Function> all;

	for (const auto &[name, address] : *slots_used)
		all.push_back(heap_used->named(name, address));
	return all;
}

[[gnu::noinline]] std::int64_t native(std::int64_t n)
{
	proof::expect_stack(proof::caller(), look_up, methods(),
			    {"Middle", "Inner", "Middle", "Inner", "Middle", "Outer"});
	return n + 100;
}

void expect_methods_known()
{
	for (const proof::Function &method : methods())
		proof::expect_known(look_up, method);
}

} // namespace

int main()
{
	const std::unique_ptr<jitsframe_shapes, Free> shapes(
		jitsframe_shapes_new(JITSFRAME_ARCH_HOST, nullptr));
	jitsframe::CodeMemory memory = jitsframe::CodeMemory::create().value();
	const std::unique_ptr<jitsframe_area, Free> area(
		open_area(memory.text_start(), memory.text_size()));
	CodeHeap heap(memory, shapes.get(), area.get());
	Slots slots;

	area_used = area.get();
	heap_used = &heap;
	slots_used = &slots;
	compile_outer(heap, slots);
	compile_inner(heap, slots, 0);
	compile_middle(heap, slots, native);
	expect_methods_known();
	proof::expect(jitsframe_shapes_count(shapes.get()) == 2, "Outer and Inner share a shape");
	for (const proof::Function &method : methods())
		proof::expect_fp_used(look_up, method);
	proof::expect(proof::enter(slots["Outer"], 2) == 5 + 100 + 2 * (2 + 3) + 1, "it computes");

	/* A method is collected; the gap that it leaves is taken by another of the same frame. */
	const proof::Function inner = heap.named("Inner", slots["Inner"]);
	heap.remove(inner.start);
	proof::expect_gone(look_up, inner);
	compile_inner(heap, slots, 1);
	proof::expect(slots["Inner"] == inner.start, "its address is used again");
	proof::expect(slots["Inner"] < slots["Middle"], "an entry out of order");
	proof::expect(jitsframe_shapes_count(shapes.get()) == 2, "the longer body has the shape");
	expect_methods_known();
	proof::expect(proof::enter(slots["Outer"], 2) == 116, "it computes again");

	heap.unload();
	for (const proof::Function &method : methods())
		proof::expect_gone(look_up, method);
	return proof::verdict();
}
