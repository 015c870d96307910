// SPDX-License-Identifier: Apache-2.0
// Waits for inferences at the end of the process, at two points. The first is the end of the main thread, whose thread_local objects
// are destroyed before any static one; it is also reached by pthread_exit(), after which the process goes on, so inferences may still
// start. The second is a function of atexit(), which runs before the static objects that were there when it was registered.
#include <tenon/runtime/request/process_end.hpp>

#include <sys/types.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <map>
#include <mutex>
#include <set>
#include <utility>
#include <vector>

namespace tenon {
inline namespace v1 {
namespace process_end {
namespace {

constexpr std::chrono::seconds kPatience{10}, kAfterCancel{2};

struct Requests {
  std::mutex mutex;
  pid_t process = 0;  ///< In a forked process there are no threads that run inferences of its parent.
  std::map<const Request*, std::weak_ptr<Request>> all;
  std::set<std::string> devices;
  std::atomic<bool> has_begun{false};
};

/// Never destroyed: static objects with requests are destroyed after the end has begun.
Requests& requests() {
  static Requests& all = *new Requests;
  return all;
}

std::vector<std::shared_ptr<Request>> requests_now() {
  Requests& known = requests();
  std::vector<std::shared_ptr<Request>> now;
  const std::lock_guard lock(known.mutex);
  if (known.process != ::getpid()) return now;
  for (const auto& [address, request] : known.all)
    if (auto alive = request.lock()) now.push_back(std::move(alive));
  return now;
}

/// @param cancels  Those that take too long.
void wait_for_inferences(bool cancels) noexcept try {
  const Deadline deadline = Clock::now() + kPatience;
  for (const auto& request : requests_now()) {
    if (request->settle(deadline) || !cancels) continue;
    request->cancel();
    request->settle(deadline + kAfterCancel);
  }
} catch (...) {  // Out of memory: the process ends all the same.
}

void end_inferences() noexcept {
  if (requests().process != ::getpid()) return;
  requests().has_begun.store(true);
  wait_for_inferences(true);
}

}  // namespace

void add(const std::shared_ptr<Request>& request, const std::string& device) {
  Requests& known = requests();
  const std::lock_guard lock(known.mutex);
  if (known.process != ::getpid()) known.all.clear();
  known.process = ::getpid();
  known.all.emplace(request.get(), request);
  if (known.devices.insert(device).second) std::atexit(end_inferences);
}

void remove(const Request& request) noexcept {
  const std::lock_guard lock(requests().mutex);
  requests().all.erase(&request);
}

void watch_this_thread() {
  struct Watch {
    const bool is_main = ::getpid() == ::gettid();
    ~Watch() {
      if (is_main) wait_for_inferences(false);
    }
  };
  thread_local const Watch watch;
}

bool has_begun() noexcept { return requests().has_begun.load(); }

}  // namespace process_end
}  // namespace v1
}  // namespace tenon
