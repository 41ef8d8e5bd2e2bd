// SPDX-License-Identifier: MIT
#include "context.h"

#include <sys/mman.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <system_error>

namespace sprig {
namespace {

constexpr std::uint32_t no_site = UINT32_MAX;

}  // namespace

ContextTree::ContextTree(std::size_t capacity) : capacity_(capacity)
{
    void* memory = mmap(nullptr, capacity * sizeof(Context), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED)
        throw std::system_error(errno, std::generic_category(), "context tree");
    nodes_ = static_cast<Context*>(memory);
    add_node(nullptr, no_site);             // stands in every empty cache: no call has its site
    add_node(nullptr, add_site({0, -1}));   // root
}

ContextTree::~ContextTree()
{
    munmap(nodes_, capacity_ * sizeof(Context));
}

std::uint32_t ContextTree::add_site(Site site)
{
    sites_.push_back(site);
    return static_cast<std::uint32_t>(sites_.size()) - 1;
}

std::uint32_t ContextTree::native_site(std::uintptr_t return_address)
{
    NativeSite& recent = recent_native_sites_[return_address % recent_native_sites_.size()];
    if (recent.return_address == return_address)
        return recent.site;
    auto [found, added] = native_sites_.try_emplace(return_address, 0);
    if (added)
        found->second = add_site({return_address, -1});
    recent = {return_address, found->second};
    return found->second;
}

Context* ContextTree::add_node(Context* parent, std::uint32_t site)
{
    if (used_ == capacity_) {
        std::fprintf(stderr, "sprig: the record of calls is full (%zu contexts); run for a shorter time\n", capacity_);
        std::exit(1);
    }
    Context* node = &nodes_[used_++];
    *node = {parent, site, parent ? parent->depth + 1 : 0, {}};
    for (Context*& child : node->child)
        child = &nodes_[0];
    return node;
}

Context* ContextTree::child(Context* parent, std::uint32_t site)
{
    Context*& cached = parent->child[site % Context::cached_children];
    if (cached->site == site)
        return cached;
    auto [found, added] = children_.try_emplace(Key{parent, site}, nullptr);
    if (added)
        found->second = add_node(parent, site);
    cached = found->second;
    return cached;
}

}  // namespace sprig
