// SPDX-License-Identifier: Apache-2.0
// What the second file of the program has of each object that a program has once.
#pragma once

#include <string_view>

#include <tenon/core/context.hpp>
#include <tenon/core/edge.hpp>
#include <tenon/core/ledger.hpp>

namespace header_only {

struct Parts {
  const tenon::Ledger* ledger;
  tenon::EdgeId edge;  ///< The number of the edge that was asked for.
  tenon::Context cpu, dmabuf, null;
  const tenon::Edge *from_dmabuf, *from_null;  ///< Edges to the CPU.
  std::size_t null_blocks;                     ///< Live blocks, as counted by the library of frameworks/null.
};
Parts parts_of_the_other_file(std::string_view edge);

/// The edge of `context` to the CPU; null if it has none.
inline const tenon::Edge* edge_to_cpu(const tenon::Context& context) {
  for (const tenon::Edge* edge : context->edges()) {
    if (edge->to() == tenon::kCpuMemory) return edge;
  }
  return nullptr;
}

}  // namespace header_only
