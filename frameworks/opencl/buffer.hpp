// SPDX-License-Identifier: Apache-2.0
// Buffers: cl_mem as memory, as a view of other memory, and copies by the device's own commands.
#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <mutex>
#include <span>
#include <string>
#include <variant>

#include <tenon/core/context.hpp>
#include <tenon/core/edge.hpp>
#include <tenon/core/element_type.hpp>
#include <tenon/core/host.hpp>  // IWYU pragma: export
#include <tenon/core/memory.hpp>
#include <tenon/core/policy.hpp>
#include <tenon/core/ref_counted.hpp>
#include <tenon/core/requirements.hpp>
#include <tenon/core/shape.hpp>
#include <tenon/core/tensor.hpp>
#include <tenon/frameworks/opencl/context.hpp>
#include <tenon/frameworks/opencl/event.hpp>
#include <tenon/frameworks/opencl/native.hpp>

namespace tenon {
inline namespace v1 {
namespace opencl {

/// A buffer as memory: allocated here, or a user's.
class BufferMemory : public Memory {
 public:
  /// The parent of a user's sub-buffer. Held, because a driver may treat the parent as invalid once its owner releases
  /// it, even while the region is alive.
  struct Parent {
    detail::Handle<cl_mem> buffer;
    std::size_t origin = 0;
  };

  BufferMemory(Context context, const Properties& properties, Ref<detail::Native> native, detail::Handle<cl_mem> buffer,
               cl_mem_flags flags, Parent parent);
  ~BufferMemory() override;  // Unmaps regions before the buffer is released.

  cl_mem buffer() const { return buffer_.get(); }
  const detail::Native& native() const { return *native_; }
  cl_mem_flags flags() const { return flags_; }
  const Parent& parent() const { return parent_; }

 private:
  Ref<detail::Native> native_;
  detail::Handle<cl_mem> buffer_;
  cl_mem_flags flags_;
  Parent parent_;
};

/// A buffer over other memory: CL_MEM_USE_HOST_PTR over host memory, or the same cl_mem as seen from another context
/// over its cl_context.
class BufferView : public View {
 public:
  BufferView(Context context, Access access, void* host, detail::Handle<cl_mem> buffer);
  cl_mem buffer() const { return buffer_.get(); }

 private:
  detail::Handle<cl_mem> buffer_;
};

/// The buffer of a tensor; valid as long as the tensor, which begins at tensor.offset() in it. Commands on it must wait
/// for wait_list(tensor, access) and be reported with wrote() or reads().
/// @errors kInvalidArgument: a tensor of another kind.
cl_mem buffer(const Tensor& tensor);

namespace detail {

/// Calls run(offset in the memory, offset in packed bytes, size) for every contiguous run of a tensor.
template <typename Run>
void for_each_run(const Tensor& tensor, Run run) {
  if (tensor.size_bytes() == 0) return;
  const Shape& shape = tensor.shape();
  std::size_t size = tensor.size_bytes(), outer = 0;  // Iterates over axes below `outer`; the rest is one run.
  if (!tensor.is_contiguous()) {
    size = tenon::v1::size_bytes(tensor.element_type());
    outer = shape.size();
    while (outer > 0 &&
           (shape[outer - 1] == 1 || tensor.byte_strides()[outer - 1] == static_cast<std::ptrdiff_t>(size)))
      size *= shape[--outer];
  }
  Shape index(outer, 0);
  for (std::size_t done = 0; done < tensor.size_bytes(); done += size) {
    std::size_t offset = tensor.offset();
    for (std::size_t axis = 0; axis < outer; ++axis)
      offset += index[axis] * static_cast<std::size_t>(tensor.byte_strides()[axis]);
    run(offset, done, size);
    for (std::size_t axis = outer; axis-- > 0;) {
      if (++index[axis] < shape[axis]) break;
      index[axis] = 0;
    }
  }
}

/// Calls copy(offset in the memory, offset in packed bytes, size), which enqueues a copy and returns its event, for
/// every run of a tensor, and waits for the last. `other` is the other side of the copies: kept until they finish, even
/// if the wait times out.
template <typename Copy>
void run_copies(const Tensor& tensor, const Ref<Memory>& other, Deadline deadline, Copy copy) {
  Ref<EventTimeline> last;
  try {
    for_each_run(tensor, [&](std::size_t offset, std::size_t packed, std::size_t size) {
      last = EventTimeline::over(copy(offset, packed, size));
    });
    if (last) last->wait(1, deadline);
  } catch (...) {
    if (last) keep_until(last->event(), other);
    throw;
  }
}

/// Copies a tensor's elements into packed host memory.
void read_into(const Native& native, const Tensor& tensor, const Ref<Memory>& into, Deadline deadline);

}  // namespace detail

/// The context of buffers, the main context of a cl_context.
class BufferContext final : public FacetContext {
 public:
  BufferContext(Ref<detail::Native> native, const std::string& device_name);

  std::span<const Edge* const> edges() const override;
  Requirements requirements() const override;
  std::variant<Offer, Refusal> offer(const Requirements& wanted) const override;
  /// On devices that share memory with the host, a buffer over new host memory; elsewhere one in device memory.
  /// @errors kUnimplemented: descriptors, or host access where it needs a map; kResourceExhausted.
  Ref<Memory> allocate(const Requirements& wanted) override;
  void read(const Tensor& tensor, std::span<std::byte> out) const override;
  void write(const Tensor& tensor, std::span<const std::byte> in) const override;
  /// What it allocates has a host address.
  bool gives_host_memory() const { return native().coherency == Coherency::kStanding && native().tells_of_release; }

  /// Memory over a buffer; takes over its reference.
  Ref<Memory> over(detail::Handle<cl_mem> buffer, std::size_t size, void* host, cl_mem_flags flags,
                   BufferMemory::Parent parent = {});

  /// The context of another kind in the same cl_context: created on first use, then always the same.
  Context sibling(std::size_t slot, const std::function<Context(const Ref<detail::Native>&, const std::string&)>& make);

 private:
  Ref<Memory> allocate_on_host(std::size_t size, const Requirements& wanted);

  std::mutex mutex_;
  std::array<Context, 3> siblings_;
};

namespace detail {

BufferContext& buffers(const Context& context, const char* function);

/// Refuses anything but a buffer of this cl_context: drivers accept foreign buffers and fail later.
/// @errors kInvalidArgument: null, an image, a foreign context; errors of clGetMemObjectInfo.
void check_mem(const Native& native, cl_mem memory, cl_mem_object_type type, const char* what);

}  // namespace detail

/// The caller's buffer as a tensor. Takes its own reference, so the caller may release theirs at any time. Accepts
/// sub-buffers too.
/// @errors kInvalidArgument: null, an image, a buffer of another cl_context; kOutOfRange: `info` needs more than the
/// buffer has.
Tensor wrap(const Context& context, cl_mem buffer, const TensorInfo& info);

/// Takes over the caller's reference; it is released once, also when this fails, except for null and for handles that
/// are no cl_mem. @errors as wrap().
Tensor adopt(const Context& context, cl_mem buffer, const TensorInfo& info);

/// A region of a tensor's buffer as a cl_mem that begins at the tensor's first element, for kernels and libraries that
/// accept no offset. Keeps the tensor alive.
struct SubBuffer {
  Tensor tensor;
  detail::Handle<cl_mem> handle;
  cl_mem get() const { return handle.get(); }
};

namespace detail {

/// The region of a tensor's buffer from its first element on. For a buffer that is a region itself, a region of its
/// parent: OpenCL has no regions of regions.
Handle<cl_mem> make_region(const Tensor& tensor, std::size_t size);

}  // namespace detail

/// @errors kFailedPrecondition: the tensor does not begin at a multiple of the device's base alignment (both named);
/// kInvalidArgument: no opencl.buffer, no elements.
/// @cost clCreateSubBuffer; no bytes are moved.
SubBuffer sub_buffer(const Tensor& tensor);

}  // namespace opencl
}  // namespace v1
}  // namespace tenon
