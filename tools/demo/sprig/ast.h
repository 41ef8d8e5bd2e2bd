// SPDX-License-Identifier: MIT
// The syntax tree of Sprig, as the parser makes it and the checker completes it.
#pragma once

#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace sprig {

// A mistake in the program text, found by lexer, parser or checker.
struct SourceError : std::runtime_error {
    SourceError(int line, const std::string& what)
        : std::runtime_error("line " + std::to_string(line) + ": " + what) {}
};

// Types are interned by TypeTable: equal types are the same object.
struct Type {
    enum class Kind { integer, array, function };
    Kind kind;
    const Type* element = nullptr;      // of an array
    std::vector<const Type*> params;    // of a function
    const Type* result = nullptr;       // of a function
};

std::string to_string(const Type* type);

class TypeTable {
public:
    const Type* integer();
    const Type* array(const Type* element);
    const Type* function(std::vector<const Type*> params, const Type* result);

private:
    const Type* intern(Type type);
    std::vector<std::unique_ptr<Type>> types_;
};

// Arguments travel in the six integer argument registers of the psABI.
inline constexpr std::size_t max_params = 6;

enum class Op { add, sub, mul, div, rem, lt, le, gt, ge, eq, ne, logical_and, logical_or, neg, logical_not };

enum class Builtin { none, len, array, print, map, fold, sort };

struct Function;

struct Expr {
    enum class Kind { integer, local, function_value, lambda, unary, binary, index, call_direct, call_builtin, call_indirect, name };
    Kind kind;
    int line;
    const Type* type = nullptr;
    std::int64_t value = 0;             // integer
    std::string name;                   // name, before it is resolved
    int local = -1;                     // local: index in Function::locals
    Op op = Op::add;                    // unary, binary
    Function* function = nullptr;       // function_value, lambda, call_direct
    Builtin builtin = Builtin::none;    // call_builtin
    // Operands; of a call the arguments, and of an indirect call the callee first.
    std::vector<std::unique_ptr<Expr>> operands;

    Expr(Kind k, int at) : kind(k), line(at) {}
};

using ExprPtr = std::unique_ptr<Expr>;

struct Stmt;
using Block = std::vector<std::unique_ptr<Stmt>>;

struct Stmt {
    enum class Kind { let, assign, store, if_else, while_loop, for_range, ret, expr };
    Kind kind;
    int line;
    std::string name;                   // let, assign, for_range
    int local = -1;                     // the same, resolved
    int limit_local = -1;               // for_range: the hidden local of its upper bound
    // let, assign, ret, expr: one; store: array, index, value; for_range: from, to.
    std::vector<ExprPtr> exprs;
    Block body;
    Block otherwise;

    Stmt(Kind k, int at) : kind(k), line(at) {}
};

struct Local {
    std::string name;
    const Type* type;
    int uses = 0;                       // weighted by loop depth; the optimizing tier allocates by it
};

struct Capture {
    int outer;                          // local of the enclosing function
    int inner;                          // local of the lambda that holds the copy
};

struct Function {
    std::string name;
    int line = 0;
    int slot = -1;                      // index in the table of entry points
    const Type* type = nullptr;
    std::vector<Local> locals;          // parameters first
    std::size_t params = 0;
    std::vector<Capture> captures;      // copied from the closure at entry
    Block body;
};

struct Program {
    TypeTable types;
    std::vector<std::unique_ptr<Function>> functions;  // lambdas too; index == slot
    Function* main = nullptr;
};

// Parses and checks. Throws SourceError.
std::unique_ptr<Program> parse(const std::string& source);
void check(Program& program);

}  // namespace sprig
