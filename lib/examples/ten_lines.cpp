// SPDX-License-Identifier: MIT
/*
 * What a JIT adds to be seen by the unwinder: the lines between the marks. The
 * rest stands for the JIT: it maps a code window and emits one function.
 */
#include <jitsframe/area.hpp>

#include <cstdint>
#include <cstdio>
#include <cstring>

#include <sys/mman.h>

using namespace jitsframe;

namespace {

/* push rbx; mov ebx, edi; lea eax, [rbx + rbx]; pop rbx; ret */
constexpr unsigned char twice[] = {0x53, 0x89, 0xfb, 0x8d, 0x04, 0x1b, 0x5b, 0xc3};

int report(const Error &error)
{
	char text[200];

	error.format(text, sizeof(text));
	std::fprintf(stderr, "%s\n", text);
	return 1;
}

} // namespace

int main()
{
	constexpr std::size_t window = 1 << 20;
	void *code = mmap(nullptr, window, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (code == MAP_FAILED)
		return 1;
	std::memcpy(code, twice, sizeof(twice));
	const auto start = reinterpret_cast<std::uint64_t>(code);

	/* --- once for each code window --- */
	AreaOptions options;
	options.text_start = start;
	options.text_size = window;
	Result<Area> area = Area::create(options);
	if (!area)
		return report(area.error());

	/* --- for each function, before it can run --- */
	FrameRows frame(x86_64::abi);
	frame.push(1, x86_64::rbx).pop(7, x86_64::rbx);
	if (Error error = area->publish(start, sizeof(twice), frame))
		return report(error);

	/* --- when its code is gone --- */
	const Result<Found> found = area->lookup(start + 3);
	if (Error error = area->retire(start))
		return report(error);
	/* --- and that is all --- */

	const Status status = area->status();
	std::printf("%s: %s\n", to_string(status.registration), status.why);
	return found && found->row.cfa == Rule::in_reg(x86_64::rsp, 16) && !area->lookup(start + 3)
		       ? 0
		       : 1;
}
