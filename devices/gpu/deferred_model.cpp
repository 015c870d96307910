// SPDX-License-Identifier: Apache-2.0
// Finds the inputs that decide, and puts their values into the model.
#include <tenon/devices/gpu/deferred_model.hpp>

#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <thread>
#include <unordered_set>

#include <tenon/core/error.hpp>
#include <tenon/core/ledger.hpp>
#include <tenon/devices/gpu/lower/build/cache_rows.hpp>
#include <tenon/devices/gpu/partition.hpp>
#include <tenon/graph/limits.hpp>
#include <tenon/graph/model_ops.hpp>
#include <tenon/graph/subgraph.hpp>
#include <tenon/runtime/remote_tensor.hpp>

namespace tenon::inline v1::gpu_device {
namespace {

/// How many plans are made ahead at a time: a decoder's token may take a fifth of the time that its plan does.
unsigned plans_ahead() { return std::clamp(std::thread::hardware_concurrency() / 2, 1u, 12u); }

/// More numbers than this do not describe a shape.
constexpr std::size_t kMostNumbers = 1024;

Tensor on_host(const Tensor& tensor) {
  if (!tensor)
    throw Error(Code::kInvalidArgument,
                "GPU: an input whose values decide shapes is a batch in several tensors; give it one");
  Tensor copy(tensor.element_type(), tensor.shape());
  if (tensor.size_bytes() == 0) return copy;
  tensor.memory()->wait_for(Access::kRead, default_deadline());
  if (const auto* remote = dynamic_cast<const RemoteMemory*>(tensor.memory().get()))
    remote->copy_to(tensor, copy);
  else if (tensor.is_host_addressable())
    tensor.copy_to(copy);
  else
    tensor.context()->read(tensor, {static_cast<std::byte*>(copy.data()), copy.size_bytes()});
  return copy;
}

/// Whole numbers; where these do not suffice, lists of reals, too: the scales of a resize.
bool can_decide(const Tensor& tensor, bool takes_reals) {
  if (!tensor) return false;
  const bool is_list = takes_reals && tensor.shape().size() <= 1;
  return (is_list || !info(tensor.element_type()).is_real) && element_count(tensor.shape()) <= kMostNumbers;
}

/// Whether the inputs' shapes are known: a node is open itself, not because one before it is.
bool has_known_inputs(const Node& node) {
  for (std::size_t i = 0; i < node.get_input_size(); ++i)
    if (node.get_input_partial_shape(i).is_dynamic()) return false;
  return true;
}

/// Nodes that a plan cannot be made of yet.
NodeVector undecided(const Model& model, const Target& target) {
  NodeVector found;
  for (const auto& node : model.get_ordered_ops())
    if (!is_op(node, "Result") && (!has_known_inputs(*node) || !is_decided(*node, target))) found.push_back(node);
  return found;
}

using Sources = std::unordered_set<const Node*>;

/// All that these nodes depend on.
Sources sources_of(const NodeVector& nodes) {
  Sources seen;
  std::vector<const Node*> left;
  for (const auto& node : nodes) left.push_back(node.get());
  while (!left.empty()) {
    const Node* const node = left.back();
    left.pop_back();
    for (std::size_t i = 0; i < node->get_input_size(); ++i)
      if (const Node* source = node->get_input_node_ptr(i); seen.insert(source).second) left.push_back(source);
  }
  return seen;
}

/// What these nodes read beside the data that they work on.
Sources operands_of(const NodeVector& nodes) {
  Sources seen;
  for (const auto& node : nodes)
    for (std::size_t i = is_op(node, "Range") ? 0 : 1; i < node->get_input_size(); ++i)
      seen.insert(node->get_input_node_ptr(i));
  return seen;
}

/// FNV-1a over words, without an allocation.
class Hasher {
 public:
  Hasher& add(std::size_t word) {
    hash_ = (hash_ ^ word) * 0x100000001b3u + (hash_ >> 29);
    return *this;
  }
  Hasher& add(const Shape& shape) {
    for (const std::size_t extent : shape) add(extent);
    return add(shape.size());
  }
  Hasher& add(const InputForm& form) { return add(form.items).add(form.row); }
  Hasher& add(const std::vector<std::string>& values) {
    for (const std::string& value : values) add(std::hash<std::string>()(value));
    return *this;
  }
  std::size_t get() const { return hash_; }

 private:
  std::size_t hash_ = 0xcbf29ce484222325u;
};

}  // namespace

std::size_t FormHash::operator()(const std::vector<InputForm>& forms) const {
  Hasher hash;
  for (const InputForm& form : forms) hash.add(form);
  return hash.get();
}

std::shared_ptr<const PlannedSubgraph> whole_subgraph(std::shared_ptr<const LaunchPlan> plan) {
  auto subgraph = std::make_shared<PlannedSubgraph>();
  for (std::size_t i = 0; i < plan->model->get_results().size(); ++i)
    subgraph->results.push_back({PlannedSubgraph::Source::Kind::kOutput, i});
  subgraph->plan = std::move(plan);
  return subgraph;
}

DeferredModel::DeferredModel(std::shared_ptr<const Model> prepared, const Target& target, Maker make)
    : prepared_(std::move(prepared)),
      target_(target),
      make_(std::move(make)),
      ahead_([this](const auto& shapes) { return move_ahead(shapes, 0); }, plans_ahead()),
      between_([this](const auto& shapes) { return move_ahead(shapes, 1); }, plans_ahead()) {}

bool DeferredModel::is_open(const Model& model, const Target& target) {
  const NodeVector nodes = model.get_ordered_ops();
  return std::any_of(nodes.begin(), nodes.end(),
                     [&](const auto& node) { return node->is_dynamic() || !is_decided(*node, target); });
}

DeferredModel::Values DeferredModel::values_of(const std::vector<InputState>& inputs, const Deciding& deciding) {
  Values values;
  for (const std::size_t index : deciding) {
    const Tensor value = on_host(inputs[index].tensor);
    values.emplace_back(static_cast<const char*>(value.size_bytes() ? value.data() : nullptr), value.size_bytes());
  }
  return values;
}

DeferredModel::Wanted::operator Key() const {
  Key key;
  key.shapes.reserve(inputs.size());
  key.forms.reserve(inputs.size());
  for (const InputState& input : inputs) {
    key.shapes.push_back(input.shape);
    key.forms.push_back(input.form);
  }
  key.values = values;
  return key;
}

bool DeferredModel::Wanted::is(const Key& key) const {
  if (key.values != values) return false;
  for (std::size_t i = 0; i < inputs.size(); ++i)
    if (key.shapes[i] != inputs[i].shape || key.forms[i] != inputs[i].form) return false;
  return true;
}

std::size_t DeferredModel::KeyHash::operator()(const Key& key) const {
  Hasher hash;
  for (std::size_t i = 0; i < key.shapes.size(); ++i) hash.add(key.shapes[i]).add(key.forms[i]);
  return hash.add(key.values).get();
}

std::size_t DeferredModel::KeyHash::operator()(const Wanted& wanted) const {
  Hasher hash;
  for (const InputState& input : wanted.inputs) hash.add(input.shape).add(input.form);
  return hash.add(wanted.values).get();
}

std::shared_ptr<Model> DeferredModel::closed(const std::vector<InputState>& inputs, Deciding& deciding) const {
  for (;;) {
    const auto model = prepared_->clone();
    std::map<std::size_t, PartialShape> shapes;
    for (std::size_t i = 0; i < inputs.size(); ++i) shapes[i] = PartialShape(inputs[i].shape);
    const ParameterVector parameters = model->get_parameters();
    for (const std::size_t index : deciding)
      Output<Node>(parameters[index], 0)
          .replace(Output<Node>(std::make_shared<op::v0::Constant>(on_host(inputs[index].tensor)), 0));
    model->reshape(shapes);
    auto folded = make_.prepare(*model);
    NodeVector open = undecided(*folded, target_);
    std::erase_if(open, [](const auto& node) { return !has_known_inputs(*node); });
    const std::size_t before = deciding.size();
    const auto decide = [&](const Sources& sources, bool takes_reals) {
      for (std::size_t i = 0; i < inputs.size(); ++i)
        if (const Node& port = *folded->get_parameters()[i]; sources.count(&port) > 0 &&
                                                             port.get_rt_info().count(kRowBits) == 0 &&
                                                             can_decide(inputs[i].tensor, takes_reals))
          deciding.insert(i);
    };
    decide(sources_of(open), false);
    if (deciding.size() == before) decide(operands_of(open), true);
    if (deciding.size() == before) return folded;
  }
}

DeferredModel::Copy::Copy(const std::shared_ptr<Model>& model, const Maker& make)
    : shaped(*model), walk(make.walk(shaped.model(), shaped.order())), changed(shaped.order().size(), true) {}

void DeferredModel::try_to_move(const Model& closed) {
  const auto count = [](const Model& model, std::string_view type) {
    return std::ranges::count_if(model.get_ops(), [&](const auto& node) { return node->get_type_name() == type; });
  };
  std::shared_ptr<Model> open;
  const NodeVector nodes = prepared_->get_ordered_ops();
  const bool is_plain = std::ranges::none_of(nodes, [](const auto& node) {
    return dynamic_cast<const op::util::MultiSubGraphOp*>(node.get()) || is_op(node, "ReadValue") ||
           is_op(node, "Assign");
  });
  if (is_plain) open = make_.prepare_moving(*prepared_);
  // What only known shapes allow to fuse is worth more than a plan that is made sooner.
  for (const char* const type : {"InputStage", "ScaledDotProductAttention"})
    if (open && count(*open, type) != count(closed, type)) open = nullptr;
  const std::lock_guard lock(mutex_);
  was_tried_ = true;
  moving_ = std::move(open);
}

std::shared_ptr<const LaunchPlan> DeferredModel::known_or_moved(const std::vector<Shape>& shapes) {
  auto plan = ahead_.take(shapes);
  if (!plan) plan = between_.take(shapes);
  if (plan) {
    note_ahead(shapes);
    return plan;
  }
  plan = move(shapes);
  if (!plan) return nullptr;
  ahead_.follow(shapes);
  between_.follow(shapes);
  return plan;
}

void DeferredModel::note_ahead(const std::vector<Shape>& shapes) {
  {
    const std::lock_guard lock(mutex_);
    ++counts_.ahead;
  }
  ahead_.follow(shapes);
  between_.follow(shapes);
}

std::shared_ptr<const LaunchPlan> DeferredModel::move_ahead(const std::vector<Shape>& shapes, std::size_t left) {
  const HostBudget budget(allowed_bytes(), limit_text(limit_property::kBytes, allowed_bytes()));
  const HostBudget::Scope scope(budget);
  return move(shapes, left);
}

std::shared_ptr<const LaunchPlan> DeferredModel::move(const std::vector<Shape>& shapes, std::size_t left) {
  /// Some models are of another structure with each shape: these are tried now and then only.
  constexpr unsigned kMostFailures = 3, kRest = 16;
  const std::size_t most_idle = plans_ahead() + 1;
  std::shared_ptr<Model> model;
  std::unique_ptr<Copy> copy;
  {
    const std::lock_guard lock(mutex_);
    if (!moving_ || !deciding_.empty()) return nullptr;
    if (failures_ >= kMostFailures && ++failures_ % kRest != 0) return nullptr;
    model = moving_;
    if (idle_.size() > left) {
      copy = std::move(idle_.back());
      idle_.pop_back();
    }
  }
  std::shared_ptr<const LaunchPlan> plan;
  try {
    if (!copy) copy = std::make_unique<Copy>(model, make_);
    plan = move(*copy, shapes);
  } catch (const Error& error) {
    if (error.code() == Code::kCancelled || error.code() == Code::kDeadlineExceeded) throw;
    copy = nullptr;  // Made from nothing, it works, or fails with the same words as ever.
  }
  const std::lock_guard lock(mutex_);
  failures_ = plan ? 0 : failures_ + 1;
  if (copy && idle_.size() < most_idle) idle_.push_back(std::move(copy));
  return plan;
}

std::shared_ptr<const LaunchPlan> DeferredModel::move(Copy& copy, const std::vector<Shape>& shapes) {
  const auto& parameters = copy.shaped.model()->get_parameters();
  std::vector<planning::InputShape> inputs;
  inputs.reserve(shapes.size());
  for (std::size_t i = 0; i < shapes.size(); ++i) inputs.push_back({parameters[i]->get_element_type(), shapes[i]});
  const std::size_t asked = copy.shaped.give(inputs, copy.changed);
  if (!copy.shaped.is_closed() || !copy.walk->can_run(copy.changed)) return nullptr;
  copy.plan = make_.plan_again(*copy.walk, copy.changed, copy.shaped.model(), copy.plan);
  copy.changed.assign(copy.changed.size(), false);
  const std::lock_guard lock(mutex_);
  ++counts_.moved;
  counts_.asked += asked;
  counts_.lowered += copy.walk->lowered();
  return copy.plan;
}

DeferredModel::Counts DeferredModel::counts() const {
  const std::lock_guard lock(mutex_);
  return counts_;
}

std::shared_ptr<const PlannedSubgraph> DeferredModel::make_subgraph(const std::vector<InputState>& inputs,
                                                                    Deciding& deciding) {
  const TraceSpan span("plan", "gpu");
  const HostBudget budget(allowed_bytes(), limit_text(limit_property::kBytes, allowed_bytes()));
  const HostBudget::Scope scope(budget);
  std::vector<Shape> shapes;
  shapes.reserve(inputs.size());
  for (const InputState& input : inputs)
    if (input.form.is_plain()) shapes.push_back(input.shape);
  const bool can_move = shapes.size() == inputs.size();
  if (can_move)
    if (auto plan = known_or_moved(shapes)) return whole_subgraph(std::move(plan));
  const auto model = closed(inputs, deciding);
  bool was_tried = true;
  {
    const std::lock_guard lock(mutex_);
    was_tried = was_tried_;
  }
  if (!was_tried) {
    try_to_move(*model);
    if (deciding.empty() && can_move)
      if (auto plan = known_or_moved(shapes)) return whole_subgraph(std::move(plan));
  }
  std::vector<InputForm> forms;
  for (const InputState& input : inputs) forms.push_back(input.form);
  if (undecided(*model, target_).empty()) return whole_subgraph(make_.plan(model, forms));
  using Source = PlannedSubgraph::Source;
  auto subgraph = std::make_shared<PlannedSubgraph>();
  const Partition parts = partition(model, target_);
  subgraph->plan = make_.plan(parts.before, forms);
  if (parts.rest) subgraph->rest = std::make_shared<DeferredModel>(parts.rest, target_, make_);
  std::size_t rest = 0;
  for (const std::size_t result : parts.results)
    subgraph->results.push_back(result == Partition::kRest ? Source{Source::Kind::kRest, rest++}
                                                           : Source{Source::Kind::kOutput, result});
  for (const Partition::Input& input : parts.rest_inputs)
    subgraph->rest_inputs.push_back({input.is_parameter ? Source::Kind::kInput : Source::Kind::kOutput, input.index});
  return subgraph;
}

std::shared_ptr<const PlannedSubgraph> DeferredModel::subgraph_for(const std::vector<InputState>& inputs) {
  for (;;) {
    Deciding deciding;
    {
      const std::lock_guard lock(mutex_);
      deciding = deciding_;
    }
    const Values values = values_of(inputs, deciding);
    const auto make = [&](Key& key) {
      auto subgraph = make_subgraph(inputs, deciding);
      {
        const std::lock_guard lock(mutex_);
        deciding_.insert(deciding.begin(), deciding.end());
        deciding = deciding_;
      }
      key.values = values_of(inputs, deciding);  // By now it is known which inputs decide.
      return subgraph;
    };
    if (auto subgraph = subgraphs_.get(Wanted{inputs, values}, make)) {
      const std::lock_guard lock(mutex_);
      return last_ = std::move(subgraph);
    }
  }
}

std::shared_ptr<const PlannedSubgraph> DeferredModel::subgraph_there(const std::vector<InputState>& inputs) {
  {
    const std::lock_guard lock(mutex_);
    if (!deciding_.empty()) return nullptr;
  }
  const Wanted wanted{inputs, kNoValues};
  if (auto known = subgraphs_.find(wanted)) return known;
  PlanAhead::Shapes shapes;
  shapes.reserve(inputs.size());
  for (const InputState& input : inputs)
    if (input.form.is_plain()) shapes.push_back(input.shape);
  if (shapes.size() != inputs.size()) return nullptr;
  auto plan = ahead_.take_made(shapes);
  if (!plan) return nullptr;
  const auto make = [&](const Key&) {
    note_ahead(shapes);
    return whole_subgraph(std::move(plan));
  };
  return subgraphs_.get(wanted, make, [] { return false; });  // Another request's is not waited for.
}

std::vector<std::shared_ptr<const PlannedSubgraph>> DeferredModel::last_subgraphs() const {
  std::shared_ptr<const PlannedSubgraph> last;
  {
    const std::lock_guard lock(mutex_);
    last = last_;
  }
  if (!last) return {};
  std::vector<std::shared_ptr<const PlannedSubgraph>> all{last};
  if (last->rest)
    for (auto& subgraph : last->rest->last_subgraphs()) all.push_back(std::move(subgraph));
  return all;
}

}  // namespace tenon::inline v1::gpu_device
