// SPDX-License-Identifier: MIT
#include "tree.h"

#include <algorithm>
#include <cstdio>

namespace judge {
namespace {

using Node = Tree::Node;
using Named = std::pair<const std::string, Node>;

constexpr double image_width = 1200;
constexpr double box_height = 17;
constexpr double character_width = 6.6;     // of the font below, about
constexpr double least_box = 0.4;

std::vector<const Named*> by_share(const Node& node)
{
    std::vector<const Named*> sorted;
    for (const Named& callee : node.callees)
        sorted.push_back(&callee);
    std::stable_sort(sorted.begin(), sorted.end(), [](auto* a, auto* b) { return a->second.samples > b->second.samples; });
    return sorted;
}

// The same tree with direct recursion drawn into one node.
void fold(const Node& from, const std::string& name, Node& into)
{
    for (const auto& [callee_name, callee] : from.callees) {
        if (callee_name == name) {
            fold(callee, name, into);
            continue;
        }
        Node& folded = into.callees[callee_name];
        folded.origin = callee.origin;
        folded.samples += callee.samples;
        fold(callee, callee_name, folded);
    }
}

void print(const Node& node, double total, double least, std::size_t depth, std::size_t width, std::vector<std::string>& lines)
{
    for (const Named* callee : by_share(node)) {
        double share = static_cast<double>(callee->second.samples) / total;
        if (share < least)
            continue;
        char percent[16];
        std::snprintf(percent, sizeof(percent), "%5.1f%% ", 100 * share);
        std::string line = percent + std::string(depth, ' ') + callee->first;
        if (line.size() > width)
            line.resize(width);
        lines.push_back(std::move(line));
        print(callee->second, total, least, depth + 1, width, lines);
    }
}

std::size_t height(const Node& node)
{
    std::size_t tallest = 0;
    for (const auto& [name, callee] : node.callees)
        tallest = std::max(tallest, 1 + height(callee));
    return tallest;
}

std::string escaped(const std::string& text)
{
    std::string made;
    for (char c : text) {
        if (c == '<')
            made += "&lt;";
        else if (c == '>')
            made += "&gt;";
        else if (c == '&')
            made += "&amp;";
        else
            made += c;
    }
    return made;
}

// A hue for the origin, a shade for the name, so that the same function looks the
// same everywhere.
std::string colour(const std::string& name, Origin origin)
{
    unsigned hash = 5381;
    for (char c : name)
        hash = hash * 33 + static_cast<unsigned char>(c);
    unsigned hue = origin == Origin::compiled ? 95 + hash % 50 : 18 + hash % 26;
    char text[40];
    std::snprintf(text, sizeof(text), "hsl(%u,%u%%,%u%%)", hue, 55 + hash / 64 % 20, 58 + hash / 4096 % 14);
    return text;
}

struct Canvas {
    double total;
    double floor;       // y of the outermost boxes
    std::string svg;

    void box(const Named& callee, double x, std::size_t depth)
    {
        double width = image_width * static_cast<double>(callee.second.samples) / total;
        if (width < least_box)
            return;
        double y = floor - box_height * static_cast<double>(depth);
        std::string name = escaped(callee.first);
        char text[256];
        std::snprintf(text, sizeof(text), "<rect x=\"%.1f\" y=\"%.0f\" width=\"%.1f\" height=\"%.0f\" rx=\"2\" fill=\"%s\"/>", x, y,
                      std::max(width - 0.3, 0.2), box_height - 1, colour(callee.first, callee.second.origin).c_str());
        svg += "<g><title>" + name + ": " + std::to_string(callee.second.samples) + " samples</title>" + text;
        auto room = static_cast<std::size_t>(std::max(width - 6, 0.0) / character_width);
        if (room >= 3) {
            std::string label = callee.first.size() > room ? callee.first.substr(0, room - 2) + ".." : callee.first;
            std::snprintf(text, sizeof(text), "<text x=\"%.1f\" y=\"%.0f\">", x + 3, y + 12);
            svg += text + escaped(label) + "</text>";
        }
        svg += "</g>\n";
        boxes(callee.second, x, depth + 1);
    }

    void boxes(const Node& node, double x, std::size_t depth)
    {
        for (const Named& callee : node.callees) {
            box(callee, x, depth);
            x += image_width * static_cast<double>(callee.second.samples) / total;
        }
    }
};

}  // namespace

void Tree::add(const std::vector<Frame>& stack)
{
    Node* node = &root_;
    node->samples++;
    for (const Frame& frame : stack) {
        node = &node->callees[frame.name];
        node->origin = frame.origin;
        node->samples++;
    }
}

std::vector<std::string> Tree::text(std::size_t width, double least) const
{
    Node folded;
    fold(root_, "", folded);
    std::vector<std::string> lines;
    print(folded, static_cast<double>(std::max<std::uint64_t>(root_.samples, 1)), least, 0, width, lines);
    return lines;
}

std::string Tree::flamegraph(const std::string& title) const
{
    double image_height = box_height * static_cast<double>(height(root_)) + 60;
    Canvas canvas{static_cast<double>(std::max<std::uint64_t>(root_.samples, 1)), image_height - 24 - box_height, {}};
    canvas.boxes(root_, 0, 0);
    char head[400];
    std::snprintf(head, sizeof(head),
                  "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %.0f %.0f\" width=\"%.0f\" height=\"%.0f\" "
                  "font-family=\"monospace\" font-size=\"11\">\n<rect width=\"100%%\" height=\"100%%\" fill=\"#fbfbf8\"/>\n"
                  "<text x=\"%.0f\" y=\"22\" text-anchor=\"middle\" font-size=\"15\">",
                  image_width, image_height, image_width, image_height, image_width / 2);
    char foot[160];
    std::snprintf(foot, sizeof(foot), "<text x=\"4\" y=\"%.0f\">green: compiled code, orange: native code; %llu samples</text>\n</svg>\n",
                  image_height - 8, static_cast<unsigned long long>(root_.samples));
    return head + escaped(title) + "</text>\n" + canvas.svg + foot;
}

std::string side_by_side(const std::vector<std::string>& left, const std::vector<std::string>& right, std::size_t width)
{
    std::string text;
    for (std::size_t i = 0; i < std::max(left.size(), right.size()); i++) {
        std::string line = i < left.size() ? left[i] : "";
        line.resize(width, ' ');
        line += " | " + (i < right.size() ? right[i] : "");
        line.erase(line.find_last_not_of(' ') + 1);
        text += line + '\n';
    }
    return text;
}

}  // namespace judge
