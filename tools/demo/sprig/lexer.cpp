// SPDX-License-Identifier: MIT
#include "lexer.h"

#include <array>
#include <cctype>
#include <charconv>
#include <string_view>

#include "ast.h"

namespace sprig {
namespace {

constexpr std::array<std::string_view, 9> keywords = {"fn", "let", "if", "else", "while", "for", "in", "return", "int"};
// Longest first, so that a prefix never wins.
constexpr std::array<std::string_view, 27> symbols = {"->", "..", "==", "!=", "<=", ">=", "&&", "||", "(", ")", "{", "}", "[", "]",
                                                      ",",  ":",  ";",  "=",  "<",  ">",  "+",  "-",  "*", "/", "%", "!", "."};

bool name_start(char c) { return std::isalpha(static_cast<unsigned char>(c)) || c == '_'; }
bool name_part(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

class Lexer {
public:
    explicit Lexer(const std::string& source) : source_(source) {}

    std::vector<Token> run()
    {
        for (skip_blank(); at_ < source_.size(); skip_blank())
            tokens_.push_back(next());
        tokens_.push_back({Token::Kind::end, line_, "end of file"});
        return std::move(tokens_);
    }

private:
    void skip_blank()
    {
        while (at_ < source_.size()) {
            if (source_[at_] == '#')
                at_ = std::min(source_.find('\n', at_), source_.size());
            else if (!std::isspace(static_cast<unsigned char>(source_[at_])))
                return;
            else if (source_[at_++] == '\n')
                line_++;
        }
    }

    Token next()
    {
        if (std::isdigit(static_cast<unsigned char>(source_[at_])))
            return number();
        if (name_start(source_[at_]))
            return word();
        for (std::string_view symbol : symbols) {
            if (source_.compare(at_, symbol.size(), symbol) != 0)
                continue;
            at_ += symbol.size();
            return {Token::Kind::symbol, line_, std::string(symbol)};
        }
        throw SourceError(line_, std::string("stray character '") + source_[at_] + "'");
    }

    Token number()
    {
        std::int64_t value = 0;
        const char* first = source_.data() + at_;
        auto [end, error] = std::from_chars(first, source_.data() + source_.size(), value);
        if (error != std::errc())
            throw SourceError(line_, "number too large");
        std::string text(first, end);
        at_ += text.size();
        return {Token::Kind::number, line_, std::move(text), value};
    }

    Token word()
    {
        std::size_t start = at_;
        while (at_ < source_.size() && name_part(source_[at_]))
            at_++;
        std::string text = source_.substr(start, at_ - start);
        for (std::string_view keyword : keywords) {
            if (text == keyword)
                return {Token::Kind::keyword, line_, std::move(text)};
        }
        return {Token::Kind::name, line_, std::move(text)};
    }

    const std::string& source_;
    std::size_t at_ = 0;
    int line_ = 1;
    std::vector<Token> tokens_;
};

}  // namespace

std::vector<Token> lex(const std::string& source)
{
    return Lexer(source).run();
}

}  // namespace sprig
