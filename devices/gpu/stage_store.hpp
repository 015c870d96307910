// SPDX-License-Identifier: Apache-2.0
// The stages of one model by what they are for.
#pragma once

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <exception>
#include <list>
#include <memory>
#include <mutex>
#include <utility>

#include <tenon/core/error.hpp>
#include <tenon/graph/wanted.hpp>

namespace tenon::inline v1::gpu_device {

struct Stage;

/// Of one model, the latest first.
inline constexpr std::size_t kKeptStages = 64;

/// A stage is made outside of any lock by the first who needs it; who needs the same waits, others go on. Those used last
/// are kept; one in use lives on until its user drops it.
/// @thread all members from any thread.
template <typename Key>
class StageStore {
 public:
  /// @param is_it  Whether a stage with this key is wanted: of one that is kept, at no allocation.
  /// @param key_of  Its key, of a new one.
  /// @param make  Makes it, and may change the key that it gets.
  /// @return null: who waited finds that the stage got another key, or that its maker gave it up, and looks again.
  /// @errors those of `make`, for everyone who waits; kCancelled: it is not wanted any more (CancellationScope).
  template <typename IsIt, typename KeyOf, typename Make>
  std::shared_ptr<const Stage> get(const IsIt& is_it, const KeyOf& key_of, const Make& make) {
    std::shared_ptr<Entry> entry;
    {
      std::unique_lock lock(mutex_);
      const auto known =
          std::find_if(entries_.begin(), entries_.end(), [&](const auto& kept) { return is_it(kept->key); });
      if (known != entries_.end()) {
        entries_.splice(entries_.begin(), entries_, known);
        return wait_for(entries_.front(), lock);
      }
      entry = std::make_shared<Entry>();
      entry->key = key_of();
      entries_.push_front(entry);
      if (entries_.size() > kKeptStages) entries_.pop_back();
    }
    Key key = entry->key;
    std::shared_ptr<const Stage> stage;
    std::exception_ptr failure;
    bool is_given_up = false;
    try {
      stage = make(key);
    } catch (const Error& error) {
      failure = std::current_exception();
      is_given_up = error.code() == Code::kCancelled;
    } catch (...) {
      failure = std::current_exception();
    }
    {
      const std::lock_guard lock(mutex_);
      entry->is_over = true;
      entry->is_another = is_given_up || entry->key != key;
      entry->key = std::move(key);
      entry->stage = stage;
      entry->failure = failure;
      if (failure) entries_.remove(entry);  // The next one tries again.
    }
    made_.notify_all();
    if (failure) std::rethrow_exception(failure);
    return stage;
  }

  /// That was asked for last; null: none is made yet.
  std::shared_ptr<const Stage> latest() const {
    const std::lock_guard lock(mutex_);
    for (const auto& entry : entries_)
      if (entry->stage) return entry->stage;
    return nullptr;
  }

 private:
  struct Entry {
    Key key;
    std::shared_ptr<const Stage> stage;
    std::exception_ptr failure;
    bool is_over = false;     ///< It is made, or has failed.
    bool is_another = false;  ///< Than what those who wait wanted.
  };
  /// How long one waits for another's stage before asking whether to go on.
  static constexpr std::chrono::milliseconds kPatience{5};

  std::shared_ptr<const Stage> wait_for(const std::shared_ptr<Entry>& kept, std::unique_lock<std::mutex>& lock) {
    if (kept->stage) return kept->stage;
    const std::shared_ptr<Entry> entry = kept;
    while (!entry->is_over) {
      CancellationScope::check("compiling", "what another request compiles");
      made_.wait_for(lock, kPatience);
    }
    if (entry->is_another) return nullptr;
    if (entry->failure) std::rethrow_exception(entry->failure);
    return entry->stage;
  }

  mutable std::mutex mutex_;
  std::condition_variable made_;
  std::list<std::shared_ptr<Entry>> entries_;  ///< The latest first.
};

}  // namespace tenon::inline v1::gpu_device
