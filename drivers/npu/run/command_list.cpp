// SPDX-License-Identifier: Apache-2.0
// The state of a command list: one atomic word decides which thread may access its commands.
#include <utility>

#include <tenon/drivers/npu/objects/result.hpp>
#include <tenon/drivers/npu/run/command_list.hpp>
#include <tenon/drivers/npu/run/executor.hpp>

namespace tenon::npu {
namespace {

/// What a recorded command counts for in its context's memory, where hardware's driver counts its command buffers.
constexpr std::size_t kCommandBytes = 64;

}  // namespace

ze_result_t acquire_events(ze_event_handle_t signal, std::uint32_t wait_count, const ze_event_handle_t* waits,
                           Command* command) {
  if (signal) {
    if (const ze_result_t result = acquire(signal, &command->signal)) return result;
  }
  if (wait_count != 0 && !waits)
    return fail(ZE_RESULT_ERROR_INVALID_SYNCHRONIZATION_OBJECT, "a count of events to wait for, but no events");
  command->waits.clear();
  for (std::uint32_t i = 0; i < wait_count; ++i) {
    Ref<Event> event;
    if (const ze_result_t result = acquire(waits[i], &event)) return result;
    command->waits.push_back(std::move(event));
  }
  return ZE_RESULT_SUCCESS;
}

ze_result_t or_refuse(ze_event_handle_t signal, ze_result_t result) noexcept {
  if (result == ZE_RESULT_SUCCESS || !signal) return result;
  Object* event = nullptr;
  if (acquire_object(signal, Kind::kEvent, &event) != ZE_RESULT_SUCCESS) return result;
  Ref<Event>::adopt(static_cast<Event*>(event))->refuse(result);
  return result;
}

CommandList::CommandList(Ref<Context> context, Ref<Device> device, ze_command_list_flags_t flags, bool is_mutable)
    : context_(std::move(context)), device_(std::move(device)), flags_(flags), is_mutable_(is_mutable) {}

CommandList::CommandList(Ref<Context> context, Ref<Device> device, const ze_command_queue_desc_t& queue,
                         std::shared_ptr<Executor> executor)
    : context_(std::move(context)),
      device_(std::move(device)),
      flags_(0),
      is_mutable_(false),
      queue_index_(queue.index),
      is_synchronous_(queue.mode == ZE_COMMAND_QUEUE_MODE_SYNCHRONOUS),
      executor_(std::move(executor)) {}

CommandList::~CommandList() { account(0); }

void CommandList::account(std::size_t bytes) noexcept {
  context_->memory()->remove(std::exchange(accounted_, bytes));
  context_->memory()->add(bytes);
}

ze_result_t CommandList::append(std::unique_ptr<Command> command) {
  if (executor_) {
    Executor::Outcome outcome;
    Executor::Submission submission;
    submission.before = std::move(command);
    if (is_synchronous_) submission.outcome = &outcome;
    if (!executor_->submit(std::move(submission))) return ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;
    return is_synchronous_ ? executor_->wait(outcome) : ZE_RESULT_SUCCESS;
  }
  if (const ze_result_t result = begin_change()) return result;
  ze_result_t result = ZE_RESULT_SUCCESS;
  if (before_change_ == State::kClosed) {
    result = fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, "the command list is closed: reset it to record another");
  } else {
    if (is_announced_) {
      command->mutable_flags = announced_flags_;
      announced_.back() = commands_.size();
      is_announced_ = false;
    }
    try {
      const bool depends = command->rounds_depend_on_data(), is_barrier = command->is_barrier();
      commands_.push_back(std::move(command));
      rounds_depend_on_data_ |= depends;
      has_barrier_ |= is_barrier;
    } catch (...) {
      result = ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;
    }
  }
  end_change();
  return result;
}

ze_result_t CommandList::begin_change() noexcept {
  State state = state_.load(std::memory_order_acquire);
  do {
    if (state == State::kInFlight)
      return fail(ZE_RESULT_ERROR_HANDLE_OBJECT_IN_USE, "the command list is being executed");
    if (state == State::kChanging)
      return fail(ZE_RESULT_ERROR_HANDLE_OBJECT_IN_USE, "another thread is changing the command list");
  } while (!state_.compare_exchange_weak(state, State::kChanging, std::memory_order_acq_rel));
  before_change_ = state;
  return ZE_RESULT_SUCCESS;
}

ze_result_t CommandList::close() noexcept {
  if (executor_) return fail(ZE_RESULT_ERROR_UNINITIALIZED, "an immediate command list is never closed");
  if (const ze_result_t result = begin_change()) return result;
  before_change_ = State::kClosed;
  account(commands_.size() * kCommandBytes);
  end_change();
  return ZE_RESULT_SUCCESS;
}

ze_result_t CommandList::reset() noexcept {
  if (executor_) return ZE_RESULT_SUCCESS;
  if (const ze_result_t result = begin_change()) return result;
  commands_.clear();
  account(0);
  announced_.clear();
  is_announced_ = false;
  last_run_ns_ = UINT64_MAX;
  rounds_depend_on_data_ = false;
  has_barrier_ = false;
  before_change_ = State::kRecording;
  end_change();
  return ZE_RESULT_SUCCESS;
}

ze_result_t CommandList::next_command_id(std::uint32_t flags, std::uint64_t* id) {
  if (executor_ || !is_mutable_)
    return fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, "the command list was not created as a mutable one");
  if (const ze_result_t result = begin_change()) return result;
  ze_result_t result = ZE_RESULT_SUCCESS;
  if (before_change_ == State::kClosed) {
    result = fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, "the command list is closed");
  } else {
    // Called twice before a command was appended: the second call replaces the first.
    try {
      if (!is_announced_) announced_.push_back(SIZE_MAX);
      is_announced_ = true;
      announced_flags_ = flags;
      *id = announced_.size();
    } catch (...) {
      result = ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;
    }
  }
  end_change();
  return result;
}

Command* CommandList::mutable_command(std::uint64_t id, std::uint32_t flags) noexcept {
  if (id == 0 || id > announced_.size() || announced_[id - 1] >= commands_.size()) {
    fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, "no command of this list has that id");
    return nullptr;
  }
  Command* command = commands_[announced_[id - 1]].get();
  if (!(command->mutable_flags & flags)) {
    fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, "the command's id was not requested with the flag of this change");
    return nullptr;
  }
  return command;
}

bool CommandList::take() noexcept {
  if (executor_) return false;
  State expected = State::kClosed;
  if (!state_.compare_exchange_strong(expected, State::kInFlight, std::memory_order_acq_rel)) return false;
  cancelled_.store(false, std::memory_order_relaxed);
  return true;
}

void CommandList::cancel() noexcept {
  if (state_.load(std::memory_order_acquire) != State::kInFlight) return;
  cancelled_.store(true, std::memory_order_relaxed);
}

ze_result_t CommandList::why_not_taken() const noexcept {
  if (executor_) return fail(ZE_RESULT_ERROR_UNINITIALIZED, "an immediate command list cannot be submitted");
  if (state_.load(std::memory_order_acquire) == State::kRecording)
    return fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, "the command list is not closed");
  return fail(ZE_RESULT_ERROR_HANDLE_OBJECT_IN_USE, "the command list is being executed or changed");
}

}  // namespace tenon::npu
