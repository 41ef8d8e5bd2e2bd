// SPDX-License-Identifier: MIT
/*
 * A JIT with an emitter of its own: each instruction that changes the frame is
 * told as it is emitted (ARCHITECTURE/assembler.hpp), and text, rows and name
 * then have one lifetime.
 *
 * The program that is compiled, where native() calls back into this file:
 *
 *   outer(n):  return middle(n) + 1
 *   middle(n): return n == 0 ? native(n + 5) : inner(n - 1) + 2
 *   inner(n):  return middle(n) + 3
 */
#include "assembler.hpp"
#include "proof.hpp"

#include <jitsframe/area.hpp>
#include <jitsframe/code.hpp>

#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>

using namespace jitsframe;

namespace {

[[noreturn]] void fail(const Error &error)
{
	char text[200];

	error.format(text, sizeof(text));
	std::fprintf(stderr, "%s\n", text);
	std::exit(1);
}

/* --- the JIT --- */

class Jit {
public:
	/* port: a window of instruction memory, and an area over it */
	static Jit create()
	{
		Result<CodeMemory> memory = CodeMemory::create();
		if (!memory)
			fail(memory.error());

		AreaOptions options;
		options.text_start = memory->text_start();
		options.text_size = memory->text_size();
		options.owner = "own_emitter";
		Result<Area> area = Area::create(options);
		if (!area)
			fail(area.error());
		return Jit(std::move(*memory), std::move(*area));
	}
	/* --- */

	/* port: what was emitted becomes a function; it can run when this returns */
	void add(const std::string &name, const Assembler &assembler)
	{
		FunctionText text;
		text.bytes = assembler.code();
		text.rows = &assembler.rows();
		text.name = name;
		Result<LiveFunction> function = LiveFunction::create(memory_, text, {&area_, nullptr});
		if (!function)
			fail(function.error());
		slots_[name] = function->start();
		functions_.emplace(name, std::move(*function));
	}
	/* --- */

	/* port: nothing calls it any more; its rows go first, then its text */
	void remove(const std::string &name) { functions_.erase(name); }
	/* --- */

	/* Where callers find a function that may not be compiled yet. */
	std::uint64_t *slot(const std::string &name) { return &slots_[name]; }

	[[nodiscard]] const Area &area() const { return area_; }
	[[nodiscard]] std::vector<proof::Function> functions() const
	{
		std::vector<proof::Function> all;

		for (const auto &[name, function] : functions_)
			all.push_back({name, function.start(), function.size()});
		return all;
	}

private:
	Jit(CodeMemory memory, Area area) : memory_(std::move(memory)), area_(std::move(area)) {}

	CodeMemory memory_;
	Area area_;
	std::map<std::string, std::uint64_t> slots_;
	std::map<std::string, LiveFunction> functions_;
};

void compile_outer(Jit &jit)
{
	Assembler a;

	a.prologue(1032);
	a.call_slot(jit.slot("middle"), 0);
	a.add_to_result(1);
	a.epilogue(true);
	jit.add("outer", a);
}

void compile_middle(Jit &jit, std::int64_t (*native)(std::int64_t))
{
	Assembler a;

	a.prologue(24);
	const std::size_t jump = a.jump_if_number();
	a.call_native(native, 5);
	a.epilogue(false);
	a.land(jump);
	a.call_slot(jit.slot("inner"), -1);
	a.add_to_result(2);
	a.epilogue(true);
	jit.add("middle", a);
}

void compile_inner(Jit &jit)
{
	Assembler a;

	a.prologue(104);
	a.call_slot(jit.slot("middle"), 0);
	a.add_to_result(3);
	a.epilogue(true);
	jit.add("inner", a);
}

/* --- the proof --- */

const Jit *running = nullptr;

Result<Found> look_up(std::uint64_t pc)
{
	return running->area().lookup(pc);
}

[[gnu::noinline]] std::int64_t native(std::int64_t n)
{
	proof::expect_stack(proof::caller(), look_up, running->functions(),
			    {"middle", "inner", "middle", "inner", "middle", "outer"});
	return n + 100;
}

} // namespace

int main()
{
	Jit jit = Jit::create();

	running = &jit;
	compile_outer(jit);
	compile_inner(jit);
	compile_middle(jit, native);
	for (const proof::Function &function : jit.functions())
		proof::expect_known(look_up, function);
	for (const proof::Function &function : jit.functions())
		proof::expect_fp_used(look_up, function);
	proof::expect(proof::enter(*jit.slot("outer"), 2) == 5 + 100 + 2 * (2 + 3) + 1, "it computes");

	const std::vector<proof::Function> before = jit.functions();
	jit.remove("middle");
	for (const proof::Function &function : before)
		function.name == "middle" ? proof::expect_gone(look_up, function)
					  : proof::expect_known(look_up, function);

	/* Made anew, where it was. */
	compile_middle(jit, native);
	proof::expect(*jit.slot("middle") == before[1].start, "its address is used again");
	proof::expect(proof::enter(*jit.slot("outer"), 2) == 116, "it computes again");
	for (const proof::Function &function : before)
		jit.remove(function.name);
	for (const proof::Function &function : before)
		proof::expect_gone(look_up, function);
	return proof::verdict();
}
