// SPDX-License-Identifier: Apache-2.0
// Recurrent cells and sequences by oneDNN's recurrent primitives, and sequences of few rows by a kernel of ours.
#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <utility>

#include <tenon/engine/kernels/recurrent/recurrent.hpp>
#include <tenon/engine/kernels/simd/copy.hpp>
#include <tenon/engine/lower/build/builder.hpp>
#include <tenon/engine/lower/build/table.hpp>

namespace tenon::inline v1::engine {
namespace {

using dims = dnnl::memory::dims;
using tag = dnnl::memory::format_tag;
constexpr auto kFloat = dnnl::memory::data_type::f32;

/// A node's parameters in oneDNN's terms.
struct Layer {
  enum class Kind { kRnn, kGru, kGruSplitBias, kLstm } kind = Kind::kRnn;
  bool is_sequence = false;
  std::int64_t directions = 1, steps = 1, batch = 0, features = 0, hidden = 0;
  dnnl::rnn_direction direction = dnnl::rnn_direction::unidirectional_left2right;
  dnnl::algorithm activation = dnnl::algorithm::eltwise_tanh;  ///< For the plain layer.
  /// Type of source, weights, hidden state and result; an LSTM's cell state and the sums are f32.
  ElementType type = ElementType::kF32;
  ElementType state_type(std::size_t state) const { return state == 0 ? type : ElementType::kF32; }
  std::size_t row_bytes(ElementType of) const { return static_cast<std::size_t>(hidden) * size_bytes(of); }
  std::size_t states() const { return kind == Kind::kLstm ? 2 : 1; }
  std::size_t lengths_input() const { return 1 + states(); }
  std::size_t weights_input() const { return 1 + states() + (is_sequence ? 1 : 0); }
  std::int64_t gates() const { return kind == Kind::kRnn ? 1 : kind == Kind::kLstm ? 4 : 3; }
  std::int64_t bias_gates() const { return gates() + (kind == Kind::kGruSplitBias ? 1 : 0); }
  /// Index of oneDNN's gate g among the operation's: these are f, i, c, o where oneDNN has i, f, c, o.
  std::int64_t gate(std::int64_t g) const { return kind == Kind::kLstm && g < 2 ? 1 - g : g; }
};

bool has_full_lengths(PlanBuilder& builder, const std::shared_ptr<Node>& node, const Layer& layer) {
  if (!layer.is_sequence) return true;
  std::vector<std::int64_t> lengths;
  return builder.constant_ints(node, layer.lengths_input(), lengths) &&
         std::all_of(lengths.begin(), lengths.end(), [&](std::int64_t n) { return n == layer.steps; });
}

bool describe_activations(const Attributes& attributes, Layer& layer) {
  const auto& names = attributes.get_strings("activations");
  if (names.size() < (layer.kind == Layer::Kind::kRnn ? 1U : layer.kind == Layer::Kind::kLstm ? 3U : 2U)) return false;
  if (layer.kind == Layer::Kind::kRnn) {
    layer.activation = names[0] == "tanh"   ? dnnl::algorithm::eltwise_tanh
                       : names[0] == "relu" ? dnnl::algorithm::eltwise_relu
                                            : dnnl::algorithm::eltwise_logistic;
    return true;
  }
  if (names[0] != "sigmoid" || names[1] != "tanh") return false;
  return layer.kind != Layer::Kind::kLstm || names[2] == "tanh";
}

/// @return false if oneDNN can't do it as specified.
bool describe(PlanBuilder& builder, const std::shared_ptr<Node>& node, Layer& layer) {
  const std::string_view type = node->get_type_name();
  const Attributes& attributes = node->get_attributes();
  layer.is_sequence = type.find("Sequence") != type.npos;
  if (type.substr(0, 4) == "LSTM")
    layer.kind = Layer::Kind::kLstm;
  else if (type.substr(0, 3) == "GRU")
    layer.kind = attributes.get_bool("linear_before_reset") ? Layer::Kind::kGruSplitBias : Layer::Kind::kGru;
  if (attributes.has("weights_format") && attributes.get_string("weights_format") != "fico") return false;
  if (attributes.get_double("clip") != 0 || !describe_activations(attributes, layer)) return false;
  const Value& x = builder.input(node, 0);
  if (x.type != ElementType::kF32) return false;
  layer.batch = static_cast<std::int64_t>(x.shape[0]);
  layer.features = static_cast<std::int64_t>(x.shape.back());
  layer.hidden = attributes.get_int("hidden_size");
  if (layer.is_sequence) {
    layer.steps = static_cast<std::int64_t>(x.shape[1]);
    const std::string& direction = attributes.get_string("direction");
    if (direction == "bidirectional") {
      layer.directions = 2;
      layer.direction = dnnl::rnn_direction::bidirectional_concat;
    } else if (direction == "reverse") {
      layer.direction = dnnl::rnn_direction::unidirectional_right2left;
    }
  }
  if (layer.batch == 0 || layer.steps == 0 || layer.features == 0) return false;
  for (std::size_t i = layer.weights_input(); i < node->get_input_size(); ++i) {
    const Tensor weights = builder.constant_input(node, i);
    if (!weights || !weights.is_contiguous() || weights.element_type() != ElementType::kF32) return false;
  }
  return has_full_lengths(builder, node, layer);
}

/// [direction, gate, hidden, length] to oneDNN's [direction, length, gate, hidden].
Tensor turned_weights(const Tensor& weights, const Layer& layer, std::int64_t length) {
  Tensor result(ElementType::kF32, Shape{weights.element_count()});
  const float* from = weights.data<float>();
  float* to = result.data<float>();
  const std::int64_t gates = layer.gates(), hidden = layer.hidden;
  for (std::int64_t d = 0; d < layer.directions; ++d)
    for (std::int64_t k = 0; k < length; ++k)
      for (std::int64_t g = 0; g < gates; ++g)
        for (std::int64_t h = 0; h < hidden; ++h) *to++ = from[((d * gates + layer.gate(g)) * hidden + h) * length + k];
  return result;
}

Tensor turned_bias(const Tensor& bias, const Layer& layer) {
  const std::int64_t gates = layer.bias_gates(), hidden = layer.hidden;
  Tensor result(ElementType::kF32, Shape{static_cast<std::size_t>(layer.directions * gates * hidden)});
  float* to = result.data<float>();
  std::memset(to, 0, result.size_bytes());
  if (!bias) return result;
  for (std::int64_t d = 0; d < layer.directions; ++d)
    for (std::int64_t g = 0; g < gates; ++g)
      std::memcpy(to + (d * gates + g) * hidden, bias.data<float>() + (d * gates + layer.gate(g)) * hidden,
                  static_cast<std::size_t>(hidden) * sizeof(float));
  return result;
}

struct Descs {
  md source, state, cell, weights_layer, weights_iter, bias, result;
};

Descs describe_tensors(const Layer& layer) {
  const std::int64_t d = layer.directions, h = layer.hidden;
  const auto type = data_type(layer.type);
  return {md({layer.steps, layer.batch, layer.features}, type, tag::ntc),
          md({1, d, layer.batch, h}, type, tag::ldnc),
          md({1, d, layer.batch, h}, kFloat, tag::ldnc),
          md({1, d, layer.features, layer.gates(), h}, type, tag::any),
          md({1, d, h, layer.gates(), h}, type, tag::any),
          md({1, d, layer.bias_gates(), h}, kFloat, tag::ldgo),
          md({layer.steps, layer.batch, d * h}, type, tag::ntc)};
}

struct RecurrentPrimitive {
  dnnl::primitive primitive;
  md weights_layer, weights_iter, scratchpad;
  std::string kernel;
};

template <typename Descriptor, typename Primitive>
RecurrentPrimitive made_of(const Descriptor& descriptor, const Primitive& primitive) {
  return {primitive, descriptor.weights_layer_desc(), descriptor.weights_iter_desc(), descriptor.scratchpad_desc(),
          descriptor.impl_info_str()};
}

RecurrentPrimitive make(const dnnl::engine& engine, const Layer& layer, const Descs& t) {
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  const auto inference = dnnl::prop_kind::forward_inference;
  switch (layer.kind) {
    case Layer::Kind::kLstm: {
      const dnnl::lstm_forward::primitive_desc pd(engine, inference, layer.direction, t.source, t.state, t.cell,
                                                  t.weights_layer, t.weights_iter, t.bias, t.result, t.state, t.cell,
                                                  attributes);
      return made_of(pd, dnnl::lstm_forward(pd));
    }
    case Layer::Kind::kGru: {
      const dnnl::gru_forward::primitive_desc pd(engine, inference, layer.direction, t.source, t.state, t.weights_layer,
                                                 t.weights_iter, t.bias, t.result, t.state, attributes);
      return made_of(pd, dnnl::gru_forward(pd));
    }
    case Layer::Kind::kGruSplitBias: {
      const dnnl::lbr_gru_forward::primitive_desc pd(engine, inference, layer.direction, t.source, t.state,
                                                     t.weights_layer, t.weights_iter, t.bias, t.result, t.state,
                                                     attributes);
      return made_of(pd, dnnl::lbr_gru_forward(pd));
    }
    case Layer::Kind::kRnn:
      break;
  }
  const dnnl::vanilla_rnn_forward::primitive_desc pd(engine, inference, layer.activation, layer.direction, t.source,
                                                     t.state, t.weights_layer, t.weights_iter, t.bias, t.result,
                                                     t.state, attributes);
  return made_of(pd, dnnl::vanilla_rnn_forward(pd));
}

/// Copies [a, b, runs of bytes] to [b, a, runs].
KernelStep::Kernel swap_axes(std::int64_t a, std::int64_t b, std::size_t bytes) {
  return [a, b, bytes](std::span<void* const> p) {
    const auto* from = static_cast<const char*>(p[0]);
    auto* to = static_cast<char*>(p[1]);
    for (std::int64_t i = 0; i < a; ++i)
      for (std::int64_t j = 0; j < b; ++j)
        std::memcpy(to + static_cast<std::size_t>(j * a + i) * bytes,
                    from + static_cast<std::size_t>(i * b + j) * bytes, bytes);
  };
}

bool lower_in(ElementType type, PlanBuilder& builder, const std::shared_ptr<Node>& node, Layer layer) {
  layer.type = type;
  const Descs descs = describe_tensors(layer);
  RecurrentPrimitive made;
  try {
    made = make(builder.engine(), layer, descs);
  } catch (const dnnl::error&) {
    return false;
  }
  if (type != ElementType::kF32 && is_slow(made.kernel.c_str())) return false;
  const std::int64_t d = layer.directions;
  const auto state_bytes = [&](std::size_t s) {
    return static_cast<std::size_t>(d * layer.batch) * layer.row_bytes(layer.state_type(s));
  };
  const bool states_differ = d > 1 && layer.batch > 1;
  const auto read = [&](std::size_t index, ElementType in) {
    Value& value = builder.input(node, index);
    return builder.in_layout(value, plain_desc(in, value.shape));
  };
  const auto define = [&](std::size_t output, ElementType in) {
    Value& value = builder.value(node->output(output));
    return in == value.type ? builder.define_plain(value) : builder.define(value, plain_desc(in, value.shape));
  };

  // Weights, packed at compile time.
  const std::size_t w = layer.weights_input();
  const Tensor bias = w + 2 < node->get_input_size() ? builder.constant_input(node, w + 2) : Tensor();
  const md plain_layer({1, d, layer.features, layer.gates(), layer.hidden}, kFloat, tag::ldigo);
  const md plain_iter({1, d, layer.hidden, layer.gates(), layer.hidden}, kFloat, tag::ldigo);
  const auto turned = [&](std::size_t input, std::int64_t length) {
    const Tensor weights = builder.constant_input(node, input);
    const std::string how = "turned " + std::to_string(static_cast<int>(layer.kind)) + " " +
                            std::to_string(layer.directions) + " " + std::to_string(layer.hidden) + " " +
                            std::to_string(length);
    return builder.derived(weights, how, [&] { return turned_weights(weights, layer, length); });
  };
  const BufferSlice weights_layer = builder.packed_constant(turned(w, layer.features), plain_layer, made.weights_layer);
  const BufferSlice weights_iter = builder.packed_constant(turned(w + 1, layer.hidden), plain_iter, made.weights_iter);
  const BufferSlice bias_place = builder.constant_place(turned_bias(bias, layer));

  // States are read and written as [batch, direction, hidden].
  BufferSlice states[2], last[2];
  for (std::size_t s = 0; s < layer.states(); ++s) {
    states[s] = read(1 + s, layer.state_type(s));
    if (!states_differ) continue;
    const BufferSlice turned = builder.scratch(state_bytes(s));
    builder.add_kernel(node, "copy state", {states[s]}, {turned},
                       swap_axes(layer.batch, d, layer.row_bytes(layer.state_type(s))));
    states[s] = turned;
  }
  const BufferSlice source = read(0, type);
  const std::size_t first_state = layer.is_sequence ? 1 : 0, row = layer.row_bytes(type);
  const std::size_t result_bytes = static_cast<std::size_t>(layer.steps * layer.batch * d) * row;
  BufferSlice result = d == 1 && layer.is_sequence ? define(0, type) : builder.scratch(result_bytes);
  for (std::size_t s = 0; s < layer.states(); ++s)
    last[s] = states_differ ? builder.scratch(state_bytes(s)) : define(first_state + s, layer.state_type(s));
  PrimitiveStep& step = builder.add_primitive(node, made.primitive, made.kernel);
  builder.add_argument(step, DNNL_ARG_SRC_LAYER, source, descs.source);
  builder.add_argument(step, DNNL_ARG_SRC_ITER, states[0], descs.state);
  if (layer.states() == 2) builder.add_argument(step, DNNL_ARG_SRC_ITER_C, states[1], descs.cell);
  builder.add_argument(step, DNNL_ARG_WEIGHTS_LAYER, weights_layer, made.weights_layer);
  builder.add_argument(step, DNNL_ARG_WEIGHTS_ITER, weights_iter, made.weights_iter);
  builder.add_argument(step, DNNL_ARG_BIAS, bias_place, descs.bias);
  builder.add_argument(step, DNNL_ARG_DST_LAYER, result, descs.result, true);
  builder.add_argument(step, DNNL_ARG_DST_ITER, last[0], descs.state, true);
  if (layer.states() == 2) builder.add_argument(step, DNNL_ARG_DST_ITER_C, last[1], descs.cell, true);
  builder.add_scratchpad(step, made.scratchpad);
  if (d > 1) {
    // [batch, steps, direction, hidden] to [batch, direction, steps, hidden].
    const BufferSlice y = define(0, type);
    const std::int64_t batch = layer.batch, steps = layer.steps;
    const auto one = swap_axes(steps, d, row);
    const std::size_t bytes = static_cast<std::size_t>(steps * d) * row;
    builder.add_kernel(node, "copy directions", {result}, {y}, [batch, one, bytes](std::span<void* const> p) {
      for (std::int64_t b = 0; b < batch; ++b) {
        void* const pair[] = {static_cast<char*>(p[0]) + static_cast<std::size_t>(b) * bytes,
                              static_cast<char*>(p[1]) + static_cast<std::size_t>(b) * bytes};
        one(pair);
      }
    });
  }
  for (std::size_t s = 0; states_differ && s < layer.states(); ++s) {
    const BufferSlice to = define(first_state + s, layer.state_type(s));
    builder.add_kernel(node, "copy state", {last[s]}, {to},
                       swap_axes(d, layer.batch, layer.row_bytes(layer.state_type(s))));
  }
  return true;
}

// -- Our kernel: one product of all inputs by their weights, then the steps.

using kernels::Recurrent;

std::optional<Recurrent> steps_of(const std::shared_ptr<Node>& node, const Layer& layer) {
  if (layer.steps < 2 || layer.batch > static_cast<std::int64_t>(Recurrent::most_rows(layer.type)) ||
      layer.kind == Layer::Kind::kGru)
    return std::nullopt;
  Recurrent what;
  what.kind = layer.kind == Layer::Kind::kLstm                    ? Recurrent::Kind::kLstm
              : layer.kind == Layer::Kind::kGruSplitBias          ? Recurrent::Kind::kGru
              : layer.activation == dnnl::algorithm::eltwise_tanh ? Recurrent::Kind::kTanh
              : layer.activation == dnnl::algorithm::eltwise_relu ? Recurrent::Kind::kRelu
                                                                  : Recurrent::Kind::kSigmoid;
  what.is_reverse = node->get_attributes().get_string("direction") == "reverse";
  what.weights = layer.type;
  what.directions = static_cast<std::size_t>(layer.directions);
  what.batch = static_cast<std::size_t>(layer.batch);
  what.steps = static_cast<std::size_t>(layer.steps);
  what.hidden = static_cast<std::size_t>(layer.hidden);
  return what;
}

/// Calls body(direction, gate, unit, column) for each column of the panels that has a unit.
template <typename Body>
void for_each_column(const Recurrent& what, const Body& body) {
  for (std::size_t d = 0; d < what.directions; ++d)
    for (std::size_t unit = 0; unit < what.hidden; ++unit)
      for (std::size_t g = 0; g < what.gates(); ++g)
        body(d, g, unit,
             (d * what.panels() + unit / Recurrent::kPanelUnits) * what.panel_columns() + g * Recurrent::kPanelUnits +
                 unit % Recurrent::kPanelUnits);
}

/// Weights of [direction, gate, hidden, length], each number where place(column, number) says, with room for that many of a column.
template <typename Place>
Tensor in_panels(const Tensor& weights, const Recurrent& what, std::size_t length, std::size_t room,
                 const Place& place) {
  Tensor result(ElementType::kF32, Shape{what.columns() * room});
  std::memset(result.data(), 0, result.size_bytes());
  const float* from = weights.data<float>();
  float* to = result.data<float>();
  for_each_column(what, [&](std::size_t d, std::size_t g, std::size_t unit, std::size_t column) {
    const float* row = from + ((d * what.gates() + g) * what.hidden + unit) * length;
    for (std::size_t k = 0; k < length; ++k) to[place(column, k)] = row[k];
  });
  return result;
}

/// The bias of each column; and of a GRU's third gate what is added to the state's share.
std::pair<Tensor, Tensor> column_biases(const Tensor& bias, const Recurrent& what) {
  const bool is_split = what.kind == Recurrent::Kind::kGru;
  Tensor of_columns(ElementType::kF32, Shape{what.columns()}),
      of_state(ElementType::kF32, Shape{what.directions * what.panels() * Recurrent::kPanelUnits});
  std::memset(of_columns.data(), 0, of_columns.size_bytes());
  std::memset(of_state.data(), 0, of_state.size_bytes());
  if (!bias) return {of_columns, of_state};
  const float* from = bias.data<float>();
  const std::size_t gates = what.gates() + (is_split ? 1 : 0);
  for_each_column(what, [&](std::size_t d, std::size_t g, std::size_t unit, std::size_t column) {
    of_columns.data<float>()[column] = from[(d * gates + g) * what.hidden + unit];
    if (is_split)
      of_state.data<float>()[d * what.panels() * Recurrent::kPanelUnits + unit] =
          from[(d * gates + 3) * what.hidden + unit];
  });
  return {of_columns, of_state};
}

bool lower_steps(ElementType type, PlanBuilder& builder, const std::shared_ptr<Node>& node, Layer layer) {
  layer.type = type;
  const auto what = steps_of(node, layer);
  if (!what) return false;
  const std::int64_t rows = layer.batch * layer.steps, columns = static_cast<std::int64_t>(what->columns());
  const md source({rows, layer.features}, data_type(type), tag::ab),
      weights({columns, layer.features}, data_type(type), tag::any), bias_desc({columns}, kFloat, tag::a),
      sums_desc({rows, columns}, kFloat, tag::ab);
  // Not as a matmul: on AVX2 oneDNN 3.x packs the weights of those in each run, which takes as long as the product.
  KernelKey key{PlanBuilder::key_of(dnnl::primitive::kind::inner_product)};
  for (const md* desc : {&source, &weights, &bias_desc, &sums_desc}) append(key, *desc);
  const auto made = builder.kernel(key, [&]() -> MadeKernel {
    dnnl::primitive_attr attributes;
    attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
    const dnnl::inner_product_forward::primitive_desc pd(builder.engine(), dnnl::prop_kind::forward_inference, source,
                                                         weights, bias_desc, sums_desc, attributes, true);
    if (!pd) return {};
    if (type != ElementType::kF32 && is_slow(pd.impl_info_str())) return {};
    return {dnnl::inner_product_forward(pd), pd.impl_info_str(), {pd.weights_desc(), pd.scratchpad_desc()}};
  });
  if (!*made) return false;

  const std::size_t w = layer.weights_input(), features = static_cast<std::size_t>(layer.features);
  const std::string form = " of " + std::to_string(what->directions) + " " + std::to_string(what->gates()) + " " +
                           std::to_string(what->hidden);
  const Tensor of_input = builder.constant_input(node, w), of_state = builder.constant_input(node, w + 1);
  const Tensor turned = builder.derived(of_input, "rows" + form, [&] {
    return in_panels(of_input, *what, features, features,
                     [&](std::size_t column, std::size_t k) { return column * features + k; });
  });
  const Tensor panels = builder.derived(of_state, "panels by " + std::to_string(what->together()) + form, [&] {
    return in_panels(of_state, *what, what->hidden, what->panel_rows() * what->together(),
                     [&](std::size_t column, std::size_t k) { return what->place(column, k); });
  });
  const auto [bias, state_bias] =
      column_biases(w + 2 < node->get_input_size() ? builder.constant_input(node, w + 2) : Tensor(), *what);

  Value& x = builder.input(node, 0);
  const BufferSlice from = builder.in_layout(x, plain_desc(type, x.shape));
  const BufferSlice packed =
      builder.packed_constant(turned, md({columns, layer.features}, kFloat, tag::ab), made->descs[0]);
  const BufferSlice sums = builder.scratch(sums_desc.get_size());
  PrimitiveStep& product = builder.add_primitive(node, made->primitive, made->name);
  builder.add_argument(product, DNNL_ARG_SRC, from, source);
  builder.add_argument(product, DNNL_ARG_WEIGHTS, packed, made->descs[0]);
  builder.add_argument(product, DNNL_ARG_BIAS, builder.constant_place(bias), bias_desc);
  builder.add_argument(product, DNNL_ARG_DST, sums, sums_desc, true);
  builder.add_scratchpad(product, made->descs[1]);

  const std::int64_t numbers = static_cast<std::int64_t>(panels.element_count());
  const BufferSlice state_weights =
      builder.packed_constant(panels, md({numbers}, kFloat, tag::a), md({numbers}, data_type(type), tag::a));
  std::vector<BufferSlice> read{sums, state_weights, builder.constant_place(state_bias)}, written;
  for (std::size_t s = 0; s < layer.states(); ++s) {
    Value& state = builder.input(node, 1 + s);
    read.push_back(builder.in_layout(state, plain_desc(ElementType::kF32, state.shape)));
  }
  for (std::size_t output = 0; output < 1 + layer.states(); ++output)
    written.push_back(builder.define_plain(builder.value(node->output(output))));
  const auto threads = static_cast<std::size_t>(std::max(builder.options().threads, 1));
  builder.add_kernel(node, "steps", read, written, [what = *what, threads](std::span<void* const> p) {
    const auto at = [&](std::size_t i) { return static_cast<float*>(p[i]); };
    const bool has_cell = what.kind == Recurrent::Kind::kLstm;
    const std::size_t made_at = has_cell ? 5 : 4;
    kernels::run_recurrent(what,
                           {at(0), at(3), has_cell ? at(4) : nullptr, p[1], at(2), at(made_at), at(made_at + 1),
                            has_cell ? at(made_at + 2) : nullptr},
                           threads);
  });
  return true;
}

bool lower_recurrent(PlanBuilder& builder, const Chain& chain) {
  const auto& node = chain.anchor();
  Layer layer;
  if (!describe(builder, node, layer)) return false;
  // A step reads all its weights, so half as many bytes take half the time.
  const ElementType type = builder.compute_type();
  constexpr ElementType kF32 = ElementType::kF32;
  return lower_steps(type, builder, node, layer) ||
         (type != kF32 && (lower_in(type, builder, node, layer) || lower_steps(kF32, builder, node, layer))) ||
         lower_in(kF32, builder, node, layer);
}

}  // namespace

void register_recurrent(LoweringTable& table) {
  for (const char* type : {"RNNSequence", "GRUSequence", "LSTMSequence", "RNNCell", "GRUCell", "LSTMCell"})
    table[type] = {lower_recurrent, false};
}

}  // namespace tenon::inline v1::engine
