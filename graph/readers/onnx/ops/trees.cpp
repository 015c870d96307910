// SPDX-License-Identifier: Apache-2.0
// ai.onnx.ml: decision trees, of sets 1 to 3 (by ids) and of set 5 (by places), as the table's TreeEnsemble.
#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <unordered_map>

#include <tenon/graph/readers/onnx/internal/scores.hpp>

namespace tenon {
inline namespace v1 {
namespace onnx_reader {

namespace {
/// The inputs of a TreeEnsemble, by node: feature, comparison, children, missing, begin and end of a set.
struct Forest {
  Ints nodes;
  std::vector<double> splits, members;
  Ints roots, starts{0}, targets;
  std::vector<double> weights;

  Out scores(const Out& x, std::int64_t target_count, const std::string& aggregate) const {
    const ElementType type = x.get_element_type();
    const auto fields = std::make_shared<op::v0::Constant>(ElementType::kI64, Shape{splits.size(), 7}, nodes);
    return op("TreeEnsemble", 1,
              {x, fields, reals(type, splits), reals(type, members), ints(roots), ints(starts), ints(targets),
               reals(type, weights)},
              {{"targets", target_count}, {"aggregate", aggregate}});
  }
};

std::vector<double> reals_of(const NodeContext& node, const std::string& attribute) {
  const std::string as_tensor = attribute + "_as_tensor";
  if (node.has(as_tensor)) return op::v0::Constant(node.get_tensor(as_tensor)).to_doubles();
  return node.get_floats(attribute);
}

std::size_t place_of(const std::string& value, const std::vector<std::string>& names, const char* what) {
  const auto found = std::find(names.begin(), names.end(), value);
  if (found != names.end()) return static_cast<std::size_t>(found - names.begin());
  std::string all;
  for (const std::string& name : names) all += (all.empty() ? "" : ", ") + name;
  fail(std::string(what) + " is \"" + value + "\", expected one of " + all);
}

template <typename T>
const std::vector<T>& sized(const std::vector<T>& values, std::size_t count, const std::string& attribute) {
  if (values.size() != count)
    fail(attribute + " has " + std::to_string(values.size()) + " entries, expected " + std::to_string(count) +
         ", one for each node or vote");
  return values;
}

/// Trees whose nodes have ids; `votes` is "class" or "target", as the attributes of their leaves are named.
Forest read_forest(const NodeContext& node, const std::string& votes) {
  static const std::vector<std::string> modes = {"BRANCH_LEQ", "BRANCH_LT",  "BRANCH_GTE", "BRANCH_GT",
                                                 "BRANCH_EQ",  "BRANCH_NEQ", "LEAF"};
  using Id = std::pair<std::int64_t, std::int64_t>;  // Tree and node.
  const auto names = node.get_strings("nodes_modes");
  const std::size_t count = names.size();
  const auto column = [&](const char* name) { return sized(node.get_ints(name), count, name); };
  const Ints trees = column("nodes_treeids"), ids = column("nodes_nodeids"), features = column("nodes_featureids"),
             holds = column("nodes_truenodeids"), fails = column("nodes_falsenodeids");
  const Ints given = node.get_ints("nodes_missing_value_tracks_true", Ints{});
  const Ints missing = given.empty() ? Ints(count, 0) : sized(given, count, "nodes_missing_value_tracks_true");
  const std::vector<double> values = sized(reals_of(node, "nodes_values"), count, "nodes_values");
  if (count == 0) fail("has no nodes");
  Forest forest;
  std::map<Id, std::int64_t> children;  // By id: places of nodes, and ~places of leaves.
  std::int64_t branches = 0, leaves = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const bool is_leaf = names[i] == "LEAF";
    if (!children.emplace(Id{trees[i], ids[i]}, is_leaf ? ~leaves++ : branches++).second)
      fail("tree " + std::to_string(trees[i]) + " has two nodes " + std::to_string(ids[i]));
  }
  const auto child = [&](std::size_t i, std::int64_t id) {
    const auto found = children.find({trees[i], id});
    if (found == children.end())
      fail("node " + std::to_string(ids[i]) + " of tree " + std::to_string(trees[i]) + " leads to node " +
           std::to_string(id) + ", which that tree does not have");
    return found->second;
  };
  std::set<std::int64_t> begun;
  for (std::size_t i = 0; i < count; ++i) {
    // The first node of a tree is its root.
    if (begun.insert(trees[i]).second) forest.roots.push_back(children.at({trees[i], ids[i]}));
    const auto mode = static_cast<std::int64_t>(place_of(names[i], modes, "nodes_modes"));
    if (names[i] == "LEAF") continue;
    forest.nodes.insert(forest.nodes.end(),
                        {features[i], mode, child(i, holds[i]), child(i, fails[i]), missing[i] != 0, 0, 0});
    forest.splits.push_back(values[i]);
  }
  const Ints targets = node.get_ints(votes + "_ids", Ints{});
  const Ints vote_trees = sized(node.get_ints(votes + "_treeids"), targets.size(), votes + "_treeids");
  const Ints vote_nodes = sized(node.get_ints(votes + "_nodeids"), targets.size(), votes + "_nodeids");
  const std::vector<double> weights = sized(reals_of(node, votes + "_weights"), targets.size(), votes + "_weights");
  std::vector<std::vector<std::size_t>> of_leaf(static_cast<std::size_t>(leaves));
  for (std::size_t i = 0; i < targets.size(); ++i) {
    const auto found = children.find({vote_trees[i], vote_nodes[i]});
    if (found == children.end())
      fail(votes + "_nodeids names node " + std::to_string(vote_nodes[i]) + " of tree " +
           std::to_string(vote_trees[i]) + ", which is not there");
    // Votes of a branch are never counted.
    if (found->second < 0) of_leaf[static_cast<std::size_t>(~found->second)].push_back(i);
  }
  for (const auto& some : of_leaf) {
    for (const std::size_t i : some) {
      forest.targets.push_back(targets[i]);
      forest.weights.push_back(weights[i]);
    }
    forest.starts.push_back(static_cast<std::int64_t>(forest.targets.size()));
  }
  return forest;
}

std::int64_t checked_targets(const Forest& forest, std::int64_t count, const std::string& what) {
  if (count < 1) fail(what + " is " + std::to_string(count) + ", expected at least 1");
  for (const std::int64_t target : forest.targets)
    if (target < 0 || target >= count)
      fail("a leaf votes for " + std::to_string(target) + ", and " + what + " is " + std::to_string(count));
  return count;
}

OutputVector tree_ensemble_regressor(const NodeContext& node) {
  const Forest forest = read_forest(node, "target");
  const std::int64_t count = checked_targets(forest, node.get_int("n_targets", 1), "n_targets");
  const std::string aggregate = node.get_string("aggregate_function", "SUM");
  place_of(aggregate, {"SUM", "AVERAGE", "MIN", "MAX"}, "aggregate_function");
  Out scores = convert(forest.scores(real_rows(node), count, aggregate), ElementType::kF32);
  const auto base = reals_of(node, "base_values");
  if (!base.empty())
    scores = add(scores, reals(ElementType::kF32, sized(base, static_cast<std::size_t>(count), "base_values")));
  return {transformed(scores, node.get_string("post_transform", "NONE"))};
}

OutputVector tree_ensemble_classifier(const NodeContext& node) {
  const ClassLabels labels(node, "classlabels_int64s", "classlabels_strings");
  const Forest forest = read_forest(node, "class");
  const std::int64_t count = checked_targets(forest, static_cast<std::int64_t>(labels.count()), "the number of labels");
  const std::string transform = node.get_string("post_transform", "NONE");
  const auto base = reals_of(node, "base_values");
  if (count == 1) unimplemented("it has one class, of which ONNX Runtime and ONNX's reference make different outputs");
  Out scores = convert(forest.scores(real_rows(node), count, "SUM"), ElementType::kF32);
  const std::set<std::int64_t> voted(forest.targets.begin(), forest.targets.end());
  // Where all leaves vote for one of two classes, that score is of the second. It is a probability if it has no negative part.
  const bool is_binary = count == 2 && voted.size() == 1;
  const bool is_positive =
      std::all_of(forest.weights.begin(), forest.weights.end(), [](double weight) { return weight >= 0; });
  const double threshold = is_positive ? 0.5 : 0;
  if (is_binary && *voted.begin() == 0 && base.size() < 2) {
    Out score = slice(scores, 0, 1, 1);
    if (!base.empty()) score = add(score, scalar(ElementType::kF32, base[0]));
    return two_classes(labels, score, threshold, is_positive, transform);
  }
  if (!base.empty())
    scores = add(scores, reals(ElementType::kF32, sized(base, static_cast<std::size_t>(count), "base_values")));
  if (!is_binary) return {labels.of_highest(scores), transformed(scores, transform)};
  const Out is_second = op("Greater", 1, {squeeze(slice(scores, 1, 2, 1), {1}), scalar_like(scores, threshold)});
  return {labels.at(convert(is_second, ElementType::kI64)), transformed(scores, transform)};
}

// Set 5: branches and leaves by their places, and comparisons with sets.
OutputVector tree_ensemble(const NodeContext& node) {
  static const std::vector<std::string> aggregates = {"AVERAGE", "SUM", "MIN", "MAX"},
                                        transforms = {"NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT"};
  const auto choice = [&](const char* attribute, std::int64_t fallback, const std::vector<std::string>& names) {
    const std::int64_t value = node.get_int(attribute, fallback);
    if (value < 0 || value >= static_cast<std::int64_t>(names.size()))
      fail(std::string(attribute) + " is " + std::to_string(value) + ", expected 0 to " +
           std::to_string(names.size() - 1));
    return names[static_cast<std::size_t>(value)];
  };
  const auto numbers = [&](const char* attribute) { return op::v0::Constant(node.get_tensor(attribute)).to_doubles(); };
  Forest forest;
  forest.splits = numbers("nodes_splits");
  const std::size_t count = forest.splits.size();
  const auto column = [&](const char* name) { return sized(node.get_ints(name), count, name); };
  const Ints features = column("nodes_featureids"), holds = column("nodes_truenodeids"),
             fails = column("nodes_falsenodeids"), holds_leaf = column("nodes_trueleafs"),
             fails_leaf = column("nodes_falseleafs");
  const Ints modes = sized(op::v0::Constant(node.get_tensor("nodes_modes")).to_integers(), count, "nodes_modes");
  const Ints given = node.get_ints("nodes_missing_value_tracks_true", Ints{});
  const Ints missing = given.empty() ? Ints(count, 0) : sized(given, count, "nodes_missing_value_tracks_true");
  const Ints targets = node.get_ints("leaf_targetids");
  forest.weights = sized(numbers("leaf_weights"), targets.size(), "leaf_weights");
  forest.targets = targets;
  for (std::size_t i = 0; i < targets.size(); ++i) forest.starts.push_back(static_cast<std::int64_t>(i + 1));
  if (node.has("membership_values")) forest.members = numbers("membership_values");
  const auto child = [&](std::int64_t place, bool is_leaf) {
    const std::size_t most = is_leaf ? targets.size() : count;
    if (place < 0 || place >= static_cast<std::int64_t>(most))
      fail("a branch leads to " + std::string(is_leaf ? "leaf " : "node ") + std::to_string(place) +
           ", and there are " + std::to_string(most));
    return is_leaf ? ~place : place;
  };
  std::size_t next = 0;  // Members of sets end with a NaN each, in the order of the nodes that have them.
  constexpr std::int64_t kMember = 6;
  for (std::size_t i = 0; i < count; ++i) {
    if (modes[i] < 0 || modes[i] > kMember) fail("nodes_modes has " + std::to_string(modes[i]) + ", expected 0 to 6");
    std::size_t begin = 0, end = 0;
    if (modes[i] == kMember) {
      begin = end = next;
      while (end < forest.members.size() && !std::isnan(forest.members[end])) ++end;
      if (end == forest.members.size())
        fail("membership_values has fewer sets than there are nodes with BRANCH_MEMBER");
      next = end + 1;
    }
    forest.nodes.insert(forest.nodes.end(), {features[i], modes[i], child(holds[i], holds_leaf[i] != 0),
                                             child(fails[i], fails_leaf[i] != 0), missing[i] != 0,
                                             static_cast<std::int64_t>(begin), static_cast<std::int64_t>(end)});
  }
  for (const std::int64_t root : node.get_ints("tree_roots")) forest.roots.push_back(child(root, false));
  const std::int64_t target_count = checked_targets(forest, node.get_int("n_targets"), "n_targets");
  const std::string transform = choice("post_transform", 0, transforms);
  const Out scores = forest.scores(real_rows(node), target_count, choice("aggregate_function", 1, aggregates));
  return {convert(transformed(scores, transform), node.type(0))};
}

}  // namespace

void add_trees(ConverterTable& table) {
  table["ai.onnx.ml:TreeEnsembleClassifier"] = tree_ensemble_classifier;
  table["ai.onnx.ml:TreeEnsembleRegressor"] = tree_ensemble_regressor;
  table["ai.onnx.ml:TreeEnsemble"] = tree_ensemble;
}

}  // namespace onnx_reader
}  // namespace v1
}  // namespace tenon
