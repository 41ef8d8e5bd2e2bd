// SPDX-License-Identifier: MIT
/*
 * What a JIT adds to be seen by the unwinder: the lines between the marks. The
 * rest stands for the JIT: it emits one function (ARCHITECTURE/twice.hpp), runs
 * it and frees it.
 */
#include <jitsframe/area.hpp>

#include "twice.hpp"

#include <cstdint>
#include <cstdio>
#include <cstring>

#include <sys/mman.h>

using namespace jitsframe;

namespace {

constexpr std::size_t window = 1 << 20;

int report(const Error &error)
{
	char text[200];

	error.format(text, sizeof(text));
	std::fprintf(stderr, "%s\n", text);
	return 1;
}

/* Null: the system does not let memory be written, then run. */
void *emit()
{
	void *code = mmap(nullptr, window, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (code == MAP_FAILED)
		return nullptr;
	std::memcpy(code, twice::code, sizeof(twice::code));
	if (mprotect(code, window, PROT_READ | PROT_EXEC))
		return nullptr;
	__builtin___clear_cache(static_cast<char *>(code),
				static_cast<char *>(code) + sizeof(twice::code));
	return code;
}

} // namespace

int main()
{
	void *code = emit();
	if (!code)
		return 1;
	const auto start = reinterpret_cast<std::uint64_t>(code);

	/* --- once for each code window --- */
	AreaOptions options;
	options.text_start = start;
	options.text_size = window;
	Result<Area> area = Area::create(options);
	if (!area)
		return report(area.error());

	/* --- for each function, before it can run --- */
	FrameRows frame;
	twice::describe(frame);
	if (Error error = area->publish(start, sizeof(twice::code), frame))
		return report(error);
	/* --- */

	const int result = reinterpret_cast<int (*)(int)>(code)(21);
	const Result<Found> found = area->lookup(start + twice::middle);

	/* --- when its code is gone --- */
	if (Error error = area->retire(start))
		return report(error);
	/* --- and that is all --- */

	const Status status = area->status();
	std::printf("%s: %s\n", to_string(status.registration), status.why);
	return result == 42 && found && found->row.cfa == twice::cfa &&
			       !area->lookup(start + twice::middle)
		       ? 0
		       : 1;
}
