// SPDX-License-Identifier: MIT
// The JIT's own record of what called what.
#pragma once

#include <array>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "state.h"

namespace sprig {

struct Site {
    std::uintptr_t return_address;
    std::int32_t version;               // whose call it is; -1: native code
};

class ContextTree {
public:
    // Room for `capacity` nodes. Throws std::system_error.
    explicit ContextTree(std::size_t capacity);
    ~ContextTree();
    ContextTree(const ContextTree&) = delete;
    ContextTree& operator=(const ContextTree&) = delete;

    // The outermost context: no return address.
    Context* root() { return &nodes_[1]; }

    std::uint32_t add_site() { return add_site({0, -1}); }
    void set_site(std::uint32_t site, Site value) { sites_[site] = value; }
    // The site of a native call, known by its return address alone.
    std::uint32_t native_site(std::uintptr_t return_address);
    const Site& site(const Context* context) const { return sites_[context->site]; }

    // The node of a call at `site` from `parent`, made if it is new, and kept in
    // the parent's cache. Ends the process when the tree is full.
    Context* child(Context* parent, std::uint32_t site);

    std::size_t used() const { return used_; }
    std::size_t capacity() const { return capacity_; }
    const Context* nodes() const { return nodes_; }
    const std::vector<Site>& sites() const { return sites_; }

private:
    struct Key {
        const Context* parent;
        std::uint32_t site;
        bool operator==(const Key&) const = default;
    };
    struct Hash {
        std::size_t operator()(const Key& key) const
        {
            return (reinterpret_cast<std::uintptr_t>(key.parent) ^ (std::uint64_t{key.site} << 40)) * 0x9e3779b97f4a7c15u >> 17;
        }
    };

    std::uint32_t add_site(Site site);
    Context* add_node(Context* parent, std::uint32_t site);

    std::size_t capacity_;
    std::size_t used_ = 0;
    Context* nodes_;
    std::vector<Site> sites_;
    std::unordered_map<Key, Context*, Hash> children_;
    std::unordered_map<std::uintptr_t, std::uint32_t> native_sites_;
    // The native sites of late; there are few, and each entry into compiled code asks.
    struct NativeSite {
        std::uintptr_t return_address = 0;
        std::uint32_t site = 0;
    };
    std::array<NativeSite, 64> recent_native_sites_;
};

}  // namespace sprig
