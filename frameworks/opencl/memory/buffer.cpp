// SPDX-License-Identifier: Apache-2.0
// Buffers as memory, their copies by the device's own commands, and their regions.
#include <tenon/frameworks/opencl/buffer.hpp>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <utility>

#include <tenon/core/error.hpp>
#include <tenon/core/export.hpp>
#include <tenon/frameworks/opencl/device.hpp>

namespace tenon {
inline namespace v1 {
namespace opencl {

TENON_INLINE BufferMemory::BufferMemory(Context context, const Properties& properties, Ref<detail::Native> native,
                                        detail::Handle<cl_mem> buffer, cl_mem_flags flags, Parent parent)
    : Memory(std::move(context), kBufferMemory, properties),
      native_(std::move(native)),
      buffer_(std::move(buffer)),
      flags_(flags),
      parent_(std::move(parent)) {}

TENON_INLINE BufferMemory::~BufferMemory() { drop_views(); }

TENON_INLINE BufferView::BufferView(Context context, Access access, void* host, detail::Handle<cl_mem> buffer)
    : View(std::move(context), kBufferMemory, access, host), buffer_(std::move(buffer)) {}

TENON_INLINE cl_mem buffer(const Tensor& tensor) {
  if (tensor && tensor.view()) {
    if (const auto* view = dynamic_cast<const BufferView*>(tensor.view())) return view->buffer();
  } else if (tensor) {
    if (const auto* memory = dynamic_cast<const BufferMemory*>(tensor.memory().get())) return memory->buffer();
  }
  throw Error(Code::kInvalidArgument, "opencl::buffer of " + to_string(tensor) +
                                          ": not an opencl.buffer; map it to an OpenCL context with a Router first");
}

namespace detail {

TENON_INLINE void read_into(const Native& native, const Tensor& tensor, const Ref<Memory>& into, Deadline deadline) {
  const cl_mem from = buffer(tensor);
  auto* const packed_bytes = static_cast<std::byte*>(into->host());
  run_copies(tensor, into, deadline, [&](std::size_t offset, std::size_t packed, std::size_t size) {
    cl_event event = nullptr;
    check(call(clEnqueueReadBuffer, native.transfers.get(), from, cl_bool{CL_FALSE}, offset, size,
               static_cast<void*>(packed_bytes + packed), cl_uint{0}, static_cast<const cl_event*>(nullptr), &event),
          "clEnqueueReadBuffer", [&] { return "reading " + to_string(tensor); });
    return Handle<cl_event>(event);
  });
}

/// Copies a tensor's elements out with device commands, to get what the device sees rather than what a map would
/// update.
TENON_INLINE void read_buffer(const Native& native, const Tensor& tensor, std::span<std::byte> out) {
  if (tensor.size_bytes() == 0) return;
  tensor.memory()->wait_for(Access::kRead, default_deadline());
  const Handle<cl_mem> scratch =
      make_buffer(native, CL_MEM_READ_WRITE, tensor.size_bytes(), nullptr, "a scratch buffer");
  const cl_mem from = buffer(tensor);
  for_each_run(tensor, [&](std::size_t offset, std::size_t packed, std::size_t size) {
    copy_buffer(native, from, scratch.get(), offset, packed, size);
  });
  const MappedBuffer mapped(native, scratch.get(), CL_MAP_READ, 0, tensor.size_bytes(), default_deadline());
  std::memcpy(out.data(), mapped.data(), tensor.size_bytes());
}

/// The reverse; complete when it returns.
TENON_INLINE void write_buffer(const Native& native, const Tensor& tensor, std::span<const std::byte> in) {
  if (!tensor.is_writable())
    throw Error(Code::kPermissionDenied, "opencl: writing to " + to_string(tensor) + ": its memory is read-only");
  if (tensor.size_bytes() == 0) return;
  tensor.memory()->wait_for(Access::kWrite, default_deadline());
  const Handle<cl_mem> scratch =
      make_buffer(native, CL_MEM_READ_WRITE, tensor.size_bytes(), nullptr, "a scratch buffer");
  {
    MappedBuffer mapped(native, scratch.get(), CL_MAP_WRITE, 0, tensor.size_bytes(), default_deadline());
    std::memcpy(mapped.data(), in.data(), tensor.size_bytes());
    finish(mapped.end(), default_deadline());
  }
  const cl_mem to = buffer(tensor);
  Handle<cl_event> last;
  for_each_run(tensor, [&](std::size_t offset, std::size_t packed, std::size_t size) {
    last = copy_buffer(native, scratch.get(), to, packed, offset, size);
  });
  finish(std::move(last), default_deadline());  // The queue is in order, so the last event is enough.
}

}  // namespace detail

TENON_INLINE BufferContext::BufferContext(Ref<detail::Native> native, const std::string& device_name)
    : FacetContext(std::move(native), kBufferMemory, device_name) {}

TENON_INLINE Requirements BufferContext::requirements() const {
  Requirements wanted;
  wanted.alignment = std::max<std::size_t>(native().device.base_alignment, native().share_alignment);
  return wanted;
}

TENON_INLINE std::variant<Offer, Refusal> BufferContext::offer(const Requirements& wanted) const {
  if (wanted.fd != FdKind::kNone)
    return Refusal{
        "buffers have no descriptor; allocate with frameworks/cpu or frameworks/dmabuf and map the memory here"};
  if (gives_host_memory()) {
    return Offer{std::max({wanted.alignment, native().share_alignment, native().device.base_alignment}), FdKind::kNone,
                 0, true};
  }
  // Without host access only the device address must be aligned, and there buffers begin at pages.
  if (wanted.host_access || wanted.alignment > 4096)
    return Refusal{"host access or an alignment of " + std::to_string(wanted.alignment) +
                   " bytes was asked for, and the host reaches this device's buffers only by mapping them; allocate "
                   "with frameworks/cpu and map the memory here, or map the buffer to the host"};
  return Offer{1, FdKind::kNone, 0, false};
}

TENON_INLINE Ref<Memory> BufferContext::allocate(const Requirements& wanted) {
  check_offer(wanted);
  const std::size_t size = std::max<std::size_t>(wanted.size_bytes + wanted.tail_padding, 1);
  if (size > native().device.max_allocation)
    throw Error(Code::kResourceExhausted, std::string(name()) + ": a buffer of " + std::to_string(size) +
                                              " bytes was asked for; the device allows " +
                                              std::to_string(native().device.max_allocation));
  if (gives_host_memory()) return allocate_on_host(size, wanted);
  // On devices that share memory with the host, this flag makes the driver use pages that the host can access.
  const cl_mem_flags flags = CL_MEM_READ_WRITE | (native().coherency == Coherency::kMapped ? CL_MEM_ALLOC_HOST_PTR : 0);
  return over(detail::make_buffer(native(), flags, size, nullptr, "a buffer"), size, nullptr, flags);
}

TENON_INLINE void BufferContext::read(const Tensor& tensor, std::span<std::byte> out) const {
  detail::read_buffer(native(), tensor, out);
}

TENON_INLINE void BufferContext::write(const Tensor& tensor, std::span<const std::byte> in) const {
  detail::write_buffer(native(), tensor, in);
}

TENON_INLINE Ref<Memory> BufferContext::over(detail::Handle<cl_mem> buffer, std::size_t size, void* host,
                                             cl_mem_flags flags, BufferMemory::Parent parent) {
  Memory::Properties properties;
  properties.size_bytes = size;
  properties.host = host;
  // While the memory lives, its handle does too, and is not reused.
  properties.identity = {MemoryIdentity::Kind::kHandle, 0, reinterpret_cast<std::uintptr_t>(buffer.get())};
  return make_ref<BufferMemory>(Context(Ref<ContextImpl>(this)), properties, native_ref(), std::move(buffer), flags,
                                std::move(parent));
}

TENON_INLINE Context BufferContext::sibling(
    std::size_t slot, const std::function<Context(const Ref<detail::Native>&, const std::string&)>& make) {
  std::lock_guard lock(mutex_);
  if (!siblings_[slot]) siblings_[slot] = make(native_ref(), device_name());
  return siblings_[slot];
}

TENON_INLINE Ref<Memory> BufferContext::allocate_on_host(std::size_t size, const Requirements& wanted) {
  const std::size_t alignment = std::max({wanted.alignment, native().share_alignment, native().device.base_alignment});
  detail::HostBuffer made = detail::make_host_buffer(native(), size, alignment);
  if (made.kept)
    throw Error(Code::kUnimplemented, std::string(name()) +
                                          ": the platform refuses clSetMemObjectDestructorCallback, so it does not say "
                                          "when host memory under a buffer is free; map memory of frameworks/cpu here");
  return over(std::move(made.buffer), size, made.host, CL_MEM_READ_WRITE | CL_MEM_USE_HOST_PTR);
}

namespace detail {

TENON_INLINE BufferContext& buffers(const Context& context, const char* function) {
  auto* buffers = context.as<BufferContext>();
  if (!buffers)
    throw Error(Code::kInvalidArgument, std::string("opencl::") + function + ": " +
                                            (context ? std::string(context->name()) : std::string("a null context")) +
                                            " is not a context of OpenCL buffers");
  return *buffers;
}

TENON_INLINE void check_mem(const Native& native, cl_mem memory, cl_mem_object_type type, const char* what) {
  const std::string prefix = std::string("opencl::") + what + ": ";
  if (!memory) throw Error(Code::kInvalidArgument, prefix + "a null cl_mem");
  const auto found = info<cl_mem_object_type>(clGetMemObjectInfo, "clGetMemObjectInfo", memory, CL_MEM_TYPE);
  if (found != type)
    throw Error(Code::kInvalidArgument, prefix + "the cl_mem is of type " + std::to_string(found) + ", expected " +
                                            std::to_string(type) +
                                            (type == CL_MEM_OBJECT_BUFFER ? " (a buffer); use wrap_image for images"
                                                                          : " (a 2-D image); use wrap for buffers"));
  if (info<cl_context>(clGetMemObjectInfo, "clGetMemObjectInfo", memory, CL_MEM_CONTEXT) != native.context.get())
    throw Error(Code::kInvalidArgument, prefix + "the cl_mem belongs to another cl_context than " + native.device.name +
                                            "'s; wrap that context and its queue first");
}

/// `buffer` already owns what the caller passed: it is released on every path.
TENON_INLINE Tensor tensor_over(BufferContext& context, Handle<cl_mem> buffer, const TensorInfo& tensor,
                                const char* what) {
  const Native& native = context.native();
  const auto size = info<std::size_t>(clGetMemObjectInfo, "clGetMemObjectInfo", buffer.get(), CL_MEM_SIZE);
  const auto flags = info<cl_mem_flags>(clGetMemObjectInfo, "clGetMemObjectInfo", buffer.get(), CL_MEM_FLAGS);
  BufferMemory::Parent parent;
  if (const auto whole =
          info<cl_mem>(clGetMemObjectInfo, "clGetMemObjectInfo", buffer.get(), CL_MEM_ASSOCIATED_MEMOBJECT)) {
    parent.origin = info<std::size_t>(clGetMemObjectInfo, "clGetMemObjectInfo", buffer.get(), CL_MEM_OFFSET);
    parent.buffer = Handle<cl_mem>::retain(whole, "holding the parent of a sub-buffer");
  }
  void* host = nullptr;
  // Some drivers report a wrong pointer for sub-buffers; those are mapped.
  if (!parent.buffer && (flags & CL_MEM_USE_HOST_PTR) && native.coherency == Coherency::kStanding) {
    void* const given = info<void*>(clGetMemObjectInfo, "clGetMemObjectInfo", buffer.get(), CL_MEM_HOST_PTR);
    if (given && reinterpret_cast<std::uintptr_t>(given) % native.share_alignment == 0) host = given;
  }
  const auto extent = checked_extent_bytes(tensor);
  if (!extent || *extent > size)
    throw Error(Code::kOutOfRange, std::string("opencl::") + what + ": " + to_string(tensor.shape) + " needs " +
                                       (extent ? std::to_string(*extent) : std::string("too many")) +
                                       " bytes, the buffer has " + std::to_string(size));
  return Tensor(tensor, context.over(std::move(buffer), size, host, flags, std::move(parent)));
}

}  // namespace detail

TENON_INLINE Tensor wrap(const Context& context, cl_mem buffer, const TensorInfo& info) {
  BufferContext& buffers = detail::buffers(context, "wrap");
  detail::check_mem(buffers.native(), buffer, CL_MEM_OBJECT_BUFFER, "wrap");
  return detail::tensor_over(buffers, detail::Handle<cl_mem>::retain(buffer, "wrapping a buffer"), info, "wrap");
}

TENON_INLINE Tensor adopt(const Context& context, cl_mem buffer, const TensorInfo& info) {
  detail::Handle<cl_mem> owned(buffer);
  BufferContext& buffers = detail::buffers(context, "adopt");
  detail::check_mem(buffers.native(), buffer, CL_MEM_OBJECT_BUFFER, "adopt");
  return detail::tensor_over(buffers, std::move(owned), info, "adopt");
}

namespace detail {

TENON_INLINE Handle<cl_mem> make_region(const Tensor& tensor, std::size_t size) {
  cl_mem whole = buffer(tensor);
  cl_buffer_region region{tensor.offset(), size};
  if (const auto* memory = dynamic_cast<const BufferMemory*>(tensor.memory().get());
      memory && memory->parent().buffer) {
    whole = memory->parent().buffer.get();
    region.origin += memory->parent().origin;
  }
  return Handle<cl_mem>(create(
      "clCreateSubBuffer",
      [&] {
        return "the region of " + std::to_string(size) + " bytes at " + std::to_string(region.origin) + " of a buffer";
      },
      clCreateSubBuffer, whole, cl_mem_flags{0}, cl_buffer_create_type{CL_BUFFER_CREATE_TYPE_REGION},
      static_cast<const void*>(&region)));
}

}  // namespace detail

TENON_INLINE SubBuffer sub_buffer(const Tensor& tensor) {
  buffer(tensor);
  const Device& device = opencl::device(tensor.context());
  const std::size_t extent = checked_extent_bytes(tensor.info()).value_or(0);
  if (extent == 0)
    throw Error(Code::kInvalidArgument, "opencl::sub_buffer of " + to_string(tensor) + ": it has no bytes");
  if (tensor.offset() % device.base_alignment != 0)
    throw Error(Code::kFailedPrecondition, "opencl::sub_buffer of " + to_string(tensor) + ": it begins at byte " +
                                               std::to_string(tensor.offset()) + ", and sub-buffers of " + device.name +
                                               " begin at multiples of " + std::to_string(device.base_alignment) +
                                               "; pass the whole buffer and an offset, or align the rows");
  return {tensor, detail::make_region(tensor, extent)};
}

}  // namespace opencl
}  // namespace v1
}  // namespace tenon
