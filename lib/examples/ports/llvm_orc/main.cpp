// SPDX-License-Identifier: MIT
/*
 * A JIT on LLVM's ORC: LLJIT with JITLink, and a plugin that publishes what is
 * linked (plugin.hpp).
 *
 * The program that is compiled, in two modules that call each other, where
 * native() calls back into this file:
 *
 *   outer(n):  return middle(n) + 1
 *   middle(n): return n == 0 ? native(n + 5) : inner(n - 1) + 2
 *   inner(n):  return middle(n) + 3
 */
#include "plugin.hpp"
#include "proof.hpp"

#include <llvm/AsmParser/Parser.h>
#include <llvm/ExecutionEngine/JITLink/EHFrameSupport.h>
#include <llvm/ExecutionEngine/Orc/LLJIT.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>
#include <llvm/Support/SourceMgr.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/Support/raw_ostream.h>

#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

using namespace llvm;
using namespace llvm::orc;

namespace {

ExitOnError require;

/* uwtable makes .eh_frame; RBP is a register like any other, and has junk. */
constexpr const char *outer_and_inner = R"(
declare i64 @middle(i64)

define i64 @outer(i64 %n) uwtable nounwind {
  %frame = alloca [1024 x i8]
  call void asm sideeffect "mov $$0x5a5a5a5a, %rbp", "r,~{rbp}"([1024 x i8]* %frame)
  %result = call i64 @middle(i64 %n)
  %more = add i64 %result, 1
  ret i64 %more
}

define i64 @inner(i64 %n) uwtable nounwind {
  call void asm sideeffect "mov $$0x5a5a5a5a, %rbp", "~{rbp},~{rbx},~{r12}"()
  %result = call i64 @middle(i64 %n)
  %more = add i64 %result, 3
  ret i64 %more
}
)";

constexpr const char *middle = R"(
declare i64 @inner(i64)
declare i64 @native(i64)

define i64 @middle(i64 %n) uwtable nounwind {
  call void asm sideeffect "mov $$0x5a5a5a5a, %rbp", "~{rbp}"()
  %is_zero = icmp eq i64 %n, 0
  br i1 %is_zero, label %last, label %next
last:
  %five = add i64 %n, 5
  %native = call i64 @native(i64 %five)
  ret i64 %native
next:
  %less = sub i64 %n, 1
  %result = call i64 @inner(i64 %less)
  %more = add i64 %result, 2
  ret i64 %more
}
)";

/* Where functions lie, from JITLink's own symbols: what the plugin published is judged by them. */
class Symbols : public ObjectLinkingLayer::Plugin {
public:
	void modifyPassConfig(MaterializationResponsibility &, jitlink::LinkGraph &,
			      jitlink::PassConfiguration &config) override
	{
		config.PostFixupPasses.push_back([this](jitlink::LinkGraph &graph) {
			for (const jitlink::Symbol *symbol : graph.defined_symbols())
				if (symbol->isCallable() && symbol->hasName())
					functions.push_back({symbol->getName().str(),
							     symbol->getAddress().getValue(),
							     static_cast<std::uint32_t>(symbol->getSize())});
			return Error::success();
		});
	}
	Error notifyFailed(MaterializationResponsibility &) override { return Error::success(); }
	Error notifyRemovingResources(ResourceKey) override { return Error::success(); }
	void notifyTransferringResources(ResourceKey, ResourceKey) override {}

	std::vector<proof::Function> functions;
};

/* LLJIT owns the layer, which owns them. */
PublishPlugin *published = nullptr;
Symbols *symbols = nullptr;

/* port: JITLink in place of RuntimeDyld, with the plugin */
Expected<std::unique_ptr<ObjectLayer>> make_layer(ExecutionSession &session, const Triple &)
{
	auto layer = std::make_unique<ObjectLinkingLayer>(session);
	auto plugin = std::make_unique<PublishPlugin>();

	published = plugin.get();
	layer->addPlugin(std::move(plugin));
	layer->addPlugin(std::make_unique<EHFrameRegistrationPlugin>(
		session, std::make_unique<jitlink::InProcessEHFrameRegistrar>()));
	/* --- */
	auto known = std::make_unique<Symbols>();
	symbols = known.get();
	layer->addPlugin(std::move(known));
	return layer;
}

std::unique_ptr<LLJIT> make_jit()
{
	auto target = require(JITTargetMachineBuilder::detectHost());

	target.setRelocationModel(Reloc::PIC_).setCodeModel(CodeModel::Small);
	return require(LLJITBuilder()
			       .setJITTargetMachineBuilder(std::move(target))
			       .setObjectLinkingLayerCreator(make_layer)
			       .create());
}

ThreadSafeModule parse(const char *text)
{
	auto context = std::make_unique<LLVMContext>();
	SMDiagnostic error;
	std::unique_ptr<Module> module = parseAssemblyString(text, error, *context);

	if (!module) {
		error.print("llvm_orc", errs());
		std::exit(1);
	}
	return {std::move(module), std::move(context)};
}

/* --- the proof --- */

jitsframe::Result<jitsframe::Found> look_up(std::uint64_t pc)
{
	return published->lookup(pc);
}

[[gnu::noinline]] std::int64_t native(std::int64_t n)
{
	proof::expect_stack(proof::caller(), look_up, symbols->functions,
			    {"middle", "inner", "middle", "inner", "middle", "outer"});
	return n + 100;
}

ResourceTrackerSP add(LLJIT &jit, const char *text)
{
	ResourceTrackerSP tracker = jit.getMainJITDylib().createResourceTracker();

	require(jit.addIRModule(tracker, parse(text)));
	return tracker;
}

/* Both modules come, are known, run, and go. */
void expect_lifetime(LLJIT &jit)
{
	symbols->functions.clear();
	const ResourceTrackerSP first = add(jit, outer_and_inner);
	const ResourceTrackerSP second = add(jit, middle);
	const std::uint64_t entry = require(jit.lookup("outer")).getAddress();

	proof::expect(symbols->functions.size() == 3, "three functions are linked");
	proof::expect(published->areas() == 2, "each module has an area");
	for (const proof::Function &function : symbols->functions) {
		proof::expect_known(look_up, function);
		proof::expect_fp_used(look_up, function);
	}
	proof::expect(proof::enter(entry, 2) == 5 + 100 + 2 * (2 + 3) + 1, "it computes");

	/* Of one resource now, which is not the one that it was linked for. */
	const ResourceTrackerSP heir = jit.getMainJITDylib().createResourceTracker();
	second->transferTo(*heir);
	require(heir->remove());
	for (const proof::Function &function : symbols->functions)
		function.name == "middle" ? proof::expect_gone(look_up, function)
					  : proof::expect_known(look_up, function);
	require(first->remove());
	for (const proof::Function &function : symbols->functions)
		proof::expect_gone(look_up, function);
	proof::expect(published->areas() == 0, "no area is left");
}

/* What is linked and never run, because something is missing, leaves nothing behind. */
void expect_failure_leaves_nothing(LLJIT &jit)
{
	const ResourceTrackerSP alone = add(jit, outer_and_inner);

	consumeError(jit.lookup("outer").takeError());
	require(alone->remove());
	proof::expect(published->areas() == 0, "a module that failed has no area");
}

} // namespace

int main()
{
	InitializeNativeTarget();
	InitializeNativeTargetAsmPrinter();
	InitializeNativeTargetAsmParser();
	const std::unique_ptr<LLJIT> jit = make_jit();

	jit->getExecutionSession().setErrorReporter([](Error error) { consumeError(std::move(error)); });
	require(jit->getMainJITDylib().define(absoluteSymbols(
		{{jit->mangleAndIntern("native"),
		  JITEvaluatedSymbol::fromPointer(native, JITSymbolFlags::Exported | JITSymbolFlags::Callable)}})));
	expect_lifetime(*jit);
	expect_lifetime(*jit);
	expect_failure_leaves_nothing(*jit);
	return proof::verdict();
}
