// SPDX-License-Identifier: Apache-2.0
#include <tenon/bindings/python/native/base/interpreter.hpp>

#include <atomic>
#include <chrono>
#include <thread>
#include <utility>

#include <tenon/core/error.hpp>

namespace tenon::python {
namespace {

std::atomic<bool> g_is_ending{false}, g_in_use{false}, g_forked{false};
std::atomic<int> g_inside{0};
std::thread::id g_ending_thread;

/// This thread's calls, one in another, and whether they count among those that leave_interpreter() waits for.
thread_local int t_calls = 0;
thread_local bool t_counts = false;

/// Counts the caller among those that leave_interpreter() waits for; false once it was called.
bool may_enter() {
  g_inside.fetch_add(1);
  if (!g_is_ending.load()) return true;
  g_inside.fetch_sub(1);
  return false;
}

[[noreturn]] void stop_for_good() {
  while (true) std::this_thread::sleep_for(std::chrono::hours(1));
}

bool is_ending_thread() { return std::this_thread::get_id() == g_ending_thread; }

}  // namespace

Call::Call() {
  if (t_calls++ > 0) return;
  t_counts = may_enter();
  if (t_counts || is_ending_thread()) return;
  PyEval_SaveThread();
  stop_for_good();
}

Call::~Call() {
  if (--t_calls > 0) return;
  if (std::exchange(t_counts, false)) g_inside.fetch_sub(1);
}

Released::Released() : state_(PyEval_SaveThread()) {
  if (t_counts) g_inside.fetch_sub(1);
}

Released::~Released() {
  const bool counted = may_enter();
  if (!counted && !is_ending_thread()) stop_for_good();
  PyEval_RestoreThread(state_);
  if (counted && !t_counts) g_inside.fetch_sub(1);
}

Entered::Entered() {
  if (!may_enter()) {
    // The thread that ends the interpreter drops its objects, some of them in the scope of a Released.
    if (!is_ending_thread() || !Py_IsInitialized()) return;
  } else {
    counted_ = true;
  }
  state_ = PyGILState_Ensure();
  entered_ = true;
}

Entered::~Entered() {
  if (!entered_) return;
  PyGILState_Release(state_);
  if (counted_) g_inside.fetch_sub(1);
}

void leave_interpreter() {
  g_ending_thread = std::this_thread::get_id();
  g_is_ending.store(true);
  PyThreadState* const state = PyEval_SaveThread();
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  while (g_inside.load() > 0 && std::chrono::steady_clock::now() < deadline)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  PyEval_RestoreThread(state);
}

void note_fork() {
  g_forked.store(g_in_use.load());
  g_inside.store(0);  // Those that were inside do not live here.
}

bool is_forked() { return g_forked.load(std::memory_order_relaxed); }

void check_process() {
  g_in_use.store(true, std::memory_order_relaxed);
  if (g_forked.load(std::memory_order_relaxed)) {
    throw Error(
        Code::kFailedPrecondition,
        "this process was forked from one that used Tenon's devices, whose threads do not exist here: start workers by "
        "multiprocessing's \"spawn\" or \"forkserver\", or make the first Core after the fork");
  }
}

void Held::reset() noexcept {
  if (!object_) return;
  const Entered entered;
  if (entered) Py_DECREF(object_);
  object_ = nullptr;
}

}  // namespace tenon::python
