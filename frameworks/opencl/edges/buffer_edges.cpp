// SPDX-License-Identifier: Apache-2.0
// Host memory as buffers and buffers as host memory: in place, by turns, or copied.
#include <tenon/frameworks/opencl/buffer_edges.hpp>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string_view>
#include <utility>
#include <variant>

#include <tenon/core/error.hpp>
#include <tenon/core/export.hpp>
#include <tenon/core/host_edge.hpp>
#include <tenon/core/ledger.hpp>
#include <tenon/core/memory.hpp>
#include <tenon/core/policy.hpp>
#include <tenon/core/ref_counted.hpp>
#include <tenon/core/requirements.hpp>
#include <tenon/core/shape.hpp>
#include <tenon/core/tensor.hpp>
#include <tenon/core/timeline.hpp>
#include <tenon/frameworks/opencl/access.hpp>
#include <tenon/frameworks/opencl/buffer.hpp>
#include <tenon/frameworks/opencl/context.hpp>
#include <tenon/frameworks/opencl/event.hpp>
#include <tenon/frameworks/opencl/native.hpp>

namespace tenon {
inline namespace v1 {
namespace opencl {
namespace detail {

TENON_INLINE Reached copied(const Description& from, const Context& to, MemoryKind kind, double cost_ns,
                            double ns_per_byte) {
  return packed_copy(from, to, kind, cost_ns, ns_per_byte, 1, false);
}

/// True when the sharing twin of a copying edge accepts: the copying edge then refuses, so that each case has one way.
TENON_INLINE bool takes(const Edge& edge, const Description& from, const Context& to, Access access) {
  return std::holds_alternative<Reached>(edge.step(from, to, access));
}

inline constexpr const char* kShared = "the memory can be shared in place";

inline constexpr const char* kEmpty = "there are no bytes, and OpenCL has no empty buffers";

TENON_INLINE std::string bytes_text(std::size_t bytes) { return std::to_string(bytes) + " bytes"; }

/// The buffer of `source` as seen from another context over its cl_context.
TENON_INLINE Tensor in_other_queue(const Tensor& source, cl_mem buffer, void* host, const Context& to, const Edge& edge,
                                   const MapOptions& options) {
  const Memory& memory = *source.memory();
  const View* view = memory.find_view(*to, kBufferMemory, options.access);
  if (!view) {
    const FacetContext& target = *facet_of(to);
    const Access access = memory.read_only() ? Access::kRead : Access::kReadWrite;
    Handle<cl_mem> shared = Handle<cl_mem>::retain(buffer, "sharing a buffer between queues");
    const auto* lent = dynamic_cast<const LentView*>(source.view());
    std::unique_ptr<View> made;
    if (lent)
      made = std::make_unique<SharedLoan>(to, access, std::move(shared), lent->turns());
    else
      made = std::make_unique<BufferView>(to, access, host, std::move(shared));
    // Where sides take turns, each map has to begin or end one.
    if (target.native().coherency != Coherency::kMapped && !lent) made->set_standing(edge.id());
    view = &memory.add_view(std::move(made));
  }
  return through_buffer(source, *view, options);
}

/// Host memory as a buffer, in place.
class CpuToBuffer final : public Edge {
 public:
  std::string_view name() const override { return "cpu->opencl.buffer"; }
  MemoryKind from() const override { return kCpuMemory; }
  MemoryKind to() const override { return kBufferMemory; }

  Step step(const Description& from, const Context& to, Access) const override {
    const Native* native = native_of(to);
    if (!native) return Refusal{"the target is not a context of this framework"};
    if (std::string reason = obstacle(*native, from.memory_bytes, from.alignment); !reason.empty())
      return Refusal{std::move(reason)};
    Reached reached =
        shared_in_place(from, to, kBufferMemory, native->coherency == Coherency::kStanding ? 500 : 20'000);
    if (native->coherency == Coherency::kMapped) {  // The host may not touch it meanwhile.
      reached.result.host_addressable = false;
      reached.result.alignment = 1;
    }
    return reached;
  }

  bool makes_standing_views(const Context& to) const override {
    const Native* native = native_of(to);
    return native && native->coherency == Coherency::kStanding;
  }

  Tensor map(const Tensor& source, const Context& to, const MapOptions& options) const override {
    const Native* native = native_of(to);
    if (!native || !source.is_host_addressable()) reach(*this, source, to, options);
    const Memory& memory = *source.memory();
    void* const host = source.view() ? source.view()->host() : memory.host();
    // The conditions of step() without a description, so that a first map costs little more than clCreateBuffer.
    if (std::string reason = obstacle(*native, memory.size_bytes(), alignment_of(host)); !reason.empty())
      throw Error(Code::kFailedPrecondition, "opencl: " + reason);
    if (memory.kind() == kBufferMemory) {
      const auto* home = dynamic_cast<const BufferMemory*>(&memory);
      if (home && home->native().context.get() == native->context.get())
        return bring_home(source, *home, host, to, options);
    }
    if (native->coherency == Coherency::kMapped) return lend(source, host, to, options);
    const View* view = memory.find_view(*to, kBufferMemory, options.access);
    if (!view) {
      if (const BufferView* twin = twin_of(memory, host, *native))
        return in_other_queue(source, twin->buffer(), host, to, *this, options);
      auto made =
          std::make_unique<BufferView>(to, widest(memory), host, buffer_over(*native, host, memory.size_bytes()));
      made->set_standing(id());  // Host and device see each other's writes directly.
      view = &memory.add_view(std::move(made));
    }
    return through_buffer(source, *view, options);
  }

 private:
  /// Back to the buffer that owns the bytes: what commands do to two buffers over the same bytes is undefined.
  Tensor bring_home(const Tensor& source, const BufferMemory& home, void* host, const Context& to,
                    const MapOptions& options) const {
    const Tensor returned = source.with_lease(without_host_turn(source.lease()));
    if (home.context() == to) return returned.through(nullptr);
    const bool stands = native_of(to)->coherency == Coherency::kStanding;
    return in_other_queue(returned.through(nullptr), home.buffer(), stands ? host : nullptr, to, *this, options);
  }

  /// Why memory of this size and alignment cannot be shared; empty when it can.
  static std::string obstacle(const Native& native, std::size_t bytes, std::size_t alignment) {
    if (native.coherency == Coherency::kCopied)
      return native.device.name + " has memory of its own: a buffer over host memory would be a copy in it";
    if (bytes == 0) return kEmpty;
    if (bytes > native.device.max_allocation)
      return "the memory has " + bytes_text(bytes) + ", buffers of " + native.device.name + " have at most " +
             std::to_string(native.device.max_allocation);
    if (alignment < native.share_alignment)
      return "the memory is aligned to " + bytes_text(alignment) + ", and " + native.device.name +
             " shares host memory from " + std::to_string(native.share_alignment) + " on";
    if (native.coherency == Coherency::kMapped && !native.device.is_cpu() && bytes % 64 != 0)
      return "the memory has " + bytes_text(bytes) + ", and " + native.device.name +
             " shares host memory in lines of 64 bytes";
    return {};
  }
  static std::size_t alignment_of(const void* address) {
    const auto bits = reinterpret_cast<std::uintptr_t>(address);
    return bits == 0 ? 1 : std::size_t{1} << std::min(std::countr_zero(bits), 12);
  }
  /// Widest access from the start, so that one view serves readers and writers.
  static Access widest(const Memory& memory) { return memory.read_only() ? Access::kRead : Access::kReadWrite; }
  /// The buffer that another context over the same cl_context made of these bytes: commands on two buffers over one
  /// range have no defined order. Null when there is none. Two threads that map a memory first, to two contexts at once,
  /// still make two.
  static const BufferView* twin_of(const Memory& memory, void* host, const Native& native) {
    const View* found = memory.find_view_if([&](const View& view) {
      if (!(view.kind() == kBufferMemory) || view.host() != host || !covers(view.access(), widest(memory)))
        return false;
      const Native* other = native_of(view.context());
      return other && other->context.get() == native.context.get() && dynamic_cast<const BufferView*>(&view);
    });
    return static_cast<const BufferView*>(found);
  }
  /// Never CL_MEM_READ_ONLY, not even for read-only memory: Intel's CPU runtime would then copy behind the pointer.
  static Handle<cl_mem> buffer_over(const Native& native, void* host, std::size_t size) {
    return make_buffer(native, CL_MEM_READ_WRITE | CL_MEM_USE_HOST_PTR, size, host, "a buffer over host memory");
  }

  /// The bytes belong to the device as long as the returned tensor lives.
  static Tensor lend(const Tensor& source, void* host, const Context& to, const MapOptions& options) {
    const Memory& memory = *source.memory();
    memory.wait_for(options.access, deadline_of(options), &ledger_of(options));
    const View* view = memory.find_view(*to, kBufferMemory, options.access);
    if (!view) {
      if (const auto* twin = dynamic_cast<const LentView*>(twin_of(memory, nullptr, *native_of(to)))) {
        const Access access = twin->access();
        view = &memory.add_view(std::make_unique<SharedLoan>(
            to, access, Handle<cl_mem>::retain(twin->buffer(), "sharing a buffer"), twin->turns()));
        return through_buffer(source, *view, options);
      }
      view = &memory.add_view(
          std::make_unique<BorrowedByDevice>(to, widest(memory), memory.size_bytes(), facet_of(to)->native_ref(),
                                             buffer_over(*native_of(to), host, memory.size_bytes())));
    }
    return through_buffer(source, *view, options);
  }
};

/// Copies host memory into a new buffer when it cannot be shared.
class CpuToBufferCopy final : public Edge {
 public:
  std::string_view name() const override { return "cpu->opencl.buffer (copy)"; }
  MemoryKind from() const override { return kCpuMemory; }
  MemoryKind to() const override { return kBufferMemory; }

  Step step(const Description& from, const Context& to, Access access) const override {
    const Native* native = native_of(to);
    if (!native) return Refusal{"the target is not a context of this framework"};
    if (takes(cpu_to_buffer(), from, to, access)) return Refusal{kShared};
    const std::size_t size = checked_size_bytes(from.info.type, from.info.shape).value_or(SIZE_MAX);
    if (size == 0) return Refusal{kEmpty};
    if (size > native->device.max_allocation)
      return Refusal{"the tensor has " + bytes_text(size) + ", buffers of " + native->device.name + " have at most " +
                     std::to_string(native->device.max_allocation)};
    return copied(from, to, kBufferMemory, 20'000, native->device.host_unified ? 0.1 : 0.2);
  }

  Tensor map(const Tensor& source, const Context& to, const MapOptions& options) const override {
    check_step(*this, source, to, options);
    auto& target = *to.as<BufferContext>();
    const Native& native = target.native();
    source.memory()->wait_for(Access::kRead, deadline_of(options), &ledger_of(options));
    Requirements wanted;
    wanted.size_bytes = source.size_bytes();
    Tensor copy(TensorInfo{source.element_type(), source.shape(), {}}, target.allocate(wanted));
    if (copy.is_host_addressable()) {
      source.copy_to(copy);
      return copy;
    }
    MappedBuffer mapped(native, opencl::buffer(copy), CL_MAP_WRITE_INVALIDATE_REGION, 0, source.size_bytes(),
                        deadline_of(options));
    Tensor packed(source.element_type(), source.shape(), mapped.data());
    source.copy_to(packed);
    // The device takes over at the end of this command: users wait for that, this call does not.
    copy.memory()->hazards().wrote(TimelinePoint(EventTimeline::over(mapped.end()), 1));
    if (!native.device.host_unified) ledger_of(options).book_transferred(id(), source.size_bytes());
    return copy;
  }
};

/// The host's view of a buffer on devices where both see each other's writes at once: mapped as long as the memory
/// lives, so that the address stays valid.
class StandingMap final : public View {
 public:
  StandingMap(Context context, Access access, Ref<Native> native, std::unique_ptr<MappedBuffer> mapped)
      : View(std::move(context), kCpuMemory, access, mapped->data()),
        native_(std::move(native)),
        mapped_(std::move(mapped)) {}

 private:
  Ref<Native> native_;
  std::unique_ptr<MappedBuffer> mapped_;
};

TENON_INLINE cl_mem_flags host_limits(const Memory& memory) {
  const auto* buffer = dynamic_cast<const BufferMemory*>(&memory);
  return buffer ? buffer->flags() & (CL_MEM_HOST_NO_ACCESS | CL_MEM_HOST_READ_ONLY | CL_MEM_HOST_WRITE_ONLY) : 0;
}

/// Enforces the host access limits of buffers created with such flags. Only the object knows them, so step() cannot.
TENON_INLINE void check_host_limits(const Tensor& source, Access access) {
  const cl_mem_flags limits = host_limits(*source.memory());
  const bool reads = covers(access, Access::kRead);
  if ((limits & CL_MEM_HOST_NO_ACCESS) || (reads && (limits & CL_MEM_HOST_WRITE_ONLY)) ||
      (writes(access) && (limits & CL_MEM_HOST_READ_ONLY)))
    throw Error(Code::kPermissionDenied,
                "opencl: " + to_string(source) +
                    " was created with CL_MEM_HOST_NO_ACCESS, _READ_ONLY or _WRITE_ONLY, which "
                    "forbids this host access; create it without");
}

class BufferToCpu final : public Edge {
 public:
  std::string_view name() const override { return "opencl.buffer->cpu"; }
  MemoryKind from() const override { return kBufferMemory; }
  MemoryKind to() const override { return kCpuMemory; }

  Step step(const Description& from, const Context& to, Access) const override {
    const Native* native = native_of(from.context);
    if (!native) return Refusal{"the source is not memory of this framework"};
    if (from.fd == FdKind::kDmabuf)
      return Refusal{"the CPU reaches a dma-buf by dmabuf->cpu, which brackets each access"};
    Reached reached = shared_in_place(from, to, kCpuMemory, 300);
    if (from.host_addressable) return reached;
    if (!native->maps_alias)
      return Refusal{native->device.name + " (" + native->device.platform_name +
                     ") maps a copy of buffers that it allocated itself; buffers over host memory are shared"};
    reached.cost_ns = 30'000;
    reached.result.host_addressable = true;
    reached.result.alignment = 64;
    return reached;
  }

  Tensor map(const Tensor& source, const Context& to, const MapOptions& options) const override {
    check_step(*this, source, to, options);
    const Memory& memory = *source.memory();
    check_host_limits(source, options.access);
    memory.wait_for(options.access, deadline_of(options), &ledger_of(options));
    const Native& native = *native_of(source.context());
    if (native.coherency == Coherency::kMapped) return borrow(source, to, options);
    // Back to where it came from: host memory needs no view of itself.
    if (memory.context() == to) return source.through(nullptr);
    const View* view = memory.find_view(*to, kCpuMemory, options.access);
    if (!view) {
      std::lock_guard lock(native.map_mutex);
      view = memory.find_view(*to, kCpuMemory, options.access);
      if (!view) view = &memory.add_view(make_view(source, to, options));
    }
    return through_host(source, *view, options.access, deadline_of(options));
  }

 private:
  struct HostSide {
    Access access;
    cl_map_flags flags;
  };
  /// As wide as the memory allows, so that one view serves readers and writers.
  static HostSide host_side(const Memory& memory) {
    const cl_mem_flags limits = host_limits(memory);
    if (memory.read_only() || (limits & CL_MEM_HOST_READ_ONLY)) return {Access::kRead, CL_MAP_READ};
    if (limits & CL_MEM_HOST_WRITE_ONLY) return {Access::kWrite, CL_MAP_WRITE};
    return {Access::kReadWrite, CL_MAP_READ | CL_MAP_WRITE};
  }
  static std::unique_ptr<MappedBuffer> map_whole(const Tensor& source, const HostSide& side, Deadline deadline) {
    return std::make_unique<MappedBuffer>(*native_of(source.context()), opencl::buffer(source), side.flags, 0,
                                          source.memory()->size_bytes(), deadline);
  }

  static std::unique_ptr<View> make_view(const Tensor& source, const Context& to, const MapOptions& options) {
    const HostSide side = host_side(*source.memory());
    if (void* host = source.view() ? source.view()->host() : source.memory()->host())
      return std::make_unique<View>(to, kCpuMemory, side.access, host);
    return std::make_unique<StandingMap>(to, side.access, source.context().as<FacetContext>()->native_ref(),
                                         map_whole(source, side, deadline_of(options)));
  }

  /// The bytes belong to the host as long as the returned tensor lives.
  static Tensor borrow(const Tensor& source, const Context& to, const MapOptions& options) {
    const Ref<Memory>& memory = source.memory();
    const Deadline deadline = deadline_of(options);
    const HostSide side = host_side(*memory);
    std::unique_lock lock(native_of(source.context())->map_mutex);
    if (const View* view = memory->find_view(*to, kCpuMemory, options.access)) {
      lock.unlock();
      return through_host(source, *view, options.access, deadline);
    }
    auto made = std::make_unique<BorrowedByHost>(to, side.access, source.context().as<FacetContext>()->native_ref(),
                                                 opencl::buffer(source), side.flags, memory->size_bytes(),
                                                 map_whole(source, side, deadline));
    BorrowedByHost* const turns = made.get();
    const View& view = memory->add_view(std::move(made));
    // A map from another context, under its own mutex, may have been faster.
    if (&view != turns) return through_host(source, view, options.access, deadline);
    return source.through(&view).with_lease(TurnLease::entered(memory, *turns, source.lease(), options.access));
  }
};

/// Copies a buffer into new host memory.
class BufferToCpuCopy final : public Edge {
 public:
  std::string_view name() const override { return "opencl.buffer->cpu (copy)"; }
  MemoryKind from() const override { return kBufferMemory; }
  MemoryKind to() const override { return kCpuMemory; }

  Step step(const Description& from, const Context& to, Access access) const override {
    const Native* native = native_of(from.context);
    if (!native) return Refusal{"the source is not memory of this framework"};
    if (takes(buffer_to_cpu(), from, to, access)) return Refusal{kShared};
    Reached reached = copied(from, to, kCpuMemory, 30'000, native->device.host_unified ? 0.1 : 0.2);
    reached.result.host_addressable = true;
    reached.result.alignment = 64;
    return reached;
  }

  Tensor map(const Tensor& source, const Context& to, const MapOptions& options) const override {
    check_step(*this, source, to, options);
    check_host_limits(source, Access::kRead);
    source.memory()->wait_for(Access::kRead, deadline_of(options), &ledger_of(options));
    Tensor copy(source.element_type(), source.shape());
    if (source.size_bytes() == 0) return copy;
    const Native& native = source.context().as<FacetContext>()->native();
    read_into(native, source, copy.memory(), deadline_of(options));
    if (!native.device.host_unified) ledger_of(options).book_transferred(id(), source.size_bytes());
    return copy;
  }
};

/// Between contexts over one cl_context: its other queues and devices.
class BufferToBuffer final : public Edge {
 public:
  std::string_view name() const override { return "opencl.buffer->opencl.buffer"; }
  MemoryKind from() const override { return kBufferMemory; }
  MemoryKind to() const override { return kBufferMemory; }

  Step step(const Description& from, const Context& to, Access) const override {
    const Native *source = native_of(from.context), *target = native_of(to);
    if (!source || !target) return Refusal{"source or target is not a context of this framework"};
    if (source->context.get() != target->context.get())
      return Refusal{
          "the buffer belongs to another cl_context, and OpenCL shares none between two; external memory or a "
          "way over the host does"};
    return shared_in_place(from, to, kBufferMemory, 300);
  }

  Tensor map(const Tensor& source, const Context& to, const MapOptions& options) const override {
    check_step(*this, source, to, options);
    const Memory& memory = *source.memory();
    if (memory.context() == to) return source.through(nullptr);
    void* const host = source.view() ? source.view()->host() : memory.host();
    return in_other_queue(source, opencl::buffer(source), host, to, *this, options);
  }
};

TENON_INLINE const Edge& cpu_to_buffer() {
  static const CpuToBuffer edge;
  return edge;
}

TENON_INLINE const Edge& cpu_to_buffer_copy() {
  static const CpuToBufferCopy edge;
  return edge;
}

TENON_INLINE const Edge& buffer_to_cpu() {
  static const BufferToCpu edge;
  return edge;
}

TENON_INLINE const Edge& buffer_to_cpu_copy() {
  static const BufferToCpuCopy edge;
  return edge;
}

TENON_INLINE const Edge& buffer_to_buffer() {
  static const BufferToBuffer edge;
  return edge;
}

}  // namespace detail
}  // namespace opencl
}  // namespace v1
}  // namespace tenon
