/* SPDX-License-Identifier: MIT */
/* The program that the port compiles, see main.cpp, for x86-64. */
#ifndef JITSFRAME_LIB_EXAMPLES_PORTS_PROGRAM_HPP
#define JITSFRAME_LIB_EXAMPLES_PORTS_PROGRAM_HPP

#include <asmjit/x86.h>

using Compiler = asmjit::x86::Compiler;
using Assembler = asmjit::x86::Assembler;
using Signature = asmjit::FuncSignatureT<std::int64_t, std::int64_t>;

/*
 * Values that live over a call: enough of them that all registers which survive
 * it are taken, RBP with them. They cancel out.
 */
class Pressure {
public:
	Pressure(Compiler &cc, const asmjit::x86::Gp &n) : cc_(cc)
	{
		for (auto &value : values_) {
			value = cc.newInt64();
			cc.lea(value, asmjit::x86::ptr(n, 1));
		}
	}
	void cancel(const asmjit::x86::Gp &result)
	{
		for (const auto &value : values_) {
			cc_.add(result, value);
			cc_.sub(result, values_[0]);
		}
	}

private:
	Compiler &cc_;
	asmjit::x86::Gp values_[8];
};

template <typename Target>
asmjit::x86::Gp call(Compiler &cc, const Target &target, const asmjit::x86::Gp &argument)
{
	asmjit::InvokeNode *invoke;
	const asmjit::x86::Gp result = cc.newInt64();

	cc.invoke(&invoke, target, Signature());
	invoke->setArg(0, argument);
	invoke->setRet(0, result);
	return result;
}

inline asmjit::x86::Gp call_slot(Compiler &cc, const std::uint64_t *slot,
				 const asmjit::x86::Gp &argument)
{
	const asmjit::x86::Gp target = cc.newInt64();

	cc.mov(target, slot);
	cc.mov(target, asmjit::x86::ptr(target));
	return call(cc, target, argument);
}

/* return what the slot's function returns for n, + more */
inline asmjit::FuncNode *emit_caller(Compiler &cc, const std::uint64_t *slot, int more)
{
	asmjit::FuncNode *function = cc.addFunc(Signature());
	const asmjit::x86::Gp n = cc.newInt64();

	function->setArg(0, n);
	cc.mov(cc.newStack(1024, 8), n);
	Pressure pressure(cc, n);
	const asmjit::x86::Gp result = call_slot(cc, slot, n);
	pressure.cancel(result);
	cc.add(result, more);
	cc.ret(result);
	cc.endFunc();
	return function;
}

/* return n == 0 ? native(n + 5) : what the slot's function returns for n - 1, + 2 */
inline asmjit::FuncNode *emit_middle(Compiler &cc, const std::uint64_t *slot,
				     std::int64_t (*native)(std::int64_t))
{
	asmjit::FuncNode *function = cc.addFunc(Signature());
	const asmjit::x86::Gp n = cc.newInt64();
	const asmjit::Label number = cc.newLabel();

	function->setArg(0, n);
	cc.test(n, n);
	cc.jnz(number);
	cc.add(n, 5);
	cc.ret(call(cc, asmjit::imm(native), n));
	cc.bind(number);
	Pressure pressure(cc, n);
	cc.sub(n, 1);
	const asmjit::x86::Gp result = call_slot(cc, slot, n);
	pressure.cancel(result);
	cc.add(result, 2);
	cc.ret(result);
	cc.endFunc();
	return function;
}

#endif
