// SPDX-License-Identifier: Apache-2.0
// zeCommandList*: create, close, query, change mutable lists. Appending is in command_calls.cpp.
#include <tenon/drivers/npu/calls/queue_calls.hpp>
#include <tenon/frameworks/level_zero/abi/graph.hpp>

namespace tenon::npu::calls {
namespace {

ze_result_t check_ordinal(std::uint32_t ordinal) {
  if (ordinal == 0) return ZE_RESULT_SUCCESS;
  return fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, "there is one group of queues, ordinal 0");
}

/// Changes one graph argument of a mutable list, with the strides that may follow it in the chain.
ze_result_t change_graph_argument(CommandList& list, const abi::MutableGraphArgument& change) {
  ArgumentValue value;
  value.data = const_cast<void*>(change.value);
  const auto* next = static_cast<const abi::ChainLink*>(change.next);
  for (int length = 0; next && length < 8; ++length, next = static_cast<const abi::ChainLink*>(next->next)) {
    if (next->stype == static_cast<std::uint32_t>(abi::GraphStructure::kArgumentStrides)) {
      value.element_strides = reinterpret_cast<const abi::ArgumentStrides*>(next)->strides;
    } else if (next->stype == static_cast<std::uint32_t>(abi::GraphStructure::kArgumentTensor)) {
      value.data = const_cast<void*>(reinterpret_cast<const abi::ArgumentTensor*>(next)->data);
    } else {
      break;  // The next change.
    }
  }
  return list.change(change.command_id, abi::kMutableGraphArguments | abi::kMutableGraphArgumentDeprecated,
                     [&](Command& command) {
                       GraphRun* run = command.graph_run();
                       if (!run) return fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, "the command does not execute a graph");
                       return run->set_argument(change.index, value);
                     });
}

/// One submission: if the wait fails, the lists do not run; if a list fails, the event reports it.
ze_result_t append_lists(ze_command_list_handle_t handle, std::uint32_t count, ze_command_list_handle_t* handles,
                         ze_event_handle_t signal, std::uint32_t wait_count, ze_event_handle_t* waits) noexcept try {
  Ref<CommandList> immediate;
  if (const ze_result_t result = acquire(handle, &immediate)) return result;
  if (!immediate->executor()) return fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, "the command list is not an immediate one");
  if (!handles) return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
  if (count == 0) return ZE_RESULT_ERROR_INVALID_SIZE;
  auto before = std::make_unique<Nothing>("event wait"), after = std::make_unique<Nothing>("event signal");
  if (const ze_result_t result = acquire_events(nullptr, wait_count, waits, before.get())) return result;
  if (const ze_result_t result = acquire_events(signal, 0, nullptr, after.get())) return result;
  const Ref<Event> signalled = after->signal;
  TakenLists lists;
  if (const ze_result_t result = lists.take(count, handles, immediate->context(), immediate->device())) return result;
  Executor::Outcome outcome;
  Executor::Submission submission;
  if (wait_count != 0) submission.before = std::move(before);
  submission.lists = lists.lists();
  if (signal) submission.after = std::move(after);
  if (immediate->is_synchronous()) submission.outcome = &outcome;
  if (!immediate->executor()->submit(std::move(submission))) return ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;
  lists.hand_on();
  if (signalled) signalled->expect();
  return immediate->is_synchronous() ? immediate->executor()->wait(outcome) : ZE_RESULT_SUCCESS;
} catch (...) {
  return ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;
}

}  // namespace

ze_result_t list_create(ze_context_handle_t context_handle, ze_device_handle_t device_handle,
                        const ze_command_list_desc_t* descriptor, ze_command_list_handle_t* list) {
  Ref<Context> context;
  Ref<Device> device;
  if (const ze_result_t result = acquire(context_handle, &context)) return result;
  if (const ze_result_t result = acquire(device_handle, &device)) return result;
  if (!descriptor || !list) return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
  if (const ze_result_t result = check_ordinal(descriptor->commandQueueGroupOrdinal)) return result;
  constexpr ze_command_list_flags_t kKnown = 0x3f;
  if (descriptor->flags & ~kKnown) return ZE_RESULT_ERROR_INVALID_ENUMERATION;
  bool is_mutable = false;
  const ze_result_t result = visit_first(descriptor->pNext, [&](std::uint32_t stype, const abi::ChainLink*) {
    is_mutable = is_mutable || stype == abi::kMutableListDescriptorType;
    return ZE_RESULT_SUCCESS;
  });
  if (result != ZE_RESULT_SUCCESS) return result;
  const CommandList* made =
      make_object<CommandList>(std::move(context), std::move(device), descriptor->flags, is_mutable);
  if (!made) return ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;
  *list = made->handle();
  return ZE_RESULT_SUCCESS;
}

ze_result_t list_create_immediate(ze_context_handle_t context_handle, ze_device_handle_t device_handle,
                                  const ze_command_queue_desc_t* descriptor, ze_command_list_handle_t* list) try {
  Ref<Context> context;
  Ref<Device> device;
  if (const ze_result_t result = acquire(context_handle, &context)) return result;
  if (const ze_result_t result = acquire(device_handle, &device)) return result;
  if (!descriptor || !list) return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
  Executor::Settings settings;
  if (const ze_result_t result = read_queue_descriptor(*descriptor, &settings)) return result;
  settings.in_order =
      true;  // Clients of a list without the flag cannot tell, and most append one short copy at a time.
  auto executor = make_executor(*context, device, settings);
  const CommandList* made =
      make_object<CommandList>(std::move(context), std::move(device), *descriptor, std::move(executor));
  if (!made) return ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;
  made->executor()->set_owner(made->handle());
  *list = made->handle();
  return ZE_RESULT_SUCCESS;
} catch (...) {
  return ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;
}

ze_result_t list_destroy(ze_command_list_handle_t handle) {
  Ref<CommandList> list;
  if (const ze_result_t result = acquire(handle, &list)) return result;
  if (const ze_result_t result = destroy_handle(handle, Kind::kList)) return result;
  if (list->executor()) list->executor()->stop_waiting();
  return ZE_RESULT_SUCCESS;
}

ze_result_t list_close(ze_command_list_handle_t handle) {
  Ref<CommandList> list;
  if (const ze_result_t result = acquire(handle, &list)) return result;
  return list->close();
}

ze_result_t list_reset(ze_command_list_handle_t handle) {
  Ref<CommandList> list;
  if (const ze_result_t result = acquire(handle, &list)) return result;
  return list->reset();
}

ze_result_t list_host_synchronize(ze_command_list_handle_t handle, std::uint64_t timeout_ns) {
  Ref<CommandList> list;
  if (const ze_result_t result = acquire(handle, &list)) return result;
  if (!list->executor()) return fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, "the command list is not an immediate one");
  return list->executor()->wait(Deadline::in(timeout_ns));
}

ze_result_t list_get_device(ze_command_list_handle_t handle, ze_device_handle_t* device) {
  Ref<CommandList> list;
  if (const ze_result_t result = acquire(handle, &list)) return result;
  if (!device) return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
  *device = list->device().handle();
  return ZE_RESULT_SUCCESS;
}

ze_result_t list_get_context(ze_command_list_handle_t handle, ze_context_handle_t* context) {
  Ref<CommandList> list;
  if (const ze_result_t result = acquire(handle, &list)) return result;
  if (!context) return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
  *context = list->context().handle();
  return ZE_RESULT_SUCCESS;
}

ze_result_t list_get_ordinal(ze_command_list_handle_t handle, std::uint32_t* ordinal) {
  Ref<CommandList> list;
  if (const ze_result_t result = acquire(handle, &list)) return result;
  if (!ordinal) return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
  *ordinal = 0;
  return ZE_RESULT_SUCCESS;
}

ze_result_t list_get_index(ze_command_list_handle_t handle, std::uint32_t* index) {
  Ref<CommandList> list;
  if (const ze_result_t result = acquire(handle, &list)) return result;
  if (!index) return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
  if (!list->executor()) return fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, "the command list is not an immediate one");
  *index = list->queue_index();
  return ZE_RESULT_SUCCESS;
}

ze_result_t list_is_immediate(ze_command_list_handle_t handle, ze_bool_t* immediate) {
  Ref<CommandList> list;
  if (const ze_result_t result = acquire(handle, &list)) return result;
  if (!immediate) return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
  *immediate = list->executor() != nullptr;
  return ZE_RESULT_SUCCESS;
}

ze_result_t list_append_lists(ze_command_list_handle_t handle, std::uint32_t count, ze_command_list_handle_t* handles,
                              ze_event_handle_t signal, std::uint32_t wait_count, ze_event_handle_t* waits) {
  return or_refuse(signal, append_lists(handle, count, handles, signal, wait_count, waits));
}

ze_result_t list_cancel(ze_command_list_handle_t handle) {
  Ref<CommandList> list;
  if (const ze_result_t result = acquire(handle, &list)) return result;
  list->cancel();
  return ZE_RESULT_SUCCESS;
}

ze_result_t list_get_next_command_id(ze_command_list_handle_t handle, const abi::MutableCommandId* descriptor,
                                     std::uint64_t* id) {
  Ref<CommandList> list;
  if (const ze_result_t result = acquire(handle, &list)) return result;
  if (!descriptor || !id) return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
  constexpr std::uint32_t kKnown = 0xff;
  if (descriptor->flags & ~kKnown) return ZE_RESULT_ERROR_INVALID_ENUMERATION;
  if (descriptor->flags & ~kMutableChanges)
    return fail(ZE_RESULT_ERROR_UNSUPPORTED_FEATURE, "graph arguments, signalled and awaited events can be changed");
  return list->next_command_id(descriptor->flags ? descriptor->flags : kMutableChanges, id);
}

ze_result_t list_update_mutable_commands(ze_command_list_handle_t handle, const abi::MutableCommands* changes) {
  Ref<CommandList> list;
  if (const ze_result_t result = acquire(handle, &list)) return result;
  if (!changes) return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
  if (changes->flags != 0) return ZE_RESULT_ERROR_INVALID_ENUMERATION;
  return visit_chain(changes->next, [&](std::uint32_t stype, const abi::ChainLink* link) {
    switch (stype) {
      case abi::kMutableGraphArgumentType:
      case abi::kMutableGraphArgumentTypeDeprecated:
        return change_graph_argument(*list, *reinterpret_cast<const abi::MutableGraphArgument*>(link));
      case static_cast<std::uint32_t>(abi::GraphStructure::kArgumentStrides):
      case static_cast<std::uint32_t>(abi::GraphStructure::kArgumentTensor):
        return ZE_RESULT_SUCCESS;  // Already read with the change before it.
      default:
        return fail(ZE_RESULT_ERROR_UNSUPPORTED_FEATURE, "only graph arguments of mutable commands can be changed so");
    }
  });
}

ze_result_t list_update_mutable_signal_event(ze_command_list_handle_t handle, std::uint64_t id,
                                             ze_event_handle_t signal) {
  Ref<CommandList> list;
  if (const ze_result_t result = acquire(handle, &list)) return result;
  Ref<Event> event;
  if (signal) {
    if (const ze_result_t result = acquire(signal, &event)) return result;
  }
  return list->change(id, abi::kMutableSignalEvent, [&](Command& command) {
    if (event) event->expect();
    command.signal = std::move(event);
    return ZE_RESULT_SUCCESS;
  });
}

ze_result_t list_update_mutable_wait_events(ze_command_list_handle_t handle, std::uint64_t id, std::uint32_t count,
                                            ze_event_handle_t* waits) try {
  Ref<CommandList> list;
  if (const ze_result_t result = acquire(handle, &list)) return result;
  if (count != 0 && !waits) return ZE_RESULT_ERROR_INVALID_SIZE;
  std::vector<Ref<Event>> events(count);
  for (std::uint32_t i = 0; i < count; ++i)
    if (const ze_result_t result = acquire(waits[i], &events[i])) return result;
  return list->change(id, abi::kMutableWaitEvents, [&](Command& command) {
    if (command.waits.size() != events.size())
      return fail(ZE_RESULT_ERROR_INVALID_SIZE, "the number of events that a command waits for cannot change");
    command.waits = std::move(events);
    return ZE_RESULT_SUCCESS;
  });
} catch (...) {
  return ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;
}

}  // namespace tenon::npu::calls
