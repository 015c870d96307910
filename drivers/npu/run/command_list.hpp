// SPDX-License-Identifier: Apache-2.0
// Command lists: the recorded commands and the list's state.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include <tenon/drivers/npu/objects/device.hpp>
#include <tenon/drivers/npu/objects/object.hpp>
#include <tenon/drivers/npu/objects/sync.hpp>
#include <tenon/drivers/npu/run/graph_object.hpp>

namespace tenon::npu {

class Executor;

/// A command: the events it waits for, its work, and the event it signals.
class Command {
 public:
  virtual ~Command() = default;
  /// Runs in the queue's thread. Never throws. @return kStopped if `stop` ended it.
  virtual ze_result_t run(Device& device, StopCheck stop) noexcept = 0;
  /// Whether the command reads or writes this memory. Called from any thread while the command is submitted.
  virtual bool uses(const Allocation&) const noexcept { return false; }
  /// Whether the run time depends on values, without a bound: the time of one run then does not predict the next.
  virtual bool rounds_depend_on_data() const noexcept { return false; }
  /// Whether the command may wait for other devices, because it uses dma-bufs.
  virtual bool may_wait() const noexcept { return false; }
  /// Whether the command is a barrier between earlier and later work of the queue.
  virtual bool is_barrier() const noexcept { return false; }
  /// What a run reads or writes, for metrics.
  virtual std::uint64_t moved_bytes() const noexcept { return 0; }
  /// For the trace.
  virtual const char* name() const noexcept = 0;
  /// The graph execution behind it; null for other commands.
  virtual GraphRun* graph_run() noexcept { return nullptr; }

  std::vector<Ref<Event>> waits;
  Ref<Event> signal;
  std::uint32_t mutable_flags = 0;  ///< abi::MutableCommandFlag bits: the permitted changes.
};

/// Only waits and signals: a list's commands run in sequence, and submitting and signalling order memory.
class Nothing final : public Command {
 public:
  /// @param name  Never freed.
  explicit Nothing(const char* name) : name_(name) {}
  ze_result_t run(Device&, StopCheck) noexcept override { return ZE_RESULT_SUCCESS; }
  const char* name() const noexcept override { return name_; }

 private:
  const char* const name_;
};

/// Work submitted to the queue earlier ends before the barrier, and work submitted later begins after it.
class Barrier final : public Command {
 public:
  ze_result_t run(Device&, StopCheck) noexcept override { return ZE_RESULT_SUCCESS; }
  bool is_barrier() const noexcept override { return true; }
  const char* name() const noexcept override { return "barrier"; }
};

/// Acquires the events of a call's arguments. @errors as acquire();
/// ZE_RESULT_ERROR_INVALID_SYNCHRONIZATION_OBJECT: a count without events.
ze_result_t acquire_events(ze_event_handle_t signal, std::uint32_t wait_count, const ze_event_handle_t* waits,
                           Command* command);

/// Returns `result`. If it is a failure, passes it to the event, which would never be signalled (Event::refuse). @param
/// signal  unchecked value from the client.
ze_result_t or_refuse(ze_event_handle_t signal, ze_result_t result) noexcept;

/// @thread any; changes exclude each other and execution.
class CommandList final : public Object {
 public:
  using Handle = ze_command_list_handle_t;
  static constexpr Kind kKind = Kind::kList;

  CommandList(Ref<Context> context, Ref<Device> device, ze_command_list_flags_t flags, bool is_mutable);
  /// Creates an immediate list, which runs commands as they come.
  CommandList(Ref<Context> context, Ref<Device> device, const ze_command_queue_desc_t& queue,
              std::shared_ptr<Executor> executor);
  ~CommandList() override;

  ze_command_list_handle_t handle() const noexcept { return static_cast<ze_command_list_handle_t>(Object::handle()); }
  Context& context() const noexcept { return *context_; }
  Device& device() const noexcept { return *device_; }
  ze_command_list_flags_t flags() const noexcept { return flags_; }
  /// Null unless the list is immediate.
  Executor* executor() const noexcept { return executor_.get(); }
  std::uint32_t queue_index() const noexcept { return queue_index_; }
  bool is_synchronous() const noexcept { return is_synchronous_; }

  ze_result_t append(std::unique_ptr<Command> command);
  /// Closes the list. No effect on a closed list. @errors ZE_RESULT_ERROR_UNINITIALIZED: an immediate list, as from hardware's
  /// driver. Resetting an immediate list has no effect.
  ze_result_t close() noexcept;
  ze_result_t reset() noexcept;
  /// Ends the submission that contains the list, if any: computing and waiting stop, the rest does not run, and
  /// everything that it would have signalled is signalled with ZE_RESULT_ERROR_NOT_AVAILABLE.
  void cancel() noexcept;
  bool is_cancelled() const noexcept { return cancelled_.load(std::memory_order_relaxed); }
  /// Whether this holds for any of its commands: the last run time does not predict the next. @thread of a taken list.
  bool rounds_depend_on_data() const noexcept { return rounds_depend_on_data_; }
  /// Whether any of its commands is a barrier. @thread of a taken list.
  bool has_barrier() const noexcept { return has_barrier_; }
  ze_result_t next_command_id(std::uint32_t flags, std::uint64_t* id);
  /// Calls `change(command)` on the command with this id, which must be announced with one of `flags`.
  template <class Change>
  ze_result_t change(std::uint64_t id, std::uint32_t flags, Change change) {
    if (const ze_result_t result = begin_change()) return result;
    Command* command = mutable_command(id, flags);
    const ze_result_t result = command ? change(*command) : ZE_RESULT_ERROR_INVALID_ARGUMENT;
    end_change();
    return result;
  }

  /// Takes a closed list for one submission. @return false if it is not closed or already taken.
  bool take() noexcept;
  void give_back() noexcept { state_.store(State::kClosed, std::memory_order_release); }
  /// The error for a failed take(), from the list's current state.
  ze_result_t why_not_taken() const noexcept;
  std::span<const std::unique_ptr<Command>> commands() const noexcept { return commands_; }
  /// Duration of the last run; UINT64_MAX before the first since recording. @thread while the list is taken.
  std::uint64_t last_run_ns() const noexcept { return last_run_ns_; }
  void note_run_ns(std::uint64_t duration_ns) noexcept { last_run_ns_ = duration_ns; }

 private:
  enum class State : std::uint8_t { kRecording, kClosed, kInFlight, kChanging };
  ze_result_t begin_change() noexcept;
  void account(std::size_t bytes) noexcept;
  void end_change() noexcept { state_.store(before_change_, std::memory_order_release); }
  Command* mutable_command(std::uint64_t id, std::uint32_t flags) noexcept;

  const Ref<Context> context_;
  const Ref<Device> device_;
  const ze_command_list_flags_t flags_;
  const bool is_mutable_;
  const std::uint32_t queue_index_ = 0;
  const bool is_synchronous_ = false;
  std::atomic<State> state_{State::kRecording};
  std::atomic<bool> cancelled_{false};  ///< Whether the current or last submission was cancelled.
  State before_change_ = State::kRecording;
  std::vector<std::unique_ptr<Command>> commands_;
  std::vector<std::size_t> announced_;  ///< Indices of commands, by id - 1.
  bool is_announced_ = false;           ///< The last id is for the next command.
  std::uint32_t announced_flags_ = 0;
  std::uint64_t last_run_ns_ = UINT64_MAX;
  bool rounds_depend_on_data_ = false;
  bool has_barrier_ = false;
  std::size_t accounted_ = 0;  ///< Bytes of the recorded commands, counted in the context's memory.
  std::shared_ptr<Executor> executor_;
};

/// Appends a command that needs no check of its own, with the call's events.
ze_result_t append_command(ze_command_list_handle_t list, std::unique_ptr<Command> command, ze_event_handle_t signal,
                           std::uint32_t wait_count, const ze_event_handle_t* waits) noexcept;

/// Called by the graph extension's table: graph_table.cpp resolves the graph and the query;
/// these do everything else.
ze_result_t append_graph_initialize(ze_command_list_handle_t list, std::shared_ptr<GraphObject> graph,
                                    ze_event_handle_t signal, std::uint32_t wait_count,
                                    ze_event_handle_t* waits) noexcept;
/// @param query  may be null.
ze_result_t append_graph_execute(ze_command_list_handle_t list, std::shared_ptr<GraphObject> graph,
                                 std::shared_ptr<ProfilingQuery> query, ze_event_handle_t signal,
                                 std::uint32_t wait_count, ze_event_handle_t* waits) noexcept;

}  // namespace tenon::npu
