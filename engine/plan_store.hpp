// SPDX-License-Identifier: Apache-2.0
// The plans of one compiled model whose shapes move: made once, used by all its requests, bounded in bytes.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <exception>
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
#include <tenon/engine/plan/planning.hpp>
#include <tenon/engine/stage.hpp>
#include <tenon/graph/model.hpp>
#include <tenon/planning/state_ports.hpp>
#include <tenon/planning/words_hash.hpp>

namespace tenon::inline v1::engine {

struct SharedParts;

/// Polled between steps, and while one request waits for a plan that another makes.
struct Cancellation {
  bool (*asked)(void*) = nullptr;
  void* context = nullptr;
};

/// A plan is made outside of any lock by the first who needs it; who needs the same waits, others go on. Weights are
/// packed once per layout, whatever the shapes. Beyond the bound, what was used longest ago goes first; a plan in use
/// lives on until its user drops it.
/// @thread all members from any thread.
class PlanStore {
 public:
  /// Packed weights are not counted: they are as many whatever the number of plans.
  static constexpr std::size_t kDefaultBytes = std::size_t{512} << 20;
  explicit PlanStore(const Options& options, std::size_t max_bytes = kDefaultBytes);
  ~PlanStore();
  PlanStore(const PlanStore&) = delete;
  PlanStore& operator=(const PlanStore&) = delete;

  const Options& options() const { return options_; }
  /// A model with its passes run; the same object is the same model as before.
  struct Opened {
    std::shared_ptr<OpenModel> model;
    std::vector<std::string> state_inputs, state_outputs;  ///< See planning::StatePorts.
    std::vector<Growth> growths;
  };
  /// @param is_set  The states that have a value. Kept for the store's life, with `model`.
  std::shared_ptr<const Opened> open(const std::shared_ptr<const Model>& model,
                                     const std::set<std::string>& is_set = {});
  /// @param growths  The caches among the inputs that lie in memory with room.
  /// @return null when cancelled while another thread makes it. @errors as make_stage(), for everyone who waits.
  std::shared_ptr<const Stage> stage(OpenModel& model, std::span<const Tensor> inputs,
                                     std::span<const Growth> growths = {}, Cancellation cancellation = {});

  struct Counts {
    std::size_t making = 0;     ///< Stages that are being made.
    std::size_t made = 0;       ///< Stages that were made...
    std::size_t relowered = 0;  ///< ...from the one before, by what the new shapes change.
    std::size_t kept = 0;       ///< Of these, how many are kept now...
    std::size_t bytes = 0;      ///< ...and what they hold.
    std::size_t packed = 0;     ///< Packings of shared constants, and what was derived from them.
  };
  Counts counts() const;

 private:
  using Key = std::vector<std::uint64_t>;
  /// A stage, or what its maker leaves for those who wait.
  struct Entry {
    std::shared_ptr<const Stage> stage;
    std::exception_ptr failure;
  };
  void evict();  ///< With the mutex held.

  const Options options_;
  const std::size_t max_bytes_;
  const std::unique_ptr<SharedParts> shared_;
  mutable std::mutex mutex_;
  std::condition_variable made_;
  std::unordered_map<Key, std::shared_ptr<Entry>, planning::WordsHash> entries_;
  std::uint64_t clock_ = 0;
  Counts counts_;
  /// One source model.
  struct Source {
    std::shared_ptr<const Model> given, prepared;
    std::map<std::set<std::string>, std::shared_ptr<const Opened>> opened;
  };
  std::mutex open_mutex_;
  std::unordered_map<const Model*, Source> sources_;
};

}  // namespace tenon::inline v1::engine
