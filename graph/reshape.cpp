// SPDX-License-Identifier: Apache-2.0
// New shapes for a model's inputs.
#include <algorithm>
#include <exception>
#include <functional>
#include <numeric>
#include <string_view>
#include <unordered_map>

#include <tenon/core/error.hpp>
#include <tenon/graph/model.hpp>
#include <tenon/graph/ops.hpp>

namespace tenon {
inline namespace v1 {

namespace {
using Extents = std::vector<std::int64_t>;

std::int64_t product(const Extents& extents, std::size_t begin, std::size_t end) {
  return std::accumulate(extents.begin() + static_cast<std::ptrdiff_t>(begin),
                         extents.begin() + static_cast<std::ptrdiff_t>(end), std::int64_t{1}, std::multiplies<>());
}

/// An extent of an input that a call of Model::reshape changes.
struct Change {
  std::int64_t before = 0, after = 0;
  Output<Node> input;
  std::int64_t axis = 0;
};

/// Axes [in, in_end) that a Reshape node makes to axes [out, out_end): as few as have one number of elements.
struct AxesGroup {
  std::size_t in = 0, in_end = 0, out = 0, out_end = 0;
};

/// Which group has an extent of 1 that stands between two of them: [5,1,12] to [5,12] joins axes 0 and 1, or axes 1 and 2. Where it matters,
/// nothing says which.
enum class Ones { kBefore, kBehind };

/// None for tensors without elements and scalars.
std::vector<AxesGroup> groups_of(const Extents& in, const Extents& out, Ones ones) {
  std::vector<AxesGroup> groups;
  if (product(in, 0, in.size()) != product(out, 0, out.size()) || product(in, 0, in.size()) == 0) return {};
  for (std::size_t i = 0, o = 0; i < in.size() && o < out.size();) {
    AxesGroup group{i, i + 1, o, o + 1};
    std::int64_t left = in[i], right = out[o];
    while (left != right) {
      if (left < right) {
        left *= in[group.in_end++];
      } else {
        right *= out[group.out_end++];
      }
    }
    if (ones == Ones::kBefore) {
      const auto is_one = [](const Extents& extents, std::size_t at) {
        return at < extents.size() && extents[at] == 1;
      };
      while (is_one(in, group.in_end) && !is_one(out, group.out_end)) ++group.in_end;
      while (is_one(out, group.out_end) && !is_one(in, group.in_end)) ++group.out_end;
    }
    groups.push_back(group);
    i = group.in_end, o = group.out_end;
  }
  if (!groups.empty()) groups.back().in_end = in.size(), groups.back().out_end = out.size();  // Extents of 1.
  return groups;
}

/// One extent of a pattern that changes: to that of an input, or to what is left of the elements of its group.
struct ChangedEntry {
  std::size_t index = 0;
  const Change* change = nullptr;
};
using ChangedEntries = std::vector<ChangedEntry>;

/// Ways in which extents out[at, group.out_end) take changes of inputs so that `elements` are in them; the first one is kept.
std::size_t ways_to_take(const AxesGroup& group, std::size_t at, std::int64_t elements, const Extents& out,
                         const std::vector<Change>& changes, ChangedEntries& taken, ChangedEntries& kept) {
  if (at == group.out_end) {
    if (elements != 1 || taken.empty()) return 0;
    if (kept.empty()) kept = taken;
    return 1;
  }
  std::size_t ways = 0;
  std::int64_t last = 0;
  for (const Change& change : changes) {
    if (change.before != out[at] || elements % change.after != 0 || change.after == last) continue;
    last = change.after;
    taken.push_back({at, &change});
    ways += ways_to_take(group, at + 1, elements / change.after, out, changes, taken, kept);
    taken.pop_back();
  }
  if (elements % out[at] == 0) ways += ways_to_take(group, at + 1, elements / out[at], out, changes, taken, kept);
  return ways;
}

/// What changes in the axes that a group makes; empty if its new extents do not say, or leave a choice.
ChangedEntries changed_entries(const AxesGroup& group, const Extents& before, const Extents& after, const Extents& out,
                               const std::vector<Change>& changes) {
  if (group.out_end - group.out == 1) return {{group.out, nullptr}};
  // Each item of the outermost axis is reshaped as before.
  bool is_outermost = true;
  for (std::size_t i = group.in + 1; i < group.in_end; ++i) is_outermost &= before[i] == after[i];
  std::size_t outermost = group.out;
  while (before[group.in] > 1 && outermost + 1 < group.out_end && out[outermost] == 1) ++outermost;
  is_outermost &= out[outermost] % before[group.in] == 0;
  const bool is_an_inputs = std::any_of(changes.begin(), changes.end(), [&](const Change& change) {
    return change.before == before[group.in] && change.after == after[group.in];
  });
  if (is_outermost && is_an_inputs) return {{outermost, nullptr}};
  ChangedEntries taken, kept;
  const std::size_t ways =
      ways_to_take(group, group.out, product(after, group.in, group.in_end), out, changes, taken, kept);
  if (ways == 1) return kept;
  return ways == 0 && is_outermost ? ChangedEntries{{outermost, nullptr}} : ChangedEntries{};
}

Output<Node> integers(const Extents& values) {
  return std::make_shared<op::v0::Constant>(element::i64, Shape{values.size()}, values);
}

/// i64 [end - begin]: extents of x.
Output<Node> extents_of(const Output<Node>& x, std::size_t begin, std::size_t end) {
  Extents axes(end - begin);
  std::iota(axes.begin(), axes.end(), static_cast<std::int64_t>(begin));
  const auto axis = std::make_shared<op::v0::Constant>(element::i64, Shape{}, Extents{0});
  return make_node("Gather", 8, {make_node("ShapeOf", 3, {x}), integers(axes), axis});
}

/// A pattern for new extents, and what it gives for those that are tried.
struct Pattern {
  OutputVector entries;
  Extents extents;
};

/// The pattern of a Reshape node of `data`; nothing if the old extents, or their places, do not say which.
std::optional<Pattern> pattern_for(const Output<Node>& data, const Extents& before, const Extents& after,
                                   const Extents& out, const std::vector<Change>& changes, Ones ones) {
  Pattern pattern{{}, out};
  for (const std::int64_t extent : out) pattern.entries.push_back(integers({extent}));
  for (const AxesGroup& group : groups_of(before, out, ones)) {
    if (std::equal(before.begin() + static_cast<std::ptrdiff_t>(group.in),
                   before.begin() + static_cast<std::ptrdiff_t>(group.in_end),
                   after.begin() + static_cast<std::ptrdiff_t>(group.in)))
      continue;
    const ChangedEntries changed = changed_entries(group, before, after, out, changes);
    if (changed.empty()) return std::nullopt;
    for (std::size_t i = 0; i + 1 < changed.size(); ++i) {
      const Change& change = *changed[i].change;
      const auto axis = static_cast<std::size_t>(change.axis);
      pattern.entries[changed[i].index] = extents_of(change.input, axis, axis + 1);
      pattern.extents[changed[i].index] = change.after;
    }
    const std::size_t last = changed.back().index;
    std::int64_t elements = product(after, group.in, group.in_end);
    Output<Node> left = extents_of(data, group.in, group.in_end);
    if (group.in_end - group.in > 1) left = make_node("ReduceProd", 1, {left, integers({0})}, {{"keep_dims", true}});
    for (std::size_t i = group.out; i < group.out_end; ++i) {
      if (i == last) continue;
      left = make_node("Divide", 1, {left, pattern.entries[i]});
      elements /= pattern.extents[i];
    }
    pattern.entries[last] = left;
    pattern.extents[last] = elements;
  }
  return pattern;
}

/// Reshape nodes whose constant pattern states extents that exporters had, such as the batch: such a pattern refuses all others, or makes
/// another axis of them. While this object lives, the patterns that mend() has replaced are computed from the extents of what is reshaped,
/// which is the same as long as those are the old ones.
class StatedExtents {
 public:
  explicit StatedExtents(Model& model) : model_(model) {}
  StatedExtents(const StatedExtents&) = delete;
  StatedExtents& operator=(const StatedExtents&) = delete;
  ~StatedExtents() {
    for (const auto& [node, pattern] : replaced_) node->set_argument(1, pattern);
  }

  /// @param before, after  shapes of all inputs. @return whether a pattern was replaced. @errors kInvalidArgument: the shapes do not fit.
  bool mend(const std::vector<Shape>& before, const std::vector<Shape>& after) {
    set_inputs(before);
    model_.validate_nodes_and_infer_types();
    for (const auto& node : model_.get_ordered_ops()) note(*node);
    const std::vector<Change> changes = changes_of(before, after);
    set_inputs(after);
    // From the inputs on, so that each pattern is judged by shapes that are right.
    for (const auto& node : model_.get_ordered_ops()) {
      const auto found = stated_.find(node.get());
      if (found != stated_.end()) restate(node, found->second, changes);
      node->validate_and_infer_types();
    }
    return !replaced_.empty();
  }
  /// The nodes stay as they are now.
  void keep() { replaced_.clear(); }

 private:
  struct Reshaped {
    Extents in, out;
  };

  static Extents extents(const PartialShape& shape) {
    const Shape known = shape.to_shape();
    return {known.begin(), known.end()};
  }
  void set_inputs(const std::vector<Shape>& shapes) {
    for (std::size_t i = 0; i < shapes.size(); ++i)
      model_.get_parameters()[i]->set_partial_shape(PartialShape(shapes[i]));
  }
  std::vector<Change> changes_of(const std::vector<Shape>& before, const std::vector<Shape>& after) const {
    std::vector<Change> changes;
    for (std::size_t i = 0; i < before.size(); ++i) {
      for (std::size_t axis = 0; axis < before[i].size(); ++axis) {
        const auto was = static_cast<std::int64_t>(before[i][axis]), is = static_cast<std::int64_t>(after[i][axis]);
        if (was != is && is > 0) changes.push_back({was, is, model_.input(i), static_cast<std::int64_t>(axis)});
      }
    }
    return changes;
  }
  void note(const Node& node) {
    if (std::string_view(node.get_type_name()) != "Reshape") return;
    const auto pattern = as_type_ptr<op::v0::Constant>(node.get_input_node_shared_ptr(1));
    const PartialShape &in = node.get_input_partial_shape(0), &out = node.get_output_partial_shape(0);
    if (!pattern || in.is_dynamic() || out.is_dynamic()) return;
    const std::vector<std::int64_t> stated = pattern->to_integers();
    if (std::any_of(stated.begin(), stated.end(), [](std::int64_t extent) { return extent > 0; }))
      stated_[&node] = {extents(in), extents(out)};
  }
  void restate(const std::shared_ptr<Node>& node, const Reshaped& old, const std::vector<Change>& changes) {
    const PartialShape& shape = node->get_input_partial_shape(0);
    if (shape.is_dynamic() || shape.size() != old.in.size() || extents(shape) == old.in) return;
    const auto pattern_with = [&](Ones ones) {
      return pattern_for(node->input_value(0), old.in, extents(shape), old.out, changes, ones);
    };
    const auto pattern = pattern_with(Ones::kBefore), other = pattern_with(Ones::kBehind);
    if (!pattern || !other || pattern->extents != other->extents) return;
    replaced_.emplace_back(node, node->input_value(1));
    node->set_argument(1, std::make_shared<op::v0::Concat>(pattern->entries, 0));
  }

  Model& model_;
  std::unordered_map<const Node*, Reshaped> stated_;
  std::vector<std::pair<std::shared_ptr<Node>, Output<Node>>> replaced_;
};

/// Extents by which an axis is judged: of what it was, and of what it is to be.
std::pair<std::size_t, std::size_t> samples_of(const Dimension& before, const Dimension& after) {
  constexpr std::int64_t kAny = 64;
  const auto within = [](const Dimension& d, std::int64_t wanted) {
    const std::int64_t most = d.get_max_length();
    return std::max(d.get_min_length(), most < 0 ? wanted : std::min(wanted, most));
  };
  const std::int64_t old = before.is_static() ? before.get_length() : within(before, kAny);
  std::int64_t made = after.is_static() ? after.get_length() : within(after, before.is_static() ? 2 * old : old);
  if (before.is_static() && made == old) made = after.get_min_length();
  return {static_cast<std::size_t>(old), static_cast<std::size_t>(made)};
}

using ShapesByIndex = std::map<std::size_t, PartialShape>;

/// Shapes of all inputs without open extents, as they were and as they are to be.
struct Samples {
  std::vector<Shape> before, after;
  bool has_opened = false;  ///< An extent was known and will not be.
};

/// Nothing if a rank changes or is not known.
std::optional<Samples> samples_of(const ShapesByIndex& before, const ShapesByIndex& after) {
  Samples samples;
  for (const auto& [index, was] : before) {
    const auto found = after.find(index);
    const PartialShape& is = found == after.end() ? was : found->second;
    if (was.rank().is_dynamic() || is.rank().is_dynamic() || was.size() != is.size()) return std::nullopt;
    samples.before.emplace_back(), samples.after.emplace_back();
    for (std::size_t axis = 0; axis < was.size(); ++axis) {
      const auto [old, made] = samples_of(was[axis], is[axis]);
      samples.before.back().push_back(old), samples.after.back().push_back(made);
      samples.has_opened |= was[axis].is_static() && is[axis].is_dynamic();
    }
  }
  return samples;
}

/// Sets new shapes of all inputs, and replaces patterns of Reshape nodes that refuse them. @return whether that helped; if not, shapes are
/// to be set anew.
bool set_without_stated_extents(Model& model, const ShapesByIndex& wanted, const Samples& samples) {
  StatedExtents stated(model);
  try {
    if (!stated.mend(samples.before, samples.after)) return false;
    for (const auto& [index, shape] : wanted) model.get_parameters()[index]->set_partial_shape(shape);
    model.validate_nodes_and_infer_types();
  } catch (const Error&) {
    return false;  // The caller reports what is wrong with the model as it was.
  }
  stated.keep();
  return true;
}
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
  for (const auto& [index, shape] : shapes) input(index);  // Throws unless each is there.
  ShapesByIndex previous, wanted = shapes;
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    previous[i] = parameters_[i]->get_partial_shape();
    wanted.emplace(i, previous[i]);
  }
  const auto set = [this](const ShapesByIndex& all) {
    for (const auto& [index, shape] : all) parameters_[index]->set_partial_shape(shape);
    validate_nodes_and_infer_types();
  };
  std::exception_ptr refusal;
  const auto takes = [&](const ShapesByIndex& all) {
    try {
      set(all);
    } catch (const Error&) {
      refusal = std::current_exception();
      return false;
    }
    return true;
  };
  const std::optional<Samples> samples = samples_of(previous, wanted);
  const bool is_taken = takes(wanted);
  if (is_taken && !(samples && samples->has_opened)) return;
  if (is_taken) {
    // A pattern refuses no open extent, and then all that come when the model runs.
    ShapesByIndex sample;
    for (std::size_t i = 0; i < samples->after.size(); ++i) sample[i] = PartialShape(samples->after[i]);
    if (takes(sample)) return set(wanted);
  }
  set(previous);
  if (samples && set_without_stated_extents(*this, wanted, *samples)) return;
  set(is_taken ? wanted : previous);
  if (!is_taken) std::rethrow_exception(refusal);
}

}  // namespace v1
}  // namespace tenon
