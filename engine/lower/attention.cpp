// SPDX-License-Identifier: Apache-2.0
// ScaledDotProductAttention as two batched products with the softmax between them, in place.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <tuple>

#include <tenon/engine/kernels/broadcast.hpp>
#include <tenon/engine/lower/builder.hpp>
#include <tenon/engine/lower/table.hpp>

namespace tenon::inline v1::engine {
namespace {

using dnnl::algorithm;
using dims = dnnl::memory::dims;

/// Prepends axes of 1 up to `rank`.
Shape with_rank(Shape shape, std::size_t rank) {
  while (shape.size() < rank) shape.insert(shape.begin(), 1);
  return shape;
}

// A query whose every key is masked away has no greatest score, and the softmax of its row would be NaN. By definition it gets
// zeros: note_blind() makes the row harmless and remembers it, clear_blind() zeroes its shares. A row that sees its
// first key, as most do, costs one read.
void note_blind(float* scores, std::uint8_t* blind, std::size_t rows, std::size_t keys) {
  constexpr float kMasked = -std::numeric_limits<float>::infinity();
  kernels::parallel(rows, rows * keys, [&](std::size_t begin, std::size_t end) {
    for (std::size_t row = begin; row < end; ++row) {
      float* const of = scores + row * keys;
      blind[row] = std::all_of(of, of + keys, [](float score) { return score == kMasked; });
      if (blind[row]) std::fill_n(of, keys, 0.f);
    }
  });
}
void clear_blind(std::byte* shares, const std::uint8_t* blind, std::size_t rows, std::size_t row_bytes) {
  for (std::size_t row = 0; row < rows; ++row)
    if (blind[row]) std::memset(shares + row * row_bytes, 0, row_bytes);
}

bool lower_sdpa(PlanBuilder& builder, const Chain& chain) {
  const auto& node = chain.anchor();
  Value &q = builder.input(node, 0), &k = builder.input(node, 1), &v = builder.input(node, 2);
  Value& made = builder.value(node->output(0));
  const std::size_t rank = made.shape.size();
  if (made.type != ElementType::kF32 || rank < 3 || rank > 5 || node->get_attributes().get_bool("causal", false))
    return false;
  for (const Value* side : {&q, &k, &v})
    if (side->type != ElementType::kF32 || side->shape.size() != rank || element_count(side->shape) == 0) return false;
  float scale = 1.f / std::sqrt(static_cast<float>(q.shape.back()));
  if (node->get_input_size() > 4) {
    const Tensor given = builder.constant_input(node, 4);
    if (!given || given.element_type() != ElementType::kF32 || given.element_count() != 1) return false;
    scale = *given.data<float>();
  }
  Shape score_shape = made.shape;
  score_shape.back() = k.shape[rank - 2];
  Value* mask = nullptr;
  if (node->get_input_size() > 3) {
    Value& given = builder.input(node, 3);
    const bool none =
        given.shape.empty() && given.constant && given.type == ElementType::kF32 && *given.constant.data<float>() == 0;
    // A boolean mask, or a number where a matrix should be, is left to the reference.
    if (!none && (given.type != ElementType::kF32 || given.shape.size() > rank || given.shape.empty())) return false;
    if (!none) mask = &given;
  }
  // In the layout they have if it is of the type that is computed in; else packed in that type.
  const ElementType type = builder.compute_type();
  std::vector<int> swap(rank);
  for (std::size_t i = 0; i < rank; ++i) swap[i] = static_cast<int>(i);
  std::swap(swap[rank - 1], swap[rank - 2]);
  const auto lying = [&](Value& value) {
    const md desc = builder.native(value).desc;
    return !value.constant && element_type(desc) == type ? desc : plain_desc(type, value.shape);
  };
  // Scores are f32 until they are probabilities: see result_type().
  const md scores = plain_desc(ElementType::kF32, score_shape), shares = plain_desc(type, score_shape),
           result = plain_desc(type, made.shape);
  const md mask_desc = mask ? plain_desc(ElementType::kF32, with_rank(mask->shape, rank)) : md();

  dnnl::primitive_attr first_attr, attr;
  first_attr.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  attr.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  dnnl::post_ops ops;
  ops.append_eltwise(algorithm::eltwise_linear, scale, 0);
  if (mask) ops.append_binary(algorithm::binary_add, mask_desc);
  first_attr.set_post_ops(ops);
  const auto products = [&](const md& queries, const md& keys, const md& values) {
    return std::pair{dnnl::matmul::primitive_desc(builder.engine(), queries, keys.permute_axes(swap), md(), scores,
                                                  first_attr, true),
                     dnnl::matmul::primitive_desc(builder.engine(), shares, values, md(), result, attr, true)};
  };
  const auto is_fast = [](const auto& pair) {
    return pair.first && pair.second && !is_slow(pair.first.impl_info_str()) && !is_slow(pair.second.impl_info_str());
  };
  md q_desc = lying(q), k_read = lying(k), v_desc = lying(v);
  auto [first, second] = products(q_desc, k_read, v_desc);
  if (!is_fast(std::pair{first, second})) {
    q_desc = plain_desc(type, q.shape);
    k_read = plain_desc(type, k.shape);
    v_desc = plain_desc(type, v.shape);
    std::tie(first, second) = products(q_desc, k_read, v_desc);
    if (!is_fast(std::pair{first, second})) return false;
  }
  const md k_desc = k_read.permute_axes(swap);
  const dnnl::softmax_forward::primitive_desc middle(builder.engine(), dnnl::prop_kind::forward_inference,
                                                     algorithm::softmax_accurate, scores, shares,
                                                     static_cast<int>(rank) - 1, attr, true);
  if (!middle) return false;

  const Place q_place = builder.in_layout(q, q_desc), k_place = builder.in_layout(k, k_read),
              v_place = builder.in_layout(v, v_desc);
  const Place mask_place = mask ? builder.plain(*mask) : Place{};
  const Place score_place = builder.scratch(scores.get_size()),
              share_place = scores == shares ? score_place : builder.scratch(shares.get_size());
  auto& product = builder.add_primitive(node, dnnl::matmul(first), std::string(first.impl_info_str()) + "+scale");
  builder.add_argument(product, DNNL_ARG_SRC, q_place, q_desc);
  builder.add_argument(product, DNNL_ARG_WEIGHTS, k_place, k_desc);
  if (mask) builder.add_argument(product, DNNL_ARG_ATTR_MULTIPLE_POST_OP(1) | DNNL_ARG_SRC_1, mask_place, mask_desc);
  builder.add_argument(product, DNNL_ARG_DST, score_place, scores, true);
  builder.add_scratchpad(product, first.scratchpad_desc());
  const std::size_t keys = score_shape.back(), rows = element_count(score_shape) / keys;
  const Place blind = mask ? builder.scratch(rows) : Place{};
  if (mask)
    builder.add_kernel(node, "rows that see nothing", {score_place}, {score_place, blind},
                       [rows, keys](std::span<void* const> p) {
                         note_blind(static_cast<float*>(p[1]), static_cast<std::uint8_t*>(p[2]), rows, keys);
                       });
  auto& softmax = builder.add_primitive(node, dnnl::softmax_forward(middle), middle.impl_info_str());
  builder.add_argument(softmax, DNNL_ARG_SRC, score_place, scores);
  builder.add_argument(softmax, DNNL_ARG_DST, share_place, shares, true);
  builder.add_scratchpad(softmax, middle.scratchpad_desc());
  if (mask)
    builder.add_kernel(node, "zeros for rows that see nothing", {blind, share_place}, {share_place},
                       [rows, row_bytes = keys * size_bytes(type)](std::span<void* const> p) {
                         clear_blind(static_cast<std::byte*>(p[2]), static_cast<const std::uint8_t*>(p[0]), rows,
                                     row_bytes);
                       });
  const Place to = builder.define(made, result);
  auto& mix = builder.add_primitive(node, dnnl::matmul(second), second.impl_info_str());
  builder.add_argument(mix, DNNL_ARG_SRC, share_place, shares);
  builder.add_argument(mix, DNNL_ARG_WEIGHTS, v_place, v_desc);
  builder.add_argument(mix, DNNL_ARG_DST, to, result, true);
  builder.add_scratchpad(mix, second.scratchpad_desc());
  return true;
}

}  // namespace

void register_attention(LoweringTable& table) { table["ScaledDotProductAttention"] = {lower_sdpa, false}; }

}  // namespace tenon::inline v1::engine
