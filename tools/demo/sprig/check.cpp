// SPDX-License-Identifier: MIT
// Resolves names, finds captures, and gives every expression its type.
#include <map>

#include "ast.h"

namespace sprig {
namespace {

const std::map<std::string, Builtin> builtins = {
    {"len", Builtin::len}, {"array", Builtin::array}, {"print", Builtin::print},
    {"map", Builtin::map}, {"fold", Builtin::fold},   {"sort", Builtin::sort},
};

bool always_returns(const Block& block);

bool always_returns(const Stmt& stmt)
{
    if (stmt.kind == Stmt::Kind::if_else)
        return always_returns(stmt.body) && always_returns(stmt.otherwise);
    return stmt.kind == Stmt::Kind::ret;
}

bool always_returns(const Block& block)
{
    return !block.empty() && always_returns(*block.back());
}

class Checker {
public:
    Checker(Program& program, Function& function, Checker* outer) : program_(program), function_(function), outer_(outer)
    {
        scopes_.emplace_back();
        for (std::size_t i = 0; i < function.params; i++)
            declare(function.line, function.locals[i].name, static_cast<int>(i));
    }

    void run()
    {
        check_block(function_.body);
        if (!always_returns(function_.body))
            throw SourceError(function_.line, "'" + function_.name + "' may end without a return");
    }

private:
    static constexpr int loop_weight = 8;

    const Type* integer() { return program_.types.integer(); }

    void declare(int line, const std::string& name, int local)
    {
        if (!scopes_.back().emplace(name, local).second)
            throw SourceError(line, "'" + name + "' is declared twice");
    }

    int add_local(const std::string& name, const Type* type)
    {
        function_.locals.push_back({name, type});
        return static_cast<int>(function_.locals.size()) - 1;
    }

    int find_here(const std::string& name) const
    {
        for (auto scope = scopes_.rbegin(); scope != scopes_.rend(); ++scope) {
            if (auto found = scope->find(name); found != scope->end())
                return found->second;
        }
        return -1;
    }

    // A local of an enclosing function is copied into the lambda's own locals.
    int find(const std::string& name)
    {
        if (int here = find_here(name); here >= 0)
            return here;
        int outer = outer_ ? outer_->find(name) : -1;
        if (outer < 0)
            return -1;
        outer_->use(outer);
        int inner = add_local(name, outer_->function_.locals[outer].type);
        function_.captures.push_back({outer, inner});
        scopes_.front().emplace(name, inner);
        return inner;
    }

    void use(int local) { function_.locals[local].uses += weight_; }

    bool is_capture(int local) const
    {
        for (const Capture& capture : function_.captures) {
            if (capture.inner == local)
                return true;
        }
        return false;
    }

    void require(int line, const Type* found, const Type* wanted)
    {
        if (found != wanted)
            throw SourceError(line, "expected " + to_string(wanted) + ", found " + to_string(found));
    }

    void check_block(Block& block)
    {
        scopes_.emplace_back();
        for (auto& stmt : block)
            check_stmt(*stmt);
        scopes_.pop_back();
    }

    void check_loop_body(Block& block)
    {
        int before = weight_;
        weight_ = weight_ > 1000 ? weight_ : weight_ * loop_weight;
        check_block(block);
        weight_ = before;
    }

    void check_stmt(Stmt& stmt)
    {
        for (auto& expr : stmt.exprs)
            check_expr(*expr);
        switch (stmt.kind) {
        case Stmt::Kind::let:
            stmt.local = add_local(stmt.name, stmt.exprs[0]->type);
            use(stmt.local);
            declare(stmt.line, stmt.name, stmt.local);
            break;
        case Stmt::Kind::assign:
            check_assign(stmt);
            break;
        case Stmt::Kind::store:
            if (stmt.exprs[0]->type->kind != Type::Kind::array)
                throw SourceError(stmt.line, "not an array: " + to_string(stmt.exprs[0]->type));
            require(stmt.line, stmt.exprs[1]->type, integer());
            require(stmt.line, stmt.exprs[2]->type, stmt.exprs[0]->type->element);
            break;
        case Stmt::Kind::if_else:
            require(stmt.line, stmt.exprs[0]->type, integer());
            check_block(stmt.body);
            check_block(stmt.otherwise);
            break;
        case Stmt::Kind::while_loop:
            require(stmt.line, stmt.exprs[0]->type, integer());
            check_loop_body(stmt.body);
            break;
        case Stmt::Kind::for_range:
            check_for(stmt);
            break;
        case Stmt::Kind::ret:
            require(stmt.line, stmt.exprs[0]->type, function_.type->result);
            break;
        case Stmt::Kind::expr:
            break;
        }
    }

    void check_assign(Stmt& stmt)
    {
        stmt.local = find(stmt.name);
        if (stmt.local < 0)
            throw SourceError(stmt.line, "unknown name '" + stmt.name + "'");
        if (is_capture(stmt.local))
            throw SourceError(stmt.line, "'" + stmt.name + "' is captured by value and cannot be assigned");
        require(stmt.line, stmt.exprs[0]->type, function_.locals[stmt.local].type);
        use(stmt.local);
    }

    void check_for(Stmt& stmt)
    {
        require(stmt.line, stmt.exprs[0]->type, integer());
        require(stmt.line, stmt.exprs[1]->type, integer());
        stmt.local = add_local(stmt.name, integer());
        stmt.limit_local = add_local("", integer());
        function_.locals[stmt.local].uses += 2 * loop_weight * weight_;
        function_.locals[stmt.limit_local].uses += loop_weight * weight_;
        scopes_.emplace_back();
        declare(stmt.line, stmt.name, stmt.local);
        check_loop_body(stmt.body);
        scopes_.pop_back();
    }

    void check_expr(Expr& expr)
    {
        switch (expr.kind) {
        case Expr::Kind::integer:
            expr.type = integer();
            return;
        case Expr::Kind::name:
            return resolve(expr);
        case Expr::Kind::lambda:
            Checker(program_, *expr.function, this).run();
            expr.type = expr.function->type;
            return;
        case Expr::Kind::call_indirect:
            return check_call(expr);
        default:
            break;
        }
        for (auto& operand : expr.operands)
            check_expr(*operand);
        expr.type = integer();
        if (expr.kind == Expr::Kind::index)
            return check_index(expr);
        for (auto& operand : expr.operands)
            require(expr.line, operand->type, integer());
    }

    void check_index(Expr& expr)
    {
        if (expr.operands[0]->type->kind != Type::Kind::array)
            throw SourceError(expr.line, "not an array: " + to_string(expr.operands[0]->type));
        require(expr.line, expr.operands[1]->type, integer());
        expr.type = expr.operands[0]->type->element;
    }

    Function* named_function(const std::string& name)
    {
        for (auto& function : program_.functions) {
            if (function->name == name)
                return function.get();
        }
        return nullptr;
    }

    void resolve(Expr& expr)
    {
        if (int local = find(expr.name); local >= 0) {
            expr.kind = Expr::Kind::local;
            expr.local = local;
            expr.type = function_.locals[local].type;
            use(local);
            return;
        }
        expr.function = named_function(expr.name);
        if (!expr.function)
            throw SourceError(expr.line, "unknown name '" + expr.name + "'");
        expr.kind = Expr::Kind::function_value;
        expr.type = expr.function->type;
    }

    void check_call(Expr& expr)
    {
        Expr& callee = *expr.operands[0];
        auto builtin = callee.kind == Expr::Kind::name ? builtins.find(callee.name) : builtins.end();
        bool is_builtin = builtin != builtins.end() && find_here(callee.name) < 0 && !named_function(callee.name);
        for (std::size_t i = is_builtin ? 1 : 0; i < expr.operands.size(); i++)
            check_expr(*expr.operands[i]);
        if (is_builtin) {
            expr.operands.erase(expr.operands.begin());
            expr.kind = Expr::Kind::call_builtin;
            expr.builtin = builtin->second;
            return check_builtin(expr);
        }
        const Type* type = callee.type;
        if (type->kind != Type::Kind::function)
            throw SourceError(expr.line, "not a function: " + to_string(type));
        require_arguments(expr, 1, type->params);
        expr.type = type->result;
        if (callee.kind == Expr::Kind::function_value) {
            expr.kind = Expr::Kind::call_direct;
            expr.function = callee.function;
            expr.operands.erase(expr.operands.begin());
        }
    }

    void require_arguments(Expr& expr, std::size_t first, const std::vector<const Type*>& params)
    {
        if (expr.operands.size() - first != params.size())
            throw SourceError(expr.line, "expected " + std::to_string(params.size()) + " arguments, found " +
                                             std::to_string(expr.operands.size() - first));
        for (std::size_t i = 0; i < params.size(); i++)
            require(expr.operands[first + i]->line, expr.operands[first + i]->type, params[i]);
    }

    void check_builtin(Expr& expr)
    {
        TypeTable& types = program_.types;
        const Type* ints = types.array(integer());
        expr.type = integer();
        switch (expr.builtin) {
        case Builtin::none:
            break;
        case Builtin::len:
            if (expr.operands.size() != 1 || expr.operands[0]->type->kind != Type::Kind::array)
                throw SourceError(expr.line, "len takes one array");
            break;
        case Builtin::array:
            if (expr.operands.size() != 2)
                throw SourceError(expr.line, "array takes a length and a first value");
            require(expr.line, expr.operands[0]->type, integer());
            expr.type = types.array(expr.operands[1]->type);
            break;
        case Builtin::print:
            require_arguments(expr, 0, {integer()});
            break;
        case Builtin::map:
            require_arguments(expr, 0, {ints, types.function({integer()}, integer())});
            expr.type = ints;
            break;
        case Builtin::fold:
            require_arguments(expr, 0, {ints, types.function({integer(), integer()}, integer()), integer()});
            break;
        case Builtin::sort:
            require_arguments(expr, 0, {ints, types.function({integer(), integer()}, integer())});
            break;
        }
    }

    Program& program_;
    Function& function_;
    Checker* outer_;
    std::vector<std::map<std::string, int>> scopes_;
    int weight_ = 1;
};

}  // namespace

void check(Program& program)
{
    std::map<std::string, int> seen;
    for (auto& function : program.functions) {
        bool lambda = function->name.starts_with("fn:");
        if (!lambda && !seen.emplace(function->name, function->line).second)
            throw SourceError(function->line, "'" + function->name + "' is defined twice");
        if (function->name == "main")
            program.main = function.get();
    }
    if (!program.main || program.main->params != 0 || program.main->type->result != program.types.integer())
        throw SourceError(1, "the program needs fn main() -> int");
    // A lambda is checked where it stands, inside the function that makes it.
    for (std::size_t i = 0; i < program.functions.size(); i++) {
        if (!program.functions[i]->name.starts_with("fn:"))
            Checker(program, *program.functions[i], nullptr).run();
    }
}

}  // namespace sprig
