// SPDX-License-Identifier: Apache-2.0
// One maker per plan, and the bound on what is kept.
#include <tenon/engine/plan_store.hpp>

#include <algorithm>
#include <chrono>

#include <tenon/core/error.hpp>
#include <tenon/engine/lower/passes.hpp>
#include <tenon/engine/plan/plan.hpp>
#include <tenon/graph/limits.hpp>

namespace tenon::inline v1::engine {
namespace {

/// How long one waits for another's plan before asking whether to go on.
constexpr std::chrono::milliseconds kPatience{5};

}  // namespace

PlanStore::PlanStore(const Options& options, std::size_t max_bytes)
    : options_(options), max_bytes_(max_bytes), shared_(std::make_unique<SharedParts>()) {}
PlanStore::~PlanStore() = default;

std::shared_ptr<const PlanStore::Opened> PlanStore::open(const std::shared_ptr<const Model>& model,
                                                         const std::set<std::string>& is_set) {
  // Once per model: who comes meanwhile needs it as well.
  const std::lock_guard lock(open_mutex_);
  Source& source = sources_[model.get()];
  if (!source.prepared) {
    const auto prepared = run_passes(*model, options_, TimeLimit(model_limits().compile_seconds));
    shared_->constants.keep(prepared);
    source.prepared = prepared;
    source.given = model;
  }
  auto& opened = source.opened[is_set];
  if (!opened) {
    auto made = std::make_shared<Opened>();
    if (planning::state_ids(*source.prepared).empty()) {
      made->model = std::make_shared<OpenModel>(source.prepared);
    } else {
      planning::StatePorts ports = planning::state_ports(*source.prepared, is_set);
      made->model = std::make_shared<OpenModel>(std::move(ports.model));
      made->state_inputs = std::move(ports.inputs);
      made->state_outputs = std::move(ports.outputs);
      made->growths = std::move(ports.growths);
    }
    opened = std::move(made);
  }
  return opened;
}

std::shared_ptr<const Stage> PlanStore::stage(OpenModel& model, std::span<const Tensor> inputs,
                                              std::span<const Growth> growths, Cancellation cancellation) {
  Key key{model.id(), growths.size()};
  for (const Growth& growth : growths) key.push_back(growth.capacity);
  for (const Tensor& input : inputs) {
    key.push_back(static_cast<std::uint64_t>(input.element_type()) << 32 | input.shape().size());
    key.insert(key.end(), input.shape().begin(), input.shape().end());
  }
  const auto entry = std::make_shared<Entry>();
  {
    std::unique_lock lock(mutex_);
    const auto [found, is_new] = entries_.emplace(key, entry);
    if (!is_new) {
      const std::shared_ptr<Entry> other = found->second;
      while (!other->stage && !other->failure) {
        if (cancellation.asked && cancellation.asked(cancellation.context)) return nullptr;
        made_.wait_for(lock, kPatience);
      }
      if (other->failure) std::rethrow_exception(other->failure);
      other->stage->last_use = ++clock_;
      return other->stage;
    }
    ++counts_.making;
  }
  std::shared_ptr<const Stage> stage;
  std::exception_ptr failure;
  try {
    stage = make_stage(model, inputs, growths, options_, *shared_);
  } catch (...) {
    failure = std::current_exception();
  }
  {
    const std::lock_guard lock(mutex_);
    --counts_.making;
    if (failure) {
      entry->failure = failure;
      entries_.erase(key);  // The next one tries again.
    } else {
      stage->last_use = ++clock_;
      entry->stage = stage;
      ++counts_.made;
      counts_.relowered += stage->is_relowered;
      ++counts_.kept;
      counts_.bytes += stage->held_bytes;
      evict();
    }
  }
  made_.notify_all();
  if (failure) std::rethrow_exception(failure);
  return stage;
}

void PlanStore::evict() {
  while (counts_.bytes > max_bytes_ && counts_.kept > 1) {
    auto oldest = entries_.end();
    for (auto it = entries_.begin(); it != entries_.end(); ++it) {
      if (!it->second->stage || it->second->stage->last_use == clock_) continue;
      if (oldest == entries_.end() || it->second->stage->last_use < oldest->second->stage->last_use) oldest = it;
    }
    if (oldest == entries_.end()) return;
    oldest->second->stage->is_evicted = true;
    counts_.bytes -= oldest->second->stage->held_bytes;
    --counts_.kept;
    entries_.erase(oldest);
  }
}

PlanStore::Counts PlanStore::counts() const {
  const std::lock_guard lock(mutex_);
  Counts counts = counts_;
  counts.packed = shared_->constants.count();
  return counts;
}

}  // namespace tenon::inline v1::engine
