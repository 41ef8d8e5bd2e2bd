// SPDX-License-Identifier: MIT
#include "plugin.hpp"

#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>

using namespace jitsframe;
using llvm::jitlink::Block;
using llvm::jitlink::LinkGraph;
using llvm::jitlink::MemProt;
using llvm::jitlink::SectionRange;
using GraphSection = llvm::jitlink::Section;

namespace {

llvm::Error told(const Error &error)
{
	char text[200];

	error.format(text, sizeof(text));
	return llvm::createStringError(llvm::inconvertibleErrorCode(), text);
}

/* Where the code of a graph lies; begin is behind end if it has none. */
std::pair<std::uint64_t, std::uint64_t> text_of(LinkGraph &graph)
{
	using llvm::BitmaskEnumDetail::operator&;
	std::uint64_t begin = std::numeric_limits<std::uint64_t>::max(), end = 0;

	for (const GraphSection &section : graph.sections()) {
		const SectionRange range(section);

		if (range.empty() || (section.getMemProt() & MemProt::Exec) == MemProt::None)
			continue;
		begin = std::min(begin, range.getStart().getValue());
		end = std::max(end, range.getEnd().getValue());
	}
	return {begin, end};
}

/* The bytes of a section as they will lie; JITLink has cut .eh_frame into blocks, one a record. */
std::vector<std::byte> bytes_of(const GraphSection &section)
{
	const SectionRange range(section);
	std::vector<std::byte> bytes(range.getSize());

	for (const Block *block : section.blocks())
		if (!block->isZeroFill())
			std::memcpy(bytes.data() + (block->getAddress() - range.getStart()),
				    block->getContent().data(), block->getSize());
	return bytes;
}

/* port: rows of .eh_frame; what SFrame has no words for is left out */
Error publish_frames(const CfiSection &section, Area &area)
{
	CfiReader reader(section);
	CfiRows rows;

	while (reader.next()) {
		const auto function = reader.function();
		if (!function)
			return function.error();
		if (Error error = rows.run(section, *function))
			return error;
		for (const CfiPart &part : rows.parts())
			if (part.reason == CfiReason::none)
				if (Error error = area.publish(part.start, part.size, part.rows))
					return error;
	}
	return reader.error();
}
/* --- */

} // namespace

/* port: fixups are applied, so .eh_frame says where the code will run; nothing runs yet */
void PublishPlugin::modifyPassConfig(Responsibility &responsibility, LinkGraph &,
				     llvm::jitlink::PassConfiguration &config)
{
	config.PostFixupPasses.push_back([this, &responsibility](LinkGraph &graph) {
		return publish(responsibility, graph);
	});
}

llvm::Error PublishPlugin::publish(Responsibility &responsibility, LinkGraph &graph)
{
	const GraphSection *frames = graph.findSectionByName(".eh_frame");
	const auto [begin, end] = text_of(graph);
	if (!frames || begin >= end)
		return llvm::Error::success();

	const std::vector<std::byte> bytes = bytes_of(*frames);
	CfiSection section;
	section.bytes = bytes;
	section.address = SectionRange(*frames).getStart().getValue();

	AreaOptions options;
	options.text_start = begin;
	options.text_size = end - begin;
	options.reserve_bytes = (64 << 10) + 8 * bytes.size();
	options.owner = "llvm_orc";
	Result<Area> area = Area::create(options);
	if (!area)
		return told(area.error());
	if (Error error = publish_frames(section, *area))
		return told(error);

	const std::lock_guard held(mutex_);
	linked_.emplace(&responsibility, Graph{begin, end, std::move(*area)});
	return llvm::Error::success();
}
/* --- */

/* port: from now on the area lives as long as its resource */
llvm::Error PublishPlugin::notifyEmitted(Responsibility &responsibility)
{
	return responsibility.withResourceKeyDo([&](Key key) {
		const std::lock_guard held(mutex_);

		if (auto linked = linked_.extract(&responsibility))
			emitted_[key].push_back(std::move(linked.mapped()));
	});
}

llvm::Error PublishPlugin::notifyFailed(Responsibility &responsibility)
{
	const std::lock_guard held(mutex_);

	linked_.erase(&responsibility);
	return llvm::Error::success();
}

/* JITLink frees the memory behind this: no other code can be there yet. */
llvm::Error PublishPlugin::notifyRemovingResources(Key key)
{
	const std::lock_guard held(mutex_);

	emitted_.erase(key);
	return llvm::Error::success();
}

void PublishPlugin::notifyTransferringResources(Key to, Key from)
{
	const std::lock_guard held(mutex_);

	if (auto moved = emitted_.extract(from))
		for (Graph &graph : moved.mapped())
			emitted_[to].push_back(std::move(graph));
}
/* --- */

Result<Found> PublishPlugin::lookup(std::uint64_t pc) const
{
	const std::lock_guard held(mutex_);

	for (const auto &[key, graphs] : emitted_)
		for (const Graph &graph : graphs)
			if (pc >= graph.begin && pc < graph.end)
				return graph.area.lookup(pc);
	return Error{Code::not_found, 0, "lookup", "in no graph", pc};
}

std::size_t PublishPlugin::areas() const
{
	const std::lock_guard held(mutex_);
	std::size_t count = linked_.size();

	for (const auto &[key, graphs] : emitted_)
		count += graphs.size();
	return count;
}
