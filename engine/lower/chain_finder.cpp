// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <string_view>
#include <unordered_set>

#include <tenon/engine/lower/build/post_ops.hpp>
#include <tenon/engine/lower/build/quantization.hpp>
#include <tenon/engine/lower/build/table.hpp>
#include <tenon/engine/lower/chain_finder.hpp>
#include <tenon/engine/lower/data_movement/fused_loop.hpp>
#include <tenon/engine/lower/matmul_conv/attention.hpp>
#include <tenon/engine/lower/matmul_conv/attention_match.hpp>
#include <tenon/engine/lower/reductions/rms_norm.hpp>
#include <tenon/graph/operation_table.hpp>
#include <tenon/graph/passes/pass.hpp>

namespace tenon::inline v1::engine {
namespace {

constexpr std::size_t kLongestChain = 12;

// Whether `shape` broadcasts to `target` without making it larger.
bool fits(const Shape& shape, const Shape& target) {
  if (shape.size() > target.size()) return false;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    const std::size_t extent = shape[shape.size() - 1 - i];
    if (extent != 1 && extent != target[target.size() - 1 - i]) return false;
  }
  return true;
}

bool is_convolution(const std::shared_ptr<Node>& node) {
  return std::string_view(node->get_type_name()).find("Convolution") != std::string_view::npos;
}

bool is_product(const std::shared_ptr<Node>& node) { return std::string_view(node->get_type_name()) == "MatMul"; }

bool is_relu(const std::shared_ptr<Node>& node) { return std::string_view(node->get_type_name()) == "Relu"; }

bool reads_8_bits(PlanBuilder& builder, const std::shared_ptr<Node>& node) {
  for (std::size_t i = 0; i < node->get_input_size(); ++i)
    if (!is_quantized(builder, node->get_input_node_shared_ptr(i))) return false;
  return true;
}

/// Whether the node rounds to 8 bits, or is a Relu before a node that does.
bool rounds_soon(PlanBuilder& builder, const std::shared_ptr<Node>& node) {
  const auto next = is_relu(node) ? pass::only_user(*node) : node;
  return next && quantization_of(builder, next);
}

/// Whether a node that only computes between 8-bit numbers, or joins them, absorbs the rounding after it, and the Relu
/// between.
bool rounds_8_bits(PlanBuilder& builder, const std::shared_ptr<Node>& node, const std::shared_ptr<Node>& previous,
                   const std::shared_ptr<Node>& anchor) {
  if (previous != anchor && !(is_relu(previous) && !is_relu(node))) return false;
  if (is_relu(node) && !binary_of(anchor)) return false;
  return rounds_soon(builder, node) && reads_8_bits(builder, anchor);
}

/// Whether the chain stays a function of one 8-bit tensor, as x * sigmoid(x) with all its rounding: a table holds it.
bool continues_table(PlanBuilder& builder, const std::shared_ptr<Node>& node, const std::shared_ptr<Node>& previous,
                     const std::shared_ptr<Node>& anchor) {
  if (!is_quantized(builder, anchor->get_input_node_shared_ptr(0))) return false;
  if (quantization_of(builder, node) || activation_of(builder, node)) return true;
  return binary_of(node) && node->get_input_size() == 2 &&
         node->input_value(other_operand(node, previous)) == anchor->input_value(0);
}

/// Whether a table of its 256 results is faster than computing the function: all but comparisons and a multiplication.
bool is_better_as_table(dnnl::algorithm function) {
  using dnnl::algorithm;
  constexpr algorithm kCheap[] = {algorithm::eltwise_relu,        algorithm::eltwise_clip,
                                  algorithm::eltwise_clip_v2,     algorithm::eltwise_abs,
                                  algorithm::eltwise_linear,      algorithm::eltwise_square,
                                  algorithm::eltwise_hardsigmoid, algorithm::eltwise_hardswish};
  return has_native_int8() && std::find(std::begin(kCheap), std::end(kCheap), function) == std::end(kCheap);
}

/// Whether both operands and the result are numbers of 8 bits: where AMX multiplies, a step alone then takes less time than
/// a product that makes them real and rounds them (ResNet-50 0.9; by VNNI 1.03).
bool is_better_alone(PlanBuilder& builder, const std::shared_ptr<Node>& node) {
  using dnnl::algorithm;
  if (dnnl::get_effective_cpu_isa() < dnnl::cpu_isa::avx512_core_amx) return false;
  const auto function = *binary_of(node);
  if (function != algorithm::binary_add && function != algorithm::binary_sub && function != algorithm::binary_mul)
    return false;
  const auto next = pass::only_user(*node);
  return node->get_input_shape(0) == node->get_input_shape(1) && reads_8_bits(builder, node) && next &&
         rounds_soon(builder, next);
}

bool is_norm(const std::shared_ptr<Node>& node) { return std::string_view(node->get_type_name()) == "MVN"; }

/// Scale, then shift, per column of MVN's result: a layer normalization's parameters. Nothing else fuses there.
bool continues_norm(PlanBuilder& builder, const std::shared_ptr<Node>& node, const std::shared_ptr<Node>& previous) {
  const std::string_view type = node->get_type_name(), before = previous->get_type_name();
  const Shape shape = node->get_output_shape(0);
  if (shape.empty() || !(type == "Multiply" ? before == "MVN" : type == "Add" && before != "Add")) return false;
  return axis_constant(builder, node, previous, shape, shape.size() - 1).has_value();
}

bool is_fusible(PlanBuilder& builder, const std::shared_ptr<Node>& node, const std::shared_ptr<Node>& previous,
                const std::shared_ptr<Node>& anchor) {
  if (node->get_output_size() != 1 || node->get_output_element_type(0) != element::f32) return false;
  if (node->get_output_shape(0) != previous->get_output_shape(0)) return false;
  if (is_norm(anchor)) return continues_norm(builder, node, previous);
  if (activation_of(builder, anchor)) return continues_table(builder, node, previous, anchor);
  if (!is_convolution(anchor) && !is_product(anchor)) return rounds_8_bits(builder, node, previous, anchor);
  const auto is_rounding = [](const std::shared_ptr<Node>& one) {
    return std::string_view(one->get_type_name()) == "FakeQuantize";
  };
  // oneDNN's softplus of numbers about -20 is negative, and a logarithm may follow.
  if (const auto activation = activation_of(builder, node))
    return activation->algorithm != dnnl::algorithm::eltwise_soft_relu &&
           !(is_rounding(previous) && is_better_as_table(activation->algorithm));
  if (is_rounding(node))
    return is_quantized(builder, anchor->get_input_node_shared_ptr(0)) && quantization_of(builder, node);
  if (is_batch_norm(builder, node)) return previous == anchor && is_convolution(anchor);
  const auto algorithm = binary_of(node);
  if (!algorithm || node->get_input_size() != 2) return false;
  const std::size_t other = other_operand(node, previous);
  if (node->get_input_element_type(other) != element::f32) return false;
  if (!fits(node->get_input_shape(other), node->get_output_shape(0))) return false;
  // x - c and x / c, but not the other way round.
  if ((*algorithm == dnnl::algorithm::binary_sub || *algorithm == dnnl::algorithm::binary_div) && other == 0)
    return false;
  return !(is_rounding(previous) && is_better_alone(builder, node));
}

}  // namespace

ChainFinder::ChainFinder(PlanBuilder& builder, const NodeVector& order) {
  if (!builder.options().fuse || builder.options().reference_only) return;
  find_patterns(builder, order);
  for (const auto& node : order) {
    const auto found = lowering_table().find(node->get_type_name());
    if (found == lowering_table().end() || !found->second.is_anchor || by_node_.count(node.get())) continue;
    if (node->get_output_size() != 1 || node->get_output_element_type(0) != element::f32) continue;
    auto chain = std::make_unique<Chain>();
    chain->nodes.push_back(node);
    while (chain->nodes.size() < kLongestChain) {
      const auto next = pass::only_user(*chain->last());
      if (!next || by_node_.count(next.get()) || !is_fusible(builder, next, chain->last(), node)) break;
      chain->nodes.push_back(next);
    }
    // Only chains whose result is rounded again have 8 bits.
    while (chain->nodes.size() > 1 && activation_of(builder, node) && !quantization_of(builder, chain->last()))
      chain->nodes.pop_back();
    if (chain->nodes.size() < 2) continue;
    for (const auto& member : chain->nodes) by_node_[member.get()] = chain.get();
    chains_.push_back(std::move(chain));
  }
  find_loops(builder, order);
}

void ChainFinder::find_loops(PlanBuilder& builder, const NodeVector& order) {
  // What follows from constants is computed when the plan is made.
  std::unordered_set<const Node*> known, lowered;
  for (const auto& node : order) {
    bool is_known = node->get_input_size() > 0;
    for (std::size_t i = 0; i < node->get_input_size(); ++i)
      is_known &= known.count(node->get_input_node_ptr(i)) > 0 || builder.constant_input(node, i);
    (is_known ? known : lowered).insert(node.get());
  }
  const auto is_free = [&](const std::shared_ptr<Node>& node) {
    return lowered.count(node.get()) > 0 && !is_port_or_constant(*node) && !by_node_.count(node.get()) &&
           !builder.value(node->output(0)).constant;
  };
  // From the end: a value that is read within a group alone belongs to it.
  for (auto node = order.rbegin(); node != order.rend(); ++node) {
    if ((*node)->get_output_size() != 1 || !is_free(*node) || !is_loop_operation(builder, *node)) continue;
    const NodeVector members = match_fused_loop(builder, *node, is_free);
    if (members.size() > 1) add_pattern(members, lower_fused_loop);
  }
}

bool ChainFinder::add_pattern(const NodeVector& nodes, bool (*lower)(PlanBuilder&, const Chain&)) {
  const auto is_taken = [&](const auto& member) { return by_node_.count(member.get()) > 0; };
  if (std::any_of(nodes.begin(), nodes.end(), is_taken)) return false;
  auto chain = std::make_unique<Chain>();
  chain->nodes = nodes;
  chain->lower = lower;
  for (const auto& member : nodes) by_node_[member.get()] = chain.get();
  chains_.push_back(std::move(chain));
  return true;
}

void ChainFinder::find_patterns(PlanBuilder& builder, const NodeVector& order) {
  for (const auto& node : order) {
    if (const auto norm = match_rms_norm(builder, node)) add_pattern(norm->nodes, lower_rms_norm);
    if (const auto real = dequantized_of(builder, node)) add_pattern(real->nodes, lower_dequantized);
    const auto attention = match_attention(builder, node);
    if (!attention || attention->nodes.size() < 2 || !is_faster_whole(builder, *attention)) continue;
    if (!add_pattern(attention->nodes, lower_attention)) continue;
    for (const auto& member : attention->nodes) builder.note_attention(member.get());
  }
}

const Chain* ChainFinder::chain_of(const std::shared_ptr<Node>& node) const {
  const auto found = by_node_.find(node.get());
  return found == by_node_.end() ? nullptr : found->second;
}

}  // namespace tenon::inline v1::engine
