// SPDX-License-Identifier: MIT
#include "ast.h"

namespace sprig {

const Type* TypeTable::intern(Type type)
{
    for (const auto& known : types_) {
        if (known->kind == type.kind && known->element == type.element && known->params == type.params &&
            known->result == type.result)
            return known.get();
    }
    types_.push_back(std::make_unique<Type>(std::move(type)));
    return types_.back().get();
}

const Type* TypeTable::integer()
{
    return intern({Type::Kind::integer, nullptr, {}, nullptr});
}

const Type* TypeTable::array(const Type* element)
{
    return intern({Type::Kind::array, element, {}, nullptr});
}

const Type* TypeTable::function(std::vector<const Type*> params, const Type* result)
{
    return intern({Type::Kind::function, nullptr, std::move(params), result});
}

std::string to_string(const Type* type)
{
    switch (type->kind) {
    case Type::Kind::integer:
        return "int";
    case Type::Kind::array:
        return std::string("[").append(to_string(type->element)).append("]");
    case Type::Kind::function:
        break;
    }
    std::string text = "fn(";
    for (std::size_t i = 0; i < type->params.size(); i++) {
        if (i > 0)
            text += ", ";
        text += to_string(type->params[i]);
    }
    text += ") -> ";
    text += to_string(type->result);
    return text;
}

}  // namespace sprig
