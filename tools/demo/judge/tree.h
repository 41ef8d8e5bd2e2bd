// SPDX-License-Identifier: MIT
// Call trees of many samples, as text and as a flame graph.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace judge {

enum class Origin { compiled, native };

struct Frame {
    std::string name;
    Origin origin;
};

class Tree {
public:
    struct Node {
        Origin origin = Origin::native;
        std::uint64_t samples = 0;
        std::map<std::string, Node> callees;
    };

    // Outermost frame first.
    void add(const std::vector<Frame>& stack);

    // Lines of at most `width` columns. A function that calls itself is one line, what
    // has less than `least` of all samples is left out.
    std::vector<std::string> text(std::size_t width, double least) const;

    // An SVG document; every box has its name and share as a tooltip.
    std::string flamegraph(const std::string& title) const;

private:
    Node root_;
};

// Two texts in columns, the left one `width` wide.
std::string side_by_side(const std::vector<std::string>& left, const std::vector<std::string>& right, std::size_t width);

}  // namespace judge
