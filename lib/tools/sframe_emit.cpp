// SPDX-License-Identifier: MIT
/*
 * sframe-emit --seed N --abi amd64|aarch64 --out FILE: publish random functions
 * and write the section that came of it; print what was meant. The account is
 * kept beside the library and never read back from its bytes.
 */
#include "canonical.hpp"
#include "random_function.hpp"

#include <jitsframe/area.hpp>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <vector>

using namespace jitsframe;

namespace {

constexpr std::uint64_t text_start = 0x7f0010000000;
constexpr std::uint64_t slot_bytes = 0x40000; /* the longest random function fits */
constexpr std::uint64_t slots = 256;

int fail(const char *what, const Error &error)
{
	char text[200];

	error.format(text, sizeof(text));
	std::fprintf(stderr, "sframe-emit: %s: %s\n", what, text);
	return 1;
}

/* What the live section should hold: pieces by start; size 0 is a tombstone. */
struct Account {
	const Abi &abi;
	std::map<std::uint64_t, Function> pieces{};
	std::uint64_t fres = 0;

	void add(const Function &function)
	{
		for (const Function &piece : split(abi, function, max_live_rows))
			pieces[piece.start] = piece;
		fres += function.rows.size();
	}
	void retire(const Function &function)
	{
		for (const Function &piece : split(abi, function, max_live_rows)) {
			Function tombstone;

			tombstone.start = piece.start;
			pieces[piece.start] = tombstone;
		}
	}
	/* A flip carries over what lives, and nothing else. */
	void flip()
	{
		std::erase_if(pieces, [](const auto &entry) { return entry.second.size == 0; });
		fres = 0;
		for (const auto &[start, piece] : pieces)
			fres += piece.rows.size();
	}
};

class LiveEmitter {
public:
	LiveEmitter(Area &area, const Abi &abi, std::uint32_t seed)
		: area_(area), random_(seed), account_{abi}
	{
	}

	Error run(int steps)
	{
		for (int i = 0; i < steps; i++)
			if (Error error = step())
				return error;
		return {};
	}
	[[nodiscard]] const Account &account() const { return account_; }

private:
	Error step()
	{
		/* Mostly upward, so that there are appends between the flips. */
		const std::uint64_t slot = random_.below(4) ? next_++ % slots : random_.below(slots);
		const std::uint64_t start = text_start + slot * slot_bytes;
		const auto found = alive_.find(start);

		if (found == alive_.end())
			return publish(start);
		return random_.below(3) ? retire(found->second) : replace(start, found->second);
	}

	Error publish(std::uint64_t start)
	{
		const Function function = random_function(account_.abi, random_, start);

		if (Error error = area_.publish(start, function.size, function.view()))
			return error;
		note_flip();
		account_.add(function);
		alive_[start] = function;
		return {};
	}

	Error replace(std::uint64_t start, Function old)
	{
		const Function function = random_function(account_.abi, random_, start);

		if (Error error = area_.replace(start, function.size, function.view()))
			return error;
		/* Where the old function had several pieces, they went with the flip. */
		account_.retire(old);
		note_flip();
		account_.add(function);
		alive_[start] = function;
		return {};
	}

	Error retire(Function function)
	{
		if (Error error = area_.retire(function.start))
			return error;
		account_.retire(function);
		alive_.erase(function.start);
		return {};
	}

	void note_flip()
	{
		const std::uint64_t flips = area_.stats().flips;

		if (flips != flips_)
			account_.flip();
		flips_ = flips;
	}

	Area &area_;
	Random random_;
	Account account_;
	std::map<std::uint64_t, Function> alive_;
	std::uint64_t next_ = 0;
	std::uint64_t flips_ = 0;
};

struct Emitted {
	std::vector<std::byte> bytes;
	std::string account;
};

std::string account_text(const Account &account, unsigned flags, std::uint64_t address)
{
	std::string text = section_text(account.abi, flags, 0, account.abi.fixed_ra_offset,
					account.pieces.size(), account.fres);

	for (const auto &[start, piece] : account.pieces) {
		Function relative = piece;

		relative.start -= address;
		text += function_text(account.abi, relative);
	}
	return text;
}

Error emit_live(const Abi &abi, std::uint32_t seed, Emitted &out)
{
	AreaOptions options;
	options.text_start = text_start;
	options.text_size = slots * slot_bytes;
	options.register_with_kernel = false;
	options.initial_functions = 8;
	options.abi = &abi;

	Result<Area> area = Area::create(options);
	if (!area)
		return area.error();

	LiveEmitter emitter(*area, abi, seed);
	if (Error error = emitter.run(static_cast<int>(20 + seed % 180)))
		return error;

	std::uint64_t address = 0;
	out.bytes = area->snapshot(&address);
	out.account = account_text(emitter.account(), 0x1, address);
	return {};
}

/* A static section at address 0, with starts that count from the field. */
Error emit_static(const Abi &abi, std::uint32_t seed, Emitted &out)
{
	Random random(seed);
	Account account{abi};
	std::vector<Function> functions;

	for (std::uint64_t i = 0; i < 1 + seed % 40; i++) {
		const std::uint64_t start = text_start + i * slot_bytes + random.below(64);
		const Function function = random_function(abi, random, start);

		functions.push_back(function);
		account.fres += function.rows.size();
		account.pieces[start] = split(abi, function, UINT16_MAX)[0];
	}
	Result<std::vector<std::byte>> section = build_section(abi, functions, 0);
	if (!section)
		return section.error();
	out.bytes = std::move(*section);
	out.account = account_text(account, 0x5, 0);
	return {};
}

bool write_file(const char *path, const std::vector<std::byte> &bytes)
{
	std::FILE *file = std::fopen(path, "wb");

	if (!file)
		return false;
	const bool written = std::fwrite(bytes.data(), 1, bytes.size(), file) == bytes.size();
	return std::fclose(file) == 0 && written;
}

} // namespace

int main(int argc, char **argv)
{
	const char *seed = nullptr, *abi_name = nullptr, *path = nullptr;

	for (int i = 1; i + 1 < argc; i += 2) {
		if (!std::strcmp(argv[i], "--seed"))
			seed = argv[i + 1];
		else if (!std::strcmp(argv[i], "--abi"))
			abi_name = argv[i + 1];
		else if (!std::strcmp(argv[i], "--out"))
			path = argv[i + 1];
	}
	if (!seed || !abi_name || !path ||
	    (std::strcmp(abi_name, "amd64") && std::strcmp(abi_name, "aarch64"))) {
		std::fprintf(stderr,
			     "usage: sframe-emit --seed N --abi amd64|aarch64 --out FILE\n");
		return 1;
	}

	const Abi &abi = std::strcmp(abi_name, "amd64") ? aarch64::abi : x86_64::abi;
	const auto number = static_cast<std::uint32_t>(std::strtoul(seed, nullptr, 0));
	Emitted out;
	const Error error = number % 3 ? emit_live(abi, number, out) : emit_static(abi, number, out);
	if (error)
		return fail("library", error);
	if (!write_file(path, out.bytes)) {
		std::perror(path);
		return 1;
	}
	std::fputs(out.account.c_str(), stdout);
	return std::ferror(stdout) ? 1 : 0;
}
