// SPDX-License-Identifier: Apache-2.0
// Scaled dot-product attention.
#include <algorithm>
#include <cmath>
#include <limits>

#include <tenon/graph/ops/internal/kernel.hpp>
#include <tenon/graph/ops/internal/table_rows.hpp>

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
    // The mask is broadcast to the scores, never the reverse.
    const PartialShape both = broadcast_shapes(scores, mask, "numpy");
    if (mask.size() > scores.size() || !both.compatible(scores))
      fail("the mask " + mask.to_string() + " is larger than the scores " + scores.to_string());
  }
  if (node.get_input_size() > 5 && node.get_input_partial_shape(5).rank().is_static()) {
    PartialShape rows = out;
    rows[rows.size() - 1] = 1;
    const PartialShape& sink = node.get_input_partial_shape(5);
    if (sink.size() != q.size() || sink.size() > rows.size() || !broadcast_shapes(rows, sink, "numpy").compatible(rows))
      fail("the sink " + sink.to_string() + " must have the query's rank and be broadcast to " + rows.to_string());
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
  const bool sinks = inputs.size() > 5;
  Shape rows = out;
  rows.back() = 1;
  const auto sink_steps = sinks ? steps_in(inputs[5].shape(), rows) : std::vector<std::size_t>(rows.size(), 0);
  const auto mask_steps = masked ? steps_in(inputs[3].shape(), scores) : std::vector<std::size_t>(scores.size(), 0);
  dispatch_real(inputs[0].element_type(), [&](auto zero) {
    using T = decltype(zero);
    const Read<T> q(inputs[0]), k(inputs[1]), v(inputs[2]);
    const std::vector<T> mask = masked ? to_vector<T>(inputs[3]) : std::vector<T>{T{0}};
    // A score of each row that only enters the sum of the weights.
    const std::vector<T> sink = sinks ? to_vector<T>(inputs[5]) : std::vector<T>{-std::numeric_limits<T>::infinity()};
    const T scale = inputs.size() > 4 ? to_vector<T>(inputs[4]).at(0) : T{1} / std::sqrt(static_cast<T>(E));
    Write<T> y(outputs[0]);
    std::vector<T> row(S);
    std::vector<std::size_t> index(batch.size(), 0);
    T* to = y.data();
    do {
      std::size_t qi = 0, ki = 0, vi = 0, mi = 0, si = 0;
      for (std::size_t axis = 0; axis < batch.size(); ++axis) {
        qi += index[axis] * q_steps[axis] * L * E;
        ki += index[axis] * k_steps[axis] * S * E;
        vi += index[axis] * v_steps[axis] * S * Ev;
        mi += index[axis] * mask_steps[axis];
        si += index[axis] * sink_steps[axis];
      }
      for (std::size_t l = 0; l < L; ++l, to += Ev) {
        const T drain = sink[si + l * sink_steps[batch.size()]];
        T most = drain;
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
        T total = sinks && most != -std::numeric_limits<T>::infinity() ? std::exp(drain - most) : T{0};
        for (T& score : row) {
          score = most == -std::numeric_limits<T>::infinity() ? T{0} : std::exp(score - most);
          total += score;
        }
        std::fill(to, to + Ev, T{0});
        for (std::size_t s = 0; s < S; ++s) {
          const T weight = total == T{0} ? T{0} : row[s] / total;
          for (std::size_t e = 0; e < Ev; ++e) to[e] += weight * v[vi + s * Ev + e];
        }
      }
    } while (advance(index, batch));
    y.commit();
  });
}
}  // namespace

void add_attention_rows(OperationTable& table) {
  table
      .add("ScaledDotProductAttention", 13, 3, 6, infer_sdpa, evaluate_sdpa,
           "softmax(query x key^T * scale + mask) x value; a sink is one more score of each row, whose weight is not "
           "used.")
      .flag("causal");
}

}  // namespace v1
}  // namespace tenon
