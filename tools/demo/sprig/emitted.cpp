// SPDX-License-Identifier: MIT
#include "emitted.h"

namespace sprig {

void Emitted::add_row(jitsframe::Row row)
{
    if (!rows.empty() && rows.back().offset == row.offset)
        rows.pop_back();
    if (!rows.empty()) {
        jitsframe::Row last = rows.back();
        last.offset = row.offset;
        if (last == row)
            return;
    }
    rows.push_back(row);
}

}  // namespace sprig
