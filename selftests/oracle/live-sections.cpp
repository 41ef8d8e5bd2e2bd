// SPDX-License-Identifier: MIT
// live-sections SEED COUNT DIRECTORY: two producers change an area without pause while this copies its live section
// COUNT times by the protocol and writes each copy, cut at the counts it states, to DIRECTORY/N-ADDRESS.sframe.
// Prints what happened: one "name value" a line.
//
// What is published says what it is, so that a copy can be judged without knowing when it was taken. Slot s is at
// text_start + s * slot_bytes; its version v has the size 40 + v and a second row at 2 + v with a frame of
// 16 + 8 * (s % 64) + 8 * v bytes. (run holds the same formula.)
#include <jitsframe/area.hpp>
#include <linux/jit_sframe.h>

#include <atomic>
#include <chrono>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <vector>

namespace {

constexpr std::uint64_t text_start = 0x7f0000000000;
constexpr std::uint32_t slots = 600, slot_bytes = 64, versions = 16;

// The SFrame header (2.2): byte offsets of the fields read here.
constexpr std::size_t header_bytes = 28, at_aux_len = 7, at_num_fdes = 8, at_num_fres = 12, at_fre_len = 16, at_fdeoff = 20,
		      at_freoff = 24, entry_bytes = 16;

template <typename T>
T load(const std::byte *address, std::memory_order order = std::memory_order_relaxed)
{
	// atomic_ref<const T> is C++26.
	return std::atomic_ref<T>(*reinterpret_cast<T *>(const_cast<std::byte *>(address))).load(order);
}

template <typename T>
void store(std::vector<std::byte> &bytes, std::size_t offset, T value)
{
	std::memcpy(bytes.data() + offset, &value, sizeof(value));
}

void copy(std::vector<std::byte> &to, std::size_t offset, const std::byte *from, std::size_t count)
{
	for (std::size_t i = 0; i < count; i++)
		to[offset + i] = load<std::byte>(from + i);
}


// Each count before what it counts, as any reader; but sfh_fre_len behind {size, fre_off}: a retarget stores the
// length first, so that no entry of the copy leads behind the copy's end. A section that was let go meanwhile may hold
// anything, so that every offset is read once and checked against `bound`; empty: it did.
std::vector<std::byte> copy_section(const std::byte *section, std::size_t bound)
{
	const std::size_t num_fdes = load<std::uint32_t>(section + at_num_fdes, std::memory_order_acquire);
	const std::size_t header_end = header_bytes + load<std::uint8_t>(section + at_aux_len);
	const std::size_t index = header_end + load<std::uint32_t>(section + at_fdeoff);
	const std::size_t rows = header_end + load<std::uint32_t>(section + at_freoff);

	if (rows > bound || index + num_fdes * entry_bytes > rows)
		return {};
	std::vector<std::byte> bytes(rows);
	copy(bytes, 0, section, index);
	for (std::size_t entry = index; entry < index + num_fdes * entry_bytes; entry += entry_bytes) {
		store(bytes, entry, load<std::uint64_t>(section + entry));
		store(bytes, entry + 8, load<std::uint64_t>(section + entry + 8, std::memory_order_acquire));
	}
	const std::size_t fre_len = load<std::uint32_t>(section + at_fre_len);
	if (rows + fre_len > bound)
		return {};
	bytes.resize(rows + fre_len);
	copy(bytes, rows, section + rows, fre_len);
	store(bytes, at_num_fdes, static_cast<std::uint32_t>(num_fdes));
	store(bytes, at_num_fres, load<std::uint32_t>(section + at_num_fres));
	store(bytes, at_fre_len, static_cast<std::uint32_t>(fre_len));
	return bytes;
}

struct Copy {
	std::uint64_t live;
	std::vector<std::byte> bytes;
};

// Until live did not change meanwhile (I3).
Copy copy_live(const jitsframe::Area &area, std::uint64_t &restarts)
{
	const auto *base = static_cast<const std::byte *>(area.address());
	const std::byte *at_live = base + offsetof(jit_sframe_area, live);

	for (;;) {
		const auto live = load<std::uint64_t>(at_live, std::memory_order_acquire);
		const std::uint32_t offset = JIT_SFRAME_LIVE_OFFSET(live);

		if (!offset) // Nothing is published yet.
			continue;
		Copy made{live, copy_section(base + offset, area.size() - offset)};
		std::atomic_thread_fence(std::memory_order_acquire);
		if (load<std::uint64_t>(at_live) == live)
			return made;
		restarts++;
	}
}

jitsframe::FrameRows rows_of(std::uint32_t slot, std::uint32_t version)
{
	const auto frame = static_cast<std::int32_t>(16 + 8 * (slot % 64) + 8 * version);
	jitsframe::FrameRows rows(jitsframe::x86_64::abi);

	rows.clear_rows();
	rows.row({.offset = 0, .cfa = jitsframe::Rule::in_reg(jitsframe::x86_64::rsp, 8)});
	rows.row({.offset = 2 + version, .cfa = jitsframe::Rule::in_reg(jitsframe::x86_64::rsp, frame)});
	return rows;
}

// Slots first, first + step, ... belong to this thread alone.
void produce(jitsframe::Area &area, std::uint32_t first, std::uint32_t step, std::uint64_t seed, const std::atomic<bool> &stop,
	     std::atomic<bool> &failed)
{
	std::mt19937_64 random(seed);
	std::vector<bool> alive(slots);

	while (!stop.load(std::memory_order_relaxed)) {
		const auto slot = static_cast<std::uint32_t>(first + random() % (slots / step) * step);
		const auto version = static_cast<std::uint32_t>(random() % versions);
		const std::uint64_t start = text_start + std::uint64_t{slot} * slot_bytes;
		jitsframe::Error error;

		if (!alive[slot]) {
			error = area.publish(start, 40 + version, rows_of(slot, version));
			alive[slot] = true;
		} else if (random() % 2) {
			error = area.replace(start, 40 + version, rows_of(slot, version));
		} else {
			error = area.retire(start);
			alive[slot] = false;
		}
		if (error) {
			char text[200];

			error.format(text, sizeof(text));
			std::fprintf(stderr, "slot %" PRIu32 ": %s\n", slot, text);
			failed = true;
			return;
		}
	}
}

bool write_file(const std::string &path, const std::vector<std::byte> &bytes)
{
	std::FILE *file = std::fopen(path.c_str(), "wb");
	const bool written = file && std::fwrite(bytes.data(), 1, bytes.size(), file) == bytes.size();

	return file && std::fclose(file) == 0 && written;
}

bool take_copies(const jitsframe::Area &area, unsigned count, std::uint64_t seed, const std::string &directory,
		 const std::atomic<bool> &failed)
{
	std::mt19937_64 random(seed);
	std::set<std::uint64_t> generations;
	std::uint64_t restarts = 0;

	for (unsigned i = 0; i < count && !failed; i++) {
		const Copy made = copy_live(area, restarts);
		const auto address = reinterpret_cast<std::uint64_t>(area.address()) + JIT_SFRAME_LIVE_OFFSET(made.live);
		char name[64];

		generations.insert(JIT_SFRAME_LIVE_GENERATION(made.live));
		std::snprintf(name, sizeof(name), "/%u-%" PRIx64 ".sframe", i, address);
		if (!write_file(directory + name, made.bytes)) {
			std::perror(name);
			return false;
		}
		std::this_thread::sleep_for(std::chrono::microseconds(random() % 3000));
	}
	std::printf("generations %zu\nrestarts %" PRIu64 "\n", generations.size(), restarts);
	return !failed;
}

} // namespace

int main(int argc, char **argv)
{
	if (argc != 4) {
		std::fprintf(stderr, "usage: %s SEED COUNT DIRECTORY\n", argv[0]);
		return 2;
	}
	const auto seed = std::strtoull(argv[1], nullptr, 0);
	jitsframe::AreaOptions options;
	options.text_start = text_start;
	options.text_size = std::uint64_t{slots} * slot_bytes;
	options.initial_functions = 16;
	options.producers = jitsframe::Producers::several;
	options.register_with_kernel = false;
	options.abi = &jitsframe::x86_64::abi;
	auto area = jitsframe::Area::create(options);
	if (!area) {
		std::fprintf(stderr, "no area: %s\n", area.error().why);
		return 1;
	}
	std::atomic<bool> stop{false}, failed{false};
	std::thread even([&] { produce(*area, 0, 2, seed, stop, failed); });
	std::thread odd([&] { produce(*area, 1, 2, seed + 1, stop, failed); });
	const bool taken = take_copies(*area, static_cast<unsigned>(std::atoi(argv[2])), seed + 2, argv[3], failed);
	stop = true;
	even.join();
	odd.join();

	const jitsframe::AreaStats stats = area->stats();
	std::printf("appends %" PRIu64 "\nretargets %" PRIu64 "\nretires %" PRIu64 "\nflips %" PRIu64 "\n", stats.appends,
		    stats.retargets, stats.retires, stats.flips);
	return taken ? 0 : 1;
}
