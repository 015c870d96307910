// SPDX-License-Identifier: Apache-2.0
// zeCommandQueue*, zeFence* and the command-queue extension.
#include <tenon/drivers/npu/calls/queue_calls.hpp>

namespace tenon::npu {

ze_result_t read_queue_descriptor(const ze_command_queue_desc_t& descriptor, Executor::Settings* settings) {
  if (descriptor.ordinal != 0 || descriptor.index >= kMaxQueues)
    return fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, "there is one group of queues, ordinal 0, with 64 indices");
  constexpr ze_command_queue_flags_t kKnown =
      ZE_COMMAND_QUEUE_FLAG_EXPLICIT_ONLY | abi::kQueueInOrder | abi::kQueueCopyOffloadHint;
  if (descriptor.flags & ~kKnown) return ZE_RESULT_ERROR_INVALID_ENUMERATION;
  if (static_cast<std::uint32_t>(descriptor.mode) > ZE_COMMAND_QUEUE_MODE_ASYNCHRONOUS)
    return ZE_RESULT_ERROR_INVALID_ENUMERATION;
  switch (static_cast<std::uint32_t>(descriptor.priority)) {
    case ZE_COMMAND_QUEUE_PRIORITY_NORMAL:
      settings->priority = Priority::kNormal;
      break;
    case ZE_COMMAND_QUEUE_PRIORITY_PRIORITY_LOW:
      settings->priority = Priority::kLow;
      break;
    case ZE_COMMAND_QUEUE_PRIORITY_PRIORITY_HIGH:
      settings->priority = Priority::kHigh;
      break;
    default:
      return ZE_RESULT_ERROR_INVALID_ENUMERATION;
  }
  settings->in_order = (descriptor.flags & abi::kQueueInOrder) != 0;
  bool turbo = false;
  const ze_result_t result = visit_first(descriptor.pNext, [&](std::uint32_t stype, const abi::ChainLink* link) {
    if (stype == static_cast<std::uint32_t>(abi::CommandQueueNpuStructure::kDescriptor)) {
      turbo = turbo || reinterpret_cast<const abi::CommandQueueNpuDescriptor*>(link)->turbo != 0;
    } else if (stype == static_cast<std::uint32_t>(abi::CommandQueueNpuStructure::kDescriptor2)) {
      const auto options = reinterpret_cast<const abi::CommandQueueNpuDescriptor2*>(link)->options;
      constexpr std::uint32_t kOptions = abi::kCommandQueueTurbo | abi::kCommandQueueDeviceSync;
      if (options & ~kOptions)
        return fail(ZE_RESULT_ERROR_UNSUPPORTED_ENUMERATION, "unknown option of a command queue");
      const bool in_order = (options & abi::kCommandQueueDeviceSync) != 0;
      if (in_order && descriptor.mode == ZE_COMMAND_QUEUE_MODE_SYNCHRONOUS)
        return fail(ZE_RESULT_ERROR_INVALID_ENUMERATION,
                    "a synchronous queue cannot be synchronised by the device too");
      settings->in_order = settings->in_order || in_order;
      turbo = turbo || (options & abi::kCommandQueueTurbo) != 0;
    }
    return ZE_RESULT_SUCCESS;
  });
  // With turbo, the queue's thread stays awake longer for the next submission.
  settings->spin_ns = turbo ? 50 * default_spin_ns() : 2 * default_spin_ns();
  return result;
}

namespace calls {

ze_result_t queue_create(ze_context_handle_t context_handle, ze_device_handle_t device_handle,
                         const ze_command_queue_desc_t* descriptor, ze_command_queue_handle_t* queue) {
  Ref<Context> context;
  Ref<Device> device;
  if (const ze_result_t result = acquire(context_handle, &context)) return result;
  if (const ze_result_t result = acquire(device_handle, &device)) return result;
  if (!descriptor || !queue) return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
  Executor::Settings settings;
  if (const ze_result_t result = read_queue_descriptor(*descriptor, &settings)) return result;
  CommandQueue* made = make_object<CommandQueue>(std::move(context), device, *descriptor, settings);
  if (!made) return ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;
  made->executor().set_owner(made->handle());
  *queue = made->handle();
  return ZE_RESULT_SUCCESS;
}

ze_result_t queue_destroy(ze_command_queue_handle_t handle) {
  Ref<CommandQueue> queue;
  if (const ze_result_t result = acquire(handle, &queue)) return result;
  if (const ze_result_t result = destroy_handle(handle, Kind::kQueue)) return result;
  queue->executor().stop_waiting();  // Another thread may keep it in a call, whose wait must end too.
  return ZE_RESULT_SUCCESS;
}

ze_result_t queue_execute_command_lists(ze_command_queue_handle_t handle, std::uint32_t count,
                                        ze_command_list_handle_t* list_handles, ze_fence_handle_t fence_handle) try {
  Ref<CommandQueue> queue;
  if (const ze_result_t result = acquire(handle, &queue)) return result;
  if (!list_handles) return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
  if (count == 0) return ZE_RESULT_ERROR_INVALID_SIZE;
  Ref<Fence> fence;
  if (fence_handle) {
    if (const ze_result_t result = acquire(fence_handle, &fence)) return result;
    if (fence->queue() != handle)
      return fail(ZE_RESULT_ERROR_INVALID_SYNCHRONIZATION_OBJECT, "the fence was made for another queue");
  }
  TakenLists taken;
  if (const ze_result_t result = taken.take(count, list_handles, queue->context(), queue->device())) return result;
  std::uint32_t token = 0;
  if (fence && !fence->begin(&token))
    return fail(ZE_RESULT_ERROR_HANDLE_OBJECT_IN_USE, "the fence belongs to a submission that is not done");
  Executor::Outcome outcome;
  Executor::Submission submission;
  submission.lists = taken.lists();
  submission.fence = fence;
  submission.token = token;
  if (queue->is_synchronous()) submission.outcome = &outcome;
  if (!queue->executor().submit(std::move(submission))) {
    if (fence) fence->abandon(token);
    return ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;
  }
  taken.hand_on();
  return queue->is_synchronous() ? queue->executor().wait(outcome) : ZE_RESULT_SUCCESS;
} catch (...) {
  return ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;
}

ze_result_t queue_synchronize(ze_command_queue_handle_t handle, std::uint64_t timeout_ns) {
  Ref<CommandQueue> queue;
  if (const ze_result_t result = acquire(handle, &queue)) return result;
  return queue->executor().wait(Deadline::in(timeout_ns));
}

ze_result_t queue_get_ordinal(ze_command_queue_handle_t handle, std::uint32_t* ordinal) {
  Ref<CommandQueue> queue;
  if (const ze_result_t result = acquire(handle, &queue)) return result;
  if (!ordinal) return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
  *ordinal = 0;
  return ZE_RESULT_SUCCESS;
}

ze_result_t queue_get_index(ze_command_queue_handle_t handle, std::uint32_t* index) {
  Ref<CommandQueue> queue;
  if (const ze_result_t result = acquire(handle, &queue)) return result;
  if (!index) return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
  *index = queue->index();
  return ZE_RESULT_SUCCESS;
}

ze_result_t queue_set_workload_type(ze_command_queue_handle_t handle, abi::WorkloadType type) {
  Ref<CommandQueue> queue;
  if (const ze_result_t result = acquire(handle, &queue)) return result;
  if (type != abi::WorkloadType::kDefault && type != abi::WorkloadType::kBackground)
    return fail(ZE_RESULT_ERROR_INVALID_ENUMERATION, "workload types are DEFAULT (0) and BACKGROUND (1)");
  queue->executor().set_priority(type == abi::WorkloadType::kBackground ? Priority::kBackground : queue->priority());
  return ZE_RESULT_SUCCESS;
}

ze_result_t fence_create(ze_command_queue_handle_t handle, const ze_fence_desc_t* descriptor,
                         ze_fence_handle_t* fence) {
  Ref<CommandQueue> queue;
  if (const ze_result_t result = acquire(handle, &queue)) return result;
  if (!descriptor || !fence) return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
  if (descriptor->flags & ~ze_fence_flags_t{ZE_FENCE_FLAG_SIGNALED}) return ZE_RESULT_ERROR_INVALID_ENUMERATION;
  const Fence* made = make_object<Fence>(handle, (descriptor->flags & ZE_FENCE_FLAG_SIGNALED) != 0);
  if (!made) return ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;
  *fence = made->handle();
  return ZE_RESULT_SUCCESS;
}

ze_result_t fence_destroy(ze_fence_handle_t handle) { return destroy_handle(handle, Kind::kFence); }

ze_result_t fence_host_synchronize(ze_fence_handle_t handle, std::uint64_t timeout_ns) {
  Ref<Fence> fence;
  if (const ze_result_t result = acquire(handle, &fence)) return result;
  Ref<CommandQueue> queue;
  const bool may_help = timeout_ns != 0 && acquire(fence->queue(), &queue) == ZE_RESULT_SUCCESS;
  // Before reading the clock, which costs as much as the shortest lists.
  if (may_help && !fence->is_signalled()) queue->executor().help();
  const Deadline deadline = Deadline::in(fence->is_signalled() ? 0 : timeout_ns);
  while (may_help && !fence->is_signalled() && !deadline.passed() && queue->executor().help()) {
  }
  return fence->wait(deadline);
}

ze_result_t fence_query_status(ze_fence_handle_t handle) { return fence_host_synchronize(handle, 0); }

ze_result_t fence_reset(ze_fence_handle_t handle) {
  Ref<Fence> fence;
  if (const ze_result_t result = acquire(handle, &fence)) return result;
  fence->reset();
  return ZE_RESULT_SUCCESS;
}

}  // namespace calls
}  // namespace tenon::npu
