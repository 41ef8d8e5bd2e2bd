// SPDX-License-Identifier: MIT
// sprig: compiles a program in memory and runs it.
#include <getopt.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <stdexcept>

#include "ast.h"
#include "engine.h"
#include "output.h"
#include "record.h"
#include "selfcheck.h"

namespace {

constexpr char usage[] =
    "usage: sprig [options] PROGRAM\n"
    "  --seconds=N            run main() again and again for N seconds (once)\n"
    "  --record=FILE          write what called what, for the judge\n"
    "  --selfcheck            unwind at a timer and step by step, and compare; if the time was\n"
    "                         too short for 2,000 samples, up to eight times as long\n"
    "  --optimize-after=N     entries until a function is compiled better\n"
    "  --reoptimize-after=N   entries until it is compiled once more\n"
    "  --evict-every=N        compilations until the coldest function loses its code\n"
    "  --seed=N               of the choices that make versions differ\n"
    "  --wrong-rows           publish each function without its second row: the self-check must fail\n"
    "  --stats                say what was compiled, freed and reused\n";

struct Options {
    sprig::EngineOptions engine;
    double seconds = 0;
    std::string record;
    bool selfcheck = false;
    bool stats = false;
    std::string program;
};

enum { opt_seconds = 1, opt_record, opt_selfcheck, opt_optimize, opt_reoptimize, opt_evict, opt_seed, opt_wrong_rows, opt_stats, opt_help };

const option long_options[] = {
    {"seconds", required_argument, nullptr, opt_seconds},
    {"record", required_argument, nullptr, opt_record},
    {"selfcheck", no_argument, nullptr, opt_selfcheck},
    {"optimize-after", required_argument, nullptr, opt_optimize},
    {"reoptimize-after", required_argument, nullptr, opt_reoptimize},
    {"evict-every", required_argument, nullptr, opt_evict},
    {"seed", required_argument, nullptr, opt_seed},
    {"wrong-rows", no_argument, nullptr, opt_wrong_rows},
    {"stats", no_argument, nullptr, opt_stats},
    {"help", no_argument, nullptr, opt_help},
    {},
};

int positive(const char* text)
{
    char* end;
    long value = std::strtol(text, &end, 10);
    if (*end || value <= 0 || value > INT32_MAX)
        throw std::runtime_error(std::string("not a positive number: ") + text);
    return static_cast<int>(value);
}

Options parse_options(int argc, char** argv)
{
    Options options;
    for (int found; (found = getopt_long(argc, argv, "", long_options, nullptr)) != -1;) {
        switch (found) {
        case opt_seconds:
            options.seconds = positive(optarg);
            break;
        case opt_record:
            options.record = optarg;
            break;
        case opt_selfcheck:
            options.selfcheck = true;
            break;
        case opt_optimize:
            options.engine.optimize_after = positive(optarg);
            break;
        case opt_reoptimize:
            options.engine.reoptimize_after = positive(optarg);
            break;
        case opt_evict:
            options.engine.evict_every = static_cast<unsigned>(positive(optarg));
            break;
        case opt_seed:
            options.engine.seed = static_cast<std::uint64_t>(positive(optarg));
            break;
        case opt_wrong_rows:
            options.engine.wrong_rows = true;
            break;
        case opt_stats:
            options.stats = true;
            break;
        case opt_help:
            std::fputs(usage, stdout);
            std::exit(0);
        default:
            throw std::runtime_error("unknown option; see --help");
        }
    }
    if (optind + 1 != argc)
        throw std::runtime_error("one program, please; see --help");
    options.program = argv[optind];
    options.engine.program = std::filesystem::path(options.program).stem();
    return options;
}

std::string read_file(const std::string& path)
{
    std::ifstream file(path);
    if (!file)
        throw std::runtime_error("cannot read " + path);
    return {std::istreambuf_iterator<char>(file), {}};
}

void print_stats(const sprig::Engine& engine, std::uint64_t runs)
{
    const sprig::EngineCounts& counts = engine.counts();
    std::fprintf(stderr,
                 "sprig: %lu runs, compiled %lu baseline and %lu optimized, evicted %lu, freed %lu, reused %lu bytes of code, %zu contexts; area %s\n",
                 static_cast<unsigned long>(runs), static_cast<unsigned long>(counts.baseline), static_cast<unsigned long>(counts.optimized),
                 static_cast<unsigned long>(counts.evicted), static_cast<unsigned long>(counts.freed),
                 static_cast<unsigned long>(counts.reused_bytes), engine.contexts().used(), engine.publisher().status().c_str());
}

// Fewer would prove little.
constexpr std::uint64_t selfcheck_samples = 2000;
constexpr double longest_selfcheck = 8;     // times the time that was asked for

bool print_selfcheck(const sprig::SelfcheckCounts& counts)
{
    std::fprintf(stderr, "selfcheck: %lu samples in JIT code, %lu exact, %lu frames, deepest %lu; %lu ahead, %lu with the frame register saved\n",
                 static_cast<unsigned long>(counts.samples), static_cast<unsigned long>(counts.exact),
                 static_cast<unsigned long>(counts.frames), static_cast<unsigned long>(counts.deepest),
                 static_cast<unsigned long>(counts.ahead), static_cast<unsigned long>(counts.frame_moved));
    return counts.samples >= selfcheck_samples && counts.exact == counts.samples;
}

// On a busy machine there is less to see in the same time: then for longer, but not for ever.
bool go_on(std::chrono::duration<double> elapsed, const Options& options)
{
    double limit = options.seconds;
    if (options.selfcheck && sprig::selfcheck_so_far().samples < selfcheck_samples)
        limit *= longest_selfcheck;
    return elapsed.count() < limit;
}

// main() of the program until the time is over, each time with the same result.
std::uint64_t run_for(sprig::Engine& engine, const Options& options)
{
    auto begin = std::chrono::steady_clock::now();
    std::int64_t first = engine.run();
    sprig::output::end_run();
    std::printf("main() = %ld\n", static_cast<long>(first));
    std::uint64_t runs = 1;
    for (; go_on(std::chrono::steady_clock::now() - begin, options); runs++) {
        std::int64_t again = engine.run();
        if (!sprig::output::end_run() || again != first)
            throw std::runtime_error("run " + std::to_string(runs + 1) + " differs from the first: " + std::to_string(again));
    }
    return runs;
}

int run(const Options& options)
{
    auto program = sprig::parse(read_file(options.program));
    sprig::Engine engine(*program, options.engine);
    sprig::running_engine = &engine;
    engine.set_root_frame(__builtin_frame_address(0));
    if (options.selfcheck)
        start_selfcheck(engine);
    std::uint64_t runs = run_for(engine, options);
    bool exact = !options.selfcheck || print_selfcheck(sprig::stop_selfcheck());
    if (options.stats)
        print_stats(engine, runs);
    if (!options.record.empty())
        write_record(engine, options.record);
    return exact ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv)
{
    try {
        return run(parse_options(argc, argv));
    } catch (const std::exception& error) {
        std::fprintf(stderr, "sprig: %s\n", error.what());
        return 1;
    }
}
