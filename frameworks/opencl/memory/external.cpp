// SPDX-License-Identifier: Apache-2.0
// Imports by descriptor: buffers over memory of other APIs, their possession, and tests of what the device imports.
#include <tenon/frameworks/opencl/external.hpp>

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include <tenon/core/export.hpp>
#include <tenon/core/host_edge.hpp>
#include <tenon/core/pixel_format.hpp>
#include <tenon/core/process_wide.hpp>
#include <tenon/core/ref_counted.hpp>
#include <tenon/core/requirements.hpp>
#include <tenon/core/shape.hpp>
#include <tenon/frameworks/opencl/access.hpp>
#include <tenon/frameworks/opencl/buffer.hpp>
#include <tenon/frameworks/opencl/device.hpp>
#include <tenon/frameworks/opencl/event.hpp>
#include <tenon/frameworks/opencl/newer_calls.hpp>
#include <tenon/frameworks/opencl/sync.hpp>

namespace tenon {
inline namespace v1 {
namespace opencl {
namespace detail {

TENON_INLINE cl_uint handle_type_of(FdKind kind) {
  if (kind.serves(FdKind::kMemfd)) return kMemoryDmabuf;
  return kind.serves(FdKind::kOpaqueFd) || kind == FdKind::kCudaFd ? kMemoryOpaqueFd : 0;
}

TENON_INLINE std::string import_obstacle(const Native& native, FdKind kind) {
  const Device& device = native.device;
  if (kind == FdKind::kNone) return "the memory has no descriptor";
  const cl_uint type = handle_type_of(kind);
  if (type == 0)
    return "its descriptor is of kind " + std::string(kind.name()) + ", which OpenCL does not import on this system";
  if (!contains(device.memory_imports, type))
    return device.name + " (" + device.platform_name + ") lacks " +
           (type == kMemoryDmabuf ? "cl_khr_external_memory_dma_buf" : "cl_khr_external_memory_opaque_fd");
  if (!native.extensions.acquire || !native.extensions.release)
    return device.name + " (" + device.platform_name + ") has cl_khr_external_memory without its functions";
  if (kind == FdKind::kMemfd && !native.imports_memfd)
    return device.name + " imports no memfd, and this one only stands in for a dma-buf";
  return kind == FdKind::kDmabuf ? native.dmabuf_obstacle : std::string();
}

TENON_INLINE ImportedRows imported_rows(const cl_image_format& format, std::size_t width, std::size_t height,
                                        std::size_t pitch) {
  ImportedRows rows{format, {}};
  rows.desc.image_type = CL_MEM_OBJECT_IMAGE2D;
  rows.desc.image_width = width;
  rows.desc.image_height = height;
  rows.desc.image_row_pitch = pitch;
  return rows;
}

TENON_INLINE Handle<cl_mem> import_descriptor(const Native& native, int fd, FdKind kind, std::size_t size,
                                              const ImportedRows* rows) {
  const auto devices =
      info<cl_uint>(clGetContextInfo, "clGetContextInfo", native.context.get(), CL_CONTEXT_NUM_DEVICES);
  std::vector<cl_mem_properties> properties{handle_type_of(kind), static_cast<cl_mem_properties>(fd)};
  if (devices > 1) {
    constexpr cl_mem_properties kDeviceList = 0x2051;  // CL_MEM_DEVICE_HANDLE_LIST_KHR, ended by 0.
    for (const cl_mem_properties each :
         {kDeviceList, static_cast<cl_mem_properties>(reinterpret_cast<std::uintptr_t>(native.device.id)),
          cl_mem_properties{0}})
      properties.push_back(each);
  }
  properties.push_back(0);
  const auto what = [&] {
    return "importing " + std::to_string(size) + " bytes by a descriptor of kind " + std::string(kind.name()) + " on " +
           native.device.name;
  };
  if (rows)
    return Handle<cl_mem>(create("clCreateImageWithProperties", what, newer_calls().make_image, native.context.get(),
                                 static_cast<const cl_mem_properties*>(properties.data()),
                                 cl_mem_flags{CL_MEM_READ_WRITE}, &rows->format, &rows->desc,
                                 static_cast<void*>(nullptr)));
  return Handle<cl_mem>(create("clCreateBufferWithProperties", what, newer_calls().make_buffer, native.context.get(),
                               static_cast<const cl_mem_properties*>(properties.data()),
                               cl_mem_flags{CL_MEM_READ_WRITE}, size, static_cast<void*>(nullptr)));
}

/// Whether the calls that hand memory over wait on the host for their events, and for what waits in their queue: NVIDIA's do (driver
/// 580), for ever if the host is to set an event later. There, memory is taken at once, by a queue in which nothing waits, and is
/// OpenCL's from then on: such devices keep their memory coherent between APIs from kernel to kernel, and points order the kernels.
TENON_INLINE bool waits_to_hand_over(const Device& device) { return device.has("cl_nv_device_attribute_query"); }

/// @param before  One of these points whose event's queue is flushed, if it is known. The event stays this point's.
TENON_INLINE WaitList unfinished_work(const Native& native, const Memory& memory, const TimelinePoint& before) {
  WaitList after;
  for (const TimelinePoint& point : memory.pending(Access::kReadWrite)) {
    if (point.state() != PointState::kPending) continue;
    if (point == before)
      after.add(static_cast<const EventTimeline&>(*point.timeline()).event());
    else
      after.add(native, point);
  }
  return after;
}

/// An event behind these, where a marker may wait.
TENON_INLINE TimelinePoint end_of(const Native& native, cl_uint count, const cl_event* events) {
  cl_event event = nullptr;
  check(clEnqueueMarkerWithWaitList(native.handovers.get(), count, events, &event), "clEnqueueMarkerWithWaitList",
        "marking the end of the work on memory of another API");
  TimelinePoint end = point_of(Handle<cl_event>(event));
  clFlush(native.handovers.get());
  return end;
}

/// The end of the unfinished work on `memory`.
TENON_INLINE TimelinePoint end_of_work(const Native& native, const Memory& memory, const TimelinePoint& before = {}) {
  const WaitList after = unfinished_work(native, memory, before);
  return after.size() == 0 ? TimelinePoint::ready() : end_of(native, after.size(), after.data());
}

TENON_INLINE TimelinePoint hand_over(const Native& native, ExtensionCalls::HandOver function, const char* name,
                                     cl_mem buffer, const Memory& memory, const TimelinePoint& before) {
  const WaitList after = unfinished_work(native, memory, before);
  cl_event event = nullptr;
  check(function(native.handovers.get(), cl_uint{1}, &buffer, after.size(), after.data(), &event), name,
        "handing memory of another API over");
  TimelinePoint end = point_of(Handle<cl_event>(event));
  clFlush(native.handovers.get());
  return end;
}

TENON_INLINE Possession::~Possession() {
  if (times_ == 0) return;
  const cl_command_queue queue = waits_to_hand_over(native_.device) ? native_.transfers.get() : native_.handovers.get();
  for (; times_ > 0; --times_) native_.extensions.release(queue, 1, &buffer_, 0, nullptr, nullptr);
  clFlush(queue);
}

TENON_INLINE TimelinePoint Possession::take(const Memory& memory) {
  constexpr const char* kCall = "clEnqueueAcquireExternalMemObjectsKHR";
  if (injected()) fail(injected_code(), kCall, "taking memory of another API");
  if (!waits_to_hand_over(native_.device)) {
    TimelinePoint taken = hand_over(native_, native_.extensions.acquire, kCall, buffer_, memory);
    ++times_;
    return taken;
  }
  const TimelinePoint before = end_of_work(native_, memory);
  if (times_ > 0) return before;
  cl_event event = nullptr;
  check(native_.extensions.acquire(native_.transfers.get(), 1, &buffer_, 0, nullptr, &event), kCall,
        "taking memory of another API");
  times_ = 1;
  const TimelinePoint taken = point_of(Handle<cl_event>(event));
  clFlush(native_.transfers.get());
  if (!before.timeline()) return taken;
  const cl_event both[] = {static_cast<const EventTimeline&>(*before.timeline()).event(), event};
  return end_of(native_, 2, both);
}

TENON_INLINE TimelinePoint Possession::give_back(const Memory& memory, const TimelinePoint& taken) {
  if (waits_to_hand_over(native_.device)) return end_of_work(native_, memory, taken);
  TimelinePoint given =
      hand_over(native_, native_.extensions.release, "clEnqueueReleaseExternalMemObjectsKHR", buffer_, memory, taken);
  if (times_ > 0) --times_;
  return given;
}

/// Memory of another API as a buffer: OpenCL takes it with its first user and gives it back after the last. Made with
/// the first one, so that a view whose memory cannot be taken is never kept.
class ImportedView final : public LentView, public Turns {
 public:
  /// @errors those of acquiring.
  ImportedView(Context context, Access access, Ref<Native> native, Handle<cl_mem> buffer, const Memory& memory)
      : LentView(std::move(context), access, nullptr, std::move(buffer)),
        Turns(1),
        native_(std::move(native)),
        memory_(memory),
        possession_(*native_, this->buffer()) {
    take();
  }
  Turns& turns() const override { return const_cast<ImportedView&>(*this); }

 private:
  void open(Deadline) override { take(); }
  TimelinePoint close(const Memory& memory) override {
    return possession_.give_back(memory, std::exchange(taken_, {}));
  }
  /// Commands wait for the acquiring one as for any other work on the memory; the host does not.
  void take() {
    taken_ = possession_.take(memory_);
    memory_.hazards().wrote(taken_, kNoBytes);
  }

  Ref<Native> native_;
  const Memory& memory_;  // Owns this view.
  // Under the lock of Turns.
  Possession possession_;
  TimelinePoint taken_;
};

/// A buffer that was imported on its own, with a descriptor of its own. OpenCL has it unless it was given back.
class ExternalMemory final : public BufferMemory {
 public:
  ExternalMemory(Context context, const Properties& properties, Ref<Native> native, Handle<cl_mem> buffer, UniqueFd fd)
      : BufferMemory(std::move(context), properties, std::move(native), std::move(buffer), CL_MEM_READ_WRITE, {}),
        fd_(std::move(fd)),
        possession_(this->native(), this->buffer()) {}
  ~ExternalMemory() override { drop_views(); }
  int borrow_fd() const override { return fd_.get(); }
  /// @name As those of Possession; noted in the hazards. @thread any.
  TimelinePoint take() {
    const std::lock_guard lock(mutex_);
    return noted(possession_.take(*this));
  }
  TimelinePoint give_back() {
    const std::lock_guard lock(mutex_);
    return noted(possession_.give_back(*this));
  }

 private:
  TimelinePoint noted(TimelinePoint point) {
    hazards().wrote(point, kNoBytes);
    return point;
  }

  UniqueFd fd_;
  std::mutex mutex_;
  Possession possession_;
};

TENON_INLINE std::optional<Refusal> refuses_descriptor(const Description& from, const Context& to, Access access) {
  const FacetContext* facet = facet_of(to);
  if (!facet) return Refusal{"the target is not a context of this framework"};
  const Native& native = facet->native();
  if (std::string reason = import_obstacle(native, from.fd); !reason.empty()) return Refusal{std::move(reason)};
  if (from.modifier != kModifierLinear)
    return Refusal{"its pixels are tiled (a DRM modifier), and a buffer is linear memory"};
  if (writes(access) && from.read_only) return Refusal{"the memory is read-only"};
  if (auto refusal = refuses_import(from, to)) return refusal;
  if (from.memory_bytes > native.device.max_allocation)
    return Refusal{"the memory has " + std::to_string(from.memory_bytes) + " bytes, buffers of " + native.device.name +
                   " have at most " + std::to_string(native.device.max_allocation)};
  return std::nullopt;
}

/// The first map of a memory to a cl_context.
TENON_INLINE Tensor import_first(const Tensor& source, const Context& to, Handle<cl_mem> buffer,
                                 const MapOptions& options) {
  const Memory& memory = *source.memory();
  const Access access = memory.read_only() ? Access::kRead : Access::kReadWrite;
  auto made = std::make_unique<ImportedView>(to, access, facet_of(to)->native_ref(), std::move(buffer), memory);
  ImportedView* const turns = made.get();
  const View& view = memory.add_view(std::move(made));
  // Another thread may have been faster: the view that it made is used, and this import is gone.
  if (&view != turns) return through_buffer(source, view, options);
  return source.through(&view).with_lease(TurnLease::entered(source.memory(), *turns, source.lease(), options.access));
}

TENON_INLINE Tensor map_by_descriptor(const Tensor& source, const Context& to, int fd, FdKind kind,
                                      const MapOptions& options) {
  const Memory& memory = *source.memory();
  const View* view = memory.find_view(*to, kBufferMemory, options.access);
  if (!view) {
    const FacetContext& facet = *facet_of(to);
    const Native& native = facet.native();
    const Access access = memory.read_only() ? Access::kRead : Access::kReadWrite;
    // Commands on two buffers over one memory have no defined order.
    const auto* known = dynamic_cast<const LentView*>(memory.find_view_if([&](const View& other) {
      const FacetContext* owner = other.kind() == kBufferMemory ? facet_of(other.context()) : nullptr;
      return owner && owner->native().context.get() == native.context.get() && covers(other.access(), access);
    }));
    if (!known) return import_first(source, to, import_buffer(native, fd, kind, memory.size_bytes()), options);
    view = &memory.add_view(std::make_unique<SharedLoan>(
        to, access, Handle<cl_mem>::retain(known->buffer(), "sharing an imported buffer"), known->turns()));
  }
  return through_buffer(source, *view, options);
}

TENON_INLINE bool are_of_import(const Turns& turns) { return dynamic_cast<const ImportedView*>(&turns) != nullptr; }

TENON_INLINE void judge_imports(Native& native) {
  const Device& device = native.device;
  native.extensions = extension_calls(device);
  if (device.memory_imports.empty() && !native.extensions.has_semaphores() && !native.extensions.has_surfaces()) return;
  native.handovers = make_queue(native, device.out_of_order ? CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE : 0);
  if (!contains(device.memory_imports, kMemoryDmabuf) || !native.extensions.acquire || !native.extensions.release)
    return;
  judge_dmabufs(native);
}

}  // namespace detail

TENON_INLINE bool imports(const Context& context, FdKind kind, std::string* reason) {
  std::string obstacle = detail::import_obstacle(detail::facet(context, "imports").native(), kind);
  const bool possible = obstacle.empty();
  if (reason) *reason = std::move(obstacle);
  return possible;
}

TENON_INLINE Tensor import_fd(const Context& context, int fd, FdKind kind, std::size_t size_bytes,
                              const TensorInfo& info) {
  BufferContext& buffers = detail::buffers(context, "import_fd");
  const detail::Native& native = buffers.native();
  if (const std::string obstacle = detail::import_obstacle(native, kind); !obstacle.empty())
    throw Error(Code::kUnimplemented, "opencl::import_fd: " + obstacle);
  const auto extent = checked_extent_bytes(info);
  if (size_bytes == 0 || !extent || *extent > size_bytes)
    throw Error(Code::kOutOfRange, "opencl::import_fd: " + to_string(info.shape) + " needs " +
                                       (extent ? std::to_string(*extent) : std::string("too many")) +
                                       " bytes, the memory has " + std::to_string(size_bytes));
  UniqueFd kept = UniqueFd::duplicate(fd);
  Memory::Properties properties;
  properties.size_bytes = size_bytes;
  properties.fd = kind;
  if (kind.is_bound_to_device()) properties.exporter = std::make_shared<const DeviceIdentity>(native.device.identity);
  detail::Handle<cl_mem> buffer = detail::import_buffer(native, fd, kind, size_bytes);
  properties.identity = {MemoryIdentity::Kind::kHandle, 0, reinterpret_cast<std::uintptr_t>(buffer.get())};
  // Descriptors of dma-bufs have an inode of their own, those of drivers may share one.
  if (!kind.is_bound_to_device()) properties.identity = detail::identity_of_file(kept.get(), properties.identity);
  auto memory =
      make_ref<detail::ExternalMemory>(context, properties, buffers.native_ref(), std::move(buffer), std::move(kept));
  memory->take();
  return Tensor(info, std::move(memory));
}

namespace detail {

TENON_INLINE ExternalMemory& external(const Tensor& tensor, const char* function) {
  auto* const memory = tensor ? dynamic_cast<ExternalMemory*>(tensor.memory().get()) : nullptr;
  if (!memory)
    throw Error(Code::kInvalidArgument, std::string("opencl::") + function + ": " +
                                            (tensor ? to_string(tensor) : std::string("an empty tensor")) +
                                            " was not imported by opencl::import_fd");
  return *memory;
}

}  // namespace detail

TENON_INLINE TimelinePoint give_back(const Tensor& tensor) { return detail::external(tensor, "give_back").give_back(); }

TENON_INLINE TimelinePoint take(const Tensor& tensor) { return detail::external(tensor, "take").take(); }

}  // namespace opencl
}  // namespace v1
}  // namespace tenon
