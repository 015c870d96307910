// SPDX-License-Identifier: Apache-2.0
// The table of lowering functions.
#pragma once

#include <map>
#include <string_view>

#include <tenon/engine/lower/build/builder.hpp>
#include <tenon/graph/node.hpp>

namespace tenon::inline v1::engine {

/// Adds the steps that make the outputs of the chain's last node. @return false if it cannot: it must then have added
/// nothing; a fused chain is tried again as single nodes, a single node as its reference kernel.
using LowerFunction = bool (*)(PlanBuilder& builder, const Chain& chain);

struct LoweringEntry {
  LowerFunction lower = nullptr;
  bool is_anchor = false;  ///< Element-wise nodes after it may be fused into it.
};

/// The table: one registration per kernel family, each in its own file.
using LoweringTable = std::map<std::string_view, LoweringEntry>;
const LoweringTable& lowering_table();
/// Parameter, Result and Constant have no kernels.
bool is_port_or_constant(const Node& node);

void register_convolution(LoweringTable& table);
void register_matmul(LoweringTable& table);
void register_grouped_matmul(LoweringTable& table);
void register_pooling(LoweringTable& table);
void register_elementwise(LoweringTable& table);
void register_normalization(LoweringTable& table);
void register_movement(LoweringTable& table);
void register_gather(LoweringTable& table);
void register_resize(LoweringTable& table);
void register_reduction(LoweringTable& table);
void register_state(LoweringTable& table);
void register_attention(LoweringTable& table);
void register_input_stage(LoweringTable& table);
void register_control_flow(LoweringTable& table);
void register_recurrent(LoweringTable& table);
void register_quantization(LoweringTable& table);
void register_colours(LoweringTable& table);
void register_rearrange(LoweringTable& table);
void register_sorting(LoweringTable& table);
void register_indexing(LoweringTable& table);
void register_regions(LoweringTable& table);

}  // namespace tenon::inline v1::engine
