// SPDX-License-Identifier: Apache-2.0
// New shapes for a model's inputs.
#include <algorithm>
#include <string_view>

#include <tenon/core/error.hpp>
#include <tenon/graph/model.hpp>
#include <tenon/graph/ops.hpp>

namespace tenon {
inline namespace v1 {

namespace {
using ShapesByIndex = std::map<std::size_t, PartialShape>;

/// The first extent of an input, or 0 if it is not known.
std::int64_t known_batch(const PartialShape& shape) {
  return shape.rank().is_static() && shape.size() > 0 && shape[0].is_static() ? shape[0].get_length() : 0;
}

/// Reshape nodes whose constant pattern states the batch that exporters had: such a pattern refuses every other batch. While this object
/// lives they take the first extent of what they reshape instead, which is the same as long as the batch is the old one.
class StatedBatches {
 public:
  StatedBatches() = default;
  /// Delegates, so that the destructor puts the patterns back if this throws.
  /// @param batches the known first extents of inputs that change. Shapes are those of the old batch.
  StatedBatches(const Model& model, const std::vector<std::int64_t>& batches) : StatedBatches() {
    for (const auto& node : model.get_ordered_ops()) {
      if (std::string_view(node->get_type_name()) != "Reshape") continue;
      const auto pattern = as_type_ptr<op::v0::Constant>(node->get_input_node_shared_ptr(1));
      if (!pattern || pattern->get_shape().size() != 1) continue;
      std::vector<std::int64_t> extents = pattern->to_integers();
      const std::int64_t batch = known_batch(node->input_value(0).get_partial_shape());
      if (batch == 0 || extents.empty() || extents[0] != batch) continue;
      if (std::find(batches.begin(), batches.end(), batch) == batches.end()) continue;
      kept_.emplace_back(node, node->input_value(1));
      node->set_argument(1, first_extent_and(node->input_value(0), {extents.begin() + 1, extents.end()}));
    }
  }
  StatedBatches(const StatedBatches&) = delete;
  StatedBatches& operator=(const StatedBatches&) = delete;
  ~StatedBatches() {
    for (const auto& [node, pattern] : kept_) node->set_argument(1, pattern);
  }

  bool empty() const { return kept_.empty(); }
  /// The nodes stay as they are now.
  void keep() { kept_.clear(); }

 private:
  static Output<Node> first_extent_and(const Output<Node>& data, const std::vector<std::int64_t>& rest) {
    const auto integers = [](const Shape& shape, const std::vector<std::int64_t>& values) {
      return std::make_shared<op::v0::Constant>(element::i64, shape, values);
    };
    const auto first = make_node("Gather", 8, {make_node("ShapeOf", 3, {data}), integers({1}, {0}), integers({}, {0})});
    if (rest.empty()) return first;
    return std::make_shared<op::v0::Concat>(OutputVector{first, integers({rest.size()}, rest)}, 0);
  }

  std::vector<std::pair<std::shared_ptr<Node>, Output<Node>>> kept_;
};
}  // namespace

void Model::reshape(const PartialShape& shape) {
  input();  // Throws unless there is exactly one.
  reshape(std::map<std::size_t, PartialShape>{{0, shape}});
}
void Model::reshape(const std::map<std::string, PartialShape>& shapes) {
  std::map<Output<Node>, PartialShape> by_port;
  for (const auto& [name, shape] : shapes) by_port[input(name)] = shape;
  reshape(by_port);
}
void Model::reshape(const std::map<Output<Node>, PartialShape>& shapes) {
  std::map<std::size_t, PartialShape> by_index;
  for (const auto& [port, shape] : shapes) {
    const Node* const wanted = port.get_node();
    const auto found =
        std::find_if(parameters_.begin(), parameters_.end(), [wanted](const auto& p) { return p.get() == wanted; });
    if (found == parameters_.end()) {
      throw Error(Code::kInvalidArgument,
                  "model '" + get_friendly_name() + "': reshape was given a port that is none of its inputs");
    }
    by_index[static_cast<std::size_t>(found - parameters_.begin())] = shape;
  }
  reshape(by_index);
}
void Model::reshape(const ShapesByIndex& shapes) {
  ShapesByIndex previous;
  std::vector<std::int64_t> batches;
  for (const auto& [index, shape] : shapes) {
    const PartialShape& before = previous[index] = input(index).get_partial_shape();
    if (known_batch(before) != 0 && known_batch(before) != known_batch(shape)) batches.push_back(known_batch(before));
  }
  const auto set = [this](const ShapesByIndex& all) {
    for (const auto& [index, shape] : all) parameters_[index]->set_partial_shape(shape);
    validate_nodes_and_infer_types();
  };
  const auto set_without_stated_batches = [&] {
    StatedBatches stated(*this, batches);
    if (stated.empty()) return false;
    try {
      set(shapes);
    } catch (const Error&) {
      return false;
    }
    stated.keep();
    return true;
  };
  try {
    set(shapes);
  } catch (const Error&) {
    set(previous);
    if (!batches.empty() && set_without_stated_batches()) return;
    set(previous);
    throw;
  }
}

}  // namespace v1
}  // namespace tenon
