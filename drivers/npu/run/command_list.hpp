// SPDX-License-Identifier: Apache-2.0
// Command lists: commands that were recorded, and the state of the recording.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include <tenon/drivers/npu/objects/device.hpp>
#include <tenon/drivers/npu/objects/sync.hpp>
#include <tenon/drivers/npu/run/graph_object.hpp>

namespace tenon::npu {

class Executor;

/// One command: what it waits for, what it does, what it signals.
class Command {
 public:
  virtual ~Command() = default;
  /// In the thread of the queue. Never throws. @return kStopped: `stop` ended it.
  virtual ze_result_t run(Device& device, StopCheck stop) noexcept = 0;
  /// Whether it reads or writes this memory. While it is submitted, from any thread.
  virtual bool uses(const Allocation&) const noexcept { return false; }
  /// For the trace.
  virtual const char* name() const noexcept = 0;
  /// Null for all but executions of graphs.
  virtual GraphRun* graph_run() noexcept { return nullptr; }

  std::vector<Ref<Event>> waits;
  Ref<Event> signal;
  std::uint32_t mutable_flags = 0;  ///< abi::MutableCommandFlag bits that may change.
};

/// Waits and signals only: commands run one after the other, and what submits and signals them orders memory.
class Barrier final : public Command {
 public:
  ze_result_t run(Device&, StopCheck) noexcept override { return ZE_RESULT_SUCCESS; }
  const char* name() const noexcept override { return "barrier"; }
};

/// Events of a call's arguments. @errors as acquire(); ZE_RESULT_ERROR_INVALID_SYNCHRONIZATION_OBJECT: a count without
/// events.
ze_result_t acquire_events(ze_event_handle_t signal, std::uint32_t wait_count, const ze_event_handle_t* waits,
                           Command* command);

/// Gives the result back; where it is a failure of what was to signal the event, nobody waits for that in vain any more
/// (Event::refuse). @param signal  any value that a client gave.
ze_result_t or_refuse(ze_event_handle_t signal, ze_result_t result) noexcept;

/// @thread any; calls that change it exclude each other, and a running list.
class CommandList final : public Object {
 public:
  using Handle = ze_command_list_handle_t;
  static constexpr Kind kKind = Kind::kList;

  CommandList(Ref<Context> context, Ref<Device> device, ze_command_list_flags_t flags, bool is_mutable);
  /// An immediate one, which runs commands as they come.
  CommandList(Ref<Context> context, Ref<Device> device, const ze_command_queue_desc_t& queue,
              std::shared_ptr<Executor> executor);
  ~CommandList() override;

  ze_command_list_handle_t handle() const noexcept { return static_cast<ze_command_list_handle_t>(Object::handle()); }
  Context& context() const noexcept { return *context_; }
  Device& device() const noexcept { return *device_; }
  ze_command_list_flags_t flags() const noexcept { return flags_; }
  /// Null for lists that are recorded.
  Executor* executor() const noexcept { return executor_.get(); }
  std::uint32_t queue_index() const noexcept { return queue_index_; }
  bool is_synchronous() const noexcept { return is_synchronous_; }

  ze_result_t append(std::unique_ptr<Command> command);
  /// Closing a closed list changes nothing, and neither does closing or resetting an immediate one.
  ze_result_t close() noexcept;
  ze_result_t reset() noexcept;
  /// Ends the submission that it is part of, if there is one: what computes stops, what waits for an event waits no
  /// more, the rest does not run, and whatever would have been signalled is, with ZE_RESULT_ERROR_NOT_AVAILABLE.
  void cancel() noexcept;
  bool is_cancelled() const noexcept { return cancelled_.load(std::memory_order_relaxed); }
  /// Somebody did not want to wait for it: how long it took the last time does not say how long it will take.
  bool may_run_long() const noexcept { return may_run_long_.load(std::memory_order_relaxed); }
  ze_result_t next_command_id(std::uint32_t flags, std::uint64_t* id);
  /// Calls `change(command)` on the command with this id, which must have been announced with one of `flags`.
  template <class Change>
  ze_result_t change(std::uint64_t id, std::uint32_t flags, Change change) {
    if (const ze_result_t result = begin_change()) return result;
    Command* command = mutable_command(id, flags);
    const ze_result_t result = command ? change(*command) : ZE_RESULT_ERROR_INVALID_ARGUMENT;
    end_change();
    return result;
  }

  /// Takes a closed list for one submission. @return false when it is not closed, or taken.
  bool take() noexcept;
  void give_back() noexcept { state_.store(State::kClosed, std::memory_order_release); }
  /// After take(): the state that made it fail, as an error.
  ze_result_t why_not_taken() const noexcept;
  std::span<const std::unique_ptr<Command>> commands() const noexcept { return commands_; }
  /// How long the last run took; for ever, before the first one since the list was recorded. @thread of a taken list.
  std::uint64_t last_run_ns() const noexcept { return last_run_ns_; }
  void note_run_ns(std::uint64_t duration_ns) noexcept { last_run_ns_ = duration_ns; }

 private:
  enum class State : std::uint8_t { kRecording, kClosed, kInFlight, kChanging };
  ze_result_t begin_change() noexcept;
  void end_change() noexcept { state_.store(before_change_, std::memory_order_release); }
  Command* mutable_command(std::uint64_t id, std::uint32_t flags) noexcept;

  const Ref<Context> context_;
  const Ref<Device> device_;
  const ze_command_list_flags_t flags_;
  const bool is_mutable_;
  const std::uint32_t queue_index_ = 0;
  const bool is_synchronous_ = false;
  std::atomic<State> state_{State::kRecording};
  std::atomic<bool> cancelled_{false};  ///< Of the submission that it is in, or was last.
  std::atomic<bool> may_run_long_{false};
  State before_change_ = State::kRecording;
  std::vector<std::unique_ptr<Command>> commands_;
  std::vector<std::size_t> announced_;  ///< By id - 1: the command's index.
  bool is_announced_ = false;           ///< The next command has the last id.
  std::uint32_t announced_flags_ = 0;
  std::uint64_t last_run_ns_ = UINT64_MAX;
  std::shared_ptr<Executor> executor_;
};

/// What the graph extension's table calls: graph_table.cpp looks the graph and the query up, everything else is done
/// here.
ze_result_t append_graph_initialize(ze_command_list_handle_t list, std::shared_ptr<GraphObject> graph,
                                    ze_event_handle_t signal, std::uint32_t wait_count,
                                    ze_event_handle_t* waits) noexcept;
/// @param query  may be null.
ze_result_t append_graph_execute(ze_command_list_handle_t list, std::shared_ptr<GraphObject> graph,
                                 std::shared_ptr<ProfilingQuery> query, ze_event_handle_t signal,
                                 std::uint32_t wait_count, ze_event_handle_t* waits) noexcept;

}  // namespace tenon::npu
