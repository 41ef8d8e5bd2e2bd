// SPDX-License-Identifier: MIT
/* What perf would read, read back by a reader that knows only the specification. */
#include <jitsframe/symbols.hpp>

#include "returns.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

using namespace jitsframe;

namespace {

/* Not operator+: GCC 12 takes what it inlines of it for an overlapping copy (its bug 105651). */
std::string numbered(const char *name, std::uint64_t number)
{
	return std::string(name).append(std::to_string(number));
}


/* --- a reader of jitdump-specification.txt; shares nothing with the writer ------ */

class Bytes {
public:
	explicit Bytes(std::string bytes) : bytes_(std::move(bytes)) {}

	template <typename T>
	T number()
	{
		T value = {};

		if (bytes_.size() - at_ < sizeof(T)) {
			ADD_FAILURE() << "cut off at " << at_;
			at_ = bytes_.size();
			return value;
		}
		std::memcpy(&value, bytes_.data() + at_, sizeof(T));
		at_ += sizeof(T);
		return value;
	}
	std::uint32_t u32() { return number<std::uint32_t>(); }
	std::uint64_t u64() { return number<std::uint64_t>(); }
	std::string text()
	{
		const std::string found = bytes_.c_str() + at_;

		at_ += found.size() + 1;
		return found;
	}
	std::string rest()
	{
		std::string found = bytes_.substr(at_);

		at_ = bytes_.size();
		return found;
	}
	Bytes part(std::size_t size)
	{
		EXPECT_LE(size, bytes_.size() - at_);
		Bytes found(bytes_.substr(at_, size));

		at_ += size;
		return found;
	}
	[[nodiscard]] bool at_end() const { return at_ >= bytes_.size(); }

private:
	std::string bytes_;
	std::size_t at_ = 0;
};

struct Line {
	std::uint64_t address;
	std::uint32_t line, discriminator;
	std::string file;

	bool operator==(const Line &) const = default;
};

struct Load {
	std::uint64_t time, start, size, index;
	std::uint32_t tid;
	std::string name, code;
	std::vector<Line> lines;
};

struct Move {
	std::uint64_t time, from, to, size, index;
};

struct Dump {
	std::vector<Load> loads;
	std::vector<Move> moves;
	std::uint64_t made = 0, closed = 0;

	/* Which function was at `address` at `time`, as perf inject would have it. */
	[[nodiscard]] std::string name_at(std::uint64_t address, std::uint64_t time) const
	{
		std::string name;
		std::uint64_t latest = 0;

		for (const Load &load : loads)
			if (load.time <= time && load.time >= latest && address >= load.start &&
			    address < load.start + load.size) {
				name = load.name;
				latest = load.time;
			}
		return name;
	}
};

std::string contents(std::string_view path)
{
	std::ifstream file{std::string(path), std::ios::binary};
	std::stringstream all;

	all << file.rdbuf();
	return all.str();
}

void read_header(Bytes &file, Dump &dump)
{
	EXPECT_EQ(file.u32(), 0x4a695444u);
	EXPECT_EQ(file.u32(), 1u);
	EXPECT_EQ(file.u32(), 40u);
#if defined(__x86_64__)
	EXPECT_EQ(file.u32(), 62u);
#else
	EXPECT_EQ(file.u32(), 183u);
#endif
	EXPECT_EQ(file.u32(), 0u);
	EXPECT_EQ(file.u32(), static_cast<std::uint32_t>(getpid()));
	dump.made = file.u64();
	EXPECT_EQ(file.u64(), 0u);
}

std::vector<Line> read_lines(Bytes &record)
{
	std::vector<Line> lines;
	std::uint64_t n;

	record.u64();
	for (n = record.u64(); n; n--) {
		Line line = {record.u64(), record.u32(), record.u32(), ""};
		line.file = record.text();
		lines.push_back(line);
	}
	EXPECT_TRUE(record.at_end());
	return lines;
}

Load read_load(Bytes &record, std::uint64_t time)
{
	Load load = {};

	load.time = time;
	EXPECT_EQ(record.u32(), static_cast<std::uint32_t>(getpid()));
	load.tid = record.u32();
	load.start = record.u64();
	EXPECT_EQ(record.u64(), load.start);
	load.size = record.u64();
	load.index = record.u64();
	load.name = record.text();
	load.code = record.rest();
	EXPECT_EQ(load.code.size(), load.size);
	return load;
}

Move read_move(Bytes &record, std::uint64_t time)
{
	Move move = {};

	move.time = time;
	EXPECT_EQ(record.u32(), static_cast<std::uint32_t>(getpid()));
	record.u32();
	move.to = record.u64();
	move.from = record.u64();
	EXPECT_EQ(record.u64(), move.to);
	move.size = record.u64();
	move.index = record.u64();
	EXPECT_TRUE(record.at_end());
	return move;
}

Dump read_dump(std::string_view path)
{
	Bytes file(contents(path));
	Dump dump;
	std::vector<Line> lines;

	read_header(file, dump);
	while (!file.at_end()) {
		const std::uint32_t id = file.u32(), size = file.u32();
		const std::uint64_t time = file.u64();
		EXPECT_GE(size, 16u);
		Bytes record = file.part(size - 16);

		EXPECT_EQ(dump.closed, 0u) << "a record behind the close record";
		EXPECT_GE(time, dump.made);
		switch (id) {
		case 0:
			dump.loads.push_back(read_load(record, time));
			dump.loads.back().lines = std::exchange(lines, {});
			break;
		case 1:
			dump.moves.push_back(read_move(record, time));
			break;
		case 2:
			lines = read_lines(record);
			break;
		case 3:
			dump.closed = time;
			break;
		default:
			ADD_FAILURE() << "record " << id;
		}
	}
	EXPECT_TRUE(lines.empty()) << "debug info that no load follows";
	return dump;
}

struct MapLine {
	std::uint64_t start, size;
	std::string name;

	bool operator==(const MapLine &) const = default;
};

std::vector<MapLine> read_map(std::string_view path)
{
	std::istringstream file(contents(path));
	std::vector<MapLine> lines;
	std::string line;

	while (std::getline(file, line)) {
		char *end;
		MapLine found;

		found.start = std::strtoull(line.c_str(), &end, 16);
		EXPECT_EQ(*end, ' ');
		found.size = std::strtoull(end + 1, &end, 16);
		EXPECT_EQ(*end, ' ');
		found.name = end + 1;
		lines.push_back(found);
	}
	return lines;
}

/* --- what is tested ---------------------------------------------------------------- */

std::uint64_t now()
{
	timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return static_cast<std::uint64_t>(time.tv_sec) * 1000000000u +
	       static_cast<std::uint64_t>(time.tv_nsec);
}

class Names : public testing::Test {
protected:
	Names()
	{
		char name[] = "/tmp/jitsframe-names-XXXXXX";

		directory = mkdtemp(name);
		options.map_directory = directory;
		options.dump_directory = directory;
		options.jitdump = true;
	}
	~Names() override
	{
		for (const char *name : {"perf-%d.map", "jit-%d.dump"}) {
			char file[64];

			std::snprintf(file, sizeof(file), name, static_cast<int>(getpid()));
			unlink((directory + "/" + file).c_str());
		}
		rmdir(directory.c_str());
	}
	[[nodiscard]] Symbols make() { return std::move(Symbols::create(options)).value(); }

	std::string directory;
	SymbolsOptions options;
	const std::vector<std::byte> code = std::vector<std::byte>(100, std::byte{0x90});
	/* A function at an address of ours, of `size` bytes. */
	[[nodiscard]] LoadedCode at(std::uint64_t start, std::string_view name, std::uint64_t size = 100) const
	{
		return {start, size, name, code.data(), {}};
	}
};

TEST_F(Names, BothFilesSayTheSame)
{
	Symbols symbols = make();
	const std::uint64_t before = now();

	const auto first = symbols.load(at(0x10000, "first"));
	const auto second = symbols.load(at(0x20000, "second [opt]", 7));
	ASSERT_TRUE(first && second);
	EXPECT_NE(*first, *second);
	EXPECT_FALSE(symbols.move(*first, 0x30000, at(0x10000, "first")));
	EXPECT_FALSE(symbols.close());

	EXPECT_EQ(read_map(symbols.map_path()),
		  (std::vector<MapLine>{{0x10000, 100, "first"},
					{0x20000, 7, "second [opt]"},
					{0x30000, 100, "first"}}));

	const Dump dump = read_dump(symbols.dump_path());
	ASSERT_EQ(dump.loads.size(), 2u);
	EXPECT_EQ(dump.loads[0].name, "first");
	EXPECT_EQ(dump.loads[0].start, 0x10000u);
	EXPECT_EQ(dump.loads[0].index, *first);
	EXPECT_EQ(dump.loads[0].tid, static_cast<std::uint32_t>(syscall(SYS_gettid)));
	EXPECT_EQ(dump.loads[0].code, std::string(100, '\x90'));
	EXPECT_GE(dump.loads[0].time, before);
	EXPECT_LE(dump.loads[0].time, dump.loads[1].time);
	EXPECT_EQ(dump.loads[1].size, 7u);
	ASSERT_EQ(dump.moves.size(), 1u);
	EXPECT_EQ(dump.moves[0].index, *first);
	EXPECT_EQ(dump.moves[0].from, 0x10000u);
	EXPECT_EQ(dump.moves[0].to, 0x30000u);
	EXPECT_EQ(dump.moves[0].size, 100u);
	EXPECT_GE(dump.closed, dump.moves[0].time);
	EXPECT_LE(dump.closed, now());

	const SymbolStats stats = symbols.stats();
	EXPECT_EQ(stats.recorded, 3u);
	EXPECT_EQ(stats.written, 3u);
	EXPECT_EQ(stats.dropped + stats.lost, 0u);
}

TEST_F(Names, LinesComeBeforeTheirFunction)
{
	Symbols symbols = make();
	const SourceLine lines[] = {{0, 10, "a.js"}, {4, 11, "a.js", 3}, {40, 7, "lib/b.js"}};
	LoadedCode with = at(0x1000, "with");

	with.lines = lines;
	ASSERT_TRUE(symbols.load(with));
	ASSERT_TRUE(symbols.load(at(0x2000, "without")));
	EXPECT_FALSE(symbols.close());

	const Dump dump = read_dump(symbols.dump_path());
	ASSERT_EQ(dump.loads.size(), 2u);
	EXPECT_EQ(dump.loads[0].lines, (std::vector<Line>{{0x1000, 10, 0, "a.js"},
							  {0x1004, 11, 3, "a.js"},
							  {0x1028, 7, 0, "lib/b.js"}}));
	EXPECT_TRUE(dump.loads[1].lines.empty());
}

/* Where a perf map has two names and no way to choose. */
TEST_F(Names, ReuseOfAddressesIsKeptApartByTime)
{
	Symbols symbols = make();
	std::vector<std::uint64_t> times;
	std::set<std::uint64_t> indices;

	for (int i = 0; i < 50; i++) {
		const auto index = symbols.load(at(0x4000, numbered("round", i)));

		ASSERT_TRUE(index);
		indices.insert(*index);
		times.push_back(now());
	}
	EXPECT_FALSE(symbols.close());
	EXPECT_EQ(indices.size(), 50u);

	const Dump dump = read_dump(symbols.dump_path());
	for (std::size_t i = 0; i < 50; i++)
		EXPECT_EQ(dump.name_at(0x4010, times[i]), numbered("round", i));
	EXPECT_EQ(read_map(symbols.map_path()).size(), 50u);
}

TEST_F(Names, NamesCannotBreakTheFiles)
{
	Symbols symbols = make();
	const std::string_view cut("one\0two", 7);

	ASSERT_TRUE(symbols.load(at(0x1000, "evil\nffff 10 other\x7f\t")));
	ASSERT_TRUE(symbols.load(at(0x2000, cut)));
	ASSERT_TRUE(symbols.load(at(0x3000, "")));
	ASSERT_TRUE(symbols.load(at(0x4000, "größe λ")));
	EXPECT_FALSE(symbols.close());

	const std::vector<MapLine> lines = read_map(symbols.map_path());
	const Dump dump = read_dump(symbols.dump_path());
	ASSERT_EQ(lines.size(), 4u);
	ASSERT_EQ(dump.loads.size(), 4u);
	const char *names[] = {"evil_ffff 10 other__", "one", "", "größe λ"};
	for (std::size_t i = 0; i < 4; i++) {
		EXPECT_EQ(lines[i].name, names[i]);
		EXPECT_EQ(dump.loads[i].name, names[i]);
	}
}

TEST_F(Names, FlushIsEnoughForReaders)
{
	for (const bool background : {true, false}) {
		options.background = background;
		Symbols symbols = make();

		for (std::uint64_t i = 0; i < 1000; i++) {
			ASSERT_TRUE(symbols.load(at(0x1000 + i * 256, numbered("f", i))));
			if (i % 100 == 99) {
				EXPECT_FALSE(symbols.flush());
				ASSERT_EQ(read_map(symbols.map_path()).size(), i + 1);
				ASSERT_EQ(read_dump(symbols.dump_path()).loads.size(), i + 1);
			}
		}
	}
}

/* Nobody flushes: the writer does, in its time. */
TEST_F(Names, TheWriterWritesByItself)
{
	Symbols symbols = make();

	for (int round = 0; round < 3; round++) {
		ASSERT_TRUE(symbols.load(at(0x1000, "function")));
		for (int i = 0; i < 2000 && symbols.stats().written <= static_cast<std::uint64_t>(round); i++)
			usleep(5000);
		EXPECT_EQ(symbols.stats().written, static_cast<std::uint64_t>(round) + 1);
	}
}

/* perf finds the file by an executable mapping of it. */
TEST_F(Names, TheMarkerIsMappedExecutable)
{
	const auto marked = [&](std::string_view path) {
		std::istringstream maps(contents("/proc/self/maps"));
		std::string line;

		while (std::getline(maps, line))
			if (line.ends_with(path))
				return line.find(" r-xp 00000000 ") != std::string::npos;
		return false;
	};
	Symbols symbols = make();
	const std::string path(symbols.dump_path());
	struct stat status;

	EXPECT_TRUE(path.ends_with("/jit-" + std::to_string(getpid()) + ".dump"));
	EXPECT_TRUE(marked(path));
	ASSERT_EQ(stat(path.c_str(), &status), 0);
	EXPECT_EQ(status.st_mode & 0777, 0600u);
	EXPECT_FALSE(symbols.close());
	EXPECT_FALSE(marked(path));
}

TEST_F(Names, AFullBufferIsCountedNotWaitedFor)
{
	options.background = false;
	options.buffer_bytes = 1;
	Symbols symbols = make();
	std::uint64_t kept = 0, dropped = 0;

	for (std::uint64_t i = 0; i < 2000; i++) {
		const auto loaded = symbols.load(at(0x1000, "function"));

		if (!loaded) {
			EXPECT_EQ(loaded.error().code, Code::no_memory);
		}
		(loaded ? kept : dropped)++;
	}
	EXPECT_GT(kept, 100u);
	EXPECT_GT(dropped, 100u);
	EXPECT_EQ(symbols.stats().dropped, dropped);
	EXPECT_FALSE(symbols.flush());
	EXPECT_TRUE(symbols.load(at(0x1000, "function")));
	EXPECT_FALSE(symbols.close());
	EXPECT_EQ(read_dump(symbols.dump_path()).loads.size(), kept + 1);
	EXPECT_EQ(symbols.stats().written, kept + 1);
}

TEST_F(Names, OrIsWaitedFor)
{
	options.background = false;
	options.buffer_bytes = 1;
	options.when_full = WhenFull::wait;
	Symbols symbols = make();

	for (std::uint64_t i = 0; i < 2000; i++)
		ASSERT_TRUE(symbols.load(at(0x1000, "function")));
	EXPECT_GT(symbols.stats().direct, 1u);
	EXPECT_FALSE(symbols.close());
	EXPECT_EQ(read_dump(symbols.dump_path()).loads.size(), 2000u);
	EXPECT_EQ(symbols.stats().dropped, 0u);
}

TEST_F(Names, CodeLargerThanTheBuffer)
{
	options.buffer_bytes = 1;
	Symbols symbols = make();
	const std::vector<std::byte> large(300000, std::byte{0x5a});

	ASSERT_TRUE(symbols.load(at(0x1000, "before")));
	ASSERT_TRUE(symbols.load({0x100000, large.size(), "large", large.data(), {}}));
	ASSERT_TRUE(symbols.load(at(0x2000, "behind")));
	EXPECT_FALSE(symbols.close());

	const Dump dump = read_dump(symbols.dump_path());
	ASSERT_EQ(dump.loads.size(), 3u);
	EXPECT_EQ(dump.loads[1].name, "large");
	EXPECT_EQ(dump.loads[1].code, std::string(300000, '\x5a'));
	EXPECT_EQ(symbols.stats().direct, 1u);
}

TEST_F(Names, ManyThreads)
{
	constexpr std::uint64_t threads = 4, each = 3000;
	options.buffer_bytes = 1;
	options.when_full = WhenFull::wait;
	Symbols symbols = make();
	std::vector<std::thread> running;
	std::atomic<std::uint64_t> failures{0};

	for (std::uint64_t t = 0; t < threads; t++)
		running.emplace_back([&, t] {
			for (std::uint64_t i = 0; i < each; i++) {
				const std::uint64_t start = (t * each + i) * 256;
				const std::string name = numbered("f", start);

				failures += !symbols.load(at(start, name, 1 + i % 100));
				if (i % 512 == 0)
					failures += bool(symbols.flush());
			}
		});
	for (std::thread &thread : running)
		thread.join();
	EXPECT_FALSE(symbols.close());
	EXPECT_EQ(failures, 0u);

	const Dump dump = read_dump(symbols.dump_path());
	std::set<std::uint64_t> starts, indices;
	std::map<std::uint32_t, std::uint64_t> by_thread;
	ASSERT_EQ(dump.loads.size(), threads * each);
	for (const Load &load : dump.loads) {
		EXPECT_EQ(load.name, numbered("f", load.start));
		/* What one thread says stays in its order. */
		EXPECT_LE(by_thread[load.tid], load.time);
		by_thread[load.tid] = load.time;
		starts.insert(load.start);
		indices.insert(load.index);
	}
	EXPECT_EQ(starts.size(), threads * each);
	EXPECT_EQ(indices.size(), threads * each);
	EXPECT_EQ(by_thread.size(), threads);
	EXPECT_EQ(read_map(symbols.map_path()).size(), threads * each);
}

/* A disk that is full: the file ends at a whole record, and what is missing is counted. */
TEST_F(Names, AFailedWriteIsCounted)
{
	const pid_t child = fork();

	if (!child) {
		const rlimit limit = {40000, 40000};

		signal(SIGXFSZ, SIG_IGN);
		options.background = false;
		Result<Symbols> symbols = Symbols::create(options);
		if (!symbols || setrlimit(RLIMIT_FSIZE, &limit))
			_exit(1);
		for (int i = 0; i < 1000; i++) {
			if (!symbols->load(at(0x1000, "function")))
				_exit(2);
			if (i % 50 == 49)
				(void)symbols->flush();
		}
		const Error error = symbols->flush();
		const SymbolStats stats = symbols->stats();
		if (error.code != Code::system || error.os_errno != EFBIG || stats.os_errno != EFBIG)
			_exit(3);
		if (!stats.lost || stats.written + stats.lost != 1000 || stats.recorded != 1000)
			_exit(4);
		(void)symbols->close();
		const Dump dump = read_dump(symbols->dump_path());
		const bool whole = !testing::Test::HasFailure() && dump.loads.size() == stats.written;
		unlink(std::string(symbols->dump_path()).c_str());
		unlink(std::string(symbols->map_path()).c_str());
		_exit(whole ? 0 : 5);
	}
	int status = -1;
	waitpid(child, &status, 0);
	EXPECT_TRUE(WIFEXITED(status));
	EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST_F(Names, AChildWritesNothing)
{
	Symbols symbols = make();

	ASSERT_TRUE(symbols.load(at(0x1000, "parent")));
	const pid_t child = fork();
	if (!child) {
		const bool refuses = symbols.load(at(0x2000, "child")).error().code == Code::unsupported &&
				     symbols.flush().code == Code::unsupported;
		{
			const Symbols gone = std::move(symbols);
		}
		_exit(refuses ? 0 : 1);
	}
	int status = -1;
	waitpid(child, &status, 0);
	EXPECT_EQ(status, 0);
	EXPECT_FALSE(symbols.close());
	EXPECT_EQ(read_dump(symbols.dump_path()).loads.size(), 1u);
}

TEST_F(Names, ErrorsSayWhy)
{
	{
		Symbols symbols = make();

		EXPECT_EQ(Symbols::create(options).error().code, Code::invalid_argument);
		EXPECT_EQ(symbols.load(at(0x1000, "empty", 0)).error().code, Code::invalid_argument);
		EXPECT_FALSE(symbols.close());
		EXPECT_FALSE(symbols.close());
		EXPECT_EQ(symbols.load(at(0x1000, "late")).error().code, Code::unsupported);
		EXPECT_EQ(symbols.flush().code, Code::unsupported);
	}
	options.map_directory = "/nonexistent/directory";
	EXPECT_EQ(Symbols::create(options).error().os_errno, ENOENT);
	const std::string long_path(5000, 'x');
	options.map_directory = long_path;
	EXPECT_EQ(Symbols::create(options).error().code, Code::invalid_argument);
	options.perf_map = options.jitdump = false;
	EXPECT_EQ(Symbols::create(options).error().code, Code::invalid_argument);
}

/* Somebody left a link where the file will be: it is removed, not followed. */
TEST_F(Names, LinksAreNotFollowed)
{
	const std::string victim = directory + "/victim";
	const std::string link = directory + "/perf-" + std::to_string(getpid()) + ".map";

	std::ofstream(victim) << "precious";
	ASSERT_EQ(symlink(victim.c_str(), link.c_str()), 0);
	{
		Symbols symbols = make();
		ASSERT_TRUE(symbols.load(at(0x1000, "function")));
	}
	EXPECT_EQ(contents(victim), "precious");
	EXPECT_EQ(read_map(link).size(), 1u);
	unlink(victim.c_str());
}

TEST_F(Names, FunctionsTellTheirNames)
{
	Symbols symbols = make();
	const CodeObserver observer = symbols.observer();
	CodeMemory memory = std::move(CodeMemory::create()).value();
	std::uint64_t first = 0;

	for (std::uint32_t i = 0; i < 3; i++) {
		const auto bytes = returns::code(i);
		const std::string name = numbered("made", i);
		FunctionText text;

		text.bytes = bytes;
		text.name = name;
		Result<LiveFunction> function = LiveFunction::create(memory, text, {nullptr, &observer});
		ASSERT_TRUE(function);
		first = function->start();
	}
	EXPECT_FALSE(symbols.close());

	const Dump dump = read_dump(symbols.dump_path());
	ASSERT_EQ(dump.loads.size(), 3u);
	for (std::uint32_t i = 0; i < 3; i++) {
		const auto bytes = returns::code(i);

		EXPECT_EQ(dump.loads[i].start, first);
		EXPECT_EQ(dump.loads[i].name, numbered("made", i));
		EXPECT_EQ(std::memcmp(dump.loads[i].code.data(), bytes.data(), bytes.size()), 0);
	}
}

/* What it costs the JIT. Only told: a machine that does other things has no bound. */
TEST_F(Names, CostOfALoad)
{
	for (const bool dump : {false, true}) {
		constexpr std::uint64_t count = 20000;
		options.jitdump = dump;
		options.buffer_bytes = 64 << 20;
		Symbols symbols = make();
		const std::uint64_t start = now();

		for (std::uint64_t i = 0; i < count; i++)
			ASSERT_TRUE(symbols.load(at(0x1000 + i * 128, "a_function_of_some_name")));
		const std::uint64_t end = now();
		std::printf("[ figures  ] %s: %llu ns for each load\n",
			    dump ? "perf map and jitdump" : "perf map",
			    static_cast<unsigned long long>((end - start) / count));
		EXPECT_FALSE(symbols.close());
		EXPECT_EQ(symbols.stats().written, count);
	}
}

} // namespace
