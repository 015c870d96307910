// SPDX-License-Identifier: Apache-2.0
// Attention, and cells of recurrent networks.
#include <algorithm>
#include <cmath>
#include <limits>

#include <tenon/graph/ops/kernel_internal.hpp>
#include <tenon/graph/ops/op_internal.hpp>

namespace tenon {
inline namespace v1 {

namespace {
// --- ScaledDotProductAttention: query [..., L, E], key [..., S, E], value [..., S, Ev] ---
void infer_sdpa(Node& node) {
  const element::Type type = common_type(node, 0, 3);
  require_real(node, 0);
  PartialShape batch;
  bool known = true;
  for (std::size_t i = 0; i < 3; ++i) {
    require_rank(node, i, 3, 64);
    known &= node.get_input_partial_shape(i).rank().is_static();
  }
  if (!known) return node.set_output_type(0, type, PartialShape::dynamic());
  const PartialShape &q = node.get_input_partial_shape(0), &k = node.get_input_partial_shape(1),
                     &v = node.get_input_partial_shape(2);
  const auto outer = [](const PartialShape& s) { return PartialShape(std::vector<Dimension>(s.begin(), s.end() - 2)); };
  if (!q[q.size() - 1].compatible(k[k.size() - 1]))
    fail("query " + q.to_string() + " and key " + k.to_string() + " differ in their last extent");
  if (!k[k.size() - 2].compatible(v[v.size() - 2]))
    fail("key " + k.to_string() + " and value " + v.to_string() + " differ in their number of positions");
  PartialShape out = broadcast_shapes(broadcast_shapes(outer(q), outer(k), "numpy"), outer(v), "numpy");
  out.push_back(q[q.size() - 2]);
  out.push_back(v[v.size() - 1]);
  if (node.get_input_size() > 3 && node.get_input_partial_shape(3).rank().is_static() &&
      node.get_input_partial_shape(3).size() > 0) {
    PartialShape scores = out;
    scores[scores.size() - 1] = k[k.size() - 2];
    const PartialShape& mask = node.get_input_partial_shape(3);
    // The mask is repeated over the scores, never the other way round.
    const PartialShape both = broadcast_shapes(scores, mask, "numpy");
    if (mask.size() > scores.size() || !both.compatible(scores))
      fail("the mask " + mask.to_string() + " is larger than the scores " + scores.to_string());
  }
  node.set_output_type(0, type, out);
}
std::vector<std::size_t> steps_in(const Shape& shape, const Shape& target) {
  std::vector<std::size_t> steps(target.size(), 0);
  const auto own = element_strides(shape);
  for (std::size_t axis = 0; axis < shape.size(); ++axis)
    steps[axis + target.size() - shape.size()] = shape[axis] == 1 ? 0 : own[axis];
  return steps;
}
void evaluate_sdpa(const Node& node, std::span<const Tensor> inputs, std::span<Tensor> outputs) {
  const Shape &qs = inputs[0].shape(), &ks = inputs[1].shape(), &vs = inputs[2].shape(), &out = outputs[0].shape();
  const std::size_t L = qs[qs.size() - 2], E = qs.back(), S = ks[ks.size() - 2], Ev = vs.back();
  const bool causal = node.get_attributes().get_bool("causal");
  const bool masked = inputs.size() > 3 && inputs[3].element_count() > 0 &&
                      !(inputs[3].shape().empty() && to_vector<double>(inputs[3])[0] == 0);
  const bool boolean = masked && inputs[3].element_type() == ElementType::kBool;
  if (outputs[0].element_count() == 0) return;
  Shape batch(out.begin(), out.end() - 2), scores = out;
  scores.back() = S;
  const auto drop = [](const Shape& s) { return Shape(s.begin(), s.end() - 2); };
  const auto q_steps = steps_in(drop(qs), batch), k_steps = steps_in(drop(ks), batch),
             v_steps = steps_in(drop(vs), batch);
  const auto mask_steps = masked ? steps_in(inputs[3].shape(), scores) : std::vector<std::size_t>(scores.size(), 0);
  dispatch_real(inputs[0].element_type(), [&](auto zero) {
    using T = decltype(zero);
    const Read<T> q(inputs[0]), k(inputs[1]), v(inputs[2]);
    const std::vector<T> mask = masked ? to_vector<T>(inputs[3]) : std::vector<T>{T{0}};
    const T scale = inputs.size() > 4 ? to_vector<T>(inputs[4]).at(0) : T{1} / std::sqrt(static_cast<T>(E));
    Write<T> y(outputs[0]);
    std::vector<T> row(S);
    std::vector<std::size_t> index(batch.size(), 0);
    T* to = y.data();
    do {
      std::size_t qi = 0, ki = 0, vi = 0, mi = 0;
      for (std::size_t axis = 0; axis < batch.size(); ++axis) {
        qi += index[axis] * q_steps[axis] * L * E;
        ki += index[axis] * k_steps[axis] * S * E;
        vi += index[axis] * v_steps[axis] * S * Ev;
        mi += index[axis] * mask_steps[axis];
      }
      for (std::size_t l = 0; l < L; ++l, to += Ev) {
        T most = -std::numeric_limits<T>::infinity();
        for (std::size_t s = 0; s < S; ++s) {
          T sum{0};
          for (std::size_t e = 0; e < E; ++e) sum += q[qi + l * E + e] * k[ki + s * E + e];
          sum *= scale;
          if (masked && !causal) {
            const T m = mask[mi + l * mask_steps[batch.size()] + s * mask_steps[batch.size() + 1]];
            sum = boolean ? (m != T{0} ? sum : -std::numeric_limits<T>::infinity()) : sum + m;
          }
          if (causal && s > l) sum = -std::numeric_limits<T>::infinity();
          row[s] = sum;
          most = std::max(most, sum);
        }
        T total{0};
        for (T& score : row) {
          score = most == -std::numeric_limits<T>::infinity() ? T{0} : std::exp(score - most);
          total += score;
        }
        std::fill(to, to + Ev, T{0});
        for (std::size_t s = 0; s < S; ++s) {
          const T weight = total > T{0} ? row[s] / total : T{0};
          for (std::size_t e = 0; e < Ev; ++e) to[e] += weight * v[vi + s * Ev + e];
        }
      }
    } while (advance(index, batch));
    y.commit();
  });
}

// --- LSTMCell, GRUCell ---
template <typename T>
T activate(const std::string& name, T x) {
  if (name == "sigmoid") return T{1} / (T{1} + std::exp(-x));
  if (name == "tanh") return std::tanh(x);
  if (name == "relu") return std::max(x, T{0});
  fail("activation '" + name + "' is not supported; sigmoid, tanh and relu are");
}
std::vector<std::string> activations(const Node& node, std::vector<std::string> fallback) {
  auto names = node.get_attributes().get_strings("activations");
  if (names.empty()) return fallback;
  if (names.size() != fallback.size())
    fail("attribute 'activations': expected " + std::to_string(fallback.size()) + " names, found " +
         std::to_string(names.size()));
  for (const std::string& name : names) activate(name, 0.0);
  return names;
}

void check_cell_input(const Node& node, std::size_t input, const PartialShape& expected) {
  if (!node.get_input_partial_shape(input).compatible(expected)) {
    fail("input " + std::to_string(input) + ": expected shape " + expected.to_string() + ", found " +
         node.get_input_partial_shape(input).to_string());
  }
}
template <std::size_t kGates, std::size_t kStates>
void infer_cell(Node& node) {
  const std::int64_t hidden = node.get_attributes().get_int("hidden_size");
  if (hidden < 1 || hidden > (std::int64_t{1} << 30))
    fail("attribute 'hidden_size': " + std::to_string(hidden) + " is outside 1..2^30");
  const element::Type type = common_type(node, 0, node.get_input_size());
  require_real(node, 0);
  activations(node, std::vector<std::string>(kGates == 4 ? 3 : 2, "tanh"));
  Dimension batch, size;
  PartialShape x = node.get_input_partial_shape(0);
  require_rank(node, 0, 2, 2);
  if (x.rank().is_static()) {
    batch = x[0];
    size = x[1];
  }
  for (std::size_t i = 1; i <= kStates; ++i) {
    check_cell_input(node, i, PartialShape{batch, hidden});
    if (node.get_input_partial_shape(i).rank().is_static())
      Dimension::merge(batch, batch, node.get_input_partial_shape(i)[0]);
  }
  const std::int64_t gates = static_cast<std::int64_t>(kGates) * hidden;
  check_cell_input(node, kStates + 1, PartialShape{gates, size});
  check_cell_input(node, kStates + 2, PartialShape{gates, hidden});
  if (node.get_input_size() > kStates + 3) {
    const bool reset =
        node.get_attributes().has("linear_before_reset") && node.get_attributes().get_bool("linear_before_reset");
    check_cell_input(node, kStates + 3, PartialShape{gates + (reset ? hidden : 0)});
  }
  for (std::size_t i = 0; i < kStates; ++i) node.set_output_type(i, type, PartialShape{batch, hidden});
}

/// Row `r` of weights [rows, n] times x.
template <typename T>
T dot(const Read<T>& weights, std::size_t r, const T* x, std::size_t n) {
  T sum{0};
  const T* row = weights.data() + r * n;
  for (std::size_t i = 0; i < n; ++i) sum += row[i] * x[i];
  return sum;
}

void evaluate_lstm_cell(const Node& node, std::span<const Tensor> inputs, std::span<Tensor> outputs) {
  const std::size_t batch = inputs[0].shape()[0], size = inputs[0].shape()[1];
  const auto hidden = static_cast<std::size_t>(node.get_attributes().get_int("hidden_size"));
  const auto names = activations(node, {"sigmoid", "tanh", "tanh"});
  const double clip = node.get_attributes().get_double("clip");
  dispatch_real(inputs[0].element_type(), [&](auto zero) {
    using T = decltype(zero);
    const Read<T> x(inputs[0]), h(inputs[1]), c(inputs[2]), w(inputs[3]), r(inputs[4]);
    const std::vector<T> bias = inputs.size() > 5 ? to_vector<T>(inputs[5]) : std::vector<T>(4 * hidden, T{0});
    Write<T> ho(outputs[0]), co(outputs[1]);
    const auto clipped = [&](T v) { return clip > 0 ? std::clamp(v, static_cast<T>(-clip), static_cast<T>(clip)) : v; };
    for (std::size_t b = 0; b < batch; ++b) {
      for (std::size_t i = 0; i < hidden; ++i) {
        T gate[4];  // Forget, input, cell, output.
        for (std::size_t g = 0; g < 4; ++g) {
          const std::size_t row = g * hidden + i;
          gate[g] =
              clipped(dot(w, row, x.data() + b * size, size) + dot(r, row, h.data() + b * hidden, hidden) + bias[row]);
        }
        const T cell =
            activate(names[0], gate[0]) * c[b * hidden + i] + activate(names[0], gate[1]) * activate(names[1], gate[2]);
        co[b * hidden + i] = cell;
        ho[b * hidden + i] = activate(names[0], gate[3]) * activate(names[2], clipped(cell));
      }
    }
    ho.commit();
    co.commit();
  });
}

void evaluate_gru_cell(const Node& node, std::span<const Tensor> inputs, std::span<Tensor> outputs) {
  const std::size_t batch = inputs[0].shape()[0], size = inputs[0].shape()[1];
  const auto hidden = static_cast<std::size_t>(node.get_attributes().get_int("hidden_size"));
  const auto names = activations(node, {"sigmoid", "tanh"});
  const double clip = node.get_attributes().get_double("clip");
  const bool before_reset = node.get_attributes().get_bool("linear_before_reset");
  dispatch_real(inputs[0].element_type(), [&](auto zero) {
    using T = decltype(zero);
    const Read<T> x(inputs[0]), h(inputs[1]), w(inputs[2]), r(inputs[3]);
    const std::vector<T> bias =
        inputs.size() > 4 ? to_vector<T>(inputs[4]) : std::vector<T>((before_reset ? 4 : 3) * hidden, T{0});
    Write<T> y(outputs[0]);
    const auto clipped = [&](T v) { return clip > 0 ? std::clamp(v, static_cast<T>(-clip), static_cast<T>(clip)) : v; };
    std::vector<T> update(hidden), reset(hidden), held(hidden);
    for (std::size_t b = 0; b < batch; ++b) {
      const T *xb = x.data() + b * size, *hb = h.data() + b * hidden;
      for (std::size_t i = 0; i < hidden; ++i) {
        update[i] = activate(names[0], clipped(dot(w, i, xb, size) + dot(r, i, hb, hidden) + bias[i]));
        reset[i] = activate(names[0],
                            clipped(dot(w, hidden + i, xb, size) + dot(r, hidden + i, hb, hidden) + bias[hidden + i]));
        held[i] = reset[i] * hb[i];
      }
      for (std::size_t i = 0; i < hidden; ++i) {
        const std::size_t row = 2 * hidden + i;
        T candidate = dot(w, row, xb, size) + bias[row];
        if (before_reset)
          candidate += reset[i] * (dot(r, row, hb, hidden) + bias[3 * hidden + i]);
        else
          candidate += dot(r, row, held.data(), hidden);
        candidate = activate(names[1], clipped(candidate));
        y[b * hidden + i] = (T{1} - update[i]) * candidate + update[i] * hb[i];
      }
    }
    y.commit();
  });
}
}  // namespace

void add_attention_rows(OperationTable& table) {
  const std::vector<std::string> none;
  const std::vector<double> no_numbers;
  table
      .add("ScaledDotProductAttention", 13, 3, 6, infer_sdpa, evaluate_sdpa,
           "softmax(query x key^T * scale + mask) x value.")
      .flag("causal");
  table
      .add("LSTMCell", 4, 5, 6, infer_cell<4, 2>, evaluate_lstm_cell,
           "One step of an LSTM; gates forget, input, cell, output.")
      .integer("hidden_size")
      .texts("activations", none)
      .reals("activations_alpha", no_numbers)
      .reals("activations_beta", no_numbers)
      .real("clip", 0);
  table.add("GRUCell", 3, 4, 5, infer_cell<3, 1>, evaluate_gru_cell, "One step of a GRU; gates update, reset, hidden.")
      .integer("hidden_size")
      .texts("activations", none)
      .reals("activations_alpha", no_numbers)
      .reals("activations_beta", no_numbers)
      .real("clip", 0)
      .flag("linear_before_reset", false);
}

}  // namespace v1
}  // namespace tenon
