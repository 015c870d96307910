// SPDX-License-Identifier: Apache-2.0
// Waits for inferences and compilations at the end of the process, at two points. The first is the end of the thread that calls exit(),
// whose thread_local objects are destroyed before any static one: the main thread, or one in a callback. The main thread also gets there
// by pthread_exit(), after which the process goes on, so work may still start. The second is a function of atexit(), which runs before
// the static objects that were there when it was registered; it is registered again when there may be more.
#include <tenon/runtime/device/process_end.hpp>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <map>
#include <mutex>
#include <set>
#include <utility>
#include <vector>

#include <tenon/core/platform/files.hpp>
#include <tenon/core/platform/process.hpp>

namespace tenon {
inline namespace v1 {
namespace process_end {
namespace {

// What was cancelled ends behind the program that a driver compiles: seconds, on a busy machine, where OpenCL runs on processors.
constexpr std::chrono::seconds kPatience{10}, kAfterCancel{20};
/// A registration takes 32 bytes for ever, and after so many models the libraries have made what they make.
constexpr int kMostModels = 1000;

struct Known {
  std::mutex mutex;
  std::uint64_t process = 0;  ///< In a forked process there are no threads that run inferences of its parent.
  std::map<const Work*, std::weak_ptr<Work>> all;
  std::set<std::string> devices;
  std::atomic<bool> has_begun{false};
  std::atomic<int> first_inferences{0};
};

/// Never destroyed: static objects that own work are destroyed after the end has begun.
Known& known() {
  static Known& all = *new Known;
  return all;
}

std::vector<std::shared_ptr<Work>> work_now() {
  std::vector<std::shared_ptr<Work>> now;
  const std::lock_guard lock(known().mutex);
  if (known().process != platform::process_id()) return now;
  for (const auto& [address, work] : known().all)
    if (auto alive = work.lock()) now.push_back(std::move(alive));
  return now;
}

/// @param cancels  What takes too long.
void wait_for_work(bool cancels) noexcept try {
  const Deadline deadline = Clock::now() + kPatience;
  for (const auto& work : work_now()) {
    if (work->settle(deadline) || !cancels) continue;
    work->cancel();
    work->settle(deadline + kAfterCancel);
  }
} catch (...) {  // Out of memory: the process ends all the same.
}

void end_work() noexcept {
  if (known().process != platform::process_id()) return;
  known().has_begun.store(true);
  wait_for_work(true);
}

/// Callbacks that this thread is in.
thread_local int callback_depth = 0;

}  // namespace

void add(const std::shared_ptr<Work>& work, const std::string& device) {
  const std::lock_guard lock(known().mutex);
  if (known().process != platform::process_id()) known().all.clear();
  known().process = platform::process_id();
  known().all.emplace(work.get(), work);
  if (known().devices.insert(device).second) platform::at_exit(end_work);
}

void remove(const Work& work) noexcept {
  const std::lock_guard lock(known().mutex);
  known().all.erase(&work);
}

void note_first_inference() noexcept {
  if (known().first_inferences.fetch_add(1, std::memory_order_relaxed) < kMostModels) platform::at_exit(end_work);
}

void watch_this_thread() {
  struct Watch {
    const bool is_main = platform::is_main_thread();
    ~Watch() {
      if (!is_main && callback_depth == 0) return;
      wait_for_work(false);
      platform::at_exit(
          end_work);  // What this waited for may have made static objects, and started the next inference.
    }
  };
  thread_local const Watch watch;
}

CallbackScope::CallbackScope() {
  watch_this_thread();
  ++callback_depth;
}
CallbackScope::~CallbackScope() { --callback_depth; }

bool has_begun() noexcept { return known().has_begun.load(); }

}  // namespace process_end
}  // namespace v1
}  // namespace tenon
