// SPDX-License-Identifier: Apache-2.0
// Executes submissions. Every queue and every immediate list has a thread that starts them in order. While that thread
// is busy, others start later submissions beside it, if the queue promises no order. A caller that waits for a list
// known to be short runs it itself if no thread has begun. An idle thread ends after a while and the next submission
// starts another, so forgotten queues leave no threads.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string_view>
#include <thread>
#include <vector>

#include <tenon/drivers/npu/instrument/rules.hpp>
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
  /// Time for which computing may continue after its queue was destroyed.
  static constexpr std::uint64_t kStopGraceNs = 2'000'000'000;

  struct Settings {
    Priority priority = Priority::kNormal;
    std::uint64_t spin_ns = 0;  ///< How long the thread spins for more work.
    bool in_order = false;      ///< A submission starts when all earlier ones have ended.
  };
  /// The result of one submission whose caller waits for it.
  struct Outcome {
    ze_result_t result = ZE_RESULT_SUCCESS;
    Futex is_done;  ///< 1: done.
  };
  /// Submitted as a unit: `before`, the lists (taken with CommandList::take) one after the other, then `after`.
  /// A failure skips the rest.
  struct Submission {
    std::unique_ptr<Command> before, after;  ///< May be null.
    std::span<CommandList* const> lists;
    Ref<Fence> fence;  ///< Signalled when all is done; may be null.
    std::uint32_t token = 0;
    Outcome* outcome = nullptr;  ///< If set, the caller must call wait(outcome): a failure is reported only there.
  };

  /// @param context  That of its queue or immediate list.
  Executor(Ref<Context> context, Ref<Device> device, const Settings& settings);
  /// Runs all pending submissions, except that waits for events, and computations longer than kStopGraceNs, end with
  /// ZE_RESULT_ERROR_DEVICE_LOST.
  ~Executor();
  Executor(const Executor&) = delete;
  Executor& operator=(const Executor&) = delete;

  /// Submits everything or nothing. Allocates only for a record number of pending submissions, or for several items.
  /// @return false without memory or threads: nothing was submitted, and the caller keeps the lists.
  bool submit(Submission&& submission);
  /// Runs the next submission in the caller's thread if its lists are known to be short and wait for nothing, and
  /// nothing else runs here or computes on the device; two thread wake-ups cost tens of times the shortest graphs.
  /// Meant for threads that would wait otherwise. @return false if nothing was run.
  bool help() noexcept;
  /// Waits for all earlier submissions. @return ZE_RESULT_NOT_READY if the deadline passed; otherwise the
  ///         first failure that no wait() which ended before this one began has covered and that was not reported
  ///         through its submission's fence.
  ze_result_t wait(Deadline deadline) noexcept;
  /// Waits for that submission. @return its result.
  ze_result_t wait(Outcome& outcome) noexcept;
  /// Waits until no earlier submission uses the memory, or the deadline passes.
  void wait_for_users_of(const Allocation& memory, Deadline deadline = Deadline()) noexcept;
  /// While the lock is held, no submission starts. @return no lock if a running one uses the memory.
  std::unique_lock<std::mutex> hold_without_users_of(const Allocation& memory);
  void set_priority(Priority priority) noexcept { priority_.store(priority, std::memory_order_relaxed); }
  /// The owner shown in the trace: a queue's or an immediate list's handle.
  void set_owner(const void* handle) noexcept { owner_.store(handle, std::memory_order_relaxed); }
  /// Stops waiting for events, like the destructor; computing may continue for a while.
  void stop_waiting() noexcept;
  /// Whether `list`, which is computing, must stop because it was cancelled or its queue was destroyed a while ago.
  bool must_stop(const CommandList* list) const noexcept;

 private:
  /// A submission that waits here or runs.
  struct Work {
    std::unique_ptr<Command> before, after;
    Ref<CommandList> list;  ///< The only list. Several are in `lists`: one list needs no allocation.
    std::vector<Ref<CommandList>> lists;
    Ref<Fence> fence;
    std::uint32_t token = 0;
    Outcome* outcome = nullptr;
    std::uint32_t sequence = 0;
    std::uint32_t lane = 0;   ///< For the trace: concurrent submissions have different lanes.
    bool runs_alone = false;  ///< It contains a barrier, which orders earlier and later work of the queue.
    bool is_short = false;    ///< It has taken little time before.
    bool by_main = false;     ///< The main thread runs it, which never sleeps while there is work.
    std::span<Ref<CommandList>> all_lists() noexcept { return list ? std::span(&list, 1) : std::span(lists); }
    bool uses(const Allocation& memory) const;
  };
  /// The slot of a submission, from its arrival until it and all earlier ones are done.
  struct Slot {
    Work work;                      ///< Holds the submission until it is started.
    const Work* running = nullptr;  ///< Set while it runs; the object is owned by the thread that runs it.
    bool is_done = false;
  };
  /// A failed submission that was not reported yet.
  struct Failure {
    std::uint32_t sequence;
    ze_result_t result;
    Ref<Fence> fence;
    std::uint32_t token;
  };
  /// Origin of a running command: its list, or null for commands outside of lists, and its lane in the trace.
  struct Origin {
    const CommandList* list;
    std::uint32_t lane;
  };
  enum class Runner : std::uint8_t { kMain, kBeside, kCaller };
  struct Helper {
    std::thread thread;
    bool is_live = false;
  };

  bool push(Work&& work);
  void make_room();
  Slot& slot(std::size_t number) noexcept { return ring_[(first_ + number) % ring_.size()]; }
  bool is_short_next() noexcept;  ///< Requires mutex_.
  bool may_start() noexcept;      ///< Requires mutex_.
  void summon_beside() noexcept;  ///< Requires mutex_.
  bool start(Work* work, Runner runner) noexcept;
  void leave_to_waiter() noexcept;
  void look_now_and_then() noexcept;
  void work();
  void work_beside(Helper& self);
  bool rest_beside(Helper& self, std::uint32_t seen) noexcept;
  bool end_when_idle() noexcept;
  bool is_over() noexcept;
  void run(Work& work) noexcept;
  /// @param is_last  Whether the submission does not contain the list again.
  void give_back(Ref<CommandList>& list, bool is_last) noexcept;
  void finish(Work& work, ze_result_t result) noexcept;
  ze_result_t run(Command& command, Origin origin, ze_result_t before) noexcept;
  ze_result_t run(CommandList& list, std::uint32_t lane, ze_result_t before) noexcept;
  /// Fails, waits, hangs or loses the device as planned. @return the failure with which the list then ends.
  ze_result_t suffer(const Effect& planned, const CommandList& list) noexcept;
  /// @return stop_result() if the list had to stop before the time was over.
  ze_result_t pause(const CommandList& list, std::uint64_t duration_ns) noexcept;
  ze_result_t run_timed(CommandList& list, std::uint32_t lane, ze_result_t before) noexcept;
  ze_result_t run_checked(Command& command, const CommandList* list, ze_result_t before) noexcept;
  void trace(std::uint32_t lane, int depth, std::string_view what, std::uint64_t begin_ns, ze_result_t result) noexcept;
  ze_result_t wait_for(const CommandList* list, Event& event) noexcept;
  ze_result_t stop_result(const CommandList* list) const noexcept;
  ze_result_t first_untold(std::uint32_t from, std::uint32_t target) const noexcept;  ///< Requires mutex_.
  void note_failure(const Work& work, ze_result_t result) noexcept;                   ///< Requires mutex_.
  bool is_used(const Allocation& memory, std::uint32_t target) noexcept;

  const Ref<Context> context_;
  const Ref<Device> device_;
  std::atomic<Priority> priority_;
  const std::uint64_t spin_ns_;
  const bool in_order_;
  const bool is_instrumented_;
  std::atomic<const void*> owner_{nullptr};
  std::atomic<std::uint64_t> stop_ns_{0};  ///< When stop_waiting() was called; 0: not yet.
  std::mutex mutex_;
  std::vector<Slot> ring_;
  std::size_t first_ = 0, count_ = 0;  ///< The first slot is that of the oldest submission that is not done.
  std::size_t started_ = 0;            ///< Number of slots, from the first, whose submissions run or are done.
  bool alone_ = false;                 ///< The running submission has a barrier: no other one may start.
  std::uint64_t lanes_ = 0;            ///< Bits of the lanes in use.
  /// Number of the last submission, modulo 2^32. Written with mutex_.
  std::atomic<std::uint32_t> sequence_{0};
  /// All submissions up to this number are done. Written with mutex_.
  std::atomic<std::uint32_t> all_done_{0};
  bool has_thread_ = false;
  bool main_is_long_ = false;  ///< The main thread runs a submission that is not short.
  bool ending_ = false;
  std::size_t resting_ = 0;  ///< Number of sleeping threads, the main one excluded.
  std::vector<Failure> failures_;
  // Read without the mutex, so that waits cost little without failures; written with it.
  std::atomic<std::size_t> failure_count_{0};
  std::atomic<std::uint32_t> told_{0};     ///< The last sequence covered by a finished wait().
  std::atomic<std::uint32_t> waiters_{0};  ///< Number of threads in wait().
  alignas(64) Futex pushed_;               ///< Number of submissions, modulo 2^32; the main thread waits on it.
  alignas(64) std::atomic<std::uint32_t> popped_{0};
  std::atomic<std::uint32_t> helps_{0};
  Futex not_short_;                     ///< Number of submissions not left to waiting callers.
  Futex more_;                          ///< Counts calls for the threads beside the main one.
  Futex done_;                          ///< Number of submissions that are done, in any order, modulo 2^32.
  std::atomic<std::uint32_t> runs_{0};  ///< Counts list runs, roughly.
  std::thread thread_;
  std::vector<Helper> beside_;
};

}  // namespace tenon::npu
