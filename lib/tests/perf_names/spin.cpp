// SPDX-License-Identifier: MIT
/* Three functions that spin, one after the other at the same address, for run. */
#include <jitsframe/symbols.hpp>

#include "spins.hpp"

#include <cstdio>
#include <cstring>
#include <span>

#include <unistd.h>

using namespace jitsframe;

namespace {

int report(const Error &error)
{
	char text[200];

	error.format(text, sizeof(text));
	std::fprintf(stderr, "%s\n", text);
	return 1;
}

int spin(CodeMemory &memory, const CodeObserver &observer, std::uint64_t &start)
{
	static const char *const names[] = {"spin_first", "spin_second", "spin_third"};

	for (const char *name : names) {
		FunctionText text;
		text.bytes = std::as_bytes(std::span(spins::code));
		text.name = name;
		Result<LiveFunction> function = LiveFunction::create(memory, text, {nullptr, &observer});

		if (!function)
			return report(function.error());
		if (start && function->start() != start)
			return report({Code::invalid_argument, 0, "spin", "the address was not reused",
				       function->start()});
		start = function->start();
		(void)maybe_synchronize();
		reinterpret_cast<void (*)()>(start)();
	}
	return 0;
}

} // namespace

/* spin map | spin jitdump DIRECTORY */
int main(int argc, char **argv)
{
	SymbolsOptions names;
	CodeOptions code;

	names.jitdump = argc > 2 && std::strcmp(argv[1], "jitdump") == 0;
	names.perf_map = !names.jitdump;
	if (names.jitdump)
		names.dump_directory = argv[2];
	else
		code.backing = Backing::shared_anonymous;

	Result<Symbols> symbols = Symbols::create(names);
	if (!symbols)
		return report(symbols.error());
	Result<CodeMemory> memory = CodeMemory::create(code);
	if (!memory)
		return report(memory.error());

	std::uint64_t start = 0;
	const CodeObserver observer = symbols->observer();
	const int failed = spin(*memory, observer, start);
	if (Error error = symbols->close())
		return report(error);
	std::printf("%d %llx\n", static_cast<int>(getpid()), static_cast<unsigned long long>(start));
	return failed;
}
