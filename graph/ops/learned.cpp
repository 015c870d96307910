// SPDX-License-Identifier: Apache-2.0
// Classical machine learning: decision trees, tables of keys and values, probabilities of classes from those of pairs.
#include <algorithm>
#include <cmath>
#include <unordered_map>

#include <tenon/graph/ops/internal/kernel.hpp>
#include <tenon/graph/ops/internal/table_rows.hpp>

namespace tenon {
inline namespace v1 {

namespace {
// --- TreeEnsemble ----------------------------------------------------------------------------------------------------
// 0: data [batch, features]. 1: nodes i64 [nodes, 7]: feature, comparison, the child where it holds, the child where not, whether
// NaN goes to the first, begin and end of the node's set among the members. A child is a node, or ~leaf. 2: what nodes compare
// with [nodes]. 3: members of sets. 4: the trees' roots, which are children. 5: i64 [leaves + 1]: where each leaf's votes begin.
// 6: i64 [votes]: targets. 7: [votes]: weights. Scores [batch, targets]: of each target the sum, or other aggregate, over the trees.
constexpr std::size_t kNodeFields = 7;
enum Comparison : std::int64_t { kLessEqual, kLess, kGreaterEqual, kGreater, kEqual, kNotEqual, kMember };

void infer_tree_ensemble(Node& node) {
  for (const std::size_t input : {0, 2, 3, 7}) require_real(node, input);
  for (const std::size_t input : {1, 4, 5, 6}) require_integral(node, input);
  const element::Type type = node.get_input_element_type(0);
  for (const std::size_t input : {2, 3, 7})
    if (!type.is_dynamic() && !(node.get_input_element_type(input) == type))
      fail("input " + std::to_string(input) + ": expected " + type.to_string() + ", as the data, found " +
           node.get_input_element_type(input).to_string());
  require_rank(node, 0, 2, 2);
  const PartialShape& nodes = node.get_input_partial_shape(1);
  if (!nodes.compatible(PartialShape{Dimension::dynamic(), static_cast<std::int64_t>(kNodeFields)}))
    fail("input 1 has the shape " + nodes.to_string() + ", expected [nodes, 7]");
  const std::int64_t targets = node.get_attributes().get_int("targets");
  if (targets < 1) fail("attribute 'targets' is " + std::to_string(targets) + ", expected at least 1");
  const PartialShape& data = node.get_input_partial_shape(0);
  set_output(node, 0, PartialShape{data.rank().is_static() ? data[0] : Dimension::dynamic(), targets});
}

template <typename T>
struct Trees {
  Trees(const Node& node, std::span<const Tensor> inputs)
      : fields(inputs[1]),
        splits(inputs[2]),
        members(inputs[3]),
        roots(inputs[4]),
        starts(inputs[5]),
        targets(inputs[6]),
        weights(inputs[7]),
        target_count(node.get_attributes().get_int("targets")) {
    const std::size_t count = inputs[1].shape().at(0);
    if (splits.size() != count || weights.size() != targets.size() || starts.size() == 0)
      fail("the nodes, leaves and votes of the trees do not belong together");
  }
  [[noreturn]] static void damaged(const char* what) { fail(std::string("the trees are damaged: ") + what); }

  bool holds(const std::int64_t* node, T value, T split) const {
    if (value != value) return node[4] != 0;
    switch (node[1]) {
      case kLessEqual:
        return value <= split;
      case kLess:
        return value < split;
      case kGreaterEqual:
        return value >= split;
      case kGreater:
        return value > split;
      case kEqual:
        return value == split;
      case kNotEqual:
        return value != split;
      case kMember: {
        if (node[5] < 0 || node[6] < node[5] || static_cast<std::size_t>(node[6]) > members.size())
          damaged("a set reaches past the members");
        return std::find(members.data() + node[5], members.data() + node[6], value) != members.data() + node[6];
      }
      default:
        damaged("a node has no comparison that is known");
    }
  }
  std::size_t leaf_of(std::int64_t at, const T* row, std::size_t features) const {
    // A path visits no node twice.
    for (std::size_t steps = 0; at >= 0; ++steps) {
      const auto index = static_cast<std::size_t>(at);
      if (index >= splits.size()) damaged("a child is past the last node");
      if (steps > splits.size()) damaged("its nodes form a circle");
      const std::int64_t* node = fields.data() + index * kNodeFields;
      if (node[0] < 0 || static_cast<std::size_t>(node[0]) >= features)
        fail("a node reads feature " + std::to_string(node[0]) + ", and the data has " + std::to_string(features));
      at = node[holds(node, row[node[0]], splits[index]) ? 2 : 3];
    }
    const auto leaf = static_cast<std::size_t>(~at);
    if (leaf + 1 >= starts.size()) damaged("a child is past the last leaf");
    if (starts[leaf] < 0 || starts[leaf + 1] < starts[leaf] ||
        static_cast<std::size_t>(starts[leaf + 1]) > targets.size())
      damaged("a leaf's votes reach past the last vote");
    return leaf;
  }

  Read<std::int64_t> fields;
  Read<T> splits, members;
  Read<std::int64_t> roots, starts, targets;
  Read<T> weights;
  std::int64_t target_count;
};

void evaluate_tree_ensemble(const Node& node, std::span<const Tensor> inputs, std::span<Tensor> outputs) {
  const std::size_t batch = inputs[0].shape()[0], features = inputs[0].shape()[1];
  const auto width = static_cast<std::size_t>(node.get_attributes().get_int("targets"));
  const std::string& aggregate = node.get_attributes().get_string("aggregate");
  dispatch_real(inputs[0].element_type(), [&](auto zero) {
    using T = decltype(zero);
    const Trees<T> trees(node, inputs);
    const Read<T> x(inputs[0]);
    Write<T> y(outputs[0]);
    std::vector<double> sums(width);
    std::vector<bool> has_vote(width);
    for (std::size_t row = 0; row < batch; ++row) {
      std::fill(sums.begin(), sums.end(), 0.0);
      std::fill(has_vote.begin(), has_vote.end(), false);
      for (std::size_t tree = 0; tree < trees.roots.size(); ++tree) {
        const std::size_t leaf = trees.leaf_of(trees.roots[tree], x.data() + row * features, features);
        for (std::int64_t vote = trees.starts[leaf]; vote < trees.starts[leaf + 1]; ++vote) {
          const auto target = static_cast<std::size_t>(trees.targets[static_cast<std::size_t>(vote)]);
          if (target >= width) Trees<T>::damaged("a vote is for a target past the last");
          const auto weight = static_cast<double>(trees.weights[static_cast<std::size_t>(vote)]);
          double& sum = sums[target];
          if (aggregate == "SUM" || aggregate == "AVERAGE")
            sum += weight;
          else if (!has_vote[target])
            sum = weight;
          else
            sum = aggregate == "MIN" ? std::min(sum, weight) : std::max(sum, weight);
          has_vote[target] = true;
        }
      }
      const double divisor =
          aggregate == "AVERAGE" ? static_cast<double>(std::max<std::size_t>(trees.roots.size(), 1)) : 1;
      for (std::size_t target = 0; target < width; ++target)
        y[row * width + target] = static_cast<T>(sums[target] / divisor);
    }
    y.commit();
  });
}

// --- LookUp ----------------------------------------------------------------------------------------------------------
void infer_look_up(Node& node) {
  const element::Type x = node.get_input_element_type(0), keys = node.get_input_element_type(1);
  if (!x.is_dynamic() && !keys.is_dynamic() && !(x == keys))
    fail("the keys must have the type of the data, found " + keys.to_string() + " and " + x.to_string());
  const element::Type type = common_type(node, 2, 4);
  for (const std::size_t input : {1, 2}) require_rank(node, input, 1, 1);
  if (!node.get_input_partial_shape(1).compatible(node.get_input_partial_shape(2)))
    fail("there must be as many values as keys, found " + node.get_input_partial_shape(2).to_string() + " and " +
         node.get_input_partial_shape(1).to_string());
  node.set_output_type(0, type, node.get_input_partial_shape(0));
}

void evaluate_look_up(const Node& node, std::span<const Tensor> inputs, std::span<Tensor> outputs) {
  Tensor values(inputs[2].element_type(), inputs[2].shape()), fallback(inputs[3].element_type(), inputs[3].shape());
  move_tensor(inputs[2], values);
  move_tensor(inputs[3], fallback);
  if (fallback.element_count() != 1) fail("the default must be one value, found " + to_string(fallback.shape()));
  const std::size_t size = movable_size(values);
  const bool is_complete = node.get_attributes().get_bool("is_complete");
  const auto* from = static_cast<const char*>(values.data());
  auto* to = static_cast<char*>(outputs[0].data());
  dispatch_compute(inputs[0].element_type(), [&](auto zero) {
    using T = decltype(zero);
    const Read<T> x(inputs[0]), keys(inputs[1]);
    std::unordered_map<T, std::size_t> places;
    std::size_t place_of_nan = keys.size();  // NaN is a key like others, though it equals none.
    // A later pair of the same key counts, as in a dictionary that is filled in order.
    for (std::size_t i = 0; i < keys.size(); ++i) {
      if (keys[i] != keys[i])
        place_of_nan = i;
      else
        places[keys[i]] = i;
    }
    for (std::size_t i = 0; i < x.size(); ++i) {
      std::size_t place = place_of_nan;
      if (x[i] == x[i]) {
        const auto found = places.find(x[i]);
        place = found == places.end() ? keys.size() : found->second;
      }
      if (is_complete && place == keys.size())
        fail("element " + std::to_string(i) + " is none of the " + std::to_string(keys.size()) +
             " keys, and the model states no default");
      std::memcpy(to + i * size, place < keys.size() ? from + place * size : static_cast<const char*>(fallback.data()),
                  size);
    }
  });
}

// --- KernelMatrix ----------------------------------------------------------------------------------------------------
void infer_kernel_matrix(Node& node) {
  for (const std::size_t input : {0, 1}) {
    require_real(node, input);
    require_rank(node, input, 2, 2);
  }
  common_type(node, 0, 2);
  const PartialShape &x = node.get_input_partial_shape(0), &vectors = node.get_input_partial_shape(1);
  if (x.rank().is_static() && vectors.rank().is_static() && !x[1].compatible(vectors[1]))
    fail("the data has " + x[1].to_string() + " features, the vectors " + vectors[1].to_string());
  set_output(node, 0,
             PartialShape{x.rank().is_static() ? x[0] : Dimension::dynamic(),
                          vectors.rank().is_static() ? vectors[0] : Dimension::dynamic()});
}

void evaluate_kernel_matrix(const Node& node, std::span<const Tensor> inputs, std::span<Tensor> outputs) {
  const Attributes& attributes = node.get_attributes();
  const std::string& kind = attributes.get_string("kind");
  const double gamma = attributes.get_double("gamma"), offset = attributes.get_double("offset"),
               degree = attributes.get_double("degree");
  const std::size_t rows = inputs[0].shape()[0], features = inputs[0].shape()[1], count = inputs[1].shape()[0];
  if (inputs[1].shape()[1] != features) fail("the data and the vectors have unequal numbers of features");
  dispatch_real(inputs[0].element_type(), [&](auto zero) {
    using T = decltype(zero);
    const Read<T> x(inputs[0]), vectors(inputs[1]);
    Write<T> y(outputs[0]);
    for (std::size_t row = 0; row < rows; ++row)
      for (std::size_t column = 0; column < count; ++column) {
        double sum = 0;
        for (std::size_t f = 0; f < features; ++f) {
          const double a = x[row * features + f], b = vectors[column * features + f];
          sum += kind == "RBF" ? (a - b) * (a - b) : a * b;
        }
        if (kind == "RBF")
          sum = std::exp(-gamma * sum);
        else if (kind == "POLY")
          sum = std::pow(gamma * sum + offset, degree);
        else if (kind == "SIGMOID")
          sum = std::tanh(gamma * sum + offset);
        y[row * count + column] = static_cast<T>(sum);
      }
    y.commit();
  });
}

// --- PairwiseCoupling ------------------------------------------------------------------------------------------------
std::int64_t coupled_classes(const Node& node) {
  const std::int64_t classes = node.get_attributes().get_int("classes");
  // The matrix of pairs has that many rows and columns.
  if (classes < 2 || classes > 4096) fail("attribute 'classes' is " + std::to_string(classes) + ", expected 2 to 4096");
  return classes;
}

void infer_coupling(Node& node) {
  require_real(node, 0);
  require_rank(node, 0, 2, 2);
  const std::int64_t classes = coupled_classes(node), pairs = classes * (classes - 1) / 2;
  const PartialShape& x = node.get_input_partial_shape(0);
  if (!x.compatible(PartialShape{Dimension::dynamic(), pairs}))
    fail("input 0 has the shape " + x.to_string() + ", expected [batch, " + std::to_string(pairs) +
         "]: one of each pair of " + std::to_string(classes) + " classes");
  set_output(node, 0, PartialShape{x.rank().is_static() ? x[0] : Dimension::dynamic(), classes});
}

/// Finds the probabilities p of k classes that fit the pairwise probabilities r best: those with the least sum of (r_ji p_i - r_ij p_j)^2.
/// The iteration is that of Wu, Lin and Weng (2004). It begins with equal probabilities and ends where LIBSVM's ends.
void couple(std::size_t k, const std::vector<double>& r, std::vector<double>& p) {
  std::vector<double> q(k * k, 0.0), qp(k);
  for (std::size_t i = 0; i < k; ++i)
    for (std::size_t j = 0; j < k; ++j) {
      if (i == j) continue;
      q[i * k + i] += r[j * k + i] * r[j * k + i];
      q[i * k + j] = -r[j * k + i] * r[i * k + j];
    }
  std::fill(p.begin(), p.end(), 1.0 / static_cast<double>(k));
  const double enough = 0.005 / static_cast<double>(k);
  for (std::size_t round = 0; round < std::max<std::size_t>(100, k); ++round) {
    double whole = 0, worst = 0;
    for (std::size_t i = 0; i < k; ++i) {
      qp[i] = 0;
      for (std::size_t j = 0; j < k; ++j) qp[i] += q[i * k + j] * p[j];
      whole += p[i] * qp[i];
    }
    for (std::size_t i = 0; i < k; ++i) worst = std::max(worst, std::abs(qp[i] - whole));
    if (worst < enough) break;
    for (std::size_t i = 0; i < k; ++i) {
      const double step = (whole - qp[i]) / q[i * k + i], scale = 1 / (1 + step);
      p[i] += step;
      whole = (whole + step * (step * q[i * k + i] + 2 * qp[i])) * scale * scale;
      for (std::size_t j = 0; j < k; ++j) {
        qp[j] = (qp[j] + step * q[i * k + j]) * scale;
        p[j] *= scale;
      }
    }
  }
}

void evaluate_coupling(const Node& node, std::span<const Tensor> inputs, std::span<Tensor> outputs) {
  const auto k = static_cast<std::size_t>(coupled_classes(node));
  const std::size_t pairs = k * (k - 1) / 2;
  dispatch_real(inputs[0].element_type(), [&](auto zero) {
    using T = decltype(zero);
    const Read<T> x(inputs[0]);
    Write<T> y(outputs[0]);
    std::vector<double> r(k * k, 0.0), p(k);
    for (std::size_t row = 0; row < inputs[0].shape()[0]; ++row) {
      const T* pair = x.data() + row * pairs;
      for (std::size_t i = 0; i < k; ++i)
        for (std::size_t j = i + 1; j < k; ++j) {
          r[i * k + j] = std::clamp(static_cast<double>(*pair++), 1e-7, 1 - 1e-7);
          r[j * k + i] = 1 - r[i * k + j];
        }
      couple(k, r, p);
      for (std::size_t i = 0; i < k; ++i) y[row * k + i] = static_cast<T>(p[i]);
    }
    y.commit();
  });
}
}  // namespace

void add_learned_rows(OperationTable& table) {
  table
      .add("TreeEnsemble", 1, 8, 8, infer_tree_ensemble, evaluate_tree_ensemble, "Scores of targets by decision trees.")
      .integer("targets")
      .text("aggregate", "SUM", {"SUM", "AVERAGE", "MIN", "MAX"});
  table.add("LookUp", 1, 4, 4, infer_look_up, evaluate_look_up, "The value of each key, or a default.")
      .flag("is_complete", false);
  table
      .add("KernelMatrix", 1, 2, 2, infer_kernel_matrix, evaluate_kernel_matrix,
           "How alike data and vectors are, as support vector machines have it.")
      .text("kind", {}, {"LINEAR", "POLY", "RBF", "SIGMOID"})
      .real("gamma", 0.0)
      .real("offset", 0.0)
      .real("degree", 0.0);
  table
      .add("PairwiseCoupling", 1, 1, 1, infer_coupling, evaluate_coupling,
           "Probabilities of classes from those of each pair of them.")
      .integer("classes");
}

}  // namespace v1
}  // namespace tenon
