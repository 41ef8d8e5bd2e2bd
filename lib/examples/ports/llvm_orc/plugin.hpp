/* SPDX-License-Identifier: MIT */
/*
 * A plugin of ORC's ObjectLinkingLayer that publishes what JITLink emits. LLVM
 * has written how every frame looks into .eh_frame; here that becomes rows.
 *
 * JITLink's memory manager stays. It maps each link graph by itself, so each
 * has an area, which lives as long as the resource that the graph belongs to.
 */
#ifndef JITSFRAME_LIB_EXAMPLES_PORTS_PLUGIN_HPP
#define JITSFRAME_LIB_EXAMPLES_PORTS_PLUGIN_HPP

#include <jitsframe/area.hpp>
#include <jitsframe/cfi.hpp>

#include <llvm/ExecutionEngine/JITLink/JITLink.h>
#include <llvm/ExecutionEngine/Orc/ObjectLinkingLayer.h>

#include <map>
#include <mutex>
#include <vector>

class PublishPlugin : public llvm::orc::ObjectLinkingLayer::Plugin {
public:
	using Responsibility = llvm::orc::MaterializationResponsibility;
	using Key = llvm::orc::ResourceKey;

	void modifyPassConfig(Responsibility &responsibility, llvm::jitlink::LinkGraph &graph,
			      llvm::jitlink::PassConfiguration &config) override;
	llvm::Error notifyEmitted(Responsibility &responsibility) override;
	llvm::Error notifyFailed(Responsibility &responsibility) override;
	llvm::Error notifyRemovingResources(Key key) override;
	void notifyTransferringResources(Key to, Key from) override;

	/* For the proof: a profiler needs none. */
	[[nodiscard]] jitsframe::Result<jitsframe::Found> lookup(std::uint64_t pc) const;
	[[nodiscard]] std::size_t areas() const;

private:
	/* Text and the area over it. */
	struct Graph {
		std::uint64_t begin;
		std::uint64_t end;
		jitsframe::Area area;
	};

	llvm::Error publish(Responsibility &responsibility, llvm::jitlink::LinkGraph &graph);

	mutable std::mutex mutex_;
	/* Linked, and not yet known by a resource. */
	std::map<const Responsibility *, Graph> linked_;
	std::map<Key, std::vector<Graph>> emitted_;
};

#endif
