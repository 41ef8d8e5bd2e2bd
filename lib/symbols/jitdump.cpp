// SPDX-License-Identifier: MIT
/* jitdump-specification.txt, version 2 of the text, version 1 of the file. */
#include "jitdump.hpp"

#include "host.hpp"

#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

namespace jitsframe {

namespace {

struct FileHeader {
	std::uint32_t magic;
	std::uint32_t version;
	std::uint32_t total_size;
	std::uint32_t elf_mach;
	std::uint32_t pad1;
	std::uint32_t pid;
	std::uint64_t timestamp;
	std::uint64_t flags;
};
static_assert(sizeof(FileHeader) == 40);

constexpr std::uint32_t magic = 0x4a695444; /* "JiTD" */
constexpr std::uint32_t version = 1;

enum RecordId : std::uint32_t { code_load = 0, code_move = 1, code_debug_info = 2, code_close = 3 };

struct Prefix {
	std::uint32_t id;
	std::uint32_t total_size;
	std::uint64_t timestamp;
};
static_assert(sizeof(Prefix) == 16);

struct CodeLoad {
	Prefix prefix;
	std::uint32_t pid;
	std::uint32_t tid;
	std::uint64_t vma;
	std::uint64_t code_addr;
	std::uint64_t code_size;
	std::uint64_t code_index;
};
static_assert(sizeof(CodeLoad) == 56);

struct CodeMove {
	Prefix prefix;
	std::uint32_t pid;
	std::uint32_t tid;
	std::uint64_t vma;
	std::uint64_t old_code_addr;
	std::uint64_t new_code_addr;
	std::uint64_t code_size;
	std::uint64_t code_index;
};
static_assert(sizeof(CodeMove) == 64);

struct DebugInfo {
	Prefix prefix;
	std::uint64_t code_addr;
	std::uint64_t nr_entry;
};
static_assert(sizeof(DebugInfo) == 32);

struct DebugEntry {
	std::uint64_t addr;
	std::uint32_t line;
	std::uint32_t discrim;
};
static_assert(sizeof(DebugEntry) == 16);

/* What is written ends at a NUL, whatever came with it. */
std::string_view until_nul(std::string_view text) noexcept
{
	return text.substr(0, text.find('\0'));
}

std::uint32_t pid() noexcept
{
	return static_cast<std::uint32_t>(getpid());
}

void put_load(OutFile &file, const Record &record) noexcept
{
	const Record::Fixed &f = record.fixed;
	const std::size_t total = sizeof(CodeLoad) + record.name.size() + 1 + record.bytes.size();
	const CodeLoad load = {{code_load, static_cast<std::uint32_t>(total), f.time},
			       pid(), f.tid, f.start, f.start, f.size, f.index};

	file.put(&load, sizeof(load));
	file.put(record.name.data(), record.name.size());
	file.put("", 1);
	file.put(record.bytes.data(), record.bytes.size());
}

/* perf takes the lines for the next JIT_CODE_LOAD. */
void put_lines(OutFile &file, const Record &record) noexcept
{
	const std::size_t total = sizeof(DebugInfo) + record.lines.size();
	const DebugInfo info = {{code_debug_info, static_cast<std::uint32_t>(total), record.fixed.time},
				record.fixed.start, record.fixed.line_count};

	file.put(&info, sizeof(info));
	file.put(record.lines.data(), record.lines.size());
}

void put_move(OutFile &file, const Record::Fixed &f) noexcept
{
	const CodeMove move = {{code_move, sizeof(CodeMove), f.time},
			       pid(), f.tid, f.start, f.old_start, f.start, f.size, f.index};

	file.put(&move, sizeof(move));
}

} // namespace

std::uint64_t Jitdump::now() noexcept
{
	timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return static_cast<std::uint64_t>(time.tv_sec) * 1000000000u +
	       static_cast<std::uint64_t>(time.tv_nsec);
}

Error Jitdump::open(std::string_view directory) noexcept
{
	const FileHeader header = {magic,  version, sizeof(FileHeader), host::elf_machine, 0, pid(),
				   now(),  0};

	if (Error error = file.open(directory, "jit-", ".dump"))
		return error;
	file.put(&header, sizeof(header));
	if (!file.flush())
		return {Code::system, file.os_errno(), "open jitdump", "the header cannot be written", 0};
	return map_marker();
}

/*
 * perf record sees executable mappings go by, or finds them in /proc/PID/maps,
 * and takes the name of this one for where the file is. It has a descriptor of
 * its own: the one that is written cannot be read.
 */
Error Jitdump::map_marker() noexcept
{
	const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
	const int fd = ::open(file.path().data(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	void *marker = fd < 0 ? MAP_FAILED
			      : mmap(nullptr, page, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
	const int error = errno;

	if (fd >= 0)
		::close(fd);
	if (marker == MAP_FAILED)
		return {Code::system, error, "open jitdump",
			"the directory allows no executable mapping, which perf looks for", 0};
	marker_ = marker;
	return {};
}

void Jitdump::unmap() noexcept
{
	if (marker_)
		munmap(marker_, static_cast<std::size_t>(sysconf(_SC_PAGESIZE)));
	marker_ = nullptr;
}

void Jitdump::put(const Record &record) noexcept
{
	if (record.fixed.kind == Record::Kind::move) {
		put_move(file, record.fixed);
	} else {
		if (!record.lines.empty())
			put_lines(file, record);
		put_load(file, record);
	}
	file.end_record();
}

void Jitdump::put_close(std::uint64_t time) noexcept
{
	const Prefix close = {code_close, sizeof(Prefix), time};

	file.put(&close, sizeof(close));
}

std::uint64_t Jitdump::line_bytes(std::span<const SourceLine> lines) noexcept
{
	std::uint64_t bytes = 0;

	for (const SourceLine &line : lines)
		bytes += sizeof(DebugEntry) + until_nul(line.file).size() + 1;
	return bytes;
}

void Jitdump::encode_lines(std::byte *to, std::uint64_t start,
			   std::span<const SourceLine> lines) noexcept
{
	for (const SourceLine &line : lines) {
		const DebugEntry entry = {start + line.offset, line.line, line.discriminator};
		const std::string_view file = until_nul(line.file);

		std::memcpy(to, &entry, sizeof(entry));
		to += sizeof(entry);
		std::memcpy(to, file.data(), file.size());
		to += file.size();
		*to++ = std::byte{0};
	}
}

} // namespace jitsframe
