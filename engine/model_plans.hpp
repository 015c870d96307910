// SPDX-License-Identifier: Apache-2.0
// The plans of one compiled model whose shapes move: made once, used by all its requests, bounded in bytes.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include <tenon/core/tensor.hpp>
#include <tenon/engine/engine.hpp>
#include <tenon/engine/partition.hpp>
#include <tenon/engine/plan/planning.hpp>
#include <tenon/graph/model.hpp>
#include <tenon/planning/plan_store.hpp>
#include <tenon/planning/state_ports.hpp>
#include <tenon/planning/words_hash.hpp>

namespace tenon::inline v1::engine {

struct SharedParts;

/// Polled between steps, and while one request waits for a plan that another makes.
struct Cancellation {
  bool (*asked)(void*) = nullptr;
  void* context = nullptr;
};

/// Plans are kept by the model's number, the growths' capacities, and the inputs' types and shapes.
using ShapeKey = std::vector<std::uint64_t>;

/// The passes of a model run once, its weights are packed once per layout, whatever the shapes, and each plan is made
/// once for all requests (planning::PlanStore).
/// @thread all members from any thread.
class ModelPlans {
 public:
  /// Packed weights are not counted: they are as many whatever the number of plans.
  static constexpr std::size_t kDefaultBytes = std::size_t{512} << 20;
  explicit ModelPlans(const Options& options, std::size_t max_bytes = kDefaultBytes);
  ~ModelPlans();
  ModelPlans(const ModelPlans&) = delete;
  ModelPlans& operator=(const ModelPlans&) = delete;

  const Options& options() const { return options_; }
  /// A model with its passes run; the same object is the same model as before.
  struct Opened {
    std::shared_ptr<DynamicModel> model;
    std::vector<std::string> state_inputs, state_outputs;  ///< See planning::StatePorts.
    std::vector<Growth> growths;
  };
  /// @param is_set  The states that have a value. Kept for the life of this, with `model`.
  std::shared_ptr<const Opened> open(const std::shared_ptr<const Model>& model,
                                     const std::set<std::string>& is_set = {});
  /// @param growths  The caches among the inputs that lie in memory with room.
  /// @return null when cancelled while another thread makes it. @errors as make_subgraph(), for all threads that wait
  /// for it.
  std::shared_ptr<const Subgraph> subgraph(DynamicModel& model, std::span<const Tensor> inputs,
                                           std::span<const Growth> growths = {}, Cancellation cancellation = {});

  using Store = planning::PlanStore<ShapeKey, Subgraph, planning::WordsHash>;
  struct Counts : Store::Counts {
    std::size_t relowered = 0;  ///< Stages made from the one before, by what the new shapes change.
    std::size_t packed = 0;     ///< Packings of shared constants, and what was derived from them.
  };
  Counts counts() const;

 private:
  const Options options_;
  const std::unique_ptr<SharedParts> shared_;
  Store stages_;
  std::atomic<std::size_t> relowered_{0};
  /// One source model.
  struct Source {
    std::shared_ptr<const Model> given, prepared;
    std::map<std::set<std::string>, std::shared_ptr<const Opened>> opened;
  };
  std::mutex open_mutex_;
  std::unordered_map<const Model*, Source> sources_;
};

}  // namespace tenon::inline v1::engine
