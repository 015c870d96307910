// SPDX-License-Identifier: Apache-2.0
// Recognises attention in the forms in which exporters of torch, optimum and OpenVINO's converter write it.
#include <algorithm>
#include <cmath>

#include <tenon/engine/kernels/attention/attention_pairs.hpp>
#include <tenon/engine/lower/build/precise.hpp>
#include <tenon/engine/lower/matmul_conv/attention_match.hpp>
#include <tenon/graph/passes/pass.hpp>

namespace tenon::inline v1::engine {
namespace {

using Mask = kernels::Attention::Mask;
using NodePtr = std::shared_ptr<Node>;

bool is_f32(const Output<Node>& value) { return value.get_element_type() == element::f32; }
bool flag(const Node& node, const char* name) { return node.get_attributes().get_bool(name, false); }

/// With the rule of broadcast that everything here assumes.
bool is_binary(const Node& node, std::string_view type) {
  if (!is_op(&node, type)) return false;
  const auto& attributes = node.get_attributes();
  if (!attributes.has("auto_broadcast")) return true;
  const std::string& rule = attributes.get_string("auto_broadcast");
  return rule == "numpy" || rule == "none";
}

/// The number that a constant input of one element holds.
std::optional<float> number(PlanBuilder& builder, const NodePtr& node, std::size_t index) {
  const Tensor tensor = builder.constant_input(node, index);
  if (!tensor || tensor.element_type() != ElementType::kF32 || tensor.element_count() != 1) return std::nullopt;
  return *tensor.data<float>();
}

class Matcher {
 public:
  explicit Matcher(PlanBuilder& builder) : builder_(builder) {}
  bool match_operation(const NodePtr& node);
  bool match_product(const NodePtr& node);
  AttentionMatch& found() { return found_; }

 private:
  /// Notes a node between others of the match; those nearer to the result are noted first.
  void take(const NodePtr& node) { found_.nodes.push_back(node); }
  bool take_factor(Output<Node>& value, float& scale);
  bool take_flip(AttentionSide& side);
  bool take_repetition(AttentionSide& side);
  void peel(AttentionSide& side, bool with_factors);
  bool take_mask(const NodePtr& node, Output<Node>& scores);
  bool take_bool_mask(const Output<Node>& mask);
  bool take_scores(Output<Node> value, const Shape& shape);
  bool take_softmax(const Output<Node>& value);

  PlanBuilder& builder_;
  AttentionMatch found_;
};

/// x * c, c * x or x / c, whose only reader is in the match.
bool Matcher::take_factor(Output<Node>& value, float& scale) {
  const NodePtr node = value.get_node_shared_ptr();
  const bool is_product = is_binary(*node, "Multiply"), is_quotient = is_binary(*node, "Divide");
  if (!(is_product || is_quotient) || !pass::only_user(*node) || !is_f32(value)) return false;
  for (std::size_t i = 0; i < 2; ++i) {
    const auto factor = number(builder_, node, 1 - i);
    if (!factor || node->get_input_shape(i) != node->get_output_shape(0)) continue;
    float made = scale;
    if (is_product)
      made *= *factor;
    else if (i == 0)
      made /= *factor;
    else
      continue;
    if (!std::isfinite(made)) return false;
    scale = made;
    take(node);
    value = node->input_value(i);
    return true;
  }
  return false;
}

/// A transposition of the last two axes.
bool Matcher::take_flip(AttentionSide& side) {
  const NodePtr node = side.value.get_node_shared_ptr();
  std::vector<std::int64_t> order;
  if (!is_op(node, "Transpose") || !pass::only_user(*node) || !builder_.constant_ints(node, 1, order)) return false;
  const auto rank = static_cast<std::int64_t>(order.size());
  for (std::int64_t i = 0; i < rank; ++i) {
    const std::int64_t from = order[static_cast<std::size_t>(i)];
    if ((from < 0 ? from + rank : from) != (i + 2 < rank ? i : 2 * rank - 3 - i)) return false;
  }
  if (rank < 3) return false;
  take(node);
  side.value = node->input_value(0);
  side.is_flipped = !side.is_flipped;
  return true;
}

/// [B, H, S, D] repeated to [B, H * n, S, D]: an axis of 1 behind H, broadcast or tiled, and joined with H.
bool Matcher::take_repetition(AttentionSide& side) {
  const NodePtr join = side.value.get_node_shared_ptr();
  if (!is_op(join, "Reshape") || !pass::only_user(*join)) return false;
  const NodePtr repeat = join->get_input_node_shared_ptr(0);
  if (!(is_op(repeat, "Broadcast") || is_op(repeat, "Tile")) || !pass::only_user(*repeat)) return false;
  const NodePtr split = repeat->get_input_node_shared_ptr(0);
  if (!(is_op(split, "Unsqueeze") || is_op(split, "Reshape")) || !pass::only_user(*split)) return false;
  const Output<Node> source = split->input_value(0);
  const Shape &from = source.get_shape(), &apart = split->get_output_shape(0), &repeated = repeat->get_output_shape(0);
  Shape to = join->get_output_shape(0);
  if (from.size() != to.size() || from.size() < 3 || apart.size() != from.size() + 1) return false;
  // The axis of the batch that is repeated: its last, before two more.
  const std::size_t axis = from.size() - 3;
  Shape wanted_apart = from, wanted_repeated = from, joined = from;
  const std::size_t times = repeated.size() == apart.size() ? repeated[axis + 1] : 0;
  wanted_apart.insert(wanted_apart.begin() + static_cast<std::ptrdiff_t>(axis) + 1, 1);
  wanted_repeated.insert(wanted_repeated.begin() + static_cast<std::ptrdiff_t>(axis) + 1, times);
  joined[axis] *= times;
  // Two repetitions in a row are none that anyone writes.
  if (apart != wanted_apart || repeated != wanted_repeated || to != joined || times < 2 || side.repeated != 1)
    return false;
  for (const NodePtr& node : {join, repeat, split}) take(node);
  side.value = source;
  side.repeated = times;
  return true;
}

void Matcher::peel(AttentionSide& side, bool with_factors) {
  while ((with_factors && take_factor(side.value, found_.scale)) || take_flip(side) || take_repetition(side)) {
  }
}

/// Select(visible, 0, -infinity): a boolean mask written as numbers to add.
bool Matcher::take_bool_mask(const Output<Node>& mask) {
  const NodePtr node = mask.get_node_shared_ptr();
  if (!is_op(node, "Select") || !pass::only_user(*node)) return false;
  const auto visible = number(builder_, node, 1), hidden = number(builder_, node, 2);
  if (!visible || !hidden || node->get_input_element_type(0) != element::boolean) return false;
  constexpr float kNone = -std::numeric_limits<float>::infinity();
  const bool keeps = *visible == 0 && *hidden == kNone;
  if (!keeps && !(*visible == kNone && *hidden == 0)) return false;
  take(node);
  found_.mask = node->input_value(0);
  found_.mask_kind = keeps ? Mask::kVisible : Mask::kHidden;
  return true;
}

/// scores + mask, or Select(visible, scores, number) and its reverse.
bool Matcher::take_mask(const NodePtr& node, Output<Node>& scores) {
  const Shape shape = node->get_output_shape(0);
  const auto is_scores = [&](std::size_t i) {
    return node->get_input_shape(i) == shape && is_f32(node->input_value(i));
  };
  const auto leads_to_product = [&](std::size_t i) {
    NodePtr inner = node->get_input_node_shared_ptr(i);
    while (pass::only_user(*inner) && (is_op(inner, "Multiply") || is_op(inner, "Divide") || is_op(inner, "Tanh")))
      inner = inner->get_input_node_shared_ptr(is_op(inner, "Tanh") || number(builder_, inner, 1) ? 0 : 1);
    return is_op(inner, "MatMul") && pass::only_user(*inner);
  };
  if (is_binary(*node, "Add")) {
    for (const std::size_t i : {0, 1}) {
      if (!is_scores(i) || !leads_to_product(i) || !is_f32(node->input_value(1 - i))) continue;
      take(node);
      scores = node->input_value(i);
      found_.mask_kind = Mask::kAdded;
      found_.mask = node->input_value(1 - i);
      return true;
    }
    return false;
  }
  if (!is_op(node, "Select") || node->get_input_element_type(0) != element::boolean) return false;
  for (const std::size_t i : {1, 2}) {
    const auto masked = number(builder_, node, 3 - i);
    if (!masked || !is_scores(i) || !leads_to_product(i)) continue;
    take(node);
    scores = node->input_value(i);
    found_.mask_kind = i == 1 ? Mask::kVisible : Mask::kHidden;
    found_.mask = node->input_value(0);
    found_.masked = *masked;
    return true;
  }
  return false;
}

/// What a softmax of `shape` reads: masked scores, scaled before that.
bool Matcher::take_scores(Output<Node> value, const Shape& shape) {
  if (!pass::only_user(*value.get_node()) || value.get_shape() != shape) return false;
  take_mask(value.get_node_shared_ptr(), value);
  float scale = 1;
  while (take_factor(value, scale)) {
  }
  if (is_op(value.get_node(), "Tanh") && pass::only_user(*value.get_node())) {
    if (scale == 0) return false;
    take(value.get_node_shared_ptr());
    value = value.get_node()->input_value(0);
    found_.softcap = scale;
    scale = 1;
    while (take_factor(value, scale)) {
    }
  }
  found_.scale = scale;
  const NodePtr product = value.get_node_shared_ptr();
  if (!is_op(product, "MatMul") || !pass::only_user(*product) || flag(*product, "transpose_a") ||
      product->get_output_shape(0) != shape)
    return false;
  take(product);
  found_.q.value = product->input_value(0);
  found_.k = {product->input_value(1), !flag(*product, "transpose_b"), 1};
  while (take_factor(found_.q.value, found_.scale)) {
  }
  peel(found_.k, true);
  return true;
}

/// Softmax, possibly with the guard that gives 0 where it is NaN: Select(IsNaN(x), 0, x).
bool Matcher::take_softmax(const Output<Node>& value) {
  NodePtr node = value.get_node_shared_ptr();
  // A softmax of minus infinities is NaN.
  found_.blind = std::numeric_limits<float>::quiet_NaN();
  if (is_op(node, "Select") && pass::only_user(*node)) {
    const NodePtr test = node->get_input_node_shared_ptr(0), inner = node->get_input_node_shared_ptr(2);
    if (!is_op(test, "IsNaN") || test->get_input_node_ptr(0) != inner.get() || !pass::only_user(*test) ||
        inner->get_output_target_inputs(0).size() != 2 || number(builder_, node, 1) != 0.f)
      return false;
    take(node);
    take(test);
    found_.blind = 0;
    node = inner;
  } else if (!pass::only_user(*node)) {
    return false;
  }
  if (!is_op(node, "Softmax") || !is_f32(node->output(0))) return false;
  const Shape shape = node->get_output_shape(0);
  const std::int64_t axis = node->get_attributes().get_int("axis"), rank = static_cast<std::int64_t>(shape.size());
  if (rank < 2 || (axis != -1 && axis != rank - 1)) return false;
  take(node);
  return take_scores(node->input_value(0), shape);
}

bool Matcher::match_product(const NodePtr& node) {
  const Shape shape = node->get_output_shape(0);
  if (flag(*node, "transpose_a") || shape.size() < 2 || !is_f32(node->output(0))) return false;
  take(node);
  if (node->get_input_shape(0).size() != shape.size() || !take_softmax(node->input_value(0))) return false;
  found_.v = {node->input_value(1), flag(*node, "transpose_b"), 1};
  peel(found_.v, false);
  return true;
}

bool Matcher::match_operation(const NodePtr& node) {
  take(node);
  found_.q.value = node->input_value(0);
  found_.k.value = node->input_value(1);
  found_.v.value = node->input_value(2);
  const Shape shape = found_.q.value.get_shape();
  found_.scale = 1.f / std::sqrt(static_cast<float>(shape.back()));
  found_.is_causal = flag(*node, "causal");
  const std::size_t inputs = node->get_input_size();
  if (inputs > 4) {
    const auto given = number(builder_, node, 4);
    found_.scale = given.value_or(1);
    if (!given) found_.scale_value = node->input_value(4);
    if (!is_f32(node->input_value(4)) || element_count(node->get_input_shape(4)) != 1) return false;
  }
  if (inputs > 5) {
    found_.sinks = node->input_value(5);
    if (!is_f32(found_.sinks)) return false;
  }
  // By definition a causal form has no other mask. As a mask of no axes, 0 means none, and so does false.
  if (inputs > 3 && !found_.is_causal) {
    const Output<Node> mask = node->input_value(3);
    const Shape& shape = mask.get_shape();
    const bool is_bool = mask.get_element_type() == element::boolean;
    const bool is_none = element_count(shape) == 0 || (shape.empty() && (is_bool || number(builder_, node, 3) == 0.f));
    if (!is_none && !take_bool_mask(mask)) {
      if (!is_f32(mask) && !is_bool) return false;
      found_.mask = mask;
      found_.mask_kind = is_f32(mask) ? Mask::kAdded : Mask::kVisible;
    }
  }
  while (take_factor(found_.q.value, found_.scale)) {
  }
  peel(found_.k, true);
  peel(found_.v, false);
  return true;
}

/// Whether the sides and the mask have the shapes that they must have, but for axes of 1 that are broadcast.
bool fits(const AttentionMatch& match, const Shape& made) {
  const std::size_t rank = made.size();
  const auto extents = [](const AttentionSide& side) {
    Shape shape = side.value.get_shape();
    if (side.is_flipped && shape.size() >= 2) std::swap(shape[shape.size() - 1], shape[shape.size() - 2]);
    return shape;
  };
  const Shape q = extents(match.q), k = extents(match.k), v = extents(match.v);
  for (const auto& [side, repeated] : {std::pair{&q, std::size_t{1}}, {&k, match.k.repeated}, {&v, match.v.repeated}}) {
    if (side->size() < 2 || side->size() > rank) return false;
    for (std::size_t i = 0; i + 2 < side->size(); ++i) {
      const std::size_t extent = (*side)[i] * (i + 3 == side->size() ? repeated : 1);
      if (extent != 1 && extent != made[rank - side->size() + i]) return false;
    }
  }
  const std::size_t keys = k[k.size() - 2];
  if (q.back() == 0 || q.back() != k.back() || q[q.size() - 2] != made[rank - 2] || v.back() != made[rank - 1] ||
      v[v.size() - 2] != keys)
    return false;
  if (!match.mask) return true;
  const Shape mask = match.mask.get_shape();
  if (mask.size() > rank) return false;
  for (std::size_t i = 0; i < mask.size(); ++i) {
    const std::size_t at = rank - mask.size() + i, wanted = at == rank - 1 ? keys : made[at];
    if (mask[i] != 1 && mask[i] != wanted) return false;
  }
  return true;
}

}  // namespace

bool is_faster_whole(const PlanBuilder& builder, const AttentionMatch& match) {
  if (builder.options().precision == ElementType::kF32) return true;
  // A precise node reads and makes f32, whatever the others do.
  if (std::any_of(match.nodes.begin(), match.nodes.end(), [](const auto& node) { return is_precise(*node); }))
    return false;
  // With AMX, oneDNN's products are as fast where heads are too wide for a tile's memory to stay in the first-level
  // cache. Measured with 12 heads, one step's speed over that of two products and a softmax, bf16, 1 / 4 / 16 threads:
  // heads of 64, 512 queries 0.90 / 1.44 / 1.97; of 128, 64 queries 1.00 / 1.47 / 2.11, 512 queries 0.84 / 0.84 / 0.94.
  // In f32, and in bf16 without AMX, one step was faster in all cases.
  const Shape q = match.q.value.get_shape();
  return !kernels::has_tile_products() || q.back() <= 64 || q[q.size() - 2] < 128;
}

std::optional<AttentionMatch> match_attention(PlanBuilder& builder, const std::shared_ptr<Node>& node) {
  Matcher matcher(builder);
  const bool is_operation = is_op(node, "ScaledDotProductAttention");
  if (!is_operation && !(is_op(node, "MatMul") && node->get_output_partial_shape(0).rank().get_length() > 2))
    return std::nullopt;
  if (node->get_output_element_type(0) != element::f32) return std::nullopt;
  if (!(is_operation ? matcher.match_operation(node) : matcher.match_product(node))) return std::nullopt;
  AttentionMatch& found = matcher.found();
  const Shape made = node->get_output_shape(0);
  if (!is_f32(found.q.value) || !is_f32(found.k.value) || !is_f32(found.v.value) || element_count(made) == 0 ||
      made.size() > DNNL_MAX_NDIMS || !fits(found, made))
    return std::nullopt;
  std::reverse(found.nodes.begin(), found.nodes.end());
  return std::move(found);
}

}  // namespace tenon::inline v1::engine
