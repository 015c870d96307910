// SPDX-License-Identifier: Apache-2.0
// Executes submissions. Every queue and every immediate list has one thread that takes them in order. A caller that
// waits for a list known to be short runs it itself if the thread has not begun. An idle thread ends after a while and
// the next submission starts another, so forgotten queues leave no threads.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <thread>
#include <vector>

#include <tenon/drivers/npu/instrument/trace.hpp>
#include <tenon/drivers/npu/objects/device.hpp>
#include <tenon/drivers/npu/objects/memory.hpp>
#include <tenon/drivers/npu/objects/object.hpp>
#include <tenon/drivers/npu/objects/sync.hpp>
#include <tenon/drivers/npu/objects/tile_scheduler.hpp>
#include <tenon/drivers/npu/objects/wait.hpp>
#include <tenon/drivers/npu/run/command_list.hpp>

namespace tenon::npu {

/// @thread all members from any thread.
class Executor {
 public:
  /// How long computing may go on after its queue is destroyed.
  static constexpr std::uint64_t kStopGraceNs = 2'000'000'000;

  /// The result of one submission whose caller waits for it.
  struct Outcome {
    std::uint32_t sequence = 0;
    ze_result_t result = ZE_RESULT_SUCCESS;
  };
  /// Submitted as a unit: `before`, the lists (taken with CommandList::take), then `after`.
  /// A failure skips the rest.
  struct Submission {
    std::unique_ptr<Command> before, after;  ///< May be null.
    std::span<CommandList* const> lists;
    Ref<Fence> fence;  ///< Signalled when all is done; may be null.
    std::uint32_t token = 0;
    Outcome* outcome = nullptr;  ///< If set, the caller must call wait(outcome): a failure is reported only there.
  };

  Executor(Ref<Device> device, Priority priority, std::uint64_t spin_ns);
  /// Runs what was submitted, except that waits for events end with ZE_RESULT_ERROR_DEVICE_LOST, and so does computing
  /// that lasts longer than kStopGraceNs.
  ~Executor();
  Executor(const Executor&) = delete;
  Executor& operator=(const Executor&) = delete;

  /// Submits everything or nothing. Allocates only for a record number of pending submissions, or for several items.
  /// @return false without memory or threads: nothing was submitted, and the caller keeps the lists.
  bool submit(Submission&& submission);
  /// Runs the next item in the caller's thread if it is a list that is known to be short and waits for nothing, and
  /// nothing else computes on the device; two thread wake-ups cost tens of times the shortest graphs. For threads that
  /// would wait anyway. @return false if nothing was run.
  bool help() noexcept;
  /// Waits for all earlier submissions. @return ZE_RESULT_NOT_READY if the deadline passed; otherwise the
  ///         first failure that no wait() which ended before this one began has covered and that was not reported
  ///         through its submission's fence.
  ze_result_t wait(Deadline deadline) noexcept;
  /// Waits for that submission. @return its result.
  ze_result_t wait(const Outcome& outcome) noexcept;
  /// Waits until no earlier submission uses the memory.
  void wait_for_users_of(const Allocation& memory) noexcept;
  void set_priority(Priority priority) noexcept { priority_.store(priority, std::memory_order_relaxed); }
  /// The owner shown in the trace: a queue's or an immediate list's handle.
  void set_owner(const void* handle) noexcept { owner_.store(handle, std::memory_order_relaxed); }
  /// Stops waiting for events, as the destructor does; computing may go on for a while.
  void stop_waiting() noexcept;
  /// Whether the computing `list` must stop: it was cancelled, or its queue was destroyed a while ago.
  bool must_stop(const CommandList* list) const noexcept;

 private:
  struct Item {
    Ref<CommandList> list;  ///< Null: run `command`, if any.
    std::unique_ptr<Command> command;
    Ref<Fence> fence;  ///< Only with the last item of a submission.
    std::uint32_t token = 0;
    Outcome* outcome = nullptr;
    bool is_first = true;  ///< First of its submission: resets the result.
    bool is_last = true;   ///< Last of its submission.
    bool is_end = false;   ///< Tells the thread to end.
    std::uint32_t sequence = 0;
    bool uses(const Allocation& memory) const;
  };
  /// A failed submission that was not reported yet.
  struct Failure {
    std::uint32_t sequence;
    ze_result_t result;
    Ref<Fence> fence;
    std::uint32_t token;
  };

  bool push(std::span<Item> items);
  bool make_room(std::size_t count);
  bool is_short_next() noexcept;  ///< Requires mutex_.
  bool pop(Item* item) noexcept;
  void leave_to_waiter() noexcept;
  void look_now_and_then() noexcept;
  void work();
  bool end_when_idle() noexcept;
  void run(Item& item) noexcept;
  ze_result_t run(const CommandList* list, std::span<const std::unique_ptr<Command>> commands) noexcept;
  ze_result_t run(const CommandList* list, Command& command, ze_result_t before) noexcept;
  ze_result_t run_traced(Trace& trace, const CommandList* list, Command& command, ze_result_t before) noexcept;
  void run_instrumented(Item& item) noexcept;
  void run_commands(Item& item) noexcept;
  ze_result_t wait_for(const CommandList* list, Event& event) noexcept;
  ze_result_t stop_result(const CommandList* list) const noexcept;
  ze_result_t first_untold(std::uint32_t from, std::uint32_t target) const noexcept;  ///< Requires mutex_.
  void note_failure(const Item& item) noexcept;  ///< Records submission_ as the result.
  void let_go() noexcept;                        ///< Clears running_, before the list is given back.

  const Ref<Device> device_;
  std::atomic<Priority> priority_;
  const std::uint64_t spin_ns_;
  const bool is_instrumented_;
  std::atomic<const void*> owner_{nullptr};
  std::atomic<std::uint64_t> stop_ns_{0};  ///< When stop_waiting() was called; 0: not yet.
  std::mutex turn_;  ///< Held while running items. Locked before mutex_: an item stays in the ring until its turn.
  std::mutex mutex_;
  std::vector<Item> ring_;
  std::size_t first_ = 0, count_ = 0;
  /// Number of the last item pushed, modulo 2^32; it is done when done_ reaches that. Written with mutex_.
  std::atomic<std::uint32_t> sequence_{0};
  bool has_thread_ = false;
  std::vector<Failure> failures_;
  // Read without the mutex, so that waits cost little without failures; written with it.
  std::atomic<std::size_t> failure_count_{0};
  std::atomic<std::uint32_t> told_{0};     ///< The last sequence covered by a finished wait().
  std::atomic<std::uint32_t> waiters_{0};  ///< Number of threads in wait().
  // Observers that look at the running item without owning it; the runner releases it only when there is none.
  std::atomic<const Item*> running_{nullptr};
  std::atomic<std::uint32_t> lookers_{0};
  alignas(64) WaitWord pushed_;  ///< Number of items, modulo 2^32; the thread waits on it.
  alignas(64) std::atomic<std::uint32_t> popped_{0};
  std::atomic<std::uint32_t> helps_{0};
  WaitWord not_short_;  ///< Number of submissions not left to waiting callers.
  WaitWord done_;
  ze_result_t submission_ = ZE_RESULT_SUCCESS;  ///< Result so far of the running submission.
  std::uint32_t runs_ = 0;                      ///< Counts list runs; guarded by turn_.
  std::thread thread_;
};

}  // namespace tenon::npu
