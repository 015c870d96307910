// SPDX-License-Identifier: Apache-2.0
// Plans by what they are for: made once, used by all, bounded.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <utility>

#include <tenon/core/error.hpp>
#include <tenon/graph/wanted.hpp>

namespace tenon::inline v1::planning {

/// Waits for another thread's plan as long as this thread's CancellationScope wants it. @errors kCancelled.
struct WhileWanted {
  bool operator()() const {
    CancellationScope::check("compiling", "what another request compiles");
    return true;
  }
};

struct StoreBounds {
  std::size_t plans = ~std::size_t{0}, bytes = ~std::size_t{0};
};

/// A plan is made outside of any lock by the first thread that needs it. Threads that need the same plan wait for it,
/// others go on. Beyond the bounds, the plan that was used longest ago goes first, but never the latest; a plan in use
/// lives on until its user drops it.
///
/// If plans have a member held_bytes, these are counted; if they have a mutable is_evicted, it is set when the store
/// lets the plan go.
/// @tparam Hash  Hashes keys; with is_transparent, what get() looks for as well.
/// @thread all members from any thread.
template <typename Key, typename Plan, typename Hash>
class PlanStore {
 public:
  struct Counts {
    std::size_t making = 0;  ///< Plans that are being made.
    std::size_t made = 0;    ///< Plans that were made...
    std::size_t kept = 0;    ///< ...of which so many are kept now...
    std::size_t bytes = 0;   ///< ...and hold so much.
  };

  explicit PlanStore(const StoreBounds& bounds) : bounds_(bounds) {}
  PlanStore(const PlanStore&) = delete;
  PlanStore& operator=(const PlanStore&) = delete;

  /// @param wanted  The key, or what compares equal to it, has its hash and converts to it: looking for a plan that is
  ///        kept then needs no key. @cost no allocation where the plan is kept
  /// @param make  make(key) returns a plan, never null. It may change the key, which then holds from the next time.
  /// @param keep_waiting  Asked every few milliseconds while another thread makes the plan.
  /// @return null: `keep_waiting` said no, or the plan got another key, or its maker gave it up (kCancelled). In the
  ///        last two cases the caller looks again.
  /// @errors those of `make`, for all threads that wait for it; those of `keep_waiting`.
  template <typename Wanted, typename Make, typename KeepWaiting = WhileWanted>
  std::shared_ptr<const Plan> get(const Wanted& wanted, const Make& make, const KeepWaiting& keep_waiting = {}) {
    std::unique_lock lock(mutex_);
    if (const auto known = entries_.find(wanted); known != entries_.end())
      return made_by_another(known->second, lock, keep_waiting);
    Key key(wanted);
    const auto entry = std::make_shared<Entry>();
    entries_.emplace(key, entry);
    ++counts_.making;
    lock.unlock();
    std::shared_ptr<const Plan> plan;
    std::exception_ptr failure;
    bool is_given_up = false;
    try {
      plan = make(key);
    } catch (const Error& error) {
      failure = std::current_exception();
      is_given_up = error.code() == Code::kCancelled;
    } catch (...) {
      failure = std::current_exception();
    }
    lock.lock();
    --counts_.making;
    entry->is_over = true;
    entry->failure = failure;
    entry->plan = plan;
    auto at = entries_.find(wanted);  // Still this one: what is being made is not evicted, and keeps its key.
    entry->is_another = is_given_up || !(wanted == key);
    if (failure) {
      entries_.erase(at);  // The next one tries again.
    } else {
      bool is_kept = true;
      if (entry->is_another) {
        auto node = entries_.extract(at);
        node.key() = std::move(key);
        is_kept = entries_.insert(std::move(node)).inserted;  // Else another thread was first.
      }
      ++counts_.made;
      if (is_kept) {
        entry->last_use = ++clock_;
        ++counts_.kept;
        counts_.bytes += bytes_of(*plan);
        evict();
      }
    }
    lock.unlock();
    made_.notify_all();
    if (failure) std::rethrow_exception(failure);
    return plan;
  }

  /// The plan, if it is kept now, which is no use of it; else null. @cost no allocation
  template <typename Wanted>
  std::shared_ptr<const Plan> find(const Wanted& wanted) const {
    const std::lock_guard lock(mutex_);
    const auto known = entries_.find(wanted);
    return known == entries_.end() ? nullptr : known->second->plan;
  }

  Counts counts() const {
    const std::lock_guard lock(mutex_);
    return counts_;
  }

 private:
  /// A plan, or what its maker leaves for those that wait.
  struct Entry {
    std::shared_ptr<const Plan> plan;
    std::exception_ptr failure;
    std::uint64_t last_use = 0;
    bool is_over = false;     ///< The plan is made, or making it has failed.
    bool is_another = false;  ///< The plan is not for the key that waiting threads look for, or was given up.
  };
  /// How long a thread waits for another's plan before it asks whether to go on.
  static constexpr std::chrono::milliseconds kPatience{5};

  static std::size_t bytes_of(const Plan& plan) {
    if constexpr (requires { plan.held_bytes; })
      return plan.held_bytes;
    else
      return 0;
  }

  template <typename KeepWaiting>
  std::shared_ptr<const Plan> made_by_another(const std::shared_ptr<Entry>& known, std::unique_lock<std::mutex>& lock,
                                              const KeepWaiting& keep_waiting) {
    if (known->plan) {
      known->last_use = ++clock_;
      return known->plan;
    }
    const std::shared_ptr<Entry> entry = known;
    while (!entry->is_over) {
      if (!keep_waiting()) return nullptr;
      made_.wait_for(lock, kPatience);
    }
    if (entry->is_another) return nullptr;
    if (entry->failure) std::rethrow_exception(entry->failure);
    entry->last_use = ++clock_;
    return entry->plan;
  }

  /// With the mutex held.
  void evict() {
    while ((counts_.bytes > bounds_.bytes || counts_.kept > bounds_.plans) && counts_.kept > 1) {
      auto oldest = entries_.end();
      for (auto it = entries_.begin(); it != entries_.end(); ++it) {
        if (!it->second->plan || it->second->last_use == clock_) continue;
        if (oldest == entries_.end() || it->second->last_use < oldest->second->last_use) oldest = it;
      }
      if (oldest == entries_.end()) return;
      const Plan& plan = *oldest->second->plan;
      if constexpr (requires { plan.is_evicted = true; }) plan.is_evicted = true;
      counts_.bytes -= bytes_of(plan);
      --counts_.kept;
      entries_.erase(oldest);
    }
  }

  const StoreBounds bounds_;
  mutable std::mutex mutex_;
  std::condition_variable made_;
  std::unordered_map<Key, std::shared_ptr<Entry>, Hash, std::equal_to<>> entries_;
  std::uint64_t clock_ = 0;
  Counts counts_;
};

}  // namespace tenon::inline v1::planning
