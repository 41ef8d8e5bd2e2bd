// SPDX-License-Identifier: MIT
#include <jitsframe/symbols.hpp>

#include "../code/fork_mark.hpp"
#include "jitdump.hpp"
#include "perf_map.hpp"
#include "ring.hpp"
#include "sleeper.hpp"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <new>
#include <utility>

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace jitsframe {

namespace {

constexpr std::uint32_t smallest_buffer = 64 << 10;
constexpr std::uint32_t largest_buffer = 1u << 30;

Error failed(const char *what, Code code, const char *why) noexcept
{
	return {code, 0, what, why, 0};
}

std::string_view until_nul(std::string_view text) noexcept
{
	return text.substr(0, text.find('\0'));
}

std::string_view dump_directory(const SymbolsOptions &options) noexcept
{
	if (!options.dump_directory.empty())
		return options.dump_directory;

	const char *directory = secure_getenv("JITDUMPDIR");
	return directory && *directory ? directory : "/tmp";
}

/* gettid(), asked once by each thread; again in a child, whose number is another. */
std::uint32_t this_thread(std::uint64_t process) noexcept
{
	[[gnu::tls_model("initial-exec")]] constinit thread_local std::uint64_t asked_in = 0;
	[[gnu::tls_model("initial-exec")]] constinit thread_local std::uint32_t tid = 0;

	if (asked_in != process) {
		tid = static_cast<std::uint32_t>(syscall(SYS_gettid));
		asked_in = process;
	}
	return tid;
}

/* A file of the process, which one object at a time may have. */
class Claim {
public:
	explicit Claim(std::atomic<std::uint64_t> &owner) noexcept : owner_(owner) {}
	~Claim() { drop(); }

	/* A parent's claim is none of ours: its files have another PID. */
	[[nodiscard]] bool take(std::uint64_t process) noexcept
	{
		std::uint64_t now = owner_.load();

		mine_ = now != process && owner_.compare_exchange_strong(now, process) ? process : 0;
		return mine_;
	}
	void drop() noexcept
	{
		if (mine_)
			owner_.compare_exchange_strong(mine_, 0);
		mine_ = 0;
	}

private:
	std::atomic<std::uint64_t> &owner_;
	std::uint64_t mine_ = 0;
};

constinit std::atomic<std::uint64_t> map_owner{0}, dump_owner{0};

class NoSignals {
public:
	NoSignals() noexcept
	{
		sigset_t all;

		sigfillset(&all);
		pthread_sigmask(SIG_SETMASK, &all, &before_);
	}
	NoSignals(const NoSignals &) = delete;
	NoSignals &operator=(const NoSignals &) = delete;
	~NoSignals() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

private:
	sigset_t before_;
};

} // namespace

class Symbols::Impl {
public:
	Impl() noexcept = default;
	Impl(const Impl &) = delete;
	Impl &operator=(const Impl &) = delete;
	~Impl()
	{
		if (mark_.is_inherited())
			return;
		(void)close();
	}

	[[nodiscard]] Error open(const SymbolsOptions &options) noexcept;
	[[nodiscard]] Error record(Record::Fixed fixed, const LoadedCode &code) noexcept;
	[[nodiscard]] Error flush() noexcept;
	[[nodiscard]] Error close() noexcept;
	[[nodiscard]] SymbolStats stats() noexcept;
	[[nodiscard]] std::uint64_t next_index() noexcept { return index_.fetch_add(1) + 1; }

	OutFile map;
	Jitdump dump;

private:
	[[nodiscard]] Error open_files(const SymbolsOptions &options) noexcept;
	[[nodiscard]] Error start_writer() noexcept;
	void stop_writer() noexcept;
	static void *writer(void *self) noexcept;
	void write_in_background() noexcept;

	[[nodiscard]] Error usable(const char *what) const noexcept;
	[[nodiscard]] std::byte *reserve(std::uint64_t bytes) noexcept;
	void write_direct(const Record &record) noexcept;
	void drain() noexcept;
	void drain_locked() noexcept;
	void put(const Record &record) noexcept;
	[[nodiscard]] bool flush_files() noexcept;

	/* Of the files, and of the consumer's side of the ring. */
	std::mutex mutex_;
	ForkMark mark_;
	Claim map_claim_{map_owner};
	Claim dump_claim_{dump_owner};
	Ring ring_;
	Sleeper sleeper_;
	pthread_t thread_{};
	bool has_thread_ = false;
	bool wait_ = false;
	std::atomic<bool> closed_{true};
	std::atomic<std::uint64_t> index_{0}, recorded_{0}, dropped_{0}, direct_{0};
	std::uint64_t taken_ = 0; /* Records that the files were given. */
};

namespace {

/* In the ring: Record::Fixed, lines, name, code. */
struct Layout {
	Layout(const Record::Fixed &f, bool has_bytes) noexcept
		: lines(sizeof(f)), name(lines + f.line_bytes), code(name + f.name_bytes),
		  end(code + (has_bytes ? f.size : 0))
	{
	}
	std::uint64_t lines, name, code, end;
};

/* A name must not end its line in the perf map, nor be two. */
void copy_name(std::byte *to, std::string_view name) noexcept
{
	std::transform(name.begin(), name.end(), reinterpret_cast<char *>(to), [](char c) {
		return static_cast<unsigned char>(c) < ' ' || c == 0x7f ? '_' : c;
	});
}

Record view(const std::byte *message) noexcept
{
	Record record = {};

	std::memcpy(&record.fixed, message, sizeof(record.fixed));
	const Record::Fixed &f = record.fixed;
	const Layout at(f, f.has_bytes);
	record.lines = {message + at.lines, f.line_bytes};
	record.name = {reinterpret_cast<const char *>(message + at.name), f.name_bytes};
	record.bytes = {message + at.code, at.end - at.code};
	return record;
}

} // namespace

Error Symbols::Impl::open(const SymbolsOptions &options) noexcept
{
	const std::uint32_t bytes =
		std::bit_ceil(std::clamp(options.buffer_bytes, smallest_buffer, largest_buffer));

	if (!options.perf_map && !options.jitdump)
		return failed("create symbols", Code::invalid_argument, "no file is asked for");
	if (!ring_.create(bytes))
		return failed("create symbols", Code::no_memory, "no memory");
	wait_ = options.when_full == WhenFull::wait;
	if (Error error = open_files(options))
		return error;
	closed_ = false;
	return options.background ? start_writer() : Error{};
}

Error Symbols::Impl::open_files(const SymbolsOptions &options) noexcept
{
	if ((options.perf_map && !map_claim_.take(mark_.process())) ||
	    (options.jitdump && !dump_claim_.take(mark_.process())))
		return failed("create symbols", Code::invalid_argument,
			      "this process writes that file already");
	if (options.perf_map)
		if (Error error = perf_map::open(map, options.map_directory))
			return error;
	if (options.jitdump)
		return dump.open(dump_directory(options));
	return {};
}

/* The writer must not take the signals that the program sends to itself. */
Error Symbols::Impl::start_writer() noexcept
{
	const NoSignals none;
	const int error = pthread_create(&thread_, nullptr, writer, this);

	if (error)
		return {Code::system, error, "create symbols", "no thread to write with", 0};
	pthread_setname_np(thread_, "jitsframe-names");
	has_thread_ = true;
	return {};
}

void Symbols::Impl::stop_writer() noexcept
{
	if (!has_thread_)
		return;
	sleeper_.stop();
	pthread_join(thread_, nullptr);
	has_thread_ = false;
}

void *Symbols::Impl::writer(void *self) noexcept
{
	static_cast<Impl *>(self)->write_in_background();
	return nullptr;
}

void Symbols::Impl::write_in_background() noexcept
{
	while (sleeper_.sleep([this] { return ring_.reserved() != ring_.consumed(); },
			      [this] { return ring_.is_half_full(); }, batch_milliseconds))
		drain();
}

void Symbols::Impl::put(const Record &record) noexcept
{
	if (map.is_open())
		perf_map::put(map, record);
	if (dump.file.is_open())
		dump.put(record);
	taken_++;
}

bool Symbols::Impl::flush_files() noexcept
{
	const bool map_is_good = !map.is_open() || map.flush();

	return (!dump.file.is_open() || dump.file.flush()) && map_is_good;
}

void Symbols::Impl::drain_locked() noexcept
{
	while (const std::byte *message = ring_.front()) {
		put(view(message));
		ring_.pop();
	}
	(void)flush_files();
}

void Symbols::Impl::drain() noexcept
{
	const std::lock_guard lock(mutex_);

	drain_locked();
}

void Symbols::Impl::write_direct(const Record &record) noexcept
{
	const std::lock_guard lock(mutex_);

	drain_locked();
	put(record);
	(void)flush_files();
}

Error Symbols::Impl::usable(const char *what) const noexcept
{
	if (mark_.is_inherited())
		return failed(what, Code::unsupported, "after a fork: the files are the parent's");
	if (closed_.load(std::memory_order_relaxed))
		return failed(what, Code::unsupported, "the files are closed");
	return {};
}

std::byte *Symbols::Impl::reserve(std::uint64_t bytes) noexcept
{
	std::byte *room = ring_.reserve(bytes);

	if (room || !wait_)
		return room;
	direct_++;
	while (!(room = ring_.reserve(bytes))) {
		drain();
		/* Another thread is between reserving and publishing. */
		sched_yield();
	}
	return room;
}

Error Symbols::Impl::record(Record::Fixed fixed, const LoadedCode &code) noexcept
{
	if (Error error = usable("record name"))
		return error;
	if (!code.size || code.size > UINT32_MAX)
		return failed("record name", Code::invalid_argument, "no code, or more than 4 GiB");

	const bool is_load = fixed.kind == Record::Kind::load;
	const std::string_view name = until_nul(code.name).substr(0, UINT16_MAX);
	const std::span<const SourceLine> lines =
		dump.file.is_open() && is_load ? code.lines : std::span<const SourceLine>{};
	const auto *bytes = code.bytes ? code.bytes : reinterpret_cast<const std::byte *>(code.start);

	fixed.time = Jitdump::now();
	fixed.tid = this_thread(mark_.process());
	fixed.size = code.size;
	fixed.line_count = static_cast<std::uint32_t>(lines.size());
	fixed.line_bytes = static_cast<std::uint32_t>(Jitdump::line_bytes(lines));
	fixed.name_bytes = static_cast<std::uint32_t>(name.size());
	fixed.has_bytes = dump.file.is_open() && is_load;

	const Layout at(fixed, fixed.has_bytes);
	const bool fits = at.end <= ring_.largest();
	std::unique_ptr<std::byte[]> own;
	std::byte *message;
	if (fits) {
		message = reserve(at.end);
	} else {
		/* The code is not copied: this thread writes it itself. */
		own.reset(new (std::nothrow) std::byte[at.code]);
		message = own.get();
	}
	if (!message) {
		dropped_.fetch_add(1, std::memory_order_relaxed);
		return failed("record name", Code::no_memory,
			      fits ? "the buffer is full" : "no memory for its lines");
	}

	std::memcpy(message, &fixed, sizeof(fixed));
	Jitdump::encode_lines(message + at.lines, fixed.start, lines);
	copy_name(message + at.name, name);
	if (fits) {
		if (fixed.has_bytes)
			std::memcpy(message + at.code, bytes, fixed.size);
		ring_.publish(message, at.end);
		sleeper_.wake([this] { return ring_.is_half_full(); });
	} else {
		Record record = {fixed, {message + at.lines, fixed.line_bytes},
				 {reinterpret_cast<char *>(message + at.name), fixed.name_bytes}, {}};

		if (fixed.has_bytes)
			record.bytes = {bytes, fixed.size};
		direct_++;
		write_direct(record);
	}
	recorded_.fetch_add(1, std::memory_order_relaxed);
	return {};
}

Error Symbols::Impl::flush() noexcept
{
	if (Error error = usable("flush names"))
		return error;

	const std::uint64_t end = ring_.reserved();
	for (;;) {
		drain();
		if (ring_.consumed() >= end)
			break;
		sched_yield();
	}

	const std::lock_guard lock(mutex_);
	const int error = map.os_errno() ? map.os_errno() : dump.file.os_errno();
	if (error)
		return {Code::system, error, "flush names", "a file could not be written", 0};
	return {};
}

Error Symbols::Impl::close() noexcept
{
	if (closed_)
		return {};

	stop_writer();
	const Error error = flush();
	closed_ = true;
	if (dump.file.is_open()) {
		dump.put_close(Jitdump::now());
		(void)dump.file.flush();
	}
	dump.unmap();
	dump.file.close();
	map.close();
	map_claim_.drop();
	dump_claim_.drop();
	return error;
}

SymbolStats Symbols::Impl::stats() noexcept
{
	const std::lock_guard lock(mutex_);
	const bool has_map = !map.path().empty(), has_dump = !dump.file.path().empty();
	std::uint64_t written = taken_;

	if (has_map)
		written = std::min(written, map.safe_records());
	if (has_dump)
		written = std::min(written, dump.file.safe_records());
	return {recorded_.load(),
		dropped_.load(),
		written,
		taken_ - written,
		direct_.load(),
		map.bytes() + dump.file.bytes(),
		map.os_errno() ? map.os_errno() : dump.file.os_errno()};
}

Symbols::Symbols(std::unique_ptr<Impl> impl) noexcept : impl_(std::move(impl)) {}
Symbols::Symbols(Symbols &&other) noexcept = default;
Symbols &Symbols::operator=(Symbols &&other) noexcept = default;
Symbols::~Symbols() = default;

Result<Symbols> Symbols::create(const SymbolsOptions &options) noexcept
{
	std::unique_ptr<Impl> impl(new (std::nothrow) Impl);

	if (!impl)
		return failed("create symbols", Code::no_memory, "no memory");
	if (Error error = impl->open(options))
		return error;
	return Symbols(std::move(impl));
}

Result<std::uint64_t> Symbols::load(const LoadedCode &code) noexcept
{
	Record::Fixed fixed = {};

	fixed.kind = Record::Kind::load;
	fixed.index = impl_->next_index();
	fixed.start = code.start;
	if (Error error = impl_->record(fixed, code))
		return error;
	return fixed.index;
}

Error Symbols::move(std::uint64_t index, std::uint64_t new_start, const LoadedCode &code) noexcept
{
	Record::Fixed fixed = {};

	fixed.kind = Record::Kind::move;
	fixed.index = index;
	fixed.start = new_start;
	fixed.old_start = code.start;
	return impl_->record(fixed, code);
}

Error Symbols::flush() noexcept
{
	return impl_->flush();
}

Error Symbols::close() noexcept
{
	return impl_->close();
}

SymbolStats Symbols::stats() const noexcept
{
	return impl_->stats();
}

std::string_view Symbols::map_path() const noexcept
{
	return impl_->map.path();
}

std::string_view Symbols::dump_path() const noexcept
{
	return impl_->dump.file.path();
}

CodeObserver Symbols::observer() noexcept
{
	/* What a full buffer drops is in stats(); a function is made nevertheless. */
	const auto loaded = [](void *context, const CodeEvent &event) noexcept {
		auto &impl = *static_cast<Impl *>(context);
		Record::Fixed fixed = {};

		fixed.kind = Record::Kind::load;
		fixed.index = impl.next_index();
		fixed.start = event.start;
		(void)impl.record(fixed, {event.start, event.bytes.size(), event.name,
					  event.bytes.data(), {}});
	};

	return {impl_.get(), loaded, nullptr};
}

} // namespace jitsframe
