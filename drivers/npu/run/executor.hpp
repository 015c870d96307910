// SPDX-License-Identifier: Apache-2.0
// What runs submissions: one thread that takes them in order. Every queue and every immediate list has one. Who waits
// for a list that is known to be short runs it meanwhile, if the thread has not begun it. A thread that had nothing to
// do for a while ends, and the next submission starts another: clients that forget their queues leave no threads.
#pragma once

#include <memory>
#include <mutex>
#include <span>
#include <thread>
#include <vector>

#include <tenon/drivers/npu/instrument/trace.hpp>
#include <tenon/drivers/npu/run/command_list.hpp>

namespace tenon::npu {

/// @thread all members from any thread.
class Executor {
 public:
  /// How long what computes may go on after its queue went.
  static constexpr std::uint64_t kStopGraceNs = 2'000'000'000;

  /// Of one submission whose caller waits for it.
  struct Outcome {
    std::uint32_t sequence = 0;
    ze_result_t result = ZE_RESULT_SUCCESS;
  };
  /// What is submitted at once: `before`, the lists (taken: CommandList::take), `after`, in this order. What follows a
  /// failure does not run.
  struct Submission {
    std::unique_ptr<Command> before, after;  ///< May be null.
    std::span<CommandList* const> lists;
    Ref<Fence> fence;  ///< Signalled when all is done; may be null.
    std::uint32_t token = 0;
    Outcome* outcome = nullptr;  ///< Whoever gives one calls wait(outcome): nobody else hears of a failure then.
  };

  Executor(Ref<Device> device, Priority priority, std::uint64_t spin_ns);
  /// Runs what was submitted, but waits for no event any more: what waits for one ends with
  /// ZE_RESULT_ERROR_DEVICE_LOST, and so does what still computes after kStopGraceNs.
  ~Executor();
  Executor(const Executor&) = delete;
  Executor& operator=(const Executor&) = delete;

  /// All of it or nothing. Allocates only when more submissions wait than ever before, or for more than one item.
  /// @return false when there is no memory or no thread: nothing was submitted, and the lists are still the caller's.
  bool submit(Submission&& submission);
  /// Runs what is next in the caller's thread, when that is a list that is known to be short and waits for nothing, and
  /// nothing else computes on the device: waking another thread and being woken costs tens of times what the shortest
  /// graphs take. For threads that wait anyway. @return false when nothing was run.
  bool help() noexcept;
  /// Until what was submitted before is done. @return ZE_RESULT_NOT_READY when the deadline passed, otherwise the first
  ///         failure among the submissions that no call which ended before this one began has covered, and whose fence
  ///         has told it to nobody yet.
  ze_result_t wait(Deadline deadline) noexcept;
  /// Until that submission is done. @return what became of it.
  ze_result_t wait(const Outcome& outcome) noexcept;
  /// Until nothing that was submitted before uses the memory any more.
  void wait_for_users_of(const Allocation& memory) noexcept;
  void set_priority(Priority priority) noexcept { priority_.store(priority, std::memory_order_relaxed); }
  /// Whose it is, for the trace: a queue's or an immediate list's handle.
  void set_owner(const void* handle) noexcept { owner_.store(handle, std::memory_order_relaxed); }
  /// Ends waiting for events, as the destructor does; what computes has some time left.
  void stop_waiting() noexcept;
  /// Whether `list`, which is computing, is to stop: it was cancelled, or the queue went a while ago.
  bool must_stop(const CommandList* list) const noexcept;

 private:
  struct Item {
    Ref<CommandList> list;  ///< Null: `command`, or nothing.
    std::unique_ptr<Command> command;
    Ref<Fence> fence;  ///< With the last item of a submission.
    std::uint32_t token = 0;
    Outcome* outcome = nullptr;
    bool is_first = true;  ///< A failure before it is another submission's.
    bool is_last = true;   ///< Of its submission.
    bool is_end = false;   ///< The thread leaves.
    std::uint32_t sequence = 0;
    bool uses(const Allocation& memory) const;
  };
  /// A submission that failed, and nobody was told yet.
  struct Failure {
    std::uint32_t sequence;
    ze_result_t result;
    Ref<Fence> fence;
    std::uint32_t token;
  };

  bool push(std::span<Item> items);
  bool make_room(std::size_t count);
  bool is_short_next() noexcept;  ///< With mutex_ held.
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
  ze_result_t first_untold(std::uint32_t from, std::uint32_t target) const noexcept;  ///< With mutex_ held.
  void note_failure(const Item& item) noexcept;  ///< Of its submission, submission_.
  void let_go() noexcept;                        ///< Of the running item, before its list is given back.

  const Ref<Device> device_;
  std::atomic<Priority> priority_;
  const std::uint64_t spin_ns_;
  const bool is_instrumented_;
  std::atomic<const void*> owner_{nullptr};
  std::atomic<std::uint64_t> stop_ns_{0};  ///< When stop_waiting() was called; 0: not yet.
  std::mutex turn_;  ///< Of whoever runs items; taken before mutex_, so that an item is in the ring until its turn.
  std::mutex mutex_;
  std::vector<Item> ring_;
  std::size_t first_ = 0, count_ = 0;
  /// Of the last item that was pushed, modulo 2^32: done_ when it is done. Written with mutex_.
  std::atomic<std::uint32_t> sequence_{0};
  bool has_thread_ = false;
  std::vector<Failure> failures_;
  // What failures cost is paid where there are some: these are read without the mutex, and written with it.
  std::atomic<std::size_t> failure_count_{0};
  std::atomic<std::uint32_t> told_{0};     ///< The last sequence that a wait() which has ended covered.
  std::atomic<std::uint32_t> waiters_{0};  ///< In wait().
  // Who looks at the running item without having it: the runner lets go of it only when nobody does.
  std::atomic<const Item*> running_{nullptr};
  std::atomic<std::uint32_t> lookers_{0};
  alignas(64) WaitWord pushed_;  ///< Items, modulo 2^32; what the thread looks at.
  alignas(64) std::atomic<std::uint32_t> popped_{0};
  std::atomic<std::uint32_t> helps_{0};
  WaitWord not_short_;  ///< Submissions that are not left to who waits for them.
  WaitWord done_;
  ze_result_t submission_ = ZE_RESULT_SUCCESS;  ///< What the submission that runs came to so far.
  std::uint32_t runs_ = 0;                      ///< Of lists; in turns.
  std::thread thread_;
};

}  // namespace tenon::npu
