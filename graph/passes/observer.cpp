// SPDX-License-Identifier: Apache-2.0
// The list of observers, and how they are called.
#include <tenon/graph/passes/observer.hpp>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <vector>

#include <tenon/core/immortal.hpp>

namespace tenon {
inline namespace v1 {
namespace pass {
namespace {

struct Observers {
  std::mutex mutex;
  std::vector<const Observer*> list;
  std::atomic<bool> any{false};
};
Observers& observers() noexcept { return immortal<Observers>(); }

}  // namespace

Observer::Observer(Function function) : function_(std::move(function)) {
  auto& all = observers();
  std::lock_guard lock(all.mutex);
  all.list.push_back(this);
  all.any.store(true, std::memory_order_release);
}

Observer::~Observer() {
  auto& all = observers();
  std::lock_guard lock(all.mutex);
  all.list.erase(std::remove(all.list.begin(), all.list.end(), this), all.list.end());
  all.any.store(!all.list.empty(), std::memory_order_release);
}

void Observer::tell(const Model& model, const std::string& pass, bool changed) noexcept {
  auto& all = observers();
  if (!all.any.load(std::memory_order_acquire)) return;
  std::lock_guard lock(all.mutex);
  for (const Observer* observer : all.list) {
    try {
      observer->function_(model, pass, changed);
    } catch (...) {  // Observers change nothing.
    }
  }
}

}  // namespace pass
}  // namespace v1
}  // namespace tenon
