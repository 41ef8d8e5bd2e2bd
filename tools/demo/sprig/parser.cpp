// SPDX-License-Identifier: MIT
// Recursive descent, one function a rule; precedence climbing for operators.
#include <map>

#include "ast.h"
#include "lexer.h"

namespace sprig {
namespace {

struct Binary {
    Op op;
    int precedence;
};

const std::map<std::string, Binary> binary_operators = {
    {"||", {Op::logical_or, 1}}, {"&&", {Op::logical_and, 2}}, {"==", {Op::eq, 3}}, {"!=", {Op::ne, 3}}, {"<", {Op::lt, 4}},
    {"<=", {Op::le, 4}},         {">", {Op::gt, 4}},           {">=", {Op::ge, 4}}, {"+", {Op::add, 5}}, {"-", {Op::sub, 5}},
    {"*", {Op::mul, 6}},         {"/", {Op::div, 6}},          {"%", {Op::rem, 6}},
};

class Parser {
public:
    Parser(std::vector<Token> tokens, Program& program) : tokens_(std::move(tokens)), program_(program) {}

    void run()
    {
        while (peek().kind != Token::Kind::end) {
            expect("fn");
            std::string name = expect_name();
            function(std::move(name));
        }
    }

private:
    const Token& peek() const { return tokens_[at_]; }
    bool is(const char* text) const
    {
        return (peek().kind == Token::Kind::symbol || peek().kind == Token::Kind::keyword) && peek().text == text;
    }

    bool accept(const char* text)
    {
        if (!is(text))
            return false;
        at_++;
        return true;
    }

    void expect(const char* text)
    {
        if (!accept(text))
            throw SourceError(peek().line, std::string("expected '") + text + "', found '" + peek().text + "'");
    }

    std::string expect_name()
    {
        if (peek().kind != Token::Kind::name)
            throw SourceError(peek().line, "expected a name, found '" + peek().text + "'");
        return tokens_[at_++].text;
    }

    const Type* type()
    {
        if (accept("int"))
            return program_.types.integer();
        if (accept("[")) {
            const Type* element = type();
            expect("]");
            return program_.types.array(element);
        }
        expect("fn");
        expect("(");
        std::vector<const Type*> params;
        while (!accept(")")) {
            params.push_back(type());
            if (!is(")"))
                expect(",");
        }
        expect("->");
        const Type* result = type();
        return program_.types.function(std::move(params), result);
    }

    // From the parameter list on; used for named functions and lambdas alike.
    Function* function(std::string name)
    {
        program_.functions.push_back(std::make_unique<Function>());
        Function* made = program_.functions.back().get();
        made->slot = static_cast<int>(program_.functions.size()) - 1;
        made->name = std::move(name);
        made->line = peek().line;
        std::vector<const Type*> params;
        expect("(");
        while (!accept(")")) {
            std::string param = expect_name();
            expect(":");
            params.push_back(type());
            made->locals.push_back({std::move(param), params.back()});
            if (!is(")"))
                expect(",");
        }
        if (params.size() > max_params)
            throw SourceError(made->line, "more than " + std::to_string(max_params) + " parameters");
        made->params = params.size();
        expect("->");
        const Type* result = type();
        made->type = program_.types.function(std::move(params), result);
        made->body = block();
        return made;
    }

    Block block()
    {
        Block statements;
        expect("{");
        while (!accept("}"))
            statements.push_back(statement());
        return statements;
    }

    std::unique_ptr<Stmt> statement()
    {
        if (is("if"))
            return if_else();
        if (is("while"))
            return while_loop();
        if (is("for"))
            return for_range();
        int line = peek().line;
        std::unique_ptr<Stmt> made;
        if (accept("let")) {
            made = std::make_unique<Stmt>(Stmt::Kind::let, line);
            made->name = expect_name();
            expect("=");
            made->exprs.push_back(expr(1));
        } else if (accept("return")) {
            made = std::make_unique<Stmt>(Stmt::Kind::ret, line);
            made->exprs.push_back(expr(1));
        } else {
            made = assignment_or_expr(line);
        }
        expect(";");
        return made;
    }

    std::unique_ptr<Stmt> assignment_or_expr(int line)
    {
        ExprPtr target = expr(1);
        auto made = std::make_unique<Stmt>(Stmt::Kind::expr, line);
        if (!accept("=")) {
            made->exprs.push_back(std::move(target));
        } else if (target->kind == Expr::Kind::name) {
            made->kind = Stmt::Kind::assign;
            made->name = target->name;
            made->exprs.push_back(expr(1));
        } else if (target->kind == Expr::Kind::index) {
            made->kind = Stmt::Kind::store;
            made->exprs = std::move(target->operands);
            made->exprs.push_back(expr(1));
        } else {
            throw SourceError(line, "this cannot be assigned to");
        }
        return made;
    }

    std::unique_ptr<Stmt> if_else()
    {
        auto made = std::make_unique<Stmt>(Stmt::Kind::if_else, peek().line);
        expect("if");
        made->exprs.push_back(expr(1));
        made->body = block();
        if (!accept("else"))
            return made;
        if (is("if"))
            made->otherwise.push_back(if_else());
        else
            made->otherwise = block();
        return made;
    }

    std::unique_ptr<Stmt> while_loop()
    {
        auto made = std::make_unique<Stmt>(Stmt::Kind::while_loop, peek().line);
        expect("while");
        made->exprs.push_back(expr(1));
        made->body = block();
        return made;
    }

    std::unique_ptr<Stmt> for_range()
    {
        auto made = std::make_unique<Stmt>(Stmt::Kind::for_range, peek().line);
        expect("for");
        made->name = expect_name();
        expect("in");
        made->exprs.push_back(expr(1));
        expect("..");
        made->exprs.push_back(expr(1));
        made->body = block();
        return made;
    }

    ExprPtr expr(int precedence)
    {
        ExprPtr left = unary();
        for (;;) {
            auto found = peek().kind == Token::Kind::symbol ? binary_operators.find(peek().text) : binary_operators.end();
            if (found == binary_operators.end() || found->second.precedence < precedence)
                return left;
            auto made = std::make_unique<Expr>(Expr::Kind::binary, peek().line);
            at_++;
            made->op = found->second.op;
            made->operands.push_back(std::move(left));
            made->operands.push_back(expr(found->second.precedence + 1));
            left = std::move(made);
        }
    }

    ExprPtr unary()
    {
        int line = peek().line;
        bool minus = accept("-");
        if (!minus && !accept("!"))
            return postfix();
        auto made = std::make_unique<Expr>(Expr::Kind::unary, line);
        made->op = minus ? Op::neg : Op::logical_not;
        made->operands.push_back(unary());
        return made;
    }

    ExprPtr postfix()
    {
        ExprPtr base = primary();
        for (;;) {
            int line = peek().line;
            if (accept("[")) {
                auto made = std::make_unique<Expr>(Expr::Kind::index, line);
                made->operands.push_back(std::move(base));
                made->operands.push_back(expr(1));
                expect("]");
                base = std::move(made);
            } else if (accept("(")) {
                auto made = std::make_unique<Expr>(Expr::Kind::call_indirect, line);
                made->operands.push_back(std::move(base));
                while (!accept(")")) {
                    made->operands.push_back(expr(1));
                    if (!is(")"))
                        expect(",");
                }
                base = std::move(made);
            } else {
                return base;
            }
        }
    }

    ExprPtr primary()
    {
        const Token& token = peek();
        if (token.kind == Token::Kind::number) {
            auto made = std::make_unique<Expr>(Expr::Kind::integer, token.line);
            made->value = token.value;
            at_++;
            return made;
        }
        if (accept("(")) {
            ExprPtr inner = expr(1);
            expect(")");
            return inner;
        }
        auto made = std::make_unique<Expr>(Expr::Kind::name, token.line);
        if (accept("fn")) {
            made->kind = Expr::Kind::lambda;
            made->function = function("fn:" + std::to_string(made->line));
        } else {
            made->name = expect_name();
        }
        return made;
    }

    std::vector<Token> tokens_;
    std::size_t at_ = 0;
    Program& program_;
};

}  // namespace

std::unique_ptr<Program> parse(const std::string& source)
{
    auto program = std::make_unique<Program>();
    Parser(lex(source), *program).run();
    check(*program);
    return program;
}

}  // namespace sprig
