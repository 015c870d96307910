// SPDX-License-Identifier: Apache-2.0
// zeEventPool* and zeEvent*.
#include <tenon/drivers/npu/calls/queue_calls.hpp>

namespace tenon::npu::calls {
namespace {

constexpr std::uint32_t kMaxEvents = 1u << 20;  // Per pool.
constexpr ze_event_scope_flags_t kScopes =
    ZE_EVENT_SCOPE_FLAG_SUBDEVICE | ZE_EVENT_SCOPE_FLAG_DEVICE | ZE_EVENT_SCOPE_FLAG_HOST;

/// Resolves a handle to its object and checks that `out` is not null.
template <class T, class Out>
ze_result_t start(typename T::Handle handle, const Out* out, Ref<T>* object) {
  if (const ze_result_t result = acquire(handle, object)) return result;
  return out ? ZE_RESULT_SUCCESS : ZE_RESULT_ERROR_INVALID_NULL_POINTER;
}

/// The event's timestamps. @return ZE_RESULT_NOT_READY before it was signalled.
ze_result_t read_timestamps(Event& event, ze_kernel_timestamp_result_t* timestamps) {
  if (!event.pool().has_timestamps())
    return fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, "the event's pool was not made with the timestamp flag");
  if (const ze_result_t result = event.wait(Deadline::in(0), 0)) return result;
  const Timestamps when = event.timestamps();
  timestamps->global = {when.start_ns, when.end_ns};
  timestamps->context = timestamps->global;
  return ZE_RESULT_SUCCESS;
}

}  // namespace

ze_result_t event_pool_create(ze_context_handle_t handle, const ze_event_pool_desc_t* descriptor, std::uint32_t count,
                              ze_device_handle_t* devices, ze_event_pool_handle_t* pool) {
  Ref<Context> context;
  if (const ze_result_t result = acquire(handle, &context)) return result;
  if (!descriptor || !pool) return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
  if (descriptor->flags & ~ze_event_pool_flags_t{0xf}) return ZE_RESULT_ERROR_INVALID_ENUMERATION;
  if (descriptor->flags & ZE_EVENT_POOL_FLAG_IPC)
    return fail(ZE_RESULT_ERROR_UNSUPPORTED_FEATURE, "events cannot be shared between processes");
  if (descriptor->count == 0 || descriptor->count > kMaxEvents) return ZE_RESULT_ERROR_INVALID_SIZE;
  if (count != 0 && !devices) return ZE_RESULT_ERROR_INVALID_SIZE;
  for (std::uint32_t i = 0; i < count; ++i) {
    Ref<Device> device;
    if (const ze_result_t result = acquire(devices[i], &device)) return result;
  }
  const EventPool* made = make_object<EventPool>(std::move(context), descriptor->flags, descriptor->count);
  if (!made) return ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;
  *pool = made->handle();
  return ZE_RESULT_SUCCESS;
}

ze_result_t event_pool_destroy(ze_event_pool_handle_t handle) { return destroy_handle(handle, Kind::kEventPool); }

ze_result_t event_pool_get_context(ze_event_pool_handle_t handle, ze_context_handle_t* context) {
  Ref<EventPool> pool;
  if (const ze_result_t result = start(handle, context, &pool)) return result;
  *context = pool->context().handle();
  return ZE_RESULT_SUCCESS;
}

ze_result_t event_pool_get_flags(ze_event_pool_handle_t handle, ze_event_pool_flags_t* flags) {
  Ref<EventPool> pool;
  if (const ze_result_t result = start(handle, flags, &pool)) return result;
  *flags = pool->flags();
  return ZE_RESULT_SUCCESS;
}

ze_result_t event_create(ze_event_pool_handle_t handle, const ze_event_desc_t* descriptor, ze_event_handle_t* event) {
  Ref<EventPool> pool;
  if (const ze_result_t result = acquire(handle, &pool)) return result;
  if (!descriptor || !event) return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
  if ((descriptor->signal | descriptor->wait) & ~kScopes) return ZE_RESULT_ERROR_INVALID_ENUMERATION;
  if (!pool->take(descriptor->index))
    return fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, "the pool has no such index, or an event uses it");
  const Event* made = make_object<Event>(pool, *descriptor);
  if (!made) {
    pool->give_back(descriptor->index);
    return ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;
  }
  *event = made->handle();
  return ZE_RESULT_SUCCESS;
}

ze_result_t event_destroy(ze_event_handle_t handle) {
  Ref<Event> event;
  if (const ze_result_t result = acquire(handle, &event)) return result;
  if (const ze_result_t result = destroy_handle(handle, Kind::kEvent)) return result;
  event->give_index_back();
  return ZE_RESULT_SUCCESS;
}

ze_result_t event_host_signal(ze_event_handle_t handle) {
  Ref<Event> event;
  if (const ze_result_t result = acquire(handle, &event)) return result;
  const std::uint64_t now = now_ns();
  event->signal(ZE_RESULT_SUCCESS, {now, now});
  return ZE_RESULT_SUCCESS;
}

ze_result_t event_host_synchronize(ze_event_handle_t handle, std::uint64_t timeout_ns) {
  Ref<Event> event;
  if (const ze_result_t result = acquire(handle, &event)) return result;
  return event->wait(Deadline::in(timeout_ns), default_spin_ns());
}

ze_result_t event_query_status(ze_event_handle_t handle) { return event_host_synchronize(handle, 0); }

ze_result_t event_host_reset(ze_event_handle_t handle) {
  Ref<Event> event;
  if (const ze_result_t result = acquire(handle, &event)) return result;
  event->reset();
  return ZE_RESULT_SUCCESS;
}

ze_result_t event_query_kernel_timestamp(ze_event_handle_t handle, ze_kernel_timestamp_result_t* timestamps) {
  Ref<Event> event;
  if (const ze_result_t result = start(handle, timestamps, &event)) return result;
  return read_timestamps(*event, timestamps);
}

ze_result_t event_query_kernel_timestamps_ext(ze_event_handle_t handle, ze_device_handle_t device_handle,
                                              std::uint32_t* count, abi::KernelTimestampResults* results) {
  Ref<Event> event;
  Ref<Device> device;
  if (const ze_result_t result = start(handle, count, &event)) return result;
  if (const ze_result_t result = acquire(device_handle, &device)) return result;
  ze_kernel_timestamp_result_t measured{};
  if (const ze_result_t result = read_timestamps(*event, &measured)) return result;
  if (*count != 0 && results) {
    if (results->kernels) results->kernels[0] = measured;
    // Device and host share one clock.
    if (results->synchronized)
      results->synchronized[0] = {measured.global.kernelStart, measured.global.kernelEnd, measured.context.kernelStart,
                                  measured.context.kernelEnd};
  }
  *count = 1;
  return ZE_RESULT_SUCCESS;
}

ze_result_t event_get_pool(ze_event_handle_t handle, ze_event_pool_handle_t* pool) {
  Ref<Event> event;
  if (const ze_result_t result = start(handle, pool, &event)) return result;
  *pool = event->pool().handle();
  return ZE_RESULT_SUCCESS;
}

ze_result_t event_get_signal_scope(ze_event_handle_t handle, ze_event_scope_flags_t* scope) {
  Ref<Event> event;
  if (const ze_result_t result = start(handle, scope, &event)) return result;
  *scope = event->signal_scope();
  return ZE_RESULT_SUCCESS;
}

ze_result_t event_get_wait_scope(ze_event_handle_t handle, ze_event_scope_flags_t* scope) {
  Ref<Event> event;
  if (const ze_result_t result = start(handle, scope, &event)) return result;
  *scope = event->wait_scope();
  return ZE_RESULT_SUCCESS;
}

}  // namespace tenon::npu::calls
