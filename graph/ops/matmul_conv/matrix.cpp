// SPDX-License-Identifier: Apache-2.0
// Einstein sums, inverse matrices, and the decoding of beams and of label sequences.
#include <algorithm>
#include <cmath>
#include <map>

#include <tenon/graph/einsum.hpp>
#include <tenon/graph/ops/internal/kernel.hpp>
#include <tenon/graph/ops/internal/table_rows.hpp>

namespace tenon {
inline namespace v1 {

namespace {
// --- Einsum ---------------------------------------------------------------------------------------------------------

/// Letters name axes; those of an ellipsis are 1, 2... from the last one on.
using Labels = std::string;

using Equation = EinsumLabels;

Labels labels_of(const std::string& term, std::size_t ellipsis) {
  Labels labels;
  const std::size_t dots = term.find("...");
  for (std::size_t i = 0; i < term.size(); ++i) {
    if (i == dots) {
      for (std::size_t k = ellipsis; k-- > 0;) labels += static_cast<char>(k + 1);
      i += 2;
    } else if ((term[i] >= 'a' && term[i] <= 'z') || (term[i] >= 'A' && term[i] <= 'Z')) {
      labels += term[i];
    } else {
      fail("the equation's term \"" + term + "\" holds '" + std::string(1, term[i]) + "'");
    }
  }
  return labels;
}

Equation parse_equation(const std::string& given, const std::vector<std::size_t>& ranks) {
  std::string text;
  std::copy_if(given.begin(), given.end(), std::back_inserter(text), [](char c) { return c != ' '; });
  const std::size_t arrow = text.find("->");
  std::vector<std::string> terms(1);
  for (const char c : text.substr(0, arrow)) {
    if (c == ',')
      terms.emplace_back();
    else
      terms.back() += c;
  }
  if (terms.size() != ranks.size())
    fail("the equation \"" + given + "\" has " + std::to_string(terms.size()) + " terms for " +
         std::to_string(ranks.size()) + " inputs");
  Equation equation;
  std::size_t widest = 0;
  for (std::size_t i = 0; i < terms.size(); ++i) {
    const bool has_ellipsis = terms[i].find("...") != std::string::npos;
    const std::size_t letters = terms[i].size() - (has_ellipsis ? 3 : 0);
    if (has_ellipsis ? letters > ranks[i] : letters != ranks[i])
      fail("the equation's term \"" + terms[i] + "\" does not fit input " + std::to_string(i) + " of rank " +
           std::to_string(ranks[i]));
    const std::size_t ellipsis = has_ellipsis ? ranks[i] - letters : 0;
    if (ellipsis > 60) fail("an ellipsis of " + std::to_string(ellipsis) + " axes is too many");
    widest = std::max(widest, ellipsis);
    equation.inputs.push_back(labels_of(terms[i], ellipsis));
  }
  if (arrow != std::string::npos) {
    equation.output = labels_of(text.substr(arrow + 2), widest);
  } else {
    // All axes that occur once, sorted; those of an ellipsis before them.
    std::map<char, int> counts;
    for (const Labels& labels : equation.inputs)
      for (const char label : labels) ++counts[label];
    for (std::size_t k = widest; k-- > 0;) equation.output += static_cast<char>(k + 1);
    for (const auto& [label, count] : counts)
      if (label >= 'A' && count == 1) equation.output += label;
  }
  for (const char label : equation.output) {
    const bool known = std::any_of(equation.inputs.begin(), equation.inputs.end(),
                                   [&](const Labels& l) { return l.find(label) != l.npos; });
    if (!known || std::count(equation.output.begin(), equation.output.end(), label) > 1)
      fail("the equation \"" + given + "\" names an output axis that no input has, or names one twice");
  }
  return equation;
}

void infer_einsum(Node& node) {
  const element::Type type = common_type(node, 0, node.get_input_size());
  std::vector<std::size_t> ranks;
  for (std::size_t i = 0; i < node.get_input_size(); ++i) {
    const auto rank = static_rank(node, i);
    if (!rank) return node.set_output_type(0, type, PartialShape::dynamic());
    ranks.push_back(*rank);
  }
  const Equation equation = parse_equation(node.get_attributes().get_string("equation"), ranks);
  std::map<char, Dimension> extents;
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    for (std::size_t axis = 0; axis < ranks[i]; ++axis) {
      const char label = equation.inputs[i][axis];
      const Dimension own = node.get_input_partial_shape(i)[axis];
      const auto found = extents.find(label);
      if (found == extents.end()) {
        extents.emplace(label, own);
        continue;
      }
      // Axes of an ellipsis broadcast.
      const bool fits = label < 'A' ? Dimension::broadcast_merge(found->second, found->second, own)
                                    : Dimension::merge(found->second, found->second, own);
      if (!fits)
        fail("input " + std::to_string(i) + " of shape " + node.get_input_partial_shape(i).to_string() +
             " has an extent that differs from another's in the equation \"" +
             node.get_attributes().get_string("equation") + "\"");
    }
  }
  PartialShape out;
  for (const char label : equation.output) out.push_back(extents.at(label));
  node.set_output_type(0, type, out);
}

template <typename T>
struct Operand {
  Labels labels;
  Shape shape;
  std::vector<T> values;
};

/// The steps of an operand along each label of `order`: the sum for a label that occurs twice, 0 where it broadcasts.
template <typename T>
std::vector<std::size_t> steps_along(const Operand<T>& operand, const Labels& order) {
  std::vector<std::size_t> steps(order.size(), 0);
  const auto own = element_strides(operand.shape);
  for (std::size_t axis = 0; axis < operand.labels.size(); ++axis)
    if (operand.shape[axis] != 1) steps[order.find(operand.labels[axis])] += own[axis];
  return steps;
}

/// The product of two operands, summed over all labels that are not kept.
template <typename T>
Operand<T> contract(const Operand<T>& a, const Operand<T>& b, const Labels& kept) {
  Labels outer, inner;
  std::map<char, std::size_t> extents;
  for (const Operand<T>* side : {&a, &b}) {
    for (std::size_t axis = 0; axis < side->labels.size(); ++axis) {
      const char label = side->labels[axis];
      const auto found = extents.find(label);
      if (found == extents.end()) {
        extents.emplace(label, side->shape[axis]);
        (kept.find(label) != kept.npos ? outer : inner) += label;
      } else if (found->second == 1) {
        found->second = side->shape[axis];
      } else if (side->shape[axis] != 1 && side->shape[axis] != found->second) {
        fail("two inputs have " + std::to_string(found->second) + " and " + std::to_string(side->shape[axis]) +
             " places along one axis of the equation");
      }
    }
  }
  Operand<T> result{outer, {}, {}};
  Shape summed;
  for (const char label : outer) result.shape.push_back(extents[label]);
  for (const char label : inner) summed.push_back(extents[label]);
  result.values.assign(element_count(result.shape), T{0});
  if (result.values.empty() || element_count(summed) == 0) return result;
  const auto a_outer = steps_along(a, outer + inner), b_outer = steps_along(b, outer + inner);
  const std::size_t split = outer.size();
  std::vector<std::size_t> at(outer.size(), 0);
  std::size_t next = 0;
  do {
    std::size_t ai = 0, bi = 0;
    for (std::size_t i = 0; i < split; ++i) ai += at[i] * a_outer[i], bi += at[i] * b_outer[i];
    std::vector<std::size_t> index(inner.size(), 0);
    T sum{0};
    do {
      std::size_t aj = ai, bj = bi;
      for (std::size_t i = 0; i < index.size(); ++i)
        aj += index[i] * a_outer[split + i], bj += index[i] * b_outer[split + i];
      sum += a.values[aj] * b.values[bj];
    } while (advance(index, summed));
    result.values[next++] = sum;
  } while (advance(at, result.shape));
  return result;
}

void evaluate_einsum(const Node& node, std::span<const Tensor> inputs, std::span<Tensor> outputs) {
  std::vector<std::size_t> ranks;
  for (const Tensor& input : inputs) ranks.push_back(input.shape().size());
  const Equation equation = parse_equation(node.get_attributes().get_string("equation"), ranks);
  dispatch_compute(inputs[0].element_type(), [&](auto zero) {
    using T = decltype(zero);
    Operand<T> result{"", {}, {T{1}}};
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      Labels kept = equation.output;
      for (std::size_t later = i + 1; later < inputs.size(); ++later) kept += equation.inputs[later];
      result = contract(result, Operand<T>{equation.inputs[i], inputs[i].shape(), to_vector<T>(inputs[i])}, kept);
    }
    Write<T> y(outputs[0]);
    if (y.size() == 0) return;
    const auto steps = steps_along(result, equation.output);
    std::vector<std::size_t> index(steps.size(), 0);
    std::size_t next = 0;
    do {
      std::size_t at = 0;
      for (std::size_t i = 0; i < index.size(); ++i) at += index[i] * steps[i];
      y[next++] = result.values[at];
    } while (advance(index, outputs[0].shape()));
    y.commit();
  });
}

// --- Inverse of matrices [..., n, n], or of their transposes ------------------------------

void infer_inverse(Node& node) {
  require_real(node, 0);
  const PartialShape& shape = node.get_input_partial_shape(0);
  if (shape.rank().is_static() && (shape.size() < 2 || !shape[shape.size() - 1].compatible(shape[shape.size() - 2])))
    fail("data " + shape.to_string() + ": expected square matrices");
  infer_same(node);
}

/// Gauss's elimination with the largest pivot. @return false if the matrix has no inverse.
bool invert(std::vector<double> matrix, std::size_t n, std::vector<double>& inverse) {
  inverse.assign(n * n, 0);
  for (std::size_t i = 0; i < n; ++i) inverse[i * n + i] = 1;
  for (std::size_t column = 0; column < n; ++column) {
    std::size_t pivot = column;
    for (std::size_t row = column + 1; row < n; ++row)
      if (std::abs(matrix[row * n + column]) > std::abs(matrix[pivot * n + column])) pivot = row;
    const double value = matrix[pivot * n + column];
    if (value == 0) return false;
    if (pivot != column) {
      for (std::size_t i = 0; i < n; ++i) {
        std::swap(matrix[pivot * n + i], matrix[column * n + i]);
        std::swap(inverse[pivot * n + i], inverse[column * n + i]);
      }
    }
    for (std::size_t i = 0; i < n; ++i) matrix[column * n + i] /= value, inverse[column * n + i] /= value;
    for (std::size_t row = 0; row < n; ++row) {
      const double factor = row == column ? 0 : matrix[row * n + column];
      for (std::size_t i = 0; factor != 0 && i < n; ++i) {
        matrix[row * n + i] -= factor * matrix[column * n + i];
        inverse[row * n + i] -= factor * inverse[column * n + i];
      }
    }
  }
  return true;
}

void evaluate_inverse(const Node& node, std::span<const Tensor> inputs, std::span<Tensor> outputs) {
  const std::size_t n = inputs[0].shape().back();
  const bool adjoint = node.get_attributes().get_bool("adjoint");
  const Read<double> x(inputs[0]);
  Write<double> y(outputs[0]);
  std::vector<double> inverse;
  std::size_t index = 0;
  for (std::size_t at = 0; at < x.size(); at += n * n, ++index) {
    if (!invert(std::vector<double>(x.data() + at, x.data() + at + n * n), n, inverse))
      fail("matrix " + std::to_string(index) + " is singular: it has no inverse");
    for (std::size_t row = 0; row < n; ++row)
      for (std::size_t column = 0; column < n; ++column)
        y[at + row * n + column] = inverse[adjoint ? column * n + row : row * n + column];
  }
  y.commit();
}

// --- GRN: x / sqrt(bias + sum of squares over the channels) -------------------------------------------------------------

void infer_grn(Node& node) {
  require_real(node, 0);
  require_rank(node, 0, 2, 4);
  infer_same(node);
}

void evaluate_grn(const Node& node, std::span<const Tensor> inputs, std::span<Tensor> outputs) {
  const Shape& shape = inputs[0].shape();
  const std::size_t plane = extent_product(shape, 2, shape.size());
  const double bias = node.get_attributes().get_double("bias");
  const Read<double> x(inputs[0]);
  Write<double> y(outputs[0]);
  for (std::size_t n = 0; n < shape[0]; ++n) {
    for (std::size_t p = 0; p < plane; ++p) {
      double sum = bias;
      const auto at = [&](std::size_t c) { return (n * shape[1] + c) * plane + p; };
      for (std::size_t c = 0; c < shape[1]; ++c) sum += x[at(c)] * x[at(c)];
      for (std::size_t c = 0; c < shape[1]; ++c) y[at(c)] = x[at(c)] / std::sqrt(sum);
    }
  }
  y.commit();
}

// --- GatherTree: step_ids and parent_idx [steps, batch, beams], max_seq_len [batch], end_token --------------------------

void infer_gather_tree(Node& node) {
  PartialShape out = node.get_input_partial_shape(0);
  require_rank(node, 0, 3, 3);
  require_rank(node, 1, 3, 3);
  require_rank(node, 2, 1, 1);
  if (!PartialShape::merge_into(out, node.get_input_partial_shape(1)))
    fail("step_ids " + node.get_input_partial_shape(0).to_string() + " and parent_idx " +
         node.get_input_partial_shape(1).to_string() + " differ");
  set_output(node, 0, out);
}

void evaluate_gather_tree(const Node&, std::span<const Tensor> inputs, std::span<Tensor> outputs) {
  const Shape& shape = inputs[0].shape();
  const std::size_t steps = shape[0], batch = shape[1], beams = shape[2];
  const auto parents = to_vector<std::int64_t>(inputs[1]), lengths = to_vector<std::int64_t>(inputs[2]);
  dispatch_compute(inputs[0].element_type(), [&](auto zero) {
    using T = decltype(zero);
    const Read<T> ids(inputs[0]);
    const T end = to_vector<T>(inputs[3]).at(0);
    Write<T> y(outputs[0]);
    for (std::size_t b = 0; b < batch; ++b) {
      for (std::size_t beam = 0; beam < beams; ++beam) {
        const auto at = [&](std::size_t step, std::size_t k) { return (step * batch + b) * beams + k; };
        for (std::size_t t = 0; t < steps; ++t) y[at(t, beam)] = end;
        const auto length =
            static_cast<std::size_t>(std::clamp<std::int64_t>(lengths.at(b), 0, static_cast<std::int64_t>(steps)));
        std::size_t from = beam;
        for (std::size_t t = length; t-- > 0;) {
          y[at(t, beam)] = ids[at(t, from)];
          const std::int64_t parent = parents[at(t, from)];
          if (parent < 0 || parent >= static_cast<std::int64_t>(beams))
            fail("parent_idx holds " + std::to_string(parent) + ", outside of " + std::to_string(beams) + " beams");
          from = static_cast<std::size_t>(parent);
        }
        bool ended = false;
        for (std::size_t t = 0; t < length; ++t) {
          if (ended) y[at(t, beam)] = end;
          ended = ended || y[at(t, beam)] == end;
        }
      }
    }
    y.commit();
  });
}

// --- CTC: the best label of each step, without blanks and, if wished, repetitions ---------------------------------------

/// @param logits  steps numbers of classes, `stride` apart; @return labels, at most `steps`.
std::vector<std::int64_t> decode(const float* logits, std::size_t steps, std::size_t stride, std::size_t classes,
                                 std::int64_t blank, bool merges) {
  std::vector<std::int64_t> labels;
  std::int64_t before = -1;
  for (std::size_t t = 0; t < steps; ++t) {
    const float* first = logits + t * stride;
    const std::int64_t best = std::max_element(first, first + classes) - first;
    if (best != blank && !(merges && best == before)) labels.push_back(best);
    before = best;
  }
  return labels;
}

void infer_ctc(Node& node) {
  require_rank(node, 0, 3, 3);
  require_rank(node, 1, 2, 2);
  const PartialShape& data = node.get_input_partial_shape(0);
  const bool known = data.rank().is_static();
  set_output(node, 0, {known ? data[1] : Dimension::dynamic(), known ? data[0] : Dimension::dynamic(), 1, 1});
}

// logits [steps, batch, classes], mask [steps, batch]; [batch, steps, 1, 1], -1 behind the labels.
void evaluate_ctc(const Node& node, std::span<const Tensor> inputs, std::span<Tensor> outputs) {
  const Shape& shape = inputs[0].shape();
  const std::size_t steps = shape[0], batch = shape[1], classes = shape[2];
  const bool merges = node.get_attributes().get_bool("ctc_merge_repeated");
  const Read<float> logits(inputs[0]), mask(inputs[1]);
  if (mask.size() != steps * batch)
    fail("the mask " + to_string(inputs[1].shape()) + " does not fit the data " + to_string(shape));
  Write<float> y(outputs[0]);
  std::fill_n(y.data(), y.size(), -1.0f);
  for (std::size_t b = 0; b < batch && classes > 0; ++b) {
    std::size_t length = 0;
    while (length < steps && mask[length * batch + b] != 0) ++length;
    const auto labels = decode(logits.data() + b * classes, length, batch * classes, classes,
                               static_cast<std::int64_t>(classes) - 1, merges);
    for (std::size_t i = 0; i < labels.size(); ++i) y[b * steps + i] = static_cast<float>(labels[i]);
  }
  y.commit();
}

void infer_ctc_lengths(Node& node) {
  require_rank(node, 0, 3, 3);
  require_rank(node, 1, 1, 1);
  const PartialShape& data = node.get_input_partial_shape(0);
  const bool known = data.rank().is_static();
  const Dimension batch = known ? data[0] : Dimension::dynamic();
  node.set_output_type(0, node.get_attributes().get_type("classes_index_type"),
                       {batch, known ? data[1] : Dimension::dynamic()});
  node.set_output_type(1, node.get_attributes().get_type("sequence_length_type"), {batch});
}

// data [batch, steps, classes], lengths [batch] [, blank]
void evaluate_ctc_lengths(const Node& node, std::span<const Tensor> inputs, std::span<Tensor> outputs) {
  const Shape& shape = inputs[0].shape();
  const std::size_t batch = shape[0], steps = shape[1], classes = shape[2];
  const bool merges = node.get_attributes().get_bool("merge_repeated");
  const Read<float> logits(inputs[0]);
  const auto lengths = to_vector<std::int64_t>(inputs[1]);
  const std::int64_t blank =
      inputs.size() > 2 ? to_vector<std::int64_t>(inputs[2]).at(0) : static_cast<std::int64_t>(classes) - 1;
  Write<std::int64_t> y(outputs[0]), counts(outputs[1]);
  std::fill_n(y.data(), y.size(), -1);
  for (std::size_t b = 0; b < batch; ++b) {
    if (lengths.at(b) < 0 || lengths[b] > static_cast<std::int64_t>(steps))
      fail("sequence " + std::to_string(b) + " has a length of " + std::to_string(lengths[b]) + ", more than its " +
           std::to_string(steps) + " steps");
    const auto labels =
        decode(logits.data() + b * steps * classes, classes == 0 ? 0 : static_cast<std::size_t>(lengths[b]), classes,
               classes, blank, merges);
    std::copy(labels.begin(), labels.end(), y.data() + b * steps);
    counts[b] = static_cast<std::int64_t>(labels.size());
  }
  y.commit();
  counts.commit();
}
}  // namespace

EinsumLabels einsum_labels(const Node& node) {
  std::vector<std::size_t> ranks;
  for (std::size_t i = 0; i < node.get_input_size(); ++i) ranks.push_back(node.get_input_partial_shape(i).size());
  return parse_equation(node.get_attributes().get_string("equation"), ranks);
}

void add_matrix_rows(OperationTable& table) {
  table
      .add("Einsum", 7, 1, kManyInputs, infer_einsum, evaluate_einsum,
           "Products of tensors, summed over the axes that the output of an equation lacks.")
      .text("equation");
  table.add("Inverse", 14, 1, 1, infer_inverse, evaluate_inverse, "Inverse matrices, or those of the transposed ones.")
      .flag("adjoint", false);
  table.add("GRN", 1, 1, 1, infer_grn, evaluate_grn, "Divides each position by the norm of its channels.").real("bias");
  table.add("GatherTree", 1, 4, 4, infer_gather_tree, evaluate_gather_tree,
            "The sequences of a beam search from their last steps back.");
  table.add("CTCGreedyDecoder", 1, 2, 2, infer_ctc, evaluate_ctc, "The best labels of each sequence, masked.")
      .flag("ctc_merge_repeated", true);
  table
      .add("CTCGreedyDecoderSeqLen", 6, 2, 3, infer_ctc_lengths, evaluate_ctc_lengths,
           "The best labels of each sequence, and their number.")
      .flag("merge_repeated", true)
      .type("classes_index_type", ElementType::kI32)
      .type("sequence_length_type", ElementType::kI32);
}

}  // namespace v1
}  // namespace tenon
