// SPDX-License-Identifier: Apache-2.0
// zeCommandListAppend*: each checks its arguments, keeps their memory alive and adds one command.
#include <algorithm>
#include <array>
#include <cstring>

#include <tenon/drivers/npu/calls/queue_calls.hpp>
#include <tenon/drivers/npu/run/copy_region.hpp>
#include <tenon/drivers/npu/run/memory_use.hpp>

namespace tenon::npu {
namespace {

using Memory = std::shared_ptr<Allocation>;

class Copy final : public Command {
 public:
  Copy(Memory to, Memory from, void* destination, const void* source, std::size_t size)
      : to_(std::move(to)), from_(std::move(from)), destination_(destination), source_(source), size_(size) {}
  ze_result_t run(Device&, StopCheck stop) noexcept override {
    std::array<MemoryUse, 2> uses{{{from_.get(), false}, {to_.get(), true}}};
    return with_memory(uses, stop, [this] {
      std::memcpy(destination_, source_, size_);
      return ZE_RESULT_SUCCESS;
    });
  }
  bool may_wait() const noexcept override { return from_->is_dma_buf() || to_->is_dma_buf(); }
  bool uses(const Allocation& memory) const noexcept override { return to_.get() == &memory || from_.get() == &memory; }

  std::uint64_t moved_bytes() const noexcept override { return size_; }
  const char* name() const noexcept override { return "copy"; }

 private:
  const Memory to_, from_;
  void* const destination_;
  const void* const source_;
  const std::size_t size_;
};

class CopyRegion final : public Command {
 public:
  /// The pointers are the origins from which the boxes count.
  CopyRegion(Memory to, std::byte* destination, const Box& to_box, Memory from, const std::byte* source,
             const Box& from_box)
      : to_(std::move(to)),
        from_(std::move(from)),
        destination_(destination),
        source_(source),
        to_box_(to_box),
        from_box_(from_box) {}
  ze_result_t run(Device&, StopCheck stop) noexcept override {
    std::array<MemoryUse, 2> uses{{{from_.get(), false}, {to_.get(), true}}};
    return with_memory(uses, stop, [this] {
      copy_box(destination_, to_box_, source_, from_box_);
      return ZE_RESULT_SUCCESS;
    });
  }
  bool may_wait() const noexcept override { return from_->is_dma_buf() || to_->is_dma_buf(); }
  bool uses(const Allocation& memory) const noexcept override { return to_.get() == &memory || from_.get() == &memory; }

  std::uint64_t moved_bytes() const noexcept override {
    return std::uint64_t{to_box_.width} * to_box_.height * to_box_.depth;
  }
  const char* name() const noexcept override { return "copy region"; }

 private:
  const Memory to_, from_;
  std::byte* const destination_;
  const std::byte* const source_;
  const Box to_box_, from_box_;
};

class Fill final : public Command {
 public:
  Fill(Memory memory, void* data, std::size_t size, const void* pattern, std::size_t pattern_size)
      : memory_(std::move(memory)), data_(static_cast<std::byte*>(data)), size_(size), pattern_size_(pattern_size) {
    std::memcpy(pattern_.data(), pattern, pattern_size);
  }
  ze_result_t run(Device&, StopCheck stop) noexcept override {
    std::array<MemoryUse, 1> uses{{{memory_.get(), true}}};
    return with_memory(uses, stop, [this] {
      if (pattern_size_ == 1) {
        std::memset(data_, std::to_integer<int>(pattern_[0]), size_);
        return ZE_RESULT_SUCCESS;
      }
      // The last pattern may be cut off.
      for (std::size_t at = 0; at < size_; at += pattern_size_)
        std::memcpy(data_ + at, pattern_.data(), std::min(pattern_size_, size_ - at));
      return ZE_RESULT_SUCCESS;
    });
  }
  bool may_wait() const noexcept override { return memory_->is_dma_buf(); }
  bool uses(const Allocation& memory) const noexcept override { return memory_.get() == &memory; }

  std::uint64_t moved_bytes() const noexcept override { return size_; }
  const char* name() const noexcept override { return "fill"; }

 private:
  const Memory memory_;
  std::byte* const data_;
  const std::size_t size_, pattern_size_;
  std::array<std::byte, kMaxFillPattern> pattern_{};
};

class ResetEvent final : public Command {
 public:
  explicit ResetEvent(Ref<Event> event) : event_(std::move(event)) {}
  ze_result_t run(Device&, StopCheck) noexcept override {
    event_->reset();
    return ZE_RESULT_SUCCESS;
  }

  const char* name() const noexcept override { return "event reset"; }

 private:
  const Ref<Event> event_;
};

class WriteTimestamp final : public Command {
 public:
  WriteTimestamp(Memory memory, std::uint64_t* destination) : memory_(std::move(memory)), destination_(destination) {}
  ze_result_t run(Device&, StopCheck stop) noexcept override {
    std::array<MemoryUse, 1> uses{{{memory_.get(), true}}};
    return with_memory(uses, stop, [this] {
      const std::uint64_t now = now_ns();
      std::memcpy(destination_, &now, sizeof now);
      return ZE_RESULT_SUCCESS;
    });
  }
  bool may_wait() const noexcept override { return memory_->is_dma_buf(); }
  bool uses(const Allocation& memory) const noexcept override { return memory_.get() == &memory; }

  const char* name() const noexcept override { return "timestamp"; }

 private:
  const Memory memory_;
  std::uint64_t* const destination_;
};

class QueryTimestamps final : public Command {
 public:
  QueryTimestamps(Memory memory, std::vector<Ref<Event>> events, std::vector<std::byte*> places)
      : memory_(std::move(memory)), events_(std::move(events)), places_(std::move(places)) {}
  ze_result_t run(Device&, StopCheck stop) noexcept override {
    std::array<MemoryUse, 1> uses{{{memory_.get(), true}}};
    return with_memory(uses, stop, [this] {
      for (std::size_t i = 0; i < events_.size(); ++i) {
        const Timestamps when = events_[i]->timestamps();
        const ze_kernel_timestamp_data_t data = {when.start_ns, when.end_ns};
        const ze_kernel_timestamp_result_t result = {data, data};
        std::memcpy(places_[i], &result, sizeof result);
      }
      return ZE_RESULT_SUCCESS;
    });
  }
  bool may_wait() const noexcept override { return memory_->is_dma_buf(); }
  bool uses(const Allocation& memory) const noexcept override { return memory_.get() == &memory; }

  const char* name() const noexcept override { return "timestamps of events"; }

 private:
  const Memory memory_;
  const std::vector<Ref<Event>> events_;
  const std::vector<std::byte*> places_;
};

class GraphInitialize final : public Command {
 public:
  explicit GraphInitialize(std::shared_ptr<GraphObject> graph) : graph_(std::move(graph)) {}
  ze_result_t run(Device&, StopCheck) noexcept override { return graph_->initialize(); }

  const char* name() const noexcept override { return "graph initialisation"; }

 private:
  const std::shared_ptr<GraphObject> graph_;
};

class GraphExecute final : public Command {
 public:
  explicit GraphExecute(std::unique_ptr<GraphRun> run) : run_(std::move(run)) {}
  ze_result_t run(Device& device, StopCheck stop) noexcept override { return run_->execute(device.workers(), stop); }
  bool uses(const Allocation& memory) const noexcept override { return run_->uses(memory); }
  bool may_wait() const noexcept override { return run_->may_wait(); }
  GraphRun* graph_run() noexcept override { return run_.get(); }
  bool rounds_depend_on_data() const noexcept override { return run_->rounds_depend_on_data(); }

  std::uint64_t moved_bytes() const noexcept override { return run_->moved_bytes(); }
  const char* name() const noexcept override { return "graph"; }

 private:
  const std::unique_ptr<GraphRun> run_;
};

/// The context's memory that holds the range. @return null, after fail(), if there is none.
Memory memory_of(const Context& context, const void* data, std::size_t size, bool written) {
  Memory memory = memory_at(context, data, size);
  if (!memory) {
    fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, "the range is not in memory allocated or imported in the list's context");
  } else if (written && !memory->writable()) {
    fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, "the memory was imported for reading only");
    return nullptr;
  }
  return memory;
}
Memory memory_of(const CommandList& list, const void* data, std::size_t size, bool written) {
  return memory_of(list.context(), data, size, written);
}

template <class Make>
ze_result_t try_append(ze_command_list_handle_t handle, ze_event_handle_t signal, std::uint32_t wait_count,
                       const ze_event_handle_t* waits, Make make) noexcept try {
  Ref<CommandList> list;
  if (const ze_result_t result = acquire(handle, &list)) return result;
  std::unique_ptr<Command> command;
  if (const ze_result_t result = make(*list, &command)) return result;
  if (const ze_result_t result = acquire_events(signal, wait_count, waits, command.get())) return result;
  const Ref<Event> signalled = command->signal;
  const ze_result_t result = list->append(std::move(command));
  if (result == ZE_RESULT_SUCCESS && signalled) signalled->expect();
  return result;
} catch (...) {
  return ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;
}

/// Adds the command made by `make(list, &command)`, with the call's events.
template <class Make>
ze_result_t append(ze_command_list_handle_t handle, ze_event_handle_t signal, std::uint32_t wait_count,
                   const ze_event_handle_t* waits, Make make) noexcept {
  return or_refuse(signal, try_append(handle, signal, wait_count, waits, make));
}

/// Appends a copy; the destination is in the list's context, the source in any.
ze_result_t append_copy(ze_command_list_handle_t handle, void* destination, const Context* source_context,
                        const void* source, std::size_t size, ze_event_handle_t signal, std::uint32_t wait_count,
                        ze_event_handle_t* waits) {
  return append(handle, signal, wait_count, waits, [&](CommandList& list, std::unique_ptr<Command>* command) {
    if (!destination || !source) return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
    const auto to = reinterpret_cast<std::uintptr_t>(destination), from = reinterpret_cast<std::uintptr_t>(source);
    if (size != 0 && (to > from ? to - from : from - to) < size) return ZE_RESULT_ERROR_OVERLAPPING_REGIONS;
    Memory written = memory_of(list, destination, size, true);
    Memory read = written ? memory_of(source_context ? *source_context : list.context(), source, size, false) : nullptr;
    if (!read) return ZE_RESULT_ERROR_INVALID_ARGUMENT;
    *command = std::make_unique<Copy>(std::move(written), std::move(read), destination, source, size);
    return ZE_RESULT_SUCCESS;
  });
}

ze_result_t append_nothing(const char* name, ze_command_list_handle_t handle, ze_event_handle_t signal,
                           std::uint32_t wait_count, const ze_event_handle_t* waits) {
  return append(handle, signal, wait_count, waits, [name](CommandList&, std::unique_ptr<Command>* command) {
    *command = std::make_unique<Nothing>(name);
    return ZE_RESULT_SUCCESS;
  });
}

ze_result_t check_same(const CommandList& list, const GraphObject& graph) {
  if (&list.context() != &graph.context())
    return fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, "the graph is of another context than the command list");
  if (&list.device() != &graph.device())
    return fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, "the graph is of another device than the command list");
  return ZE_RESULT_SUCCESS;
}

}  // namespace

ze_result_t append_command(ze_command_list_handle_t handle, std::unique_ptr<Command> given, ze_event_handle_t signal,
                           std::uint32_t wait_count, const ze_event_handle_t* waits) noexcept {
  return append(handle, signal, wait_count, waits, [&](CommandList&, std::unique_ptr<Command>* command) {
    *command = std::move(given);
    return ZE_RESULT_SUCCESS;
  });
}

ze_result_t append_graph_initialize(ze_command_list_handle_t handle, std::shared_ptr<GraphObject> graph,
                                    ze_event_handle_t signal, std::uint32_t wait_count,
                                    ze_event_handle_t* waits) noexcept {
  return append(handle, signal, wait_count, waits, [&](CommandList& list, std::unique_ptr<Command>* command) {
    if (const ze_result_t result = check_same(list, *graph)) return result;
    *command = std::make_unique<GraphInitialize>(std::move(graph));
    return ZE_RESULT_SUCCESS;
  });
}

ze_result_t append_graph_execute(ze_command_list_handle_t handle, std::shared_ptr<GraphObject> graph,
                                 std::shared_ptr<ProfilingQuery> query, ze_event_handle_t signal,
                                 std::uint32_t wait_count, ze_event_handle_t* waits) noexcept {
  return append(handle, signal, wait_count, waits, [&](CommandList& list, std::unique_ptr<Command>* command) {
    if (const ze_result_t result = check_same(list, *graph)) return result;
    std::unique_ptr<GraphRun> run;
    if (const ze_result_t result = graph->make_run(std::move(query), run)) return result;
    *command = std::make_unique<GraphExecute>(std::move(run));
    return ZE_RESULT_SUCCESS;
  });
}

namespace calls {

ze_result_t append_barrier(ze_command_list_handle_t handle, ze_event_handle_t signal, std::uint32_t wait_count,
                           ze_event_handle_t* waits) {
  return append(handle, signal, wait_count, waits, [](CommandList&, std::unique_ptr<Command>* command) {
    *command = std::make_unique<Barrier>();
    return ZE_RESULT_SUCCESS;
  });
}

ze_result_t append_memory_ranges_barrier(ze_command_list_handle_t handle, std::uint32_t count, const std::size_t* sizes,
                                         const void** ranges, ze_event_handle_t signal, std::uint32_t wait_count,
                                         ze_event_handle_t* waits) {
  if (!handle) return or_refuse(signal, ZE_RESULT_ERROR_INVALID_NULL_HANDLE);
  if (!sizes || !ranges) return or_refuse(signal, ZE_RESULT_ERROR_INVALID_NULL_POINTER);
  if (count == 0) return or_refuse(signal, ZE_RESULT_ERROR_INVALID_SIZE);
  return append_barrier(handle, signal, wait_count, waits);
}

ze_result_t append_memory_copy(ze_command_list_handle_t handle, void* destination, const void* source, std::size_t size,
                               ze_event_handle_t signal, std::uint32_t wait_count, ze_event_handle_t* waits) {
  return append_copy(handle, destination, nullptr, source, size, signal, wait_count, waits);
}

ze_result_t append_memory_copy_from_context(ze_command_list_handle_t handle, void* destination,
                                            ze_context_handle_t source_context, const void* source, std::size_t size,
                                            ze_event_handle_t signal, std::uint32_t wait_count,
                                            ze_event_handle_t* waits) {
  Ref<Context> context;
  if (!handle) return or_refuse(signal, ZE_RESULT_ERROR_INVALID_NULL_HANDLE);
  if (const ze_result_t result = acquire(source_context, &context)) return or_refuse(signal, result);
  return append_copy(handle, destination, context.get(), source, size, signal, wait_count, waits);
}

ze_result_t append_memory_copy_region(ze_command_list_handle_t handle, void* destination,
                                      const ze_copy_region_t* to_region, std::uint32_t to_pitch,
                                      std::uint32_t to_slice_pitch, const void* source,
                                      const ze_copy_region_t* from_region, std::uint32_t from_pitch,
                                      std::uint32_t from_slice_pitch, ze_event_handle_t signal,
                                      std::uint32_t wait_count, ze_event_handle_t* waits) {
  return append(handle, signal, wait_count, waits, [&](CommandList& list, std::unique_ptr<Command>* command) {
    if (!destination || !source || !to_region || !from_region) return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
    Box to_box, from_box;
    if (const ze_result_t result = read_box(*to_region, to_pitch, to_slice_pitch, &to_box)) return result;
    if (const ze_result_t result = read_box(*from_region, from_pitch, from_slice_pitch, &from_box)) return result;
    if (to_box.width != from_box.width || to_box.height != from_box.height || to_box.depth != from_box.depth)
      return fail(ZE_RESULT_ERROR_INVALID_SIZE, "the two regions are of different sizes");
    auto* const to = static_cast<std::byte*>(destination);
    const auto* const from = static_cast<const std::byte*>(source);
    Memory written = memory_of(list, to + to_box.first, to_box.extent(), true);
    Memory read = written ? memory_of(list, from + from_box.first, from_box.extent(), false) : nullptr;
    if (!read) return ZE_RESULT_ERROR_INVALID_ARGUMENT;
    if (overlap(to, to_box, from, from_box)) return ZE_RESULT_ERROR_OVERLAPPING_REGIONS;
    if (to_box.is_empty())
      *command = std::make_unique<Nothing>("empty copy");
    else
      *command = std::make_unique<CopyRegion>(std::move(written), to, to_box, std::move(read), from, from_box);
    return ZE_RESULT_SUCCESS;
  });
}

ze_result_t append_memory_fill(ze_command_list_handle_t handle, void* data, const void* pattern,
                               std::size_t pattern_size, std::size_t size, ze_event_handle_t signal,
                               std::uint32_t wait_count, ze_event_handle_t* waits) {
  return append(handle, signal, wait_count, waits, [&](CommandList& list, std::unique_ptr<Command>* command) {
    if (!data || !pattern) return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
    if (pattern_size == 0 || pattern_size > kMaxFillPattern || (pattern_size & (pattern_size - 1)) != 0)
      return fail(ZE_RESULT_ERROR_INVALID_SIZE, "a pattern has 1, 2, 4 ... 128 bytes");
    Memory memory = memory_of(list, data, size, true);
    if (!memory) return ZE_RESULT_ERROR_INVALID_ARGUMENT;
    *command = std::make_unique<Fill>(std::move(memory), data, size, pattern, pattern_size);
    return ZE_RESULT_SUCCESS;
  });
}

ze_result_t append_memory_prefetch(ze_command_list_handle_t handle, const void* data, std::size_t size) {
  return append(handle, nullptr, 0, nullptr, [&](CommandList& list, std::unique_ptr<Command>* command) {
    if (!data) return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
    if (!memory_of(list, data, size, false)) return ZE_RESULT_ERROR_INVALID_ARGUMENT;
    *command = std::make_unique<Nothing>("prefetch");  // The memory is already where computing uses it.
    return ZE_RESULT_SUCCESS;
  });
}

ze_result_t append_mem_advise(ze_command_list_handle_t handle, ze_device_handle_t device_handle, const void* data,
                              std::size_t size, ze_memory_advice_t advice) {
  if (!handle) return ZE_RESULT_ERROR_INVALID_NULL_HANDLE;
  Ref<Device> device;
  if (const ze_result_t result = acquire(device_handle, &device)) return result;
  constexpr std::uint32_t kLast = 9;  // Since 1.7: prefer, or no longer prefer, system memory.
  if (static_cast<std::uint32_t>(advice) > kLast) return ZE_RESULT_ERROR_INVALID_ENUMERATION;
  return append_memory_prefetch(handle, data, size);
}

ze_result_t append_signal_event(ze_command_list_handle_t handle, ze_event_handle_t event) {
  if (!event) return ZE_RESULT_ERROR_INVALID_NULL_HANDLE;
  return append_nothing("event signal", handle, event, 0, nullptr);
}

ze_result_t append_wait_on_events(ze_command_list_handle_t handle, std::uint32_t count, ze_event_handle_t* events) {
  if (!handle) return ZE_RESULT_ERROR_INVALID_NULL_HANDLE;
  if (!events) return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
  return append_nothing("event wait", handle, nullptr, count, events);
}

ze_result_t append_event_reset(ze_command_list_handle_t handle, ze_event_handle_t event_handle) {
  return append(handle, nullptr, 0, nullptr, [&](CommandList&, std::unique_ptr<Command>* command) {
    Ref<Event> event;
    if (const ze_result_t result = acquire(event_handle, &event)) return result;
    *command = std::make_unique<ResetEvent>(std::move(event));
    return ZE_RESULT_SUCCESS;
  });
}

ze_result_t append_write_global_timestamp(ze_command_list_handle_t handle, std::uint64_t* destination,
                                          ze_event_handle_t signal, std::uint32_t wait_count,
                                          ze_event_handle_t* waits) {
  return append(handle, signal, wait_count, waits, [&](CommandList& list, std::unique_ptr<Command>* command) {
    if (!destination) return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
    Memory memory = memory_of(list, destination, sizeof *destination, true);
    if (!memory) return ZE_RESULT_ERROR_INVALID_ARGUMENT;
    *command = std::make_unique<WriteTimestamp>(std::move(memory), destination);
    return ZE_RESULT_SUCCESS;
  });
}

ze_result_t append_query_kernel_timestamps(ze_command_list_handle_t handle, std::uint32_t count,
                                           ze_event_handle_t* events, void* destination, const std::size_t* offsets,
                                           ze_event_handle_t signal, std::uint32_t wait_count,
                                           ze_event_handle_t* waits) {
  return append(handle, signal, wait_count, waits, [&](CommandList& list, std::unique_ptr<Command>* command) {
    if (!events || !destination) return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
    Memory memory = memory_of(list, destination, 1, true);
    if (!memory) return ZE_RESULT_ERROR_INVALID_ARGUMENT;
    const auto room = memory->size() - static_cast<std::size_t>(static_cast<std::byte*>(destination) - memory->data());
    constexpr std::size_t kSize = sizeof(ze_kernel_timestamp_result_t);
    std::vector<Ref<Event>> queried;
    std::vector<std::byte*> places;
    for (std::uint32_t i = 0; i < count; ++i) {
      Ref<Event> event;
      if (const ze_result_t result = acquire(events[i], &event)) return result;
      const std::size_t offset = offsets ? offsets[i] : i * kSize;
      if (offset > room || room - offset < kSize) return fail(ZE_RESULT_ERROR_INVALID_SIZE, "the results do not fit");
      queried.push_back(std::move(event));
      places.push_back(static_cast<std::byte*>(destination) + offset);
    }
    *command = std::make_unique<QueryTimestamps>(std::move(memory), std::move(queried), std::move(places));
    return ZE_RESULT_SUCCESS;
  });
}

}  // namespace calls
}  // namespace tenon::npu
