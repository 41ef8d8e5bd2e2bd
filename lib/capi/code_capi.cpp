// SPDX-License-Identifier: MIT
/* The C API of code and symbols: translation only. */
#include "handles.hpp"

#include <jitsframe/code.hpp>
#include <jitsframe/symbols.hpp>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <memory>
#include <new>

using namespace jitsframe;
using capi::null_handle;
using capi::tell;

struct jitsframe_sync_domain {
	SyncDomain domain;
};

struct jitsframe_sync_batch {
	SyncBatch batch;
};

struct jitsframe_code_memory {
	CodeMemory memory;
};

struct jitsframe_write_scope {
	WriteScope scope;
};

struct jitsframe_symbols {
	Symbols symbols;
	CodeObserver observer{};
};

struct jitsframe_function {
	LiveFunction function;
};

namespace {

static_assert(static_cast<int>(Barrier::none) == JITSFRAME_BARRIER_NONE);
static_assert(static_cast<int>(Sync::owed) == JITSFRAME_SYNC_OWED);
static_assert(static_cast<int>(Backing::shared_anonymous) == JITSFRAME_BACKING_SHARED_ANONYMOUS);

/* So that a struct_size that nobody set is not believed. */
constexpr std::size_t largest_options_size = 4096;

template <typename Options>
void fill_defaults(Options *options, std::size_t size, Options defaults) noexcept
{
	if (!options || size < sizeof(size_t) || size > largest_options_size)
		return;
	defaults.struct_size = size;
	std::memset(static_cast<void *>(options), 0, size);
	std::memcpy(static_cast<void *>(options), &defaults, std::min(size, sizeof(defaults)));
}

/* The caller's struct, of its size, as one of ours; what it lacks has its default. */
template <typename Options>
Error take_options(const Options *from, Options &known) noexcept
{
	const char *what = "C API";

	if (!from || from->struct_size < sizeof(size_t) || from->struct_size > largest_options_size)
		return {Code::invalid_argument, 0, what, "options not initialised", 0};

	const auto *bytes = reinterpret_cast<const unsigned char *>(from);
	if (from->struct_size > sizeof(known) &&
	    std::any_of(bytes + sizeof(known), bytes + from->struct_size,
			[](unsigned char byte) { return byte != 0; }))
		return {Code::unsupported, 0, what, "an option that this library is too old for",
			from->struct_size};
	std::memcpy(static_cast<void *>(&known), from, std::min(from->struct_size, sizeof(known)));
	return {};
}

struct jitsframe_code_options default_code_options() noexcept
{
	const CodeOptions defaults;
	struct jitsframe_code_options options = {};

	options.window_bytes = defaults.window_bytes;
	options.near_address = defaults.near_address;
	options.granule_bytes = defaults.sync.granule_bytes;
	options.backing = static_cast<jitsframe_backing>(defaults.backing);
	options.several_producers = defaults.producers == Producers::several;
	options.use_membarrier = defaults.sync.use_membarrier;
	return options;
}

struct jitsframe_symbols_options default_symbols_options() noexcept
{
	const SymbolsOptions defaults;
	struct jitsframe_symbols_options options = {};

	options.buffer_bytes = defaults.buffer_bytes;
	options.perf_map = defaults.perf_map;
	options.jitdump = defaults.jitdump;
	options.wait_when_full = defaults.when_full == WhenFull::wait;
	options.background = defaults.background;
	return options;
}

struct jitsframe_sync_stats sync_stats(const SyncStats &stats) noexcept
{
	return {stats.writes,          stats.exempt_writes,   stats.bytes,    stats.batches,
		stats.reusing_batches, stats.reused_granules, stats.barriers, stats.owed};
}

/* The handle, or null and the error: the value's own, or that there is no memory for a handle. */
template <typename Handle, typename Value>
Handle *handle_for(Result<Value> value, struct jitsframe_error *error) noexcept
{
	tell(value.error(), error);
	if (!value)
		return nullptr;

	auto *handle = new (std::nothrow) Handle{std::move(*value)};
	if (!handle)
		tell({Code::no_memory, 0, "C API", "no memory", 0}, error);
	return handle;
}

jitsframe_code tell_span(const Result<CodeSpan> &span, struct jitsframe_code_span *out,
			 struct jitsframe_error *error) noexcept
{
	if (span)
		*out = {span->writable, span->address, span->size};
	return tell(span.error(), error);
}

std::string_view text_or_none(const char *text) noexcept
{
	return text ? text : std::string_view{};
}

bool emit_in_c(void *context, const CodeSpan &span) noexcept
{
	const auto &text = *static_cast<const struct jitsframe_function_text *>(context);
	const struct jitsframe_code_span in_c = {span.writable, span.address, span.size};

	return text.emit(text.context, &in_c);
}

} // namespace

bool jitsframe_maybe_synchronize(void) noexcept
{
	return maybe_synchronize();
}

struct jitsframe_sync_domain *jitsframe_sync_domain_new(uint64_t text_start, uint64_t text_size,
							uint32_t granule_bytes, bool use_membarrier,
							struct jitsframe_error *error) noexcept
{
	SyncOptions options;

	if (granule_bytes)
		options.granule_bytes = granule_bytes;
	options.use_membarrier = use_membarrier;
	return handle_for<jitsframe_sync_domain>(SyncDomain::create(text_start, text_size, options),
						 error);
}

void jitsframe_sync_domain_free(struct jitsframe_sync_domain *domain) noexcept
{
	delete domain;
}

struct jitsframe_sync_stats
jitsframe_sync_domain_stats(const struct jitsframe_sync_domain *domain) noexcept
{
	return sync_stats(domain ? domain->domain.stats() : SyncStats{});
}

struct jitsframe_sync_batch *jitsframe_sync_batch_new(struct jitsframe_sync_domain *domain) noexcept
{
	return domain ? new (std::nothrow) jitsframe_sync_batch{domain->domain.begin()} : nullptr;
}

void jitsframe_sync_batch_free(struct jitsframe_sync_batch *batch) noexcept
{
	delete batch;
}

jitsframe_code jitsframe_sync_mark_written(struct jitsframe_sync_batch *batch, uint64_t address,
					   uint64_t size, jitsframe_barrier barrier,
					   struct jitsframe_error *error) noexcept
{
	if (!batch)
		return null_handle(error);
	return tell(batch->batch.mark_written(address, size, static_cast<Barrier>(barrier)), error);
}

jitsframe_sync jitsframe_sync_commit(struct jitsframe_sync_batch *batch) noexcept
{
	return static_cast<jitsframe_sync>(batch ? batch->batch.commit().sync : Sync::not_needed);
}

void jitsframe_code_options_init(struct jitsframe_code_options *options, size_t struct_size) noexcept
{
	fill_defaults(options, struct_size, default_code_options());
}

struct jitsframe_code_memory *
jitsframe_code_memory_new(const struct jitsframe_code_options *options,
			  struct jitsframe_error *error) noexcept
{
	struct jitsframe_code_options known = default_code_options();
	CodeOptions native;

	if (Error broken = take_options(options, known)) {
		tell(broken, error);
		return nullptr;
	}
	native.window_bytes = known.window_bytes;
	native.near_address = known.near_address;
	native.backing = static_cast<Backing>(known.backing);
	native.producers = known.several_producers ? Producers::several : Producers::one;
	native.sync = {known.granule_bytes, known.use_membarrier};
	return handle_for<jitsframe_code_memory>(CodeMemory::create(native), error);
}

void jitsframe_code_memory_free(struct jitsframe_code_memory *memory) noexcept
{
	delete memory;
}

uint64_t jitsframe_code_text_start(const struct jitsframe_code_memory *memory) noexcept
{
	return memory ? memory->memory.text_start() : 0;
}

uint64_t jitsframe_code_text_size(const struct jitsframe_code_memory *memory) noexcept
{
	return memory ? memory->memory.text_size() : 0;
}

struct jitsframe_code_stats
jitsframe_code_memory_stats(const struct jitsframe_code_memory *memory) noexcept
{
	const CodeStats stats = memory ? memory->memory.stats() : CodeStats{};

	return {sync_stats(stats.sync), stats.window_bytes, stats.live_bytes,
		stats.live_spans,       stats.allocations,  stats.frees};
}

uint64_t jitsframe_code_trim(struct jitsframe_code_memory *memory) noexcept
{
	return memory ? memory->memory.trim() : 0;
}

jitsframe_code jitsframe_code_release(struct jitsframe_code_memory *memory, uint64_t address,
				      struct jitsframe_error *error) noexcept
{
	return memory ? tell(memory->memory.free(address), error) : null_handle(error);
}

struct jitsframe_write_scope *jitsframe_write_scope_new(struct jitsframe_code_memory *memory) noexcept
{
	return memory ? new (std::nothrow) jitsframe_write_scope{memory->memory.begin()} : nullptr;
}

void jitsframe_write_scope_free(struct jitsframe_write_scope *scope) noexcept
{
	delete scope;
}

jitsframe_code jitsframe_code_allocate(struct jitsframe_write_scope *scope, uint32_t size,
				       uint32_t alignment, struct jitsframe_code_span *span,
				       struct jitsframe_error *error) noexcept
{
	if (!scope || !span)
		return null_handle(error);
	return tell_span(scope->scope.allocate(size, alignment), span, error);
}

jitsframe_code jitsframe_code_rewrite(struct jitsframe_write_scope *scope, uint64_t address,
				      uint32_t size, jitsframe_barrier barrier,
				      struct jitsframe_code_span *span,
				      struct jitsframe_error *error) noexcept
{
	if (!scope || !span)
		return null_handle(error);
	return tell_span(scope->scope.rewrite(address, size, static_cast<Barrier>(barrier)), span,
			 error);
}

jitsframe_sync jitsframe_code_commit(struct jitsframe_write_scope *scope) noexcept
{
	return static_cast<jitsframe_sync>(scope ? scope->scope.commit().sync : Sync::not_needed);
}

void jitsframe_symbols_options_init(struct jitsframe_symbols_options *options,
				    size_t struct_size) noexcept
{
	fill_defaults(options, struct_size, default_symbols_options());
}

struct jitsframe_symbols *jitsframe_symbols_new(const struct jitsframe_symbols_options *options,
						struct jitsframe_error *error) noexcept
{
	struct jitsframe_symbols_options known = default_symbols_options();
	SymbolsOptions native;

	if (Error broken = take_options(options, known)) {
		tell(broken, error);
		return nullptr;
	}
	native.perf_map = known.perf_map;
	native.jitdump = known.jitdump;
	if (known.map_directory)
		native.map_directory = known.map_directory;
	native.dump_directory = text_or_none(known.dump_directory);
	native.buffer_bytes = known.buffer_bytes;
	native.when_full = known.wait_when_full ? WhenFull::wait : WhenFull::drop;
	native.background = known.background;

	auto *symbols = handle_for<jitsframe_symbols>(Symbols::create(native), error);
	if (symbols)
		symbols->observer = symbols->symbols.observer();
	return symbols;
}

void jitsframe_symbols_free(struct jitsframe_symbols *symbols) noexcept
{
	delete symbols;
}

jitsframe_code jitsframe_symbols_load(struct jitsframe_symbols *symbols, uint64_t start, uint64_t size,
				      const char *name, const void *bytes,
				      const struct jitsframe_source_line *lines, size_t line_count,
				      uint64_t *index, struct jitsframe_error *error) noexcept
{
	if (!symbols || (!lines && line_count))
		return null_handle(error);

	const std::unique_ptr<SourceLine[]> native(line_count ? new (std::nothrow) SourceLine[line_count]
							      : nullptr);
	if (line_count && !native)
		return tell({Code::no_memory, 0, "load name", "no memory", line_count}, error);
	for (size_t i = 0; i < line_count; i++)
		native[i] = {lines[i].offset, lines[i].line, text_or_none(lines[i].file),
			     lines[i].discriminator};

	const Result<std::uint64_t> loaded = symbols->symbols.load(
		{start, size, text_or_none(name), static_cast<const std::byte *>(bytes),
		 {native.get(), line_count}});
	if (loaded && index)
		*index = *loaded;
	return tell(loaded.error(), error);
}

jitsframe_code jitsframe_symbols_move(struct jitsframe_symbols *symbols, uint64_t index,
				      uint64_t old_start, uint64_t new_start, uint64_t size,
				      const char *name, struct jitsframe_error *error) noexcept
{
	if (!symbols)
		return null_handle(error);
	return tell(symbols->symbols.move(index, new_start,
					  {old_start, size, text_or_none(name), nullptr, {}}),
		    error);
}

jitsframe_code jitsframe_symbols_flush(struct jitsframe_symbols *symbols,
				       struct jitsframe_error *error) noexcept
{
	return symbols ? tell(symbols->symbols.flush(), error) : null_handle(error);
}

struct jitsframe_symbol_stats jitsframe_symbols_stats(const struct jitsframe_symbols *symbols) noexcept
{
	const SymbolStats stats = symbols ? symbols->symbols.stats() : SymbolStats{};

	return {stats.recorded, stats.dropped, stats.written, stats.lost,
		stats.direct,   stats.bytes,   stats.os_errno};
}

struct jitsframe_function *jitsframe_function_new(struct jitsframe_write_scope *scope,
						  const struct jitsframe_function_text *text,
						  struct jitsframe_area *area,
						  struct jitsframe_symbols *symbols,
						  struct jitsframe_error *error) noexcept
{
	FunctionText native;

	if (!scope || !text || (!text->bytes && !text->emit)) {
		null_handle(error);
		return nullptr;
	}
	if (text->emit) {
		native.emit = emit_in_c;
		native.context = const_cast<struct jitsframe_function_text *>(text);
		native.size = text->size;
	} else {
		native.bytes = {static_cast<const std::byte *>(text->bytes), text->size};
	}
	native.alignment = text->alignment;
	native.rows = text->rows ? &text->rows->rows : nullptr;
	native.name = text_or_none(text->name);

	const CodePlace place = {area ? &area->area : nullptr, symbols ? &symbols->observer : nullptr};
	return handle_for<jitsframe_function>(LiveFunction::create(scope->scope, native, place), error);
}

void jitsframe_function_free(struct jitsframe_function *function) noexcept
{
	delete function;
}

uint64_t jitsframe_function_start(const struct jitsframe_function *function) noexcept
{
	return function ? function->function.start() : 0;
}
