// SPDX-License-Identifier: Apache-2.0
// What values decide: passes replace the control flow that they can (pass::fold_constants, pass::unroll_loops); the rest
// is refused with a reason.
#include <string>

#include <tenon/devices/gpu/lower/build/table.hpp>
#include <tenon/graph/passes/pass.hpp>

namespace tenon::inline v1::gpu_device {
namespace {

std::string refuses_if(const Node& node) { return "its condition, " + wants_constant(node, 0); }

std::string refuses_loop(const Node& node) {
  for (std::size_t i = 0; i < 2; ++i)
    if (const std::string why = wants_constant(node, i); !why.empty())
      return (i ? "its condition, " : "its trip count, ") + why;
  // The passes took it apart.
  if (pass::can_peel(node)) return {};
  return "it runs so often that it cannot be unrolled, or its body ends it and it reads slices";
}

std::string refuses_iterator(const Node&) {
  return "how often it runs is not known, or it runs so often that it cannot be unrolled";
}

std::string refuses_unknown_extents(const Node&) {
  return "how much it puts out depends on its data, and it has no kernel that counts it";
}

}  // namespace

void register_control_flow(LoweringTable& table) {
  table["If"] = {nullptr, refuses_if};
  table["Loop"] = {nullptr, refuses_loop};
  table["TensorIterator"] = {nullptr, refuses_iterator};
  for (const char* type : {"GenerateProposals", "SparseFillEmptyRows"})
    table[type] = {nullptr, refuses_unknown_extents};
}

}  // namespace tenon::inline v1::gpu_device
