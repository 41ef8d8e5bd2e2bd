// SPDX-License-Identifier: MIT
#include "perf_data.h"

#include <linux/perf_event.h>

#include <bit>
#include <cstddef>
#include <cstring>
#include <fstream>
#include <iterator>
#include <map>
#include <span>
#include <stdexcept>

namespace judge {
namespace {

// Newer than the headers this may be built with (Linux 6.19).
constexpr std::uint32_t record_callchain_deferred = 22;
constexpr std::uint64_t context_user_deferred = static_cast<std::uint64_t>(-640);
constexpr std::uint64_t context_first = static_cast<std::uint64_t>(-4095);
constexpr std::uint64_t context_user = static_cast<std::uint64_t>(-512);

constexpr char magic[] = "PERFILE2";

// Everything that a sample may hold up to its registers, in the order of the bits
// that matter; what lies behind them is not read.
constexpr std::uint64_t known_fields = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ADDR |
                                       PERF_SAMPLE_ID | PERF_SAMPLE_STREAM_ID | PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD |
                                       PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_REGS_USER;

class Reader {
public:
    explicit Reader(std::span<const std::byte> bytes) : bytes_(bytes) {}

    template <typename T>
    T take()
    {
        T value;
        std::memcpy(&value, take_bytes(sizeof(T)).data(), sizeof(T));
        return value;
    }

    std::span<const std::byte> take_bytes(std::size_t count)
    {
        if (count > bytes_.size())
            throw std::runtime_error("perf.data: cut off");
        auto taken = bytes_.first(count);
        bytes_ = bytes_.subspan(count);
        return taken;
    }

    std::vector<std::uint64_t> take_words(std::uint64_t count)
    {
        if (count > bytes_.size() / 8)
            throw std::runtime_error("perf.data: cut off");
        std::vector<std::uint64_t> words(count);
        std::memcpy(words.data(), take_bytes(count * 8).data(), count * 8);
        return words;
    }

    bool empty() const { return bytes_.empty(); }
    std::size_t left() const { return bytes_.size(); }

private:
    std::span<const std::byte> bytes_;
};

struct Section {
    std::uint64_t offset;
    std::uint64_t size;
};

struct Event {
    std::uint64_t sample_type;
    std::uint64_t registers;
};

class File {
public:
    File(const std::string& path, unsigned register_bit) : register_bit_(register_bit)
    {
        std::ifstream file(path, std::ios::binary);
        if (!file)
            throw std::runtime_error("cannot read " + path);
        std::vector<char> bytes{std::istreambuf_iterator<char>(file), {}};
        bytes_.resize(bytes.size());
        std::memcpy(bytes_.data(), bytes.data(), bytes.size());
    }

    PerfData read()
    {
        Reader header(bytes_);
        if (std::memcmp(header.take_bytes(8).data(), magic, 8) != 0)
            throw std::runtime_error("not a perf.data file");
        header.take<std::uint64_t>();       // bytes of this header
        auto attribute_size = header.take<std::uint64_t>();
        auto attributes = header.take<Section>();
        auto data = header.take<Section>();
        read_events(section(attributes), attribute_size);
        for (Reader records = section(data); !records.empty();)
            read_record(records);
        join_deferred();
        return std::move(result_);
    }

private:
    Reader section(Section where)
    {
        if (where.offset > bytes_.size() || where.size > bytes_.size() - where.offset)
            throw std::runtime_error("perf.data: a section outside the file (was perf record stopped hard?)");
        return Reader(std::span(bytes_).subspan(where.offset, where.size));
    }

    void read_events(Reader attributes, std::uint64_t size)
    {
        if (size < offsetof(perf_event_attr, sample_regs_user) + 8 + sizeof(Section))
            throw std::runtime_error("perf.data: attributes too small");
        while (attributes.left() >= size) {
            auto bytes = attributes.take_bytes(size);
            perf_event_attr attribute = {};
            std::memcpy(&attribute, bytes.data(), std::min<std::size_t>(size - sizeof(Section), sizeof(attribute)));
            Section ids;
            std::memcpy(&ids, bytes.last(sizeof(ids)).data(), sizeof(ids));
            Event event = {attribute.sample_type, attribute.sample_regs_user};
            events_.push_back(event);
            for (Reader list = section(ids); !list.empty();)
                by_id_[list.take<std::uint64_t>()] = event;
        }
        if (events_.empty())
            throw std::runtime_error("perf.data: no event");
    }

    void read_record(Reader& records)
    {
        auto header = records.take<perf_event_header>();
        if (header.size < sizeof(header))
            throw std::runtime_error("perf.data: a record of no size");
        Reader body(records.take_bytes(header.size - sizeof(header)));
        switch (header.type) {
        case PERF_RECORD_SAMPLE:
            return read_sample(body);
        case record_callchain_deferred:
            return read_deferred(body);
        case PERF_RECORD_LOST:
            body.take<std::uint64_t>();     // id
            result_.lost += body.take<std::uint64_t>();
            break;
        case PERF_RECORD_LOST_SAMPLES:
            result_.lost += body.take<std::uint64_t>();
            break;
        default:
            break;
        }
    }

    const Event& event_of(std::uint64_t first_word) const
    {
        if (events_.size() == 1)
            return events_.front();
        auto found = by_id_.find(first_word);
        if (found == by_id_.end())
            throw std::runtime_error("perf.data: a sample of an unknown event");
        return found->second;
    }

    void read_sample(Reader body)
    {
        Reader ahead = body;
        const Event& event = event_of(ahead.take<std::uint64_t>());
        std::uint64_t type = event.sample_type;
        constexpr std::uint64_t needed = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME;
        if ((type & needed) != needed)
            throw std::runtime_error("perf.data: samples without ip, pid or time");
        std::uint64_t before_registers = type & ((PERF_SAMPLE_REGS_USER << 1) - 1);
        if (before_registers & ~known_fields)
            throw std::runtime_error("perf.data: samples with fields that are not known here");
        Sample sample;
        auto skip = [&](std::uint64_t field) {
            if (type & field)
                body.take<std::uint64_t>();
        };
        skip(PERF_SAMPLE_IDENTIFIER);
        sample.ip = body.take<std::uint64_t>();
        sample.pid = body.take<std::uint32_t>();
        body.take<std::uint32_t>();         // tid
        sample.time = body.take<std::uint64_t>();
        skip(PERF_SAMPLE_ADDR);
        skip(PERF_SAMPLE_ID);
        skip(PERF_SAMPLE_STREAM_ID);
        skip(PERF_SAMPLE_CPU);
        skip(PERF_SAMPLE_PERIOD);
        std::uint64_t cookie = 0;
        if (type & PERF_SAMPLE_CALLCHAIN)
            cookie = read_chain(body.take_words(body.take<std::uint64_t>()), sample);
        if (type & PERF_SAMPLE_REGS_USER)
            read_registers(body, event.registers, sample);
        cookies_.push_back(cookie);
        result_.samples.push_back(std::move(sample));
    }

    // Returns the cookie of a deferred chain, else 0.
    static std::uint64_t read_chain(const std::vector<std::uint64_t>& words, Sample& sample)
    {
        bool user = false;
        for (std::size_t i = 0; i < words.size(); i++) {
            if (words[i] == context_user_deferred) {
                sample.deferred = true;
                return i + 1 < words.size() ? words[i + 1] : 0;
            }
            if (words[i] >= context_first)
                user = words[i] == context_user;
            else if (user)
                sample.chain.push_back(words[i]);
        }
        return 0;
    }

    void read_registers(Reader& body, std::uint64_t mask, Sample& sample)
    {
        if (body.take<std::uint64_t>() == PERF_SAMPLE_REGS_ABI_NONE)
            return;
        auto values = body.take_words(static_cast<std::uint64_t>(std::popcount(mask)));
        std::uint64_t bit = std::uint64_t{1} << register_bit_;
        if (!(mask & bit))
            return;
        sample.user_register = values[static_cast<std::size_t>(std::popcount(mask & (bit - 1)))];
        sample.has_register = true;
    }

    void read_deferred(Reader body)
    {
        auto cookie = body.take<std::uint64_t>();
        auto words = body.take_words(body.take<std::uint64_t>());
        std::erase_if(words, [](std::uint64_t word) { return word >= context_first; });
        deferred_[cookie] = std::move(words);
    }

    void join_deferred()
    {
        for (std::size_t i = 0; i < cookies_.size(); i++) {
            Sample& sample = result_.samples[i];
            if (!sample.deferred)
                continue;
            auto found = deferred_.find(cookies_[i]);
            sample.chain_missing = found == deferred_.end();
            if (!sample.chain_missing)
                sample.chain = found->second;
        }
    }

    unsigned register_bit_;
    std::vector<std::byte> bytes_;
    std::vector<Event> events_;
    std::map<std::uint64_t, Event> by_id_;
    std::vector<std::uint64_t> cookies_;    // by sample
    std::map<std::uint64_t, std::vector<std::uint64_t>> deferred_;
    PerfData result_;
};

}  // namespace

PerfData read_perf_data(const std::string& path, unsigned register_bit)
{
    return File(path, register_bit).read();
}

}  // namespace judge
