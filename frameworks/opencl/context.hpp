// SPDX-License-Identifier: Apache-2.0
// One cl_context with a device and a queue, and Tenon's contexts over it: one for each kind of memory.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include <tenon/core/context.hpp>
#include <tenon/core/error.hpp>
#include <tenon/core/memory_kind.hpp>
#include <tenon/core/policy.hpp>
#include <tenon/core/ref_counted.hpp>
#include <tenon/frameworks/opencl/device.hpp>
#include <tenon/frameworks/opencl/event.hpp>
#include <tenon/frameworks/opencl/extensions.hpp>
#include <tenon/frameworks/opencl/native.hpp>

namespace tenon {
inline namespace v1 {
namespace opencl {

/// Kinds of memory. Each has its own context over the same cl_context; that of buffers is the main one.
inline constexpr MemoryKind kBufferMemory{"opencl.buffer"};
inline constexpr MemoryKind kImageMemory{"opencl.image"};
inline constexpr MemoryKind kUsmMemory{"opencl.usm"};
inline constexpr MemoryKind kSvmMemory{"opencl.svm"};

/// How host and device see each other's writes to the same memory.
enum class Coherency : std::uint8_t {
  kStanding,  ///< At once: a CPU device that passed an alias test when the context was made.
  kMapped,    ///< Same physical memory, but each access needs a map or unmap: GPUs that passed an alias test, too.
  kCopied,    ///< The device has its own memory: mapping moves the bytes.
};

namespace detail {

/// The native objects behind all contexts of one cl_context.
class Native final : public RefCounted {
 public:
  Device device;
  Handle<cl_context> context;
  Handle<cl_command_queue> queue;      ///< The user's, or one of ours.
  Handle<cl_command_queue> transfers;  ///< Ours alone, in order: Tenon's commands never wait behind a user's event.
  /// Ours alone, out of order where the device can: takes and gives back memory of other APIs. Null where there is none.
  Handle<cl_command_queue> handovers;
  ExtensionCalls extensions;
  void* va_display = nullptr;  ///< The VADisplay that the cl_context was made of; the application's.
  /// Why no dma-buf is imported; empty when they are, proven by an alias test where this process can make one.
  std::string dmabuf_obstacle;
  bool imports_memfd = false;  ///< Takes the memfd that stands in for a dma-buf; proven likewise.
  /// Whose the descriptor of an imported buffer is: nobody has looked yet, the importer's, or the driver's, which closes it
  /// at once or with the buffer. Found out at the first import of each kind of handle, see import_buffer().
  enum class DescriptorOwner : std::uint8_t { kUnknown, kImporter, kDriver };
  mutable std::array<std::atomic<DescriptorOwner>, 2> descriptor_owners{};  ///< Of opaque descriptors, of dma-bufs.
  Coherency coherency = Coherency::kCopied;
  /// CL_MEM_USE_HOST_PTR shares host pointers of this alignment without a copy. 0: none.
  std::size_t share_alignment = 0;
  /// A mapped buffer that the driver allocated is the memory that the device works on, and stays so. PoCL maps a copy
  /// after the device has used the buffer.
  bool maps_alias = false;
  mutable std::mutex map_mutex;  ///< Serialises maps and unmaps of lasting views.
};

/// @param properties  Such as CL_QUEUE_PROFILING_ENABLE.
inline Handle<cl_command_queue> make_queue(const Native& native, cl_command_queue_properties properties = 0) {
  const auto what = [&] { return "making a queue for " + native.device.name; };
  const cl_context context = native.context.get();
  const cl_device_id device = native.device.id;
  if (native.device.version >= 20) {
    const cl_queue_properties list[] = {CL_QUEUE_PROPERTIES, properties, 0};
    return Handle<cl_command_queue>(create("clCreateCommandQueueWithProperties", what,
                                           clCreateCommandQueueWithProperties, context, device,
                                           static_cast<const cl_queue_properties*>(list)));
  }
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"  // The only way to make a queue before OpenCL 2.0.
  return Handle<cl_command_queue>(
      create("clCreateCommandQueue", what, clCreateCommandQueue, context, device, properties));
#pragma GCC diagnostic pop
}

inline Handle<cl_mem> make_buffer(const Native& native, cl_mem_flags flags, std::size_t size, void* host,
                                  const char* what) {
  return Handle<cl_mem>(create(
      "clCreateBuffer", [&] { return what + (" of " + std::to_string(size) + " bytes on ") + native.device.name; },
      clCreateBuffer, native.context.get(), flags, size, host));
}

/// Makes the device copy between two buffers. @return the command's event.
inline Handle<cl_event> copy_buffer(const Native& native, cl_mem from, cl_mem to, std::size_t from_offset,
                                    std::size_t to_offset, std::size_t size) {
  cl_event event = nullptr;
  check(call(clEnqueueCopyBuffer, native.transfers.get(), from, to, from_offset, to_offset, size, cl_uint{0},
             static_cast<const cl_event*>(nullptr), &event),
        "clEnqueueCopyBuffer", [&] { return "copying " + std::to_string(size) + " bytes on " + native.device.name; });
  return Handle<cl_event>(event);
}

/// A mapped region, unmapped on destruction. The pointer is the driver's, so a wait that times out endangers no
/// caller's memory.
class MappedBuffer {
 public:
  /// @errors those of clEnqueueMapBuffer; kDeadlineExceeded.
  MappedBuffer(const Native& native, cl_mem buffer, cl_map_flags flags, std::size_t offset, std::size_t size,
               Deadline deadline)
      : native_(&native), buffer_(buffer) {
    cl_event event = nullptr;
    data_ = create(
        "clEnqueueMapBuffer",
        [&] { return "mapping " + std::to_string(size) + " bytes at " + std::to_string(offset) + " for the host"; },
        clEnqueueMapBuffer, native.transfers.get(), buffer, cl_bool{CL_FALSE}, flags, offset, size, cl_uint{0},
        static_cast<const cl_event*>(nullptr), &event);
    Handle<cl_event> mapped(event);
    try {
      finish(std::move(mapped), deadline);
    } catch (...) {
      unmap(nullptr);
      throw;
    }
  }
  MappedBuffer(const MappedBuffer&) = delete;
  MappedBuffer& operator=(const MappedBuffer&) = delete;
  ~MappedBuffer() { unmap(nullptr); }

  std::byte* data() const { return static_cast<std::byte*>(data_); }
  /// Ends the access, once. @return the code of the call; `event` may be null.
  cl_int unmap(cl_event* event) noexcept {
    if (!data_) return CL_SUCCESS;
    const cl_int status =
        clEnqueueUnmapMemObject(native_->transfers.get(), buffer_, std::exchange(data_, nullptr), 0, nullptr, event);
    clFlush(native_->transfers.get());
    return status;
  }
  /// Ends the access; writes are in place when the returned event is complete. @errors those of the call.
  Handle<cl_event> end() {
    cl_event event = nullptr;
    check(injected() ? injected_code() : unmap(&event), "clEnqueueUnmapMemObject", "ending a host access");
    return Handle<cl_event>(event);
  }

 private:
  const Native* native_;
  cl_mem buffer_;
  void* data_ = nullptr;
};

/// Tests whether a buffer and what the host sees are the same memory: the host writes and the device copies it out; the
/// device copies back in and the host checks. No map or unmap in between.
/// @param on_host  Calls its argument with the host's address.  @param take, give  Begin and end the device's turn.
template <typename OnHost, typename Take, typename Give>
bool aliases(const Native& native, cl_mem buffer, std::size_t size, OnHost on_host, Take take, Give give) {
  const Handle<cl_mem> scratch = make_buffer(native, CL_MEM_READ_WRITE, size, nullptr, "a scratch buffer");
  const auto value = [](std::size_t i, int seed) { return static_cast<std::byte>(seed + static_cast<int>(i % 251)); };
  const auto fill = [&](std::byte* bytes, int seed) {
    for (std::size_t i = 0; i < size; ++i) bytes[i] = value(i, seed);
  };
  const auto holds = [&](const std::byte* bytes, int seed) {
    for (std::size_t i = 0; i < size; ++i) {
      if (bytes[i] != value(i, seed)) return false;
    }
    return true;
  };
  on_host([&](std::byte* host) {
    fill(host, 1);
    return true;
  });
  take();
  finish(copy_buffer(native, buffer, scratch.get(), 0, 0, size), default_deadline());
  {
    MappedBuffer seen(native, scratch.get(), CL_MAP_READ | CL_MAP_WRITE, 0, size, default_deadline());
    if (!holds(seen.data(), 1)) return false;
    fill(seen.data(), 2);
    finish(seen.end(), default_deadline());
  }
  finish(copy_buffer(native, scratch.get(), buffer, 0, 0, size), default_deadline());
  give();
  return on_host([&](std::byte* host) { return holds(host, 2); });
}
/// The same for a host address that may be used at any time.
inline bool aliases(const Native& native, cl_mem buffer, std::byte* host, std::size_t size) {
  const auto nothing = [] {};
  return aliases(
      native, buffer, size, [&](const auto& use) { return use(host); }, nothing, nothing);
}

inline constexpr std::size_t kProbeBytes = 4096 + 64;

/// Whether CL_MEM_USE_HOST_PTR over memory of exactly this alignment aliases it.
inline bool shares_host_pointer(const Native& native, std::size_t alignment) {
  constexpr std::size_t kPage = 4096;
  std::unique_ptr<std::byte, void (*)(void*)> block(static_cast<std::byte*>(std::aligned_alloc(2 * kPage, 4 * kPage)),
                                                    std::free);
  if (!block) throw Error(Code::kResourceExhausted, "opencl: no host memory for the alias test of a new context");
  std::byte* const host = block.get() + alignment;  // Exactly this alignment.
  const Handle<cl_mem> buffer =
      make_buffer(native, CL_MEM_READ_WRITE | CL_MEM_USE_HOST_PTR, kProbeBytes, host, "a buffer over host memory");
  return aliases(native, buffer.get(), host, kProbeBytes);
}

/// Whether mapping a buffer of the driver still gives its own memory after the device has used it.
inline bool shares_mapped_buffer(const Native& native) {
  const Handle<cl_mem> buffer = make_buffer(native, CL_MEM_READ_WRITE, kProbeBytes, nullptr, "a buffer");
  const Handle<cl_mem> scratch = make_buffer(native, CL_MEM_READ_WRITE, kProbeBytes, nullptr, "a scratch buffer");
  finish(copy_buffer(native, scratch.get(), buffer.get(), 0, 0, kProbeBytes), default_deadline());
  const MappedBuffer mapped(native, buffer.get(), CL_MAP_READ | CL_MAP_WRITE, 0, kProbeBytes, default_deadline());
  return aliases(native, buffer.get(), mapped.data(), kProbeBytes);
}

/// Tests whether a device that says that it has the host's memory does: some drivers of such GPUs copy behind the pointer
/// (of old versions, or where the pages do not suit them), and mapping would hide that. Both sides are idle in between,
/// so that caches of GPUs are written back.
inline bool shares_host_memory(const Native& native) {
  try {
    return shares_host_pointer(native, 4096);
  } catch (const Error& error) {
    if (error.code() == Code::kResourceExhausted || error.code() == Code::kDeadlineExceeded) throw;
    return false;  // The driver refuses host pointers.
  }
}

/// CPU devices share without map and unmap if a test says so; of other devices that would be luck.
inline void judge_sharing(Native& native, std::optional<Coherency> wished) {
  native.coherency = Coherency::kCopied;
  if (native.device.is_cpu()) {
    for (std::size_t alignment : {std::size_t{4096}, native.device.base_alignment, std::size_t{64}}) {
      if (!shares_host_pointer(native, alignment)) break;
      native.coherency = Coherency::kStanding;
      native.share_alignment = alignment;
    }
    native.maps_alias = native.coherency == Coherency::kStanding && shares_mapped_buffer(native);
  } else if (native.device.host_unified && !wished && shares_host_memory(native)) {
    native.coherency = Coherency::kMapped;
  }
  if (wished) native.coherency = *wished;
  // Drivers of GPUs that use the host's memory share pages and whole cache lines.
  if (native.coherency == Coherency::kMapped) {
    native.maps_alias = true;
    if (native.share_alignment == 0) native.share_alignment = 4096;
  }
  if (native.coherency == Coherency::kCopied) native.share_alignment = 0, native.maps_alias = false;
}

}  // namespace detail

/// Base of the contexts of all kinds; holds the native side that they share.
class FacetContext : public ContextImpl {
 public:
  std::string_view name() const override { return name_; }
  MemoryKind kind() const override { return kind_; }
  DeviceIdentity device() const override { return native_->device.identity; }
  /// wait_list() and stream() make events of all points.
  bool can_wait_for(const Timeline&) const override { return true; }
  const detail::Native& native() const { return *native_; }
  const Ref<detail::Native>& native_ref() const { return native_; }

 protected:
  FacetContext(Ref<detail::Native> native, MemoryKind kind, const std::string& device_name)
      : native_(std::move(native)), kind_(kind), device_name_(device_name) {
    // The main context has the short name.
    name_ = (kind == kBufferMemory ? std::string("opencl") : std::string(kind.name())) + ":" + device_name;
  }
  const std::string& device_name() const { return device_name_; }

 private:
  Ref<detail::Native> native_;
  MemoryKind kind_;
  std::string device_name_, name_;
};

namespace detail {

/// Null for contexts of other frameworks. Only this framework has these kinds, so no cast is needed to tell.
inline const FacetContext* facet_of(const Context& context) {
  if (!context) return nullptr;
  const MemoryKind kind = context->kind();
  const bool ours = kind == kBufferMemory || kind == kImageMemory || kind == kUsmMemory || kind == kSvmMemory;
  return ours ? static_cast<const FacetContext*>(context.impl().get()) : nullptr;
}

inline const FacetContext& facet(const Context& context, const char* function) {
  const FacetContext* facet = facet_of(context);
  if (!facet)
    throw Error(Code::kInvalidArgument, std::string("opencl::") + function + ": " +
                                            (context ? std::string(context->name()) : std::string("a null context")) +
                                            " is no OpenCL context");
  return *facet;
}

}  // namespace detail

/// @name Native handles of a context of any kind, valid as long as the context. @errors kInvalidArgument: a context of
/// another framework.
inline cl_command_queue queue(const Context& context) { return detail::facet(context, "queue").native().queue.get(); }
inline cl_context handle(const Context& context) { return detail::facet(context, "handle").native().context.get(); }
inline const Device& device(const Context& context) { return detail::facet(context, "device").native().device; }
inline Coherency coherency(const Context& context) { return detail::facet(context, "coherency").native().coherency; }

}  // namespace opencl
}  // namespace v1
}  // namespace tenon
