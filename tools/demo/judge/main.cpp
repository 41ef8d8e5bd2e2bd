// SPDX-License-Identifier: MIT
// judge: compares every sample of perf.data files with what really called what.
#include <getopt.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "perf_data.h"
#include "record.h"
#include "symbols.h"
#include "tree.h"
#include "verdict.h"

namespace {

constexpr char usage[] =
    "usage: judge [options] LABEL=DIR...\n"
    "  A DIR holds one run: perf.data, record, perf.map and, if wanted, symbols (nm).\n"
    "  Runs with the same label are counted together, and printed in the order given.\n"
    "  --trees=LEFT,RIGHT     print these two call trees side by side\n"
    "  --flamegraph=FILE      of the label that --trees names last\n"
    "  --min-samples=N        fewer of a label is a failure\n"
    "  --exact=PREFIX         labels that begin so must be exact throughout\n"
    "  --show-wrong=N         print the first N chains that are not exact\n";

constexpr std::size_t column = 62;
constexpr double least_share = 0.015;

struct Options {
    std::string left, right, flamegraph, exact;
    std::uint64_t min_samples = 0;
    std::uint64_t show_wrong = 0;
    std::vector<std::pair<std::string, std::string>> runs;
};

struct Outcome {
    std::string label;
    judge::Tally tally;
    judge::Tree tree;
    std::uint64_t outside = 0;          // samples elsewhere than in compiled code
    std::uint64_t lost = 0;
    std::uint64_t chains_missing = 0;
    std::uint64_t frames = 0, deepest = 0;      // of the truth
};

Options parse_options(int argc, char** argv)
{
    enum { opt_trees = 1, opt_flamegraph, opt_min, opt_exact, opt_show };
    const option long_options[] = {
        {"trees", required_argument, nullptr, opt_trees},
        {"flamegraph", required_argument, nullptr, opt_flamegraph},
        {"min-samples", required_argument, nullptr, opt_min},
        {"exact", required_argument, nullptr, opt_exact},
        {"show-wrong", required_argument, nullptr, opt_show},
        {},
    };
    Options options;
    for (int found; (found = getopt_long(argc, argv, "", long_options, nullptr)) != -1;) {
        std::string value = optarg ? optarg : "";
        std::size_t comma = value.find(',');
        if (found == opt_trees && comma != std::string::npos) {
            options.left = value.substr(0, comma);
            options.right = value.substr(comma + 1);
        } else if (found == opt_flamegraph) {
            options.flamegraph = value;
        } else if (found == opt_min) {
            options.min_samples = std::stoull(value);
        } else if (found == opt_exact) {
            options.exact = value;
        } else if (found == opt_show) {
            options.show_wrong = std::stoull(value);
        } else {
            throw std::runtime_error(usage);
        }
    }
    for (; optind < argc; optind++) {
        std::string run = argv[optind];
        std::size_t equals = run.find('=');
        if (equals == std::string::npos)
            throw std::runtime_error(usage);
        options.runs.emplace_back(run.substr(0, equals), run.substr(equals + 1));
    }
    if (options.runs.empty())
        throw std::runtime_error(usage);
    return options;
}

Outcome& outcome(std::vector<Outcome>& outcomes, const std::string& label)
{
    for (Outcome& known : outcomes) {
        if (known.label == label)
            return known;
    }
    outcomes.push_back({label, {}, {}});
    return outcomes.back();
}

// The stack as the profile has it, outermost first, with the names of its time; what
// is below main() is left out.
std::vector<judge::Frame> named_stack(const judge::Sample& sample, const judge::Record& record, const judge::Symbols& symbols)
{
    std::vector<judge::Frame> stack;
    for (std::size_t i = sample.chain.size(); i-- > 0;) {
        std::uint64_t address = sample.chain[i] - (i > 0 ? 1 : 0);
        if (const judge::Version* version = record.version(address, sample.time))
            stack.push_back({version->name, judge::Origin::compiled});
        else if (record.in_text(address))
            stack.push_back({"[freed code]", judge::Origin::compiled});
        else
            stack.push_back({symbols.name(address), judge::Origin::native});
        if (stack.back().name == "main")
            stack.erase(stack.begin(), stack.end() - 1);
    }
    return stack;
}

void show(const judge::Sample& sample, const std::vector<std::uint64_t>& truth)
{
    std::printf("not exact, at %llu ns: seen, true\n", static_cast<unsigned long long>(sample.time));
    for (std::size_t i = 0; i < std::max(sample.chain.size(), truth.size()); i++)
        std::printf("  %16llx  %16llx\n", static_cast<unsigned long long>(i < sample.chain.size() ? sample.chain[i] : 0),
                    static_cast<unsigned long long>(i < truth.size() ? truth[i] : 0));
}

void judge_run(const std::string& directory, Outcome& result, std::uint64_t& show_wrong)
{
    judge::Record record = judge::Record::read_file(directory + "/record");
    std::ifstream map(directory + "/perf.map");
    if (!map)
        throw std::runtime_error("cannot read " + directory + "/perf.map");
    record.use_perf_map(map);
    judge::Symbols symbols;
    if (std::ifstream nm(directory + "/symbols"); nm)
        symbols.read(nm);
    judge::PerfData data = judge::read_perf_data(directory + "/perf.data", record.register_bit());
    result.lost += data.lost;
    for (const judge::Sample& sample : data.samples) {
        if (sample.pid != record.pid() || !record.in_text(sample.ip)) {
            result.outside++;
            continue;
        }
        if (!sample.has_register)
            throw std::runtime_error(directory + ": samples without the register that names the context");
        std::vector<std::uint64_t> truth;
        record.truth(sample.ip, sample.time, sample.user_register, truth);
        judge::Verdict verdict = judge::judge_chain(sample.chain, truth);
        result.tally.add(verdict);
        result.chains_missing += sample.chain_missing;
        result.frames += truth.size();
        result.deepest = std::max<std::uint64_t>(result.deepest, truth.size());
        result.tree.add(named_stack(sample, record, symbols));
        if (verdict != judge::Verdict::exact && show_wrong > 0) {
            show_wrong--;
            show(sample, truth);
        }
    }
}

void print_trees(std::vector<Outcome>& outcomes, const Options& options)
{
    auto titled = [&](const std::string& label) {
        auto lines = outcome(outcomes, label).tree.text(column, least_share);
        lines.insert(lines.begin(), {label, ""});
        return lines;
    };
    std::printf("Call trees of samples in JIT code, as perf has them (callers first, recursion folded,\n"
                "shares under %.1f %% left out):\n\n%s\n",
                100 * least_share, judge::side_by_side(titled(options.left), titled(options.right), column).c_str());
}

void write_flamegraph(std::vector<Outcome>& outcomes, const Options& options)
{
    std::ofstream file(options.flamegraph);
    file << outcome(outcomes, options.right).tree.flamegraph("Sprig under perf record: " + options.right);
    if (!file.flush())
        throw std::runtime_error("cannot write " + options.flamegraph);
}

bool print_outcomes(const std::vector<Outcome>& outcomes, const Options& options)
{
    bool good = true;
    for (const Outcome& result : outcomes) {
        double mean = result.tally.samples ? static_cast<double>(result.frames) / static_cast<double>(result.tally.samples) : 0;
        std::printf("%s: true stacks of %.1f frames on average, %llu at most, judged from the interrupted instruction to main()\n"
                    "  not judged: %llu samples outside JIT code, and frames below main(); %llu lost by perf, %llu deferred chains never came\n",
                    result.label.c_str(), mean, static_cast<unsigned long long>(result.deepest),
                    static_cast<unsigned long long>(result.outside), static_cast<unsigned long long>(result.lost),
                    static_cast<unsigned long long>(result.chains_missing));
        good &= result.tally.samples >= options.min_samples;
        if (!options.exact.empty() && result.label.starts_with(options.exact))
            good &= result.tally.samples > 0 && result.tally.exact == result.tally.samples;
    }
    std::printf("\n");
    for (const Outcome& result : outcomes)
        std::printf("%s\n", result.tally.line(result.label).c_str());
    return good;
}

int run(Options options)
{
    std::vector<Outcome> outcomes;
    for (const auto& [label, directory] : options.runs)
        judge_run(directory, outcome(outcomes, label), options.show_wrong);
    if (!options.left.empty())
        print_trees(outcomes, options);
    if (!options.flamegraph.empty())
        write_flamegraph(outcomes, options);
    return print_outcomes(outcomes, options) ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv)
{
    try {
        return run(parse_options(argc, argv));
    } catch (const std::exception& error) {
        std::fprintf(stderr, "judge: %s\n", error.what());
        return 2;
    }
}
