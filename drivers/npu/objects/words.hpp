// SPDX-License-Identifier: Apache-2.0
// Lists in the driver's environment variables.
#pragma once

#include <cstddef>
#include <string_view>

namespace tenon::npu {

/// Calls `visit(word)` for each word of a list separated by commas, the empty ones between two commas too.
template <typename Visit>
void visit_words(std::string_view list, Visit visit) {
  while (!list.empty()) {
    const std::size_t comma = list.find(',');
    visit(list.substr(0, comma));
    list = comma == std::string_view::npos ? std::string_view() : list.substr(comma + 1);
  }
}

}  // namespace tenon::npu
