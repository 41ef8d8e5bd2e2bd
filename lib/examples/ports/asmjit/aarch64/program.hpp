/* SPDX-License-Identifier: MIT */
/* The program that the port compiles, see main.cpp, for AArch64. */
#ifndef JITSFRAME_LIB_EXAMPLES_PORTS_PROGRAM_HPP
#define JITSFRAME_LIB_EXAMPLES_PORTS_PROGRAM_HPP

#include <asmjit/arm.h>
#include <asmjit/arm/a64assembler.h>
#include <asmjit/arm/a64compiler.h>

using Compiler = asmjit::a64::Compiler;
using Assembler = asmjit::a64::Assembler;
using Signature = asmjit::FuncSignatureT<std::int64_t, std::int64_t>;

/*
 * Values that are alive at one time: enough of them that X29 is taken, too, and
 * not X30, which this asmjit believes to survive calls. They cancel out.
 */
class Pressure {
public:
	Pressure(Compiler &cc, const asmjit::a64::Gp &n) : cc_(cc)
	{
		for (auto &value : values_) {
			value = cc.newInt64();
			cc.add(value, n, 1);
		}
	}
	void cancel(const asmjit::a64::Gp &result)
	{
		for (const auto &value : values_) {
			cc_.add(result, result, value);
			cc_.sub(result, result, values_[0]);
		}
	}

private:
	Compiler &cc_;
	asmjit::a64::Gp values_[27];
};

template <typename Target>
asmjit::a64::Gp call(Compiler &cc, const Target &target, const asmjit::a64::Gp &argument)
{
	asmjit::InvokeNode *invoke;
	const asmjit::a64::Gp result = cc.newInt64();

	cc.invoke(&invoke, target, Signature());
	invoke->setArg(0, argument);
	invoke->setRet(0, result);
	return result;
}

inline asmjit::a64::Gp call_slot(Compiler &cc, const std::uint64_t *slot,
				 const asmjit::a64::Gp &argument)
{
	const asmjit::a64::Gp target = cc.newInt64();

	cc.mov(target, slot);
	cc.ldr(target, asmjit::a64::ptr(target));
	return call(cc, target, argument);
}

/* return what the slot's function returns for n, + more */
inline asmjit::FuncNode *emit_caller(Compiler &cc, const std::uint64_t *slot, int more)
{
	asmjit::FuncNode *function = cc.addFunc(Signature());
	const asmjit::a64::Gp n = cc.newInt64();

	function->setArg(0, n);
	cc.str(n, cc.newStack(1024, 8));
	Pressure pressure(cc, n);
	const asmjit::a64::Gp result = call_slot(cc, slot, n);
	pressure.cancel(result);
	cc.add(result, result, more);
	cc.ret(result);
	cc.endFunc();
	return function;
}

/* return n == 0 ? native(n + 5) : what the slot's function returns for n - 1, + 2 */
inline asmjit::FuncNode *emit_middle(Compiler &cc, const std::uint64_t *slot,
				     std::int64_t (*native)(std::int64_t))
{
	asmjit::FuncNode *function = cc.addFunc(Signature());
	const asmjit::a64::Gp n = cc.newInt64();
	const asmjit::Label number = cc.newLabel();

	function->setArg(0, n);
	cc.cbnz(n, number);
	cc.add(n, n, 5);
	const asmjit::a64::Gp target = cc.newInt64();
	cc.mov(target, native);
	cc.ret(call(cc, target, n));
	cc.bind(number);
	Pressure pressure(cc, n);
	cc.sub(n, n, 1);
	const asmjit::a64::Gp result = call_slot(cc, slot, n);
	pressure.cancel(result);
	cc.add(result, result, 2);
	cc.ret(result);
	cc.endFunc();
	return function;
}

#endif
