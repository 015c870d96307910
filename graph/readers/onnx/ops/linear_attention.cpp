// SPDX-License-Identifier: Apache-2.0
// ONNX: layers of models that carry a state of fixed size (Mamba, gated delta nets) instead of all keys, and attention
// with graphs of its own.
#include <cmath>
#include <limits>

#include <tenon/graph/readers/onnx/internal/attention.hpp>
#include <tenon/graph/subgraph.hpp>

namespace tenon {
inline namespace v1 {
namespace onnx_reader {

namespace {

std::int64_t static_extent(const NodeContext& node, std::size_t input, std::size_t axis, const char* meaning) {
  const PartialShape& shape = node.input(input).get_partial_shape();
  if (node.rank(input) <= static_cast<std::int64_t>(axis))
    fail("input " + std::to_string(input) + " has the shape " + shape.to_string() + ", which has no axis " +
         std::to_string(axis));
  if (shape[axis].is_dynamic())
    unimplemented("input " + std::to_string(input) + " has the shape " + shape.to_string() + ", in which " + meaning +
                  " is known only when the model runs: give it a static extent");
  return shape[axis].get_length();
}

/// Zeros of a first extent and static ones behind it.
Out zeros_of(ElementType type, const Out& first, const Ints& others) {
  return broadcast_to(scalar(type, 0), concat({reshape(first, Ints{1}), ints(others)}, 0));
}

// --- CausalConvWithState ----------------------------------------------------------------------------------------------

// input [batch, channels, length], weight [channels, 1, k], bias, past_state; output, present_state
OutputVector causal_convolution(const NodeContext& node) {
  if (node.get_int("ndim", 1) != 1 || node.rank(0) != 3)
    unimplemented("convolutions along two or three axes are not written out: input 0 has the rank " +
                  std::to_string(node.rank(0)));
  for (const char* name : {"channels_last", "state_window", "state_update_capacity", "state_length", "input_channels"})
    if (node.get_int(name, 0) != 0)
      unimplemented(std::string(name) + " " + std::to_string(node.get_int(name)) + " is not written out; only 0 is");
  const std::string activation = node.get_string("activation", "none");
  if (activation != "none" && activation != "silu" && activation != "swish")
    fail("activation \"" + activation + "\" is none of none, silu and swish");
  const std::int64_t dilation = node.get_int("dilation", 1), k = static_extent(node, 1, 2, "the length of the kernel"),
                     channels = static_extent(node, 1, 0, "the number of channels");
  if (dilation < 1 || k < 1)
    fail("dilation is " + std::to_string(dilation) + ", the kernel's length " + std::to_string(k));
  const Out& x = node.input(0);
  const std::int64_t length = (k - 1) * dilation;
  Out whole = x;
  if (length > 0) {
    const Out past =
        node.has_input(3) ? node.input(3) : zeros_of(x.get_element_type(), extent_of(x, 0), {channels, length});
    whole = concat({past, x}, 2);
  }
  Out y = op("GroupConvolution", 1, {whole, unsqueeze(node.input(1), {1})},
             {{"strides", Ints{1}},
              {"dilations", Ints{dilation}},
              {"pads_begin", Ints{0}},
              {"pads_end", Ints{0}},
              {"auto_pad", "explicit"}});
  if (node.has_input(2)) y = add(y, per_channel(node.input(2), y));
  if (activation != "none") y = op("Swish", 4, {y});
  constexpr auto kEnd = std::numeric_limits<std::int64_t>::max();
  return {y, length > 0 ? slice(whole, -length, kEnd, 2) : slice(whole, 0, 0, 2)};
}

// --- LinearAttention --------------------------------------------------------------------------------------------------

/// What a step reads: one position of each, without the axis of positions. The state is [batch, heads, size of keys, size
/// of values], queries [batch, heads, group, size of keys].
struct Step {
  Out state, q, k, v, decay, beta;
};

/// The rule of one step. @return the output, [batch, heads, group, size of values]; `state` becomes the next one.
Out advance(Step& step, const Out& scale) {
  if (step.decay) step.state = mul(step.state, unary("Exp", step.decay));
  Out value = step.v;
  if (step.beta) value = mul(step.beta, sub(value, matmul(step.k, step.state)));
  // The outer product is no matrix product, whose factors a device may round.
  step.state = add(step.state, mul(transpose(step.k, {0, 1, 3, 2}), value));
  return matmul(mul(step.q, scale), step.state);
}

/// Runs `advance` over axis 1 of all values but the state. @return the outputs along axis 1, and the last state.
OutputVector over_positions(const Step& all, const Out& scale) {
  const std::vector<Out Step::*> parts = {&Step::q, &Step::k, &Step::v, &Step::decay, &Step::beta};
  const auto first = [](const Out& x) { return squeeze(x, {1}); };
  if (const Dimension positions = dimension_of(all.q, 1); positions.is_static() && positions.get_length() == 1) {
    Step step{all.state, {}, {}, {}, {}, {}};
    for (const auto part : parts)
      if (all.*part) step.*part = first(all.*part);
    const Out y = advance(step, scale);
    return {unsqueeze(y, {1}), step.state};
  }
  const auto parameter = [](const Out& like, bool is_slice) {
    PartialShape shape = like.get_partial_shape();
    if (is_slice) shape[1] = 1;
    return std::make_shared<op::v0::Parameter>(like.get_element_type(), shape);
  };
  ParameterVector parameters{parameter(all.state, false)};
  Step step{parameters[0]->output(0), {}, {}, {}, {}, {}};
  OutputVector sliced;
  for (const auto part : parts) {
    if (!(all.*part)) continue;
    parameters.push_back(parameter(all.*part, true));
    sliced.push_back(all.*part);
    step.*part = first(parameters.back()->output(0));
  }
  const Out y = unsqueeze(advance(step, scale), {1});
  auto iterator = std::make_shared<op::v0::TensorIterator>();
  iterator->set_body(std::make_shared<Model>(OutputVector{step.state, y}, parameters));
  const ResultVector& results = iterator->get_body()->get_results();
  iterator->set_merged_input(parameters[0], all.state, results[0]->output(0));
  for (std::size_t i = 0; i < sliced.size(); ++i)
    iterator->set_sliced_input(parameters[i + 1], sliced[i], 0, 1, 1, -1, 1);
  const Out last = iterator->get_iter_value(results[0]->output(0));
  return {iterator->get_concatenated_slices(results[1]->output(0), 0, 1, 1, -1, 1), last};
}

// query, key, value [batch, positions, heads * size], past_state, decay, beta; output, present_state
OutputVector linear_attention(const NodeContext& node) {
  const std::int64_t q_heads = node.get_int("q_num_heads", 0), heads = node.get_int("kv_num_heads", 0);
  if (q_heads < 1 || heads < 1 || q_heads % heads != 0)
    fail("q_num_heads is " + std::to_string(q_heads) + ", which is no multiple of kv_num_heads, " +
         std::to_string(heads));
  if (node.get_int("state_window", 0) != 0) unimplemented("state_window other than 0 is not written out");
  for (const std::size_t i : {0, 1, 2, 4, 5})
    if (node.has_input(i) && node.rank(i) != 3)
      fail("input " + std::to_string(i) + " has rank " + std::to_string(node.rank(i)) + ", expected 3");
  const std::string rule = node.get_string("update_rule", "gated_delta");
  const bool decays = rule == "gated" || rule == "gated_delta", corrects = rule == "delta" || rule == "gated_delta";
  if (!decays && !corrects && rule != "linear")
    fail("update_rule \"" + rule + "\" is none of linear, gated, delta and gated_delta");
  if (decays != node.has_input(4) || corrects != node.has_input(5))
    fail("update_rule \"" + rule + "\" does not fit its inputs: it takes " + (decays ? "a" : "no") + " decay and " +
         (corrects ? "a" : "no") + " beta");
  const std::int64_t q_width = static_extent(node, 0, 2, "the width"), v_width = static_extent(node, 2, 2, "the width"),
                     k_size = q_width / q_heads, v_size = v_width / heads;
  if (q_width % q_heads != 0 || v_width % heads != 0 || k_size < 1 || v_size < 1)
    fail("widths of " + std::to_string(q_width) + " and " + std::to_string(v_width) + " do not divide into " +
         std::to_string(q_heads) + " and " + std::to_string(heads) + " heads");
  if (const std::int64_t k_width = static_extent(node, 1, 2, "the width"); k_width != heads * k_size)
    fail("input 1 (key) has the width " + std::to_string(k_width) + ", expected " + std::to_string(heads * k_size));
  constexpr ElementType kInner = ElementType::kF32;
  const auto split = [&](std::size_t input, const Ints& shape) {
    return reshape_like(convert(node.input(input), kInner), shape);
  };
  Step all{{},
           split(0, {0, 0, heads, q_heads / heads, k_size}),
           split(1, {0, 0, heads, 1, k_size}),
           split(2, {0, 0, heads, 1, v_size}),
           {},
           {}};
  if (decays) {
    const std::int64_t width = static_extent(node, 4, 2, "the width");
    if (width != heads && width != heads * k_size)
      fail("input 4 (decay) has the width " + std::to_string(width) + ", expected " + std::to_string(heads) + " or " +
           std::to_string(heads * k_size));
    all.decay = split(4, {0, 0, heads, width / heads, 1});
  }
  if (corrects) {
    const std::int64_t width = static_extent(node, 5, 2, "the width");
    if (width != heads && width != 1)
      fail("input 5 (beta) has the width " + std::to_string(width) + ", expected " + std::to_string(heads) + " or 1");
    all.beta = split(5, {0, 0, width, 1, 1});
  }
  const bool has_past = node.has_input(3);
  const Out& query = node.input(0);
  all.state =
      has_past ? convert(node.input(3), kInner) : zeros_of(kInner, extent_of(query, 0), {heads, k_size, v_size});
  const double given = node.get_float("scale", 0);
  const double scale = given != 0 ? given : 1 / std::sqrt(static_cast<double>(k_size));
  const OutputVector made = over_positions(all, scalar(kInner, scale));
  const Out y = reshape_like(made[0], {0, 0, q_heads * v_size});
  return {convert(y, query.get_element_type()), convert(made[1], node.type(has_past ? 3 : 0))};
}

// --- FlexAttention ----------------------------------------------------------------------------------------------------

/// The graph of an attribute over one value; the value itself without the attribute.
Out modified_by(const NodeContext& node, const char* attribute, const Out& value) {
  if (!node.has(attribute)) return value;
  const OutputVector made = node.bodies().read_inline(node.get_graph(attribute), {value});
  if (made.size() != 1)
    fail("the graph of " + std::string(attribute) + " has " + std::to_string(made.size()) + " outputs, expected 1");
  return made[0];
}

// Q, K, V [batch, heads, positions, size]
OutputVector flex_attention(const NodeContext& node) {
  const Out& q = node.input(0);
  Out k = node.input(1), v = node.input(2);
  const std::int64_t heads = static_extent(node, 0, 1, "the number of heads"),
                     shared = static_extent(node, 1, 1, "the number of heads");
  if (shared < 1 || heads % shared != 0)
    fail("has " + std::to_string(heads) + " heads of queries, which is no multiple of its " + std::to_string(shared) +
         " heads of keys");
  k = repeat_heads(k, heads / shared);
  v = repeat_heads(v, heads / shared);
  const double scale =
      node.get_float("scale", 1 / std::sqrt(static_cast<double>(static_extent(node, 0, 3, "the size"))));
  const ElementType own = q.get_element_type();
  ElementType type = own == ElementType::kF64 ? own : ElementType::kF32;
  if (node.get_int("softmax_precision", 0) != 0) type = node.get_type("softmax_precision");
  if (!node.has("score_mod") && !node.has("prob_mod")) {
    AttentionForm form;
    form.scale = scale;
    return {attend(q, k, v, Out(), form)};
  }
  const Out product = convert(matmul(q, k, false, true), type);
  const Out scores = modified_by(node, "score_mod", mul(product, scalar(type, scale)));
  const Out shares = modified_by(node, "prob_mod", op("Softmax", 8, {scores}, {{"axis", -1}}));
  return {matmul(convert(shares, own), v)};
}

}  // namespace

void add_linear_attention(ConverterTable& table) {
  for (const char* domain : {"", "com.microsoft"}) {
    table[std::string(domain) + ":CausalConvWithState"] = causal_convolution;
    table[std::string(domain) + ":LinearAttention"] = linear_attention;
  }
  table["ai.onnx.preview:FlexAttention"] = flex_attention;
}

}  // namespace onnx_reader
}  // namespace v1
}  // namespace tenon
