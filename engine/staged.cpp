// SPDX-License-Identifier: Apache-2.0
// Running stages, and what a request keeps for each.
#include <algorithm>
#include <map>
#include <set>

#include <tenon/core/error.hpp>
#include <tenon/engine/cut_kernels.hpp>
#include <tenon/engine/lower/build/step_info.hpp>
#include <tenon/engine/plan/plan.hpp>
#include <tenon/engine/staged.hpp>
#include <tenon/graph/evaluate.hpp>
#include <tenon/graph/subgraph.hpp>

namespace tenon::inline v1::engine {
namespace {

/// What a request keeps for plans, apart from the workspace that they share, and the share of one of their steps.
constexpr std::size_t kReadyBytes = std::size_t{32} << 20, kStepStateBytes = 1024, kLeastBytes = 4096;

struct Cancelled {};

/// For what looks only at type and shape.
Tensor stand_in(ElementType type, const Shape& shape) {
  static std::uint64_t nothing = 0;
  return Tensor(type, shape, &nothing, ByteStrides(shape.size(), 0));
}

Tensor copy_of(const Tensor& tensor) {
  Tensor copy(tensor.element_type(), tensor.shape());
  tensor.copy_to(copy);
  return copy;
}

}  // namespace

/// A subgraph with this request's execution of its plan.
struct Staged::Ready {
  std::shared_ptr<const Subgraph> subgraph;
  std::unique_ptr<Execution> execution;
  std::size_t bytes = kLeastBytes;
  int running = 0;                             ///< Stages within a subgraph: these must not be dropped meanwhile.
  std::map<const Node*, const char*> kernels;  ///< That cut nodes ran by, for reports.
};

Staged::Staged(std::shared_ptr<ModelPlans> store)
    : store_(std::move(store)), workspace_(std::make_shared<Workspace>()) {}
Staged::Staged(const Options& options) : Staged(std::make_shared<ModelPlans>(options)) {}
Staged::~Staged() = default;

Staged::Ready& Staged::ready_for(DynamicModel& model, std::span<const Tensor> inputs, std::span<const Growth> growths) {
  for (auto it = ready_.begin(); it != ready_.end(); ++it) {
    if (!(*it)->subgraph->is_for(model.id(), inputs, growths)) continue;
    ready_.splice(ready_.begin(), ready_, it);
    return *ready_.front();
  }
  auto made = std::make_unique<Ready>();
  made->subgraph = store_->subgraph(model, inputs, growths, cancellation_);
  if (!made->subgraph) throw Cancelled{};
  if (const auto& plan = made->subgraph->plan) {
    made->execution = std::make_unique<Execution>(plan, workspace_);
    made->bytes += plan->steps().size() * kStepStateBytes;
  }
  ready_bytes_ += made->bytes;
  ready_.push_front(std::move(made));
  drop_old();
  return *ready_.front();
}

void Staged::drop_old() {
  for (auto it = ready_.end(); it != ready_.begin();) {
    --it;
    Ready& ready = **it;
    const bool is_old = ready_bytes_ > kReadyBytes || ready.subgraph->is_evicted;
    if (!is_old || ready.running > 0 || it == ready_.begin()) continue;
    ready_bytes_ -= ready.bytes;
    it = ready_.erase(it);
  }
}

std::vector<Tensor> Staged::run_plan(Ready& ready, const std::vector<Tensor>& inputs, const OutputMemory& memory) {
  Execution& execution = *ready.execution;
  const Plan& plan = *ready.subgraph->plan;
  std::vector<Tensor> outputs;
  std::vector<std::size_t> made;  // Those allocated here.
  for (std::size_t i = 0; i < inputs.size(); ++i) execution.bind_input(i, inputs[i]);
  for (std::size_t i = 0; i < plan.outputs().size(); ++i) {
    const Port& port = plan.outputs()[i];
    if (plan.is_grown(i)) {
      outputs.push_back(memory(i, port.type, port.shape));
      continue;
    }
    Tensor given = memory ? memory(i, port.type, port.shape) : Tensor();
    if (!given) made.push_back(i);
    outputs.push_back(given ? std::move(given) : Tensor(port.type, port.shape));
    execution.bind_output(i, outputs.back());
  }
  const auto begin = elapsed();
  const bool is_done = execution.run(*workers_, cancellation_.asked, cancellation_.context);
  packed_bytes_ += execution.packed_bytes();
  if (is_done && store_->options().profile) {
    const auto steps = plan.steps();
    const auto& timings = execution.timings();
    for (std::size_t i = 0; i < steps.size(); ++i)
      timed_.push_back({steps[i], begin + timings[i].start, timings[i].duration});
  }
  // What was allocated for this run alone is not kept alive for the next one.
  for (std::size_t i = 0; !memory && i < inputs.size(); ++i) execution.bind_input(i, {});
  for (const std::size_t i : made) execution.bind_output(i, {});
  if (!is_done) throw Cancelled{};
  return outputs;
}

void Staged::throw_if_cancelled() const {
  if (cancellation_.asked && cancellation_.asked(cancellation_.context)) throw Cancelled{};
}

std::vector<Tensor> Staged::run_node(Ready& ready, const Node& node, const std::vector<Tensor>& inputs) {
  throw_if_cancelled();
  const auto* op = as_type<op::util::MultiSubGraphOp>(&node);
  if (!op) return run_kernel(ready, node, inputs);
  return run_subgraph(*op, inputs, [&](std::size_t body, const std::vector<Tensor>& values) {
    throw_if_cancelled();
    return run_all(*ready.subgraph->bodies.at(op->get_function(body).get()), values, {});
  });
}

std::vector<Tensor> Staged::run_kernel(Ready& ready, const Node& node, const std::vector<Tensor>& inputs) {
  const auto begin = elapsed();
  std::vector<Tensor> made;
  const char* kernel = nullptr;
  if (!store_->options().reference_only && !has_strings(node))
    workers_->run([&] { kernel = run_cut_kernel(node, inputs, made); });
  if (kernel)
    ready.kernels[&node] = kernel;
  else
    made = evaluate_node(node, inputs);
  if (store_->options().profile) {
    StepInfo info = step_info(node, kernel ? kernel : "reference");
    info.is_reference = !kernel;
    timed_.push_back({std::move(info), begin, elapsed() - begin});
  }
  return made;
}

std::vector<Tensor> Staged::run_parts(const Subgraph& subgraph, Ready& ready, const std::vector<Tensor>& inputs,
                                      const OutputMemory& memory) {
  std::map<ValueKey, Tensor> values;
  const auto& parameters = subgraph.model->get_parameters();
  for (std::size_t i = 0; i < inputs.size(); ++i) values[{parameters[i].get(), 0}] = inputs[i];
  const auto value_of = [&](const ValueKey& key) -> Tensor {
    if (const auto* constant = as_type<op::v0::Constant>(key.first)) return constant->get_tensor();
    return values.at(key);
  };
  if (ready.execution) {
    const auto made = run_plan(ready, inputs, {});
    for (std::size_t i = 0; i < made.size(); ++i) values[subgraph.before_outputs[i]] = made[i];
  }
  for (const auto& node : subgraph.cuts) {
    std::vector<Tensor> arguments;
    for (const auto& source : node->input_values()) arguments.push_back(value_of(key_of(source)));
    // A Result of dynamic shape, or of strings, needs no work.
    if (is_op(node, "Result")) continue;
    const auto made = run_node(ready, *node, arguments);
    for (std::size_t i = 0; i < made.size(); ++i) values[{node.get(), i}] = made[i];
  }
  if (subgraph.after) {
    std::vector<Tensor> arguments;
    for (const ValueKey& key : subgraph.after_inputs) arguments.push_back(value_of(key));
    const auto made = run_all(*subgraph.after, arguments, {});
    for (std::size_t i = 0; i < made.size(); ++i) values[subgraph.after_outputs[i]] = made[i];
  }
  std::vector<Tensor> results;
  for (const auto& result : subgraph.model->get_results()) {
    const ValueKey source = key_of(result->input_value(0));
    results.push_back(value_of(source));
    // The caller owns the outputs: none may share an input's memory or a weight's.
    if (is_op(source.first, "Parameter") || is_op(source.first, "Constant")) results.back() = copy_of(results.back());
  }
  for (std::size_t i = 0; memory && i < results.size(); ++i) {
    Tensor given = memory(i, results[i].element_type(), results[i].shape());
    if (!given) continue;
    results[i].copy_to(given);
    packed_bytes_ += results[i].size_bytes();
    results[i] = std::move(given);
  }
  return results;
}

std::vector<Tensor> Staged::run_all(DynamicModel& model, const std::vector<Tensor>& inputs,
                                    const OutputMemory& memory) {
  return run_ready(ready_for(model, inputs), inputs, memory);
}

std::vector<Tensor> Staged::run_ready(Ready& ready, const std::vector<Tensor>& inputs, const OutputMemory& memory) {
  struct Running {
    explicit Running(Ready& which) : ready(which) { ++ready.running; }
    ~Running() { --ready.running; }
    Ready& ready;
  } running(ready);
  whole_ = ready.subgraph->is_cut ? nullptr : ready.subgraph->plan;
  auto results =
      ready.subgraph->is_cut ? run_parts(*ready.subgraph, ready, inputs, memory) : run_plan(ready, inputs, memory);
  if (ready.subgraph->is_cut) whole_ = nullptr;
  last_subgraph_ = ready.subgraph;  // The outermost is the last to end.
  return results;
}

const Staged::Ready* Staged::last_after(const Subgraph& subgraph) const {
  if (!subgraph.after) return nullptr;
  // Those used last come first.
  const auto found = std::find_if(ready_.begin(), ready_.end(),
                                  [&](const auto& ready) { return ready->subgraph->model_id == subgraph.after->id(); });
  return found == ready_.end() ? nullptr : found->get();
}

LastRun Staged::last_run() const {
  LastRun run;
  run.times = timed_;
  if (last_opened_) run.states = last_opened_->state_inputs;
  const auto first =
      std::find_if(ready_.begin(), ready_.end(), [&](const auto& ready) { return ready->subgraph == last_subgraph_; });
  const Ready* ready = first == ready_.end() ? nullptr : first->get();
  for (; ready; ready = last_after(*ready->subgraph)) run.parts.push_back({ready->subgraph, ready->kernels});
  return run;
}

std::uint64_t Staged::last_run_number() const {
  std::uint64_t number = 0;
  const Subgraph* subgraph = last_subgraph_.get();
  while (subgraph) {
    number = number * 0x100000001b3u + reinterpret_cast<std::uintptr_t>(subgraph);
    const Ready* const after = last_after(*subgraph);
    subgraph = after ? after->subgraph.get() : nullptr;
  }
  return number;
}

const CacheRoom* Staged::room_of(const std::string& id, const Tensor& state) const {
  // A call that set or read the state since has put another tensor in its place.
  const auto found = rooms_.find(id);
  return found != rooms_.end() && found->second.holds(state) ? &found->second : nullptr;
}

Tensor Staged::packed_state(const std::string& id, const Tensor& state) const {
  if (const CacheRoom* room = room_of(id, state)) return room->packed(state.shape());
  if (state.is_contiguous()) return state;
  Tensor packed;
  state.copy_to(packed);
  return packed;
}

void Staged::make_room(const std::string& id, Tensor& state, const Growth& growth) {
  const Shape shape = state.shape();
  CacheRoom room;
  try {
    room = CacheRoom(state.element_type(), shape, growth);
  } catch (const Error& error) {
    Shape whole = shape;
    whole[growth.axis] = growth.capacity;
    throw Error(error.code(),
                "CPU: the state '" + id + "' of shape " + to_string(shape) + " cannot grow to " + to_string(whole) +
                    ": " + error.what(),
                error.where());
  }
  if (const CacheRoom* before = room_of(id, state))
    room.fill(*before, shape);
  else
    room.fill(state);
  packed_bytes_ += state.size_bytes();
  state = room.part(shape);
  rooms_[id] = std::move(room);
  // Plans that read the state before keep it alive no longer.
  for (const auto& ready : ready_)
    for (std::size_t i = 0; ready->execution && i < ready->subgraph->plan->impl().growths.size(); ++i)
      ready->execution->bind_input(ready->subgraph->plan->impl().growths[i].parameter, {});
}

Staged::Ready& Staged::ready_with_states(const ModelPlans::Opened& opened, std::vector<Tensor>& inputs,
                                         VariableMap& states) {
  const std::size_t own = inputs.size();
  std::vector<Growth> growths;
  if (opened.model->id() != never_grows_) growths = opened.growths;
  for (const std::string& id : opened.state_inputs) {
    Tensor& state = states.at(id);
    const bool grows = std::any_of(growths.begin(), growths.end(),
                                   [&](const Growth& growth) { return growth.parameter == inputs.size(); });
    // Only caches that grow are read in fewer bits.
    if (const CacheRoom* room = grows ? nullptr : room_of(id, state); room && room->format().is_narrow())
      state = room->packed(state.shape());
    inputs.push_back(state);
  }
  const auto id_of = [&](const Growth& growth) -> const std::string& {
    return opened.state_inputs[growth.parameter - own];
  };
  const auto describe = [&](const Growth& growth) {
    const Tensor& state = states.at(id_of(growth));
    inputs[growth.parameter] = growth.format.is_narrow() ? stand_in(ElementType::kF32, state.shape()) : state;
  };
  const auto resize = [&](Growth& growth, std::size_t extent) {
    growth.capacity = planning::room_for(extent);
    make_room(id_of(growth), states.at(id_of(growth)), growth);
  };
  for (Growth& growth : growths) {
    const Tensor& state = inputs[growth.parameter];
    const CacheRoom* const room = room_of(id_of(growth), state);
    if (room) {
      growth.format = room->format();
      growth.capacity = room->capacity();
    } else {
      growth.format = cache_format(store_->options(), growth, state.element_type(), state.shape());
      resize(growth, state.shape()[growth.axis] + 1);
    }
    describe(growth);
  }
  while (!growths.empty()) {
    Ready& ready = ready_for(*opened.model, inputs, growths);
    if (ready.subgraph->refuses_growth) {
      if (ready.subgraph->is_cut) never_grows_ = opened.model->id();
      break;
    }
    if (ready.subgraph->needed.empty()) {
      for (const Growth& growth : growths)
        inputs[growth.parameter] = rooms_.at(id_of(growth)).input(inputs[growth.parameter].shape());
      return ready;
    }
    for (std::size_t i = 0; i < growths.size(); ++i) {
      if (ready.subgraph->needed[i] > growths[i].capacity) resize(growths[i], ready.subgraph->needed[i]);
      describe(growths[i]);
    }
  }
  for (const Growth& growth : growths)
    inputs[growth.parameter] = rooms_.at(id_of(growth)).packed(inputs[growth.parameter].shape());
  return ready_for(*opened.model, inputs);
}

const ModelPlans::Opened& Staged::open(const std::shared_ptr<const Model>& model, const VariableMap* states) {
  const bool is_known = model == last_model_;
  if (!is_known) state_ids_ = planning::state_ids(*model);
  std::vector<bool> are_set;
  for (const std::string& id : state_ids_) are_set.push_back(states && states->count(id) > 0);
  if (is_known && are_set == set_states_) return *last_opened_;
  std::set<std::string> with_value;
  for (std::size_t i = 0; i < state_ids_.size(); ++i)
    if (are_set[i]) with_value.insert(state_ids_[i]);
  last_opened_ = store_->open(model, with_value);
  last_model_ = model;
  set_states_ = std::move(are_set);
  return *last_opened_;
}

std::vector<Tensor> Staged::run(const std::shared_ptr<const Model>& model, const std::vector<Tensor>& inputs,
                                Workers& workers, Cancellation cancellation, const OutputMemory& memory,
                                VariableMap* states) {
  workers_ = &workers;
  cancellation_ = cancellation;
  begun_ = std::chrono::steady_clock::now();
  timed_.clear();
  packed_bytes_ = 0;
  const ModelPlans::Opened& opened = open(model, states);
  const std::size_t own = model->get_results().size();
  try {
    if (state_ids_.empty()) return run_all(*opened.model, inputs, memory);
    std::vector<Tensor> all = inputs;
    VariableMap none;
    Ready& ready = ready_with_states(opened, all, states ? *states : none);
    auto results = run_ready(ready, all, [&](std::size_t i, ElementType type, const Shape& shape) {
      if (i < own) return memory ? memory(i, type, shape) : Tensor();
      // A cache that grows in place has its memory already.
      if (!whole_ || !whole_->is_grown(i)) return Tensor();
      return rooms_.at(opened.state_outputs[i - own]).part(shape);
    });
    // A state that does not grow in place is replaced: the plan's execution shall not keep it.
    if (whole_ && whole_->impl().growths.empty())
      for (std::size_t i = inputs.size(); i < all.size(); ++i) ready.execution->bind_input(i, {});
    for (std::size_t i = own; states && i < results.size(); ++i)
      (*states)[opened.state_outputs[i - own]] = std::move(results[i]);
    results.resize(own);
    return results;
  } catch (const Cancelled&) {
    return {};
  }
}

}  // namespace tenon::inline v1::engine
