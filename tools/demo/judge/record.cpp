// SPDX-License-Identifier: MIT
#include "record.h"

#include <cinttypes>
#include <cstdio>
#include <fstream>
#include <stdexcept>

namespace judge {
namespace {

constexpr std::uint64_t granule = 32;
constexpr std::uint32_t root_context = 1;

std::string hexadecimal(std::uint64_t value)
{
    char text[20];
    std::snprintf(text, sizeof(text), "%#" PRIx64, value);
    return text;
}

}  // namespace

Record Record::read(std::istream& input)
{
    Record record;
    for (std::string line; std::getline(input, line);)
        record.read_line(line);
    if (!record.complete_)
        throw std::runtime_error("record: cut off (did the program end by itself?)");
    record.index_versions();
    return record;
}

Record Record::read_file(const std::string& path)
{
    std::ifstream file(path);
    if (!file)
        throw std::runtime_error("cannot read " + path);
    return read(file);
}

void Record::read_line(const std::string& line)
{
    Version v;
    Context c;
    std::uint64_t a, b, d;
    char tier[16], name[128];
    const char* text = line.c_str();
    if (std::sscanf(text, "C %" SCNx32 " %" SCNx32, &c.parent, &c.site) == 2) {
        contexts_.push_back(c);
    } else if (std::sscanf(text, "S %" SCNx64 " %" SCNx64, &a, &b) == 2) {
        sites_.push_back(a);
    } else if (std::sscanf(text, "A %" SCNx64 " %" SCNx64 " %" SCNx64, &a, &b, &d) == 3) {
        versions_.at(a).ahead.emplace_back(b, d);
    } else if (std::sscanf(text, "V %" SCNx64 " %" SCNx64 " %" SCNx64 " %" SCNx64 " %15s %127s", &v.start, &v.size, &v.published, &v.freed,
                           tier, name) == 6) {
        v.tier = tier;
        v.name = name;
        versions_.push_back(std::move(v));
    } else if (std::sscanf(text, "text %" SCNx64 " %" SCNx64, &text_start_, &text_size_) == 2 ||
               std::sscanf(text, "contexts %" SCNx64 " %" SCNx64, &contexts_address_, &contexts_stride_) == 2 ||
               std::sscanf(text, "sprig-record 1 %" SCNx32 " %x", &pid_, &register_bit_) == 2) {
        return;
    } else if (line == "end") {
        complete_ = true;
    } else {
        throw std::runtime_error("record: not understood: " + line);
    }
}

void Record::index_versions()
{
    by_granule_.resize((text_size_ + granule - 1) / granule);
    for (std::uint32_t i = 0; i < versions_.size(); i++) {
        const Version& v = versions_[i];
        if (v.size == 0 || !in_text(v.start) || !in_text(v.start + v.size - 1))
            throw std::runtime_error("record: code outside the text");
        for (std::uint64_t at = (v.start - text_start_) / granule; at <= (v.start + v.size - 1 - text_start_) / granule; at++)
            by_granule_[at].push_back(i);
    }
}

void Record::use_perf_map(std::istream& map)
{
    std::size_t at = 0;
    for (std::string line; std::getline(map, line); at++) {
        std::uint64_t start, size;
        char name[128];
        if (std::sscanf(line.c_str(), "%" SCNx64 " %" SCNx64 " %127[^\n]", &start, &size, name) != 3 || at >= versions_.size() ||
            versions_[at].start != start || versions_[at].size != size)
            throw std::runtime_error("perf map: line " + std::to_string(at + 1) + " is not what the record has");
        versions_[at].name = name;
    }
    if (at != versions_.size())
        throw std::runtime_error("perf map: fewer lines than the record has versions");
}

const Version* Record::version(std::uint64_t pc, std::uint64_t time) const
{
    if (!in_text(pc))
        return nullptr;
    for (std::uint32_t id : by_granule_[(pc - text_start_) / granule]) {
        const Version& v = versions_[id];
        if (pc - v.start < v.size && v.published <= time && time < v.freed)
            return &v;
    }
    return nullptr;
}

void Record::truth(std::uint64_t pc, std::uint64_t time, std::uint64_t context_register, std::vector<std::uint64_t>& chain) const
{
    const Version* code = version(pc, time);
    if (!code)
        throw std::runtime_error("record: no code at " + hexadecimal(pc) + " at time " + std::to_string(time));
    std::uint64_t offset = context_register - contexts_address_;
    std::uint64_t at = contexts_stride_ ? offset / contexts_stride_ : 0;
    if (at < root_context || at >= contexts_.size() || offset % contexts_stride_ != 0)
        throw std::runtime_error("record: no context " + hexadecimal(context_register) + " at pc " + hexadecimal(pc));
    for (auto [begin, end] : code->ahead) {
        if (pc - code->start - begin < end - begin)
            at = contexts_[at].parent;
    }
    chain.push_back(pc);
    for (; at != root_context; at = contexts_[at].parent)
        chain.push_back(sites_.at(contexts_.at(at).site));
}

}  // namespace judge
