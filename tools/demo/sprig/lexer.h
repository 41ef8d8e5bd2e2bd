// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace sprig {

struct Token {
    enum class Kind { end, number, name, keyword, symbol };
    Kind kind;
    int line;
    std::string text;
    std::int64_t value = 0;             // number
};

// The whole source as tokens, the last of kind end. `#` starts a comment that
// runs to the end of the line. Throws SourceError.
std::vector<Token> lex(const std::string& source);

}  // namespace sprig
