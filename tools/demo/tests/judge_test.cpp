// SPDX-License-Identifier: MIT
// The judge itself on trial: profiles and records made by hand, in which every
// verdict is known.
#include <gtest/gtest.h>
#include <linux/perf_event.h>
#include <unistd.h>

#include <cstring>
#include <fstream>
#include <sstream>

#include "perf_data.h"
#include "record.h"
#include "symbols.h"
#include "tree.h"
#include "verdict.h"

namespace {

using judge::Verdict;
using Chain = std::vector<std::uint64_t>;

constexpr std::uint64_t register_bit = 23;
constexpr std::uint64_t user_mark = static_cast<std::uint64_t>(-512);
constexpr std::uint64_t kernel_mark = static_cast<std::uint64_t>(-128);
constexpr std::uint64_t deferred_mark = static_cast<std::uint64_t>(-640);

// main() in native code at 0x400100 enters `outer` (version 1), which calls
// `inner` (version 2); later version 3 takes the place of version 2.
constexpr char record_text[] =
    "sprig-record 1 4d2 17\n"
    "text 10000 1000\n"
    "contexts 20000 40\n"
    "V 10000 40 10 ffffffffffffffff lazy (compile)\n"
    "V 10040 80 20 ffffffffffffffff baseline outer\n"
    "V 100c0 40 30 100 optimizing inner\n"
    "V 100c0 60 100 ffffffffffffffff optimizing other\n"
    "A 1 10 18\n"
    "S 0 ffffffff\n"
    "S 400100 ffffffff\n"
    "S 10055 1\n"
    "C 0 ffffffff\n"
    "C 0 0\n"
    "C 1 1\n"
    "C 2 2\n"
    "end\n";
constexpr std::uint64_t context_outer = 0x20000 + 2 * 0x40;
constexpr std::uint64_t context_inner = 0x20000 + 3 * 0x40;

judge::Record record()
{
    std::istringstream input(record_text);
    return judge::Record::read(input);
}

Chain truth(std::uint64_t pc, std::uint64_t time, std::uint64_t context)
{
    Chain chain;
    record().truth(pc, time, context, chain);
    return chain;
}

TEST(truth, is_the_chain_of_the_context_in_the_register)
{
    EXPECT_EQ(truth(0x100c8, 0x40, context_inner), (Chain{0x100c8, 0x10055, 0x400100}));
    EXPECT_EQ(truth(0x10044, 0x40, context_outer), (Chain{0x10044, 0x400100}));
}

TEST(truth, around_a_call_is_that_of_the_caller)
{
    EXPECT_EQ(truth(0x1004f, 0x40, context_outer), (Chain{0x1004f, 0x400100}));
    EXPECT_EQ(truth(0x10050, 0x40, context_inner), (Chain{0x10050, 0x400100}));
    EXPECT_EQ(truth(0x10057, 0x40, context_inner), (Chain{0x10057, 0x400100}));
    EXPECT_EQ(truth(0x10058, 0x40, context_outer), (Chain{0x10058, 0x400100}));
}

TEST(truth, goes_by_the_time_where_an_address_is_reused)
{
    EXPECT_EQ(record().version(0x100c8, 0xff)->name, "inner");
    EXPECT_EQ(record().version(0x100c8, 0x100)->name, "other");
    EXPECT_EQ(record().version(0x10110, 0xff), nullptr);
    EXPECT_EQ(record().version(0x10110, 0x100)->name, "other");
}

TEST(truth, is_refused_where_the_record_has_none)
{
    EXPECT_THROW(truth(0x10800, 0x40, context_inner), std::runtime_error);
    EXPECT_THROW(truth(0x100c8, 0x29, context_inner), std::runtime_error);
    EXPECT_THROW(truth(0x100c8, 0x40, context_inner + 8), std::runtime_error);
    EXPECT_THROW(truth(0x100c8, 0x40, 0x20000), std::runtime_error);
    EXPECT_THROW(truth(0x100c8, 0x40, 0x20000 + 4 * 0x40), std::runtime_error);
}

TEST(record, cut_off_or_strange_is_an_error)
{
    std::string text = record_text;
    std::istringstream cut(text.substr(0, text.size() - 4));
    EXPECT_THROW(judge::Record::read(cut), std::runtime_error);
    std::istringstream strange("what 1 2\n" + text);
    EXPECT_THROW(judge::Record::read(strange), std::runtime_error);
}

TEST(record, takes_names_from_a_perf_map_that_matches)
{
    judge::Record known = record();
    std::istringstream map("10000 40 a\n10040 80 b c\n100c0 40 d\n100c0 60 e\n");
    known.use_perf_map(map);
    EXPECT_EQ(known.version(0x10044, 0x40)->name, "b c");
    std::istringstream other("10000 40 a\n10040 88 b\n100c0 40 d\n100c0 60 e\n");
    EXPECT_THROW(known.use_perf_map(other), std::runtime_error);
    std::istringstream fewer("10000 40 a\n");
    EXPECT_THROW(known.use_perf_map(fewer), std::runtime_error);
}

Verdict verdict(const Chain& seen, const Chain& true_chain)
{
    return judge::judge_chain(seen, true_chain);
}

TEST(verdict, exact_is_every_frame_down_to_main)
{
    EXPECT_EQ(verdict({1, 2, 3}, {1, 2, 3}), Verdict::exact);
    EXPECT_EQ(verdict({1, 2, 3, 99, 98}, {1, 2, 3}), Verdict::exact);
}

TEST(verdict, short_is_a_proper_prefix)
{
    EXPECT_EQ(verdict({1, 2}, {1, 2, 3}), Verdict::shorter);
    EXPECT_EQ(verdict({1}, {1, 2, 3}), Verdict::shorter);
    EXPECT_EQ(verdict({}, {1, 2, 3}), Verdict::shorter);
}

TEST(verdict, wrong_is_any_frame_that_is_not_there)
{
    EXPECT_EQ(verdict({1, 3}, {1, 2, 3}), Verdict::wrong);
    EXPECT_EQ(verdict({1, 2, 4}, {1, 2, 3}), Verdict::wrong);
    EXPECT_EQ(verdict({1, 2, 2, 3}, {1, 2, 3}), Verdict::wrong);
    EXPECT_EQ(verdict({1, 0}, {1, 2, 3}), Verdict::wrong);
    EXPECT_EQ(verdict({2, 3}, {1, 2, 3}), Verdict::wrong);
}

TEST(tally, prints_the_line_that_is_looked_for)
{
    judge::Tally tally;
    for (Verdict v : {Verdict::exact, Verdict::exact, Verdict::shorter, Verdict::wrong, Verdict::wrong, Verdict::wrong})
        tally.add(v);
    EXPECT_EQ(tally.line("stock immediate"), "stock immediate: 6 samples in JIT code, 2 exact, 1 short, 3 wrong");
}

// A perf.data file with one event, made by hand.
class ProfileFile : public testing::Test {
protected:
    static constexpr std::uint64_t sample_type =
        PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_PERIOD | PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_REGS_USER;

    void SetUp() override { path_ = testing::TempDir() + "judge_test." + std::to_string(getpid()); }
    void TearDown() override { unlink(path_.c_str()); }

    static void add(std::string& bytes, std::uint64_t value) { bytes.append(reinterpret_cast<const char*>(&value), 8); }

    void add_record(std::uint32_t type, const std::string& body)
    {
        perf_event_header header = {type, PERF_RECORD_MISC_USER, static_cast<std::uint16_t>(sizeof(header) + body.size())};
        records_.append(reinterpret_cast<const char*>(&header), sizeof(header));
        records_ += body;
    }

    void add_sample(std::uint64_t ip, std::uint64_t time, const Chain& words, std::uint64_t register_value)
    {
        std::string body;
        add(body, ip);
        add(body, 0x4d2 | (std::uint64_t{0x4d2} << 32));
        add(body, time);
        add(body, 250000);
        add(body, words.size());
        for (std::uint64_t word : words)
            add(body, word);
        add(body, PERF_SAMPLE_REGS_ABI_64);
        add(body, 0x1111);      // RBP, which lies before
        add(body, register_value);
        add_record(PERF_RECORD_SAMPLE, body);
    }

    void add_deferred(std::uint64_t cookie, const Chain& words)
    {
        std::string body;
        add(body, cookie);
        add(body, words.size());
        for (std::uint64_t word : words)
            add(body, word);
        add_record(22, body);
    }

    judge::PerfData read(std::uint64_t type = sample_type, std::size_t cut = 0)
    {
        perf_event_attr attribute = {};
        attribute.size = sizeof(attribute);
        attribute.sample_type = type;
        attribute.sample_regs_user = (1 << 6) | (1 << register_bit);
        constexpr std::uint64_t attributes_at = 104;
        std::uint64_t attribute_size = sizeof(attribute) + 16;
        std::string file = "PERFILE2";
        for (std::uint64_t word : {std::uint64_t{104}, attribute_size, attributes_at, attribute_size, attributes_at + attribute_size,
                                   std::uint64_t{records_.size()}, std::uint64_t{0}, std::uint64_t{0}, std::uint64_t{0}, std::uint64_t{0},
                                   std::uint64_t{0}, std::uint64_t{0}})
            add(file, word);
        file.append(reinterpret_cast<const char*>(&attribute), sizeof(attribute));
        add(file, attributes_at + attribute_size);
        add(file, 0);
        file += records_;
        std::ofstream(path_, std::ios::binary) << file.substr(0, file.size() - cut);
        return judge::read_perf_data(path_, register_bit);
    }

    std::string path_;
    std::string records_;
};

TEST_F(ProfileFile, gives_the_user_chain_and_the_register)
{
    add_sample(0x100c8, 0x40, {kernel_mark, 0xffffffff81000000, user_mark, 0x100c8, 0x10055, 0x400100}, context_inner);
    judge::PerfData data = read();
    ASSERT_EQ(data.samples.size(), 1u);
    EXPECT_EQ(data.samples[0].pid, 0x4d2u);
    EXPECT_EQ(data.samples[0].time, 0x40u);
    EXPECT_EQ(data.samples[0].ip, 0x100c8u);
    EXPECT_EQ(data.samples[0].chain, (Chain{0x100c8, 0x10055, 0x400100}));
    EXPECT_EQ(data.samples[0].user_register, context_inner);
    EXPECT_EQ(judge::judge_chain(data.samples[0].chain, truth(0x100c8, 0x40, context_inner)), Verdict::exact);
}

TEST_F(ProfileFile, joins_deferred_chains_by_their_cookie)
{
    add_sample(0x100c8, 0x40, {deferred_mark, 7}, context_inner);
    add_sample(0x10044, 0x41, {deferred_mark, 8}, context_outer);
    add_deferred(8, {user_mark, 0x10044, 0x400100});
    add_deferred(7, {0x100c8, 0x10055, 0x400100});
    add_sample(0x10044, 0x42, {deferred_mark, 9}, context_outer);
    judge::PerfData data = read();
    ASSERT_EQ(data.samples.size(), 3u);
    EXPECT_EQ(data.samples[0].chain, (Chain{0x100c8, 0x10055, 0x400100}));
    EXPECT_EQ(data.samples[1].chain, (Chain{0x10044, 0x400100}));
    EXPECT_TRUE(data.samples[2].chain_missing);
    EXPECT_EQ(judge::judge_chain(data.samples[2].chain, truth(0x10044, 0x42, context_outer)), Verdict::shorter);
}

TEST_F(ProfileFile, counts_what_perf_lost)
{
    std::string body;
    add(body, 1);
    add(body, 5);
    add_record(PERF_RECORD_LOST, body);
    EXPECT_EQ(read().lost, 5u);
}

TEST_F(ProfileFile, cut_off_or_with_unknown_fields_is_an_error)
{
    add_sample(0x100c8, 0x40, {user_mark, 0x100c8}, context_inner);
    EXPECT_THROW(read(sample_type, 8), std::runtime_error);
    EXPECT_THROW(read(sample_type | PERF_SAMPLE_RAW), std::runtime_error);
    EXPECT_THROW(read(sample_type & ~std::uint64_t{PERF_SAMPLE_TIME}), std::runtime_error);
    EXPECT_NO_THROW(read());
}

TEST(symbols, name_the_function_that_an_address_is_in)
{
    std::istringstream nm("0000000000400100 T main\n0000000000400200 t sprig::(anonymous namespace)::run(int)\n0000000000500000 B heap\n");
    judge::Symbols symbols;
    symbols.read(nm);
    EXPECT_EQ(symbols.name(0x400150), "main");
    EXPECT_EQ(symbols.name(0x400200), "sprig::run");
    EXPECT_EQ(symbols.name(0x4000ff), "[unknown]");
}

TEST(tree, folds_recursion_and_sorts_by_share)
{
    using judge::Origin;
    judge::Tree tree;
    for (int i = 0; i < 3; i++)
        tree.add({{"main", Origin::native}, {"fib", Origin::compiled}, {"fib", Origin::compiled}, {"leaf", Origin::compiled}});
    tree.add({{"main", Origin::native}, {"other<int>", Origin::compiled}});
    EXPECT_EQ(tree.text(40, 0.01), (std::vector<std::string>{"100.0% main", " 75.0%  fib", " 75.0%   leaf", " 25.0%  other<int>"}));
    EXPECT_EQ(tree.text(40, 0.5).size(), 3u);
    std::string svg = tree.flamegraph("title");
    EXPECT_NE(svg.find("other&lt;int&gt;: 1 samples"), std::string::npos);
    EXPECT_EQ(svg.find("other<int>"), std::string::npos);
}

}  // namespace
