// SPDX-License-Identifier: Apache-2.0
// Edges between CUDA memory and OpenCL buffers of one device, and CUDA's memory imported into OpenCL.
#include <tenon/bridges/cuda_opencl/edges.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include <tenon/core/context.hpp>
#include <tenon/core/edge.hpp>
#include <tenon/core/error.hpp>
#include <tenon/core/host_edge.hpp>
#include <tenon/core/memory.hpp>
#include <tenon/core/policy.hpp>
#include <tenon/core/ref_counted.hpp>
#include <tenon/core/requirements.hpp>
#include <tenon/core/shape.hpp>
#include <tenon/core/standing_view.hpp>
#include <tenon/core/tensor.hpp>
#include <tenon/core/timeline.hpp>
#include <tenon/frameworks/cuda/client.hpp>
#include <tenon/frameworks/cuda/context.hpp>
#include <tenon/frameworks/opencl/client.hpp>
#include <tenon/frameworks/opencl/context.hpp>
#include <tenon/frameworks/opencl/event.hpp>

namespace tenon {
inline namespace v1 {
namespace cuda_opencl {
namespace detail {

/// Acquired for OpenCL as long as it lives. NVIDIA's devices keep their memory coherent between APIs from kernel to
/// kernel, and points order the kernels: so, other than what OpenCL imports on its own, it is not handed back between
/// uses, and its views are standing.
class Import {
 public:
  /// @param fd  Stays the caller's. The caller has asked import_obstacle().
  /// @errors those of native calls; kDeadlineExceeded.
  Import(Ref<opencl::client::Native> native, int fd, std::size_t size, Deadline deadline)
      : native_(std::move(native)), buffer_(opencl::client::import_buffer(*native_, fd, FdKind::kCudaFd, size)) {
    const cl_mem buffer = buffer_.get();
    cl_event event = nullptr;
    opencl::client::check(opencl::client::call(native_->extensions.acquire, native_->transfers.get(), cl_uint{1},
                                               &buffer, cl_uint{0}, static_cast<const cl_event*>(nullptr), &event),
                          "clEnqueueAcquireExternalMemObjectsKHR", "taking CUDA's memory over");
    opencl::client::Handle<cl_event> taken(event);
    try {
      opencl::client::finish(std::move(taken), deadline);
    } catch (...) {
      give_back();
      throw;
    }
  }
  Import(const Import&) = delete;
  Import& operator=(const Import&) = delete;
  ~Import() { give_back(); }
  cl_mem buffer() const { return buffer_.get(); }

 private:
  /// NVIDIA's clReleaseContext waits for ever for a buffer that was acquired and went without being released.
  void give_back() noexcept {
    const cl_mem buffer = buffer_.get();
    native_->extensions.release(native_->transfers.get(), 1, &buffer, 0, nullptr, nullptr);
    clFlush(native_->transfers.get());
  }

  Ref<opencl::client::Native> native_;
  opencl::client::Handle<cl_mem> buffer_;
};

inline constexpr const char* kNotOurs = "source or target is not a context of CUDA and of OpenCL buffers";
inline constexpr const char* kNoDescriptor =
    "the memory has no descriptor (memory of cudaMalloc never has): allocate it with cuda::allocate_exported, or let "
    "the "
    "library that makes it allocate so";

/// Both sides of an edge; null where a context is another framework's.
struct Sides {
  const cuda::CudaContext* cuda;
  const opencl::BufferContext* opencl;
  Sides(const Context& one, const Context& other)
      : cuda(one.as<cuda::CudaContext>()), opencl(other.as<opencl::BufferContext>()) {}
  explicit operator bool() const { return cuda && opencl; }
};

/// Why OpenCL cannot use memory that CUDA exports; nothing when it can.
TENON_INLINE std::optional<Refusal> refuses_imports(const opencl::client::Native& native, std::size_t size) {
  const opencl::Device& device = native.device;
  if (std::string obstacle = opencl::client::import_obstacle(native, FdKind::kCudaFd); !obstacle.empty())
    return Refusal{std::move(obstacle)};
  if (size > device.max_allocation)
    return Refusal{"the memory has " + std::to_string(size) + " bytes, buffers of " + device.name + " have at most " +
                   std::to_string(device.max_allocation)};
  return std::nullopt;
}

/// A device's copies within its memory: HBM3 reads and writes some 2,000 bytes a nanosecond each.
inline constexpr double kDeviceNsPerByte = 0.0005;

/// The size of exported memory for `size` bytes.
TENON_INLINE std::size_t rounded(const cuda::Device& device, std::size_t size) {
  const std::size_t grain = std::max<std::size_t>(device.export_granularity, 1);
  return (std::max<std::size_t>(size, 1) + grain - 1) / grain * grain;
}

/// Why no memory can be made that both sides use; nothing when it can.
TENON_INLINE std::optional<Refusal> refuses_common(const Sides& sides, std::size_t size) {
  const cuda::Device& device = sides.cuda->native().device;
  if (!device.exports_fd) return Refusal{device.name + " exports no memory as a descriptor (its attributes)"};
  if (!sides.cuda->device().same_device(sides.opencl->device()))
    return Refusal{std::string(sides.cuda->name()) + " and " + std::string(sides.opencl->name()) +
                   " are not known to be one device"};
  return refuses_imports(sides.opencl->native(), rounded(device, size));
}

/// CUDA's memory as a buffer.
class ImportedView final : public opencl::BufferView {
 public:
  ImportedView(Context context, Access access, opencl::client::Handle<cl_mem> buffer, std::unique_ptr<Import> import)
      : BufferView(std::move(context), access, nullptr, std::move(buffer)), import_(std::move(import)) {}

 private:
  std::unique_ptr<Import> import_;  // Null where another context over the cl_context has it.
};

/// A buffer over memory of CUDA that only this edge uses.
class ImportedBuffer final : public opencl::BufferMemory {
 public:
  ImportedBuffer(Context context, const Properties& properties, Ref<opencl::client::Native> native,
                 opencl::client::Handle<cl_mem> buffer, std::unique_ptr<Import> import, Ref<Memory> origin)
      : BufferMemory(std::move(context), properties, std::move(native), std::move(buffer), CL_MEM_READ_WRITE, {}),
        origin_(std::move(origin)),
        import_(std::move(import)) {}
  ~ImportedBuffer() override { drop_views(); }

 private:
  Ref<Memory> origin_;
  std::unique_ptr<Import> import_;
};

/// Exported memory in place, imported once.
class CudaToBuffer final : public Edge {
 public:
  std::string_view name() const override { return "cuda->opencl.buffer"; }
  MemoryKind from() const override { return cuda::kCudaMemory; }
  MemoryKind to() const override { return opencl::kBufferMemory; }

  Step step(const Description& from, const Context& to, Access access) const override {
    const Sides sides(from.context, to);
    if (!sides) return Refusal{kNotOurs};
    if (auto refusal = refuses_imports(sides.opencl->native(), from.memory_bytes)) return *std::move(refusal);
    if (!(from.fd == FdKind::kCudaFd)) return Refusal{kNoDescriptor};
    if (auto refusal = refuses_import(from, to)) return *std::move(refusal);
    if (writes(access) && from.read_only) return Refusal{"the memory is read-only"};
    Reached reached = shared_in_place(from, to, opencl::kBufferMemory, 50'000);
    reached.result.host_addressable = false;
    return reached;
  }
  bool makes_standing_views(const Context&) const override { return true; }

  Tensor map(const Tensor& source, const Context& to, const MapOptions& options) const override {
    check_step(*this, source, to, options);
    // Points order its users, so mapping again needs no call.
    return standing_view(*this, source, to, opencl::kBufferMemory, options.access,
                         [&] { return import(*source.memory(), to, widest_access(source), deadline_of(options)); });
  }

 private:
  static std::unique_ptr<View> import(const Memory& memory, const Context& to, Access access, Deadline deadline) {
    const Ref<opencl::client::Native>& native = to.as<opencl::BufferContext>()->native_ref();
    const View* twin = memory.find_view_if([&](const View& view) {
      const auto* other = view.context().as<opencl::BufferContext>();
      return other && other->native().context.get() == native->context.get() && covers(view.access(), access);
    });
    std::unique_ptr<Import> import;
    if (!twin) import = std::make_unique<Import>(native, memory.borrow_fd(), memory.size_bytes(), deadline);
    const cl_mem buffer = twin ? static_cast<const opencl::BufferView*>(twin)->buffer() : import->buffer();
    return std::make_unique<ImportedView>(
        to, access, opencl::client::Handle<cl_mem>::retain(buffer, "sharing an imported buffer"), std::move(import));
  }
};

/// What cannot be exported is copied on the device, into memory that can.
class CudaToBufferCopy final : public Edge {
 public:
  explicit CudaToBufferCopy(const Edge& in_place) : in_place_(in_place) {}
  std::string_view name() const override { return "cuda->opencl.buffer (copy on the device)"; }
  MemoryKind from() const override { return cuda::kCudaMemory; }
  MemoryKind to() const override { return opencl::kBufferMemory; }

  Step step(const Description& from, const Context& to, Access access) const override {
    const Sides sides(from.context, to);
    if (!sides) return Refusal{kNotOurs};
    if (std::holds_alternative<Reached>(in_place_.step(from, to, access)))
      return Refusal{"the memory can be shared in place"};
    const std::size_t size = checked_size_bytes(from.info.type, from.info.shape).value_or(SIZE_MAX / 2);
    if (auto refusal = refuses_common(sides, size)) return *std::move(refusal);
    Reached reached = packed_copy(from, to, opencl::kBufferMemory, 300'000, kDeviceNsPerByte, 1, false);
    reached.result.memory_bytes = rounded(sides.cuda->native().device, size);
    return reached;
  }

  Tensor map(const Tensor& source, const Context& to, const MapOptions& options) const override {
    check_step(*this, source, to, options);
    const Deadline deadline = deadline_of(options);
    source.memory()->wait_for(Access::kRead, deadline, &ledger_of(options));
    auto& from = *source.context().as<cuda::CudaContext>();
    auto& target = *to.as<opencl::BufferContext>();
    const TensorInfo packed{source.element_type(), source.shape(), {}};
    Requirements wanted;
    wanted.size_bytes = source.size_bytes();
    Ref<Memory> made = from.allocate_exported(wanted);
    const cuda::client::Side side{cuda::pointer(Tensor(packed, made)), false};
    cuda::client::copy_elements(from.native_ref(), source, made, side, cuda::client::Direction::kOut, deadline);
    auto import = std::make_unique<Import>(target.native_ref(), made->borrow_fd(), made->size_bytes(), deadline);
    auto buffer = opencl::client::Handle<cl_mem>::retain(import->buffer(), "using an imported buffer");
    Memory::Properties properties;
    properties.size_bytes = made->size_bytes();
    properties.identity = {MemoryIdentity::Kind::kHandle, 0, reinterpret_cast<std::uintptr_t>(buffer.get())};
    return Tensor(packed, make_ref<ImportedBuffer>(to, properties, target.native_ref(), std::move(buffer),
                                                   std::move(import), std::move(made)));
  }

 private:
  const Edge& in_place_;
};

/// CUDA's own memory comes back as it was.
class BufferToCuda final : public Edge {
 public:
  std::string_view name() const override { return "opencl.buffer->cuda"; }
  MemoryKind from() const override { return opencl::kBufferMemory; }
  MemoryKind to() const override { return cuda::kCudaMemory; }

  Step step(const Description& from, const Context& to, Access access) const override {
    const Sides sides(to, from.context);
    if (!sides) return Refusal{kNotOurs};
    if (!(from.fd == FdKind::kCudaFd))
      return Refusal{
          "OpenCL's own buffers cannot be exported: allocate with cuda::allocate_exported, and map that to OpenCL"};
    if (auto refusal = refuses_import(from, to)) return *std::move(refusal);
    if (writes(access) && from.read_only) return Refusal{"the memory is read-only"};
    return shared_in_place(from, to, cuda::kCudaMemory, 200);
  }

  Tensor map(const Tensor& source, const Context& to, const MapOptions& options) const override {
    check_step(*this, source, to, options);
    const Tensor home = source.through(nullptr);  // Only CUDA's memory has such a descriptor.
    if (home.context() == to) return home;
    const Context is_at = home.context();
    if (cuda::handle(is_at) != cuda::handle(to))
      throw Error(Code::kFailedPrecondition, std::string(name()) +
                                                 ": the memory belongs to another CUcontext than that of " +
                                                 std::string(to->name()) + "; map it to its own, or over the host");
    return cuda::client::share_between(home, to, options);
  }
};

/// Any buffer, copied on the device into memory that both sides know.
class BufferToCudaCopy final : public Edge {
 public:
  std::string_view name() const override { return "opencl.buffer->cuda (copy on the device)"; }
  MemoryKind from() const override { return opencl::kBufferMemory; }
  MemoryKind to() const override { return cuda::kCudaMemory; }

  Step step(const Description& from, const Context& to, Access) const override {
    const Sides sides(to, from.context);
    if (!sides) return Refusal{kNotOurs};
    if (from.fd == FdKind::kCudaFd) return Refusal{"the memory is CUDA's own, and comes back in place"};
    const std::size_t size = checked_size_bytes(from.info.type, from.info.shape).value_or(SIZE_MAX / 2);
    if (auto refusal = refuses_common(sides, size)) return *std::move(refusal);
    Reached reached = packed_copy(from, to, cuda::kCudaMemory, 300'000, kDeviceNsPerByte, 1, false);
    reached.result.memory_bytes = rounded(sides.cuda->native().device, size);
    reached.result.fd = FdKind::kCudaFd;
    reached.result.exporter = std::make_shared<const DeviceIdentity>(to->device());
    return reached;
  }

  Tensor map(const Tensor& source, const Context& to, const MapOptions& options) const override {
    check_step(*this, source, to, options);
    const Deadline deadline = deadline_of(options);
    source.memory()->wait_for(Access::kRead, deadline, &ledger_of(options));
    const Tensor copy = cuda::allocate_exported(to, {source.element_type(), source.shape(), {}});
    if (source.size_bytes() == 0) return copy;
    const auto& from = *source.context().as<opencl::BufferContext>();
    const Import import(from.native_ref(), copy.memory()->borrow_fd(), copy.memory()->size_bytes(), deadline);
    TimelinePoint last;
    try {
      opencl::client::for_each_run(source, [&](std::size_t offset, std::size_t packed, std::size_t size) {
        last = TimelinePoint(opencl::EventTimeline::over(opencl::client::copy_buffer(
                                 from.native(), opencl::buffer(source), import.buffer(), offset, packed, size)),
                             1);
      });
      last.timeline()->wait(last.value(), deadline);
    } catch (...) {
      if (last.timeline()) cuda::client::keep_until(last, copy.memory());  // The device may still write it.
      throw;
    }
    return copy;
  }
};

struct Edges {
  CudaToBuffer cuda_to_buffer;
  CudaToBufferCopy cuda_to_buffer_copy{cuda_to_buffer};
  BufferToCuda buffer_to_cuda;
  BufferToCudaCopy buffer_to_cuda_copy;
  const Edge* const all[4] = {&cuda_to_buffer, &cuda_to_buffer_copy, &buffer_to_cuda, &buffer_to_cuda_copy};
};

}  // namespace detail

TENON_INLINE std::span<const Edge* const> edges() {
  static const auto* const made = new detail::Edges;  // Outlives static destructors.
  return made->all;
}

}  // namespace cuda_opencl
}  // namespace v1
}  // namespace tenon
