// SPDX-License-Identifier: Apache-2.0
// Which function lowers which operation.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include <tenon/devices/gpu/lower/build/builder.hpp>
#include <tenon/graph/node.hpp>

namespace tenon::inline v1::gpu_device {

/// How nodes of one type become launches.
struct Lowering {
  void (*lower)(Builder& builder, const Node& node) = nullptr;
  /// Why this node cannot be lowered, as far as it tells by itself; empty if it can. Null: types are all that matters.
  std::string (*refuses)(const Node& node) = nullptr;
  /// How large the one extent of its outputs that values decide can get; its inputs have known shapes. Null: none does.
  std::size_t (*most)(const Node& node) = nullptr;
};
using LoweringTable = std::map<std::string_view, Lowering>;

const LoweringTable& lowering_table();

/// Why the device cannot run the node; empty if it can.
std::string refusal(const Node& node, const Target& target);

/// The bound of an output whose extent values decide; none: the node is not of that kind, or its inputs' shapes are open.
std::optional<std::size_t> most_of(const Node& node);

/// @name The families, each in a file of its own.
/// @{
void register_elementwise(LoweringTable& table);
void register_movement(LoweringTable& table);
void register_reduction(LoweringTable& table);
void register_matmul(LoweringTable& table);
void register_convolution(LoweringTable& table);
void register_pooling(LoweringTable& table);
void register_normalization(LoweringTable& table);
void register_gather(LoweringTable& table);
void register_input_stage(LoweringTable& table);
void register_sorting(LoweringTable& table);
void register_scatter(LoweringTable& table);
void register_interpolate(LoweringTable& table);
void register_sampling(LoweringTable& table);
void register_space(LoweringTable& table);
void register_recurrent(LoweringTable& table);
void register_attention(LoweringTable& table);
void register_colour(LoweringTable& table);
void register_einsum(LoweringTable& table);
void register_grouped_matmul(LoweringTable& table);
void register_inverse(LoweringTable& table);
void register_embedding(LoweringTable& table);
void register_generation(LoweringTable& table);
void register_fourier(LoweringTable& table);
void register_control_flow(LoweringTable& table);
void register_suppression(LoweringTable& table);
void register_distinct(LoweringTable& table);
void register_detection(LoweringTable& table);
void register_sparse(LoweringTable& table);
void register_caches(LoweringTable& table);
/// @}

/// Part of what wants_constant() says, by which such refusals are told from others.
inline constexpr const char* kNoConstant = "is no constant";
/// "input 1 is no constant": for refuses() of nodes whose plan depends on a value. @param input  If it is there.
std::string wants_constant(const Node& node, std::size_t input);

}  // namespace tenon::inline v1::gpu_device
