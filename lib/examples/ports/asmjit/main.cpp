// SPDX-License-Identifier: MIT
/*
 * A JIT on asmjit's Compiler, which allocates registers and makes prologues and
 * epilogues itself, and on its JitRuntime, whose allocator stays. The port reads
 * the steps of a frame from the instructions that the Compiler made, when they
 * are nodes still (ARCHITECTURE/frame_step.hpp).
 *
 * The program that is compiled, where native() calls back into this file:
 *
 *   outer(n):  return middle(n) + 1
 *   middle(n): return n == 0 ? native(n + 5) : inner(n - 1) + 2
 *   inner(n):  return middle(n) + 3
 */
#include "frame_step.hpp"
#include "program.hpp"
#include "proof.hpp"

#include <jitsframe/area.hpp>
#include <jitsframe/rows.hpp>

#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <utility>
#include <vector>

using namespace jitsframe;

namespace {

[[noreturn]] void fail(const Error &error)
{
	char text[200];

	error.format(text, sizeof(text));
	std::fprintf(stderr, "%s\n", text);
	std::exit(1);
}

void require(asmjit::Error error)
{
	if (!error)
		return;
	std::fprintf(stderr, "asmjit: %s\n", asmjit::DebugUtils::errorAsString(error));
	std::exit(1);
}

/* --- the port --- */

/* port: which instructions change a frame, and labels behind them, for their offsets */
/* The Compiler gives a function one exit, at its end: nothing comes behind the epilogue. */
class FrameMarks {
public:
	/* After runPasses(), when prologue and epilogue are there, and before serializeTo(). */
	FrameMarks(asmjit::BaseBuilder &builder, asmjit::FuncNode *function)
		: begin_(function->label()), end_(builder.newLabel())
	{
		bool is_in_body = false;

		for (auto *node = function->next(); node != function->endNode(); node = node->next()) {
			const bool is_step = node->isInst() &&
					     is_frame_step(*node->as<asmjit::InstNode>(), is_in_body);

			if (is_step)
				steps_.push_back({node->as<asmjit::InstNode>(), builder.newLabel()});
			else if (node->isInst() || node == function->exitNode())
				is_in_body = node != function->exitNode();
		}
		for (const Step &step : steps_)
			bind_behind(builder, step.instruction, step.behind);
		bind_behind(builder, function->endNode()->prev(), end_);
	}

	/* When there are bytes. */
	[[nodiscard]] FrameRows rows(const asmjit::CodeHolder &code) const
	{
		FrameRows rows;

		for (const Step &step : steps_)
			if (!take_frame_step(*step.instruction, offset(code, step.behind), rows))
				fail({Code::unsupported, 0, "asmjit", "an unknown step of a frame",
				      offset(code, step.behind)});
		return rows;
	}
	[[nodiscard]] std::uint32_t size(const asmjit::CodeHolder &code) const
	{
		return offset(code, end_);
	}

private:
	struct Step {
		asmjit::InstNode *instruction;
		asmjit::Label behind;
	};

	static void bind_behind(asmjit::BaseBuilder &builder, asmjit::BaseNode *node,
				const asmjit::Label &label)
	{
		builder.setCursor(node);
		require(builder.bind(label));
	}
	[[nodiscard]] std::uint32_t offset(const asmjit::CodeHolder &code,
					   const asmjit::Label &label) const
	{
		return static_cast<std::uint32_t>(code.labelOffset(label) - code.labelOffset(begin_));
	}

	asmjit::Label begin_;
	asmjit::Label end_;
	std::vector<Step> steps_;
};
/* --- */

/*
 * port: an area for each block of the runtime's allocator. Where its blocks lie it does not tell, but
 * how many there are and how big they are together; and what comes first into a new one lies at its
 * beginning. With several threads, the allocator's calls must be in one lock with these.
 */
class Blocks {
public:
	explicit Blocks(asmjit::JitRuntime &runtime) : runtime_(runtime) {}

	std::uint64_t add(asmjit::CodeHolder &code, std::uint32_t size, const FrameRows &rows)
	{
		const auto before = runtime_.allocator()->statistics();
		void *text;
		require(runtime_.add(&text, &code));
		const auto after = runtime_.allocator()->statistics();
		const auto start = reinterpret_cast<std::uint64_t>(text);

		if (after.blockCount() > before.blockCount())
			open(start, after.reservedSize() - before.reservedSize());
		if (Error error = area_of(start).publish(start, size, rows))
			fail(error);
		return start;
	}
	/* Rows first: whoever gets the address next may publish at once. */
	void remove(std::uint64_t start)
	{
		const auto before = runtime_.allocator()->statistics();

		if (Error error = area_of(start).retire(start))
			fail(error);
		require(runtime_.release(reinterpret_cast<void *>(start)));
		if (runtime_.allocator()->statistics().blockCount() < before.blockCount())
			areas_.erase(std::prev(areas_.upper_bound(start)));
	}
	/* --- */

	[[nodiscard]] Result<Found> lookup(std::uint64_t pc) const
	{
		const auto behind = areas_.upper_bound(pc);

		if (behind == areas_.begin())
			return Error{Code::not_found, 0, "lookup", "below every block", pc};
		return std::prev(behind)->second.lookup(pc);
	}
	[[nodiscard]] std::size_t count() const { return areas_.size(); }

private:
	void open(std::uint64_t start, std::uint64_t size)
	{
		AreaOptions options;

		options.text_start = start;
		options.text_size = size;
		/* A small function takes about as much of the area as of the text. */
		options.reserve_bytes = 8 * size;
		options.owner = "asmjit";
		Result<Area> area = Area::create(options);
		if (!area)
			fail(area.error());
		areas_.emplace(start, std::move(*area));
	}
	Area &area_of(std::uint64_t start) { return std::prev(areas_.upper_bound(start))->second; }

	asmjit::JitRuntime &runtime_;
	std::map<std::uint64_t, Area> areas_;
};

/* --- the JIT --- */

class Jit {
public:
	/* `emit` is given the Compiler, and returns the function that it made. */
	template <typename Emit>
	void add(const std::string &name, Emit &&emit)
	{
		asmjit::CodeHolder code;
		require(code.init(runtime_.environment()));
		Compiler cc(&code);
		asmjit::FuncNode *function = emit(cc);

		/* port: in place of cc.finalize() */
		require(cc.runPasses());
		const FrameMarks marks(cc, function);
		Assembler assembler(&code);
		require(cc.serializeTo(&assembler));
		const FrameRows rows = marks.rows(code);
		/* --- */
		const std::uint32_t size = marks.size(code);
		slots_[name] = blocks_.add(code, size, rows);
		functions_[name] = {name, slots_[name], size};
	}
	void remove(const std::string &name)
	{
		blocks_.remove(slots_[name]);
		functions_.erase(name);
	}
	/* Where callers find a function that may not be compiled yet. */
	std::uint64_t *slot(const std::string &name) { return &slots_[name]; }

	[[nodiscard]] const Blocks &blocks() const { return blocks_; }
	[[nodiscard]] std::vector<proof::Function> functions() const
	{
		std::vector<proof::Function> all;

		for (const auto &[name, function] : functions_)
			all.push_back(function);
		return all;
	}

private:
	asmjit::JitRuntime runtime_;
	Blocks blocks_{runtime_};
	std::map<std::string, std::uint64_t> slots_;
	std::map<std::string, proof::Function> functions_;
};

void compile_caller(Jit &jit, const std::string &name, const std::string &callee, int more)
{
	jit.add(name, [&](Compiler &cc) { return emit_caller(cc, jit.slot(callee), more); });
}

void compile_middle(Jit &jit, std::int64_t (*native)(std::int64_t))
{
	jit.add("middle", [&](Compiler &cc) { return emit_middle(cc, jit.slot("inner"), native); });
}

/* --- the proof --- */

const Jit *running = nullptr;

Result<Found> look_up(std::uint64_t pc)
{
	return running->blocks().lookup(pc);
}

[[gnu::noinline]] std::int64_t native(std::int64_t n)
{
	proof::expect_stack(proof::caller(), look_up, running->functions(),
			    {"middle", "inner", "middle", "inner", "middle", "outer"});
	return n + 100;
}

/* More than one of the allocator's blocks holds. */
void expect_many_blocks(Jit &jit)
{
	constexpr int many = 2000;
	const std::size_t before = jit.blocks().count();

	for (int i = 0; i < many; i++)
		compile_caller(jit, "filler " + std::to_string(i), "middle", i);
	proof::expect(jit.blocks().count() > before, "there are more blocks, each with its area");
	for (int i = 0; i < many; i += many / 16)
		for (const proof::Function &function : jit.functions())
			if (function.name == "filler " + std::to_string(i))
				proof::expect_known(look_up, function);
	proof::expect(proof::enter(*jit.slot("outer"), 2) == 116, "it computes among them");
	const std::vector<proof::Function> all = jit.functions();
	for (int i = 0; i < many; i++)
		jit.remove("filler " + std::to_string(i));
	for (const proof::Function &function : all)
		if (function.name.starts_with("filler "))
			for (const std::uint64_t pc : {function.start, function.start + function.size - 1})
				if (look_up(pc))
					proof::expect(false, "a filler is gone");
}

} // namespace

int main()
{
	Jit jit;

	running = &jit;
	compile_caller(jit, "outer", "middle", 1);
	compile_caller(jit, "inner", "middle", 3);
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
	compile_middle(jit, native);
	proof::expect(proof::enter(*jit.slot("outer"), 2) == 116, "it computes again");
	expect_many_blocks(jit);
	for (const proof::Function &function : jit.functions())
		jit.remove(function.name);
	for (const proof::Function &function : before)
		proof::expect_gone(look_up, function);
	return proof::verdict();
}
