// SPDX-License-Identifier: Apache-2.0
// Command queues, and the lists of one submission.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include <tenon/drivers/npu/objects/device.hpp>
#include <tenon/drivers/npu/objects/object.hpp>
#include <tenon/drivers/npu/objects/result.hpp>
#include <tenon/drivers/npu/objects/tile_scheduler.hpp>
#include <tenon/drivers/npu/run/command_list.hpp>
#include <tenon/drivers/npu/run/executor.hpp>

namespace tenon::npu {

/// Creates an executor registered with the driver, for searches of memory users. @errors std::bad_alloc
std::shared_ptr<Executor> make_executor(Context& context, const Ref<Device>& device,
                                        const Executor::Settings& settings);

/// Changes memory under no running command: those that were submitted start after the change. @return the change's result;
/// ZE_RESULT_ERROR_HANDLE_OBJECT_IN_USE, after fail(): a running command, of any queue, uses the memory. @errors std::bad_alloc
ze_result_t while_unused(const Driver& driver, const Allocation& memory, const std::function<ze_result_t()>& change);
/// The same, but waits for running commands. @return ZE_RESULT_ERROR_HANDLE_OBJECT_IN_USE only after the deadline.
ze_result_t when_unused(const Driver& driver, const Allocation& memory, Deadline deadline,
                        const std::function<ze_result_t()>& change);

class CommandQueue final : public Object {
 public:
  using Handle = ze_command_queue_handle_t;
  static constexpr Kind kKind = Kind::kQueue;

  CommandQueue(Ref<Context> context, const Ref<Device>& device, const ze_command_queue_desc_t& descriptor,
               const Executor::Settings& settings)
      : context_(std::move(context)),
        device_(device),
        index_(descriptor.index),
        is_synchronous_(descriptor.mode == ZE_COMMAND_QUEUE_MODE_SYNCHRONOUS),
        priority_(settings.priority),
        executor_(make_executor(*context_, device, settings)) {}
  ze_command_queue_handle_t handle() const noexcept { return static_cast<ze_command_queue_handle_t>(Object::handle()); }
  const Context& context() const noexcept { return *context_; }
  const Device& device() const noexcept { return *device_; }
  std::uint32_t index() const noexcept { return index_; }
  bool is_synchronous() const noexcept { return is_synchronous_; }
  Priority priority() const noexcept { return priority_; }
  Executor& executor() noexcept { return *executor_; }

 private:
  const Ref<Context> context_;
  const Ref<Device> device_;
  const std::uint32_t index_;
  const bool is_synchronous_;
  const Priority priority_;
  const std::shared_ptr<Executor> executor_;
};

/// The taken lists of a submission; given back unless handed on.
class TakenLists {
 public:
  TakenLists() = default;
  TakenLists(const TakenLists&) = delete;
  TakenLists& operator=(const TakenLists&) = delete;
  ~TakenLists() {
    for (const auto& list : kept_) give_back(list);
    for (const auto& list : many_) give_back(list);
  }
  /// @param context, device  those of the target queue.
  ze_result_t take(std::uint32_t count, const ze_command_list_handle_t* handles, const Context& context,
                   const Device& device) {
    if (count > kFewLists) {
      many_.resize(count);
      pointers_many_.reserve(count);
    }
    for (std::uint32_t i = 0; i < count; ++i) {
      Ref<CommandList> list;
      if (const ze_result_t result = acquire(handles[i], &list)) return result;
      if (&list->context() != &context)
        return fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, "the command list is of another context");
      if (&list->device() != &device)
        return fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, "the command list is of another device");
      // A list may be there several times: it is taken once, and runs as often.
      const bool again = std::find(handles, handles + i, handles[i]) != handles + i;
      if (!again && !list->take()) return list->why_not_taken();
      if (count > kFewLists) {
        pointers_many_.push_back(list.get());
        if (!again) many_[i] = std::move(list);
      } else {
        pointers_[i] = list.get();
        if (!again) kept_[i] = std::move(list);
      }
    }
    count_ = count;
    return ZE_RESULT_SUCCESS;
  }
  std::span<CommandList* const> lists() const {
    return count_ > kFewLists ? std::span<CommandList* const>(pointers_many_) : std::span(pointers_).first(count_);
  }
  void hand_on() noexcept { fd_ownership_ = true; }

 private:
  static constexpr std::size_t kFewLists = 8;
  void give_back(const Ref<CommandList>& list) const noexcept {
    if (list && !fd_ownership_) list->give_back();
  }
  std::array<Ref<CommandList>, kFewLists> kept_;
  std::array<CommandList*, kFewLists> pointers_{};
  std::vector<Ref<CommandList>> many_;
  std::vector<CommandList*> pointers_many_;
  std::size_t count_ = 0;
  bool fd_ownership_ = false;
};

}  // namespace tenon::npu
