// SPDX-License-Identifier: Apache-2.0
// What runs submissions: one thread that takes them in order. Every queue and every immediate list has one. Who waits
// for a list that is known to be short runs it meanwhile, if the thread has not begun it.
#pragma once

#include <memory>
#include <mutex>
#include <span>
#include <thread>
#include <vector>

#include <tenon/drivers/npu/command_list_internal.hpp>

namespace tenon::npu {

/// @thread all members from any thread.
class Executor {
 public:
  Executor(Ref<Device> device, Priority priority, std::uint64_t spin_ns);
  /// Runs what was submitted, but waits for no event any more: what waits for one ends with
  /// ZE_RESULT_ERROR_DEVICE_LOST.
  ~Executor();
  Executor(const Executor&) = delete;
  Executor& operator=(const Executor&) = delete;

  /// Lists that were taken (CommandList::take), in this order, and what is signalled when the last is done. Allocates
  /// only when more submissions wait than ever before. @return false when there is no memory or no thread: nothing was
  /// submitted.
  bool submit(std::span<CommandList* const> lists, Ref<Fence> fence, std::uint32_t token);
  /// One command of an immediate list.
  bool submit(std::unique_ptr<Command> command);
  /// Runs what is next in the caller's thread, when that is a list that is known to be short and waits for nothing, and
  /// nothing else computes on the device: waking another thread and being woken costs tens of times what the shortest
  /// graphs take. For threads that wait anyway. @return false when nothing was run.
  bool help() noexcept;
  /// Until what was submitted before is done. @return ZE_RESULT_NOT_READY when the deadline passed, otherwise the first
  ///         failure since the last call, if there was one.
  ze_result_t wait(Deadline deadline) noexcept;
  void set_priority(Priority priority) noexcept { priority_.store(priority, std::memory_order_relaxed); }
  /// Ends waiting for events, as the destructor does.
  void stop_waiting() noexcept { stopping_.store(true); }

 private:
  struct Item {
    Ref<CommandList> list;  ///< Null: `command`, or nothing.
    std::unique_ptr<Command> command;
    Ref<Fence> fence;  ///< With the last list of a submission.
    std::uint32_t token = 0;
    bool is_first = true;  ///< A failure before it is another submission's.
    bool is_end = false;   ///< The thread leaves.
  };

  bool push(std::span<Item> items);
  bool make_room(std::size_t count);
  bool is_short_next() noexcept;  ///< With mutex_ held.
  bool pop(Item* item) noexcept;
  void leave_to_waiter() noexcept;
  void look_now_and_then() noexcept;
  void work();
  void run(Item& item) noexcept;
  ze_result_t run(std::span<const std::unique_ptr<Command>> commands) noexcept;
  ze_result_t run(Command& command, ze_result_t before) noexcept;
  ze_result_t wait_for(Event& event) noexcept;

  const Ref<Device> device_;
  std::atomic<Priority> priority_;
  const std::uint64_t spin_ns_;
  std::atomic<bool> stopping_{false};
  std::mutex turn_;  ///< Of whoever runs items; taken before mutex_, so that an item is in the ring until its turn.
  std::mutex mutex_;
  std::vector<Item> ring_;
  std::size_t first_ = 0, count_ = 0;
  alignas(64) WaitWord pushed_;  ///< Items, modulo 2^32; what the thread looks at.
  alignas(64) std::atomic<std::uint32_t> popped_{0};
  std::atomic<std::uint32_t> helps_{0};
  WaitWord not_short_;  ///< Submissions that are not left to who waits for them.
  WaitWord done_;
  std::atomic<ze_result_t> failure_{ZE_RESULT_SUCCESS};
  ze_result_t submission_ = ZE_RESULT_SUCCESS;  ///< What the submission that runs came to so far.
  std::uint32_t runs_ = 0;                      ///< Of lists; in turns.
  std::thread thread_;
};

}  // namespace tenon::npu
