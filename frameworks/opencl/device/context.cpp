// SPDX-License-Identifier: Apache-2.0
// Queues, buffers and mapped regions of one cl_context, the alias tests that judge how it shares memory with the host, and
// the functions of its device's extensions.
#include <tenon/frameworks/opencl/context.hpp>

#include <memory>
#include <new>

#include <tenon/core/error.hpp>
#include <tenon/core/export.hpp>
#include <tenon/frameworks/opencl/event.hpp>
#include <tenon/frameworks/opencl/newer_calls.hpp>

namespace tenon {
inline namespace v1 {
namespace opencl {
namespace detail {

TENON_INLINE ExtensionCalls extension_calls(const Device& device) {
  ExtensionCalls calls;
  if (!device.memory_imports.empty()) {
    look_up(calls.acquire, device, "clEnqueueAcquireExternalMemObjectsKHR");
    look_up(calls.release, device, "clEnqueueReleaseExternalMemObjectsKHR");
  }
  if (device.has(kVaSharing)) {
    look_up(calls.from_surface, device, "clCreateFromVA_APIMediaSurfaceINTEL");
    look_up(calls.acquire_surfaces, device, "clEnqueueAcquireVA_APIMediaSurfacesINTEL");
    look_up(calls.release_surfaces, device, "clEnqueueReleaseVA_APIMediaSurfacesINTEL");
  }
  if (!device.semaphore_imports.empty() || !device.semaphore_exports.empty()) {
    look_up(calls.make_semaphore, device, "clCreateSemaphoreWithPropertiesKHR");
    look_up(calls.wait, device, "clEnqueueWaitSemaphoresKHR");
    look_up(calls.signal, device, "clEnqueueSignalSemaphoresKHR");
    look_up(calls.export_semaphore, device, "clGetSemaphoreHandleForTypeKHR");
    look_up(calls.release_semaphore, device, "clReleaseSemaphoreKHR");
  }
  return calls;
}

TENON_INLINE Handle<cl_command_queue> make_queue(const Native& native, cl_command_queue_properties properties) {
  const auto what = [&] { return "making a queue for " + native.device.name; };
  const cl_context context = native.context.get();
  const cl_device_id device = native.device.id;
  if (native.device.version >= 20 && newer_calls().make_queue) {
    const cl_queue_properties list[] = {CL_QUEUE_PROPERTIES, properties, 0};
    return Handle<cl_command_queue>(create("clCreateCommandQueueWithProperties", what, newer_calls().make_queue,
                                           context, device, static_cast<const cl_queue_properties*>(list)));
  }
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"  // The only way to make a queue before OpenCL 2.0.
  return Handle<cl_command_queue>(
      create("clCreateCommandQueue", what, clCreateCommandQueue, context, device, properties));
#pragma GCC diagnostic pop
}

TENON_INLINE Handle<cl_mem> make_buffer(const Native& native, cl_mem_flags flags, std::size_t size, void* host,
                                        const char* what) {
  return Handle<cl_mem>(create(
      "clCreateBuffer", [&] { return what + (" of " + std::to_string(size) + " bytes on ") + native.device.name; },
      clCreateBuffer, native.context.get(), flags, size, host));
}

TENON_INLINE HostBlock::HostBlock(std::size_t size, std::size_t alignment)
    : alignment_(alignment),
      data_(static_cast<std::byte*>(::operator new(size, std::align_val_t(alignment), std::nothrow))) {}

TENON_INLINE HostBlock::~HostBlock() { ::operator delete(data_, std::align_val_t(alignment_)); }

TENON_INLINE HostBuffer make_host_buffer(const Native& native, std::size_t size, std::size_t alignment,
                                         std::size_t offset) {
  const std::size_t room = (offset + size + alignment - 1) / alignment * alignment;
  auto block = std::make_unique<HostBlock>(room, alignment);
  if (!block->data())
    throw Error(Code::kResourceExhausted,
                "opencl: no host memory for " + std::to_string(size) + " bytes on " + native.device.name);
  std::byte* const host = block->data() + offset;
  HostBuffer made{nullptr,
                  make_buffer(native, CL_MEM_READ_WRITE | CL_MEM_USE_HOST_PTR, size, host, "a buffer over host memory"),
                  host};
  const cl_int told = call(
      clSetMemObjectDestructorCallback, made.buffer.get(),
      [](cl_mem, void* data) { delete static_cast<HostBlock*>(data); }, static_cast<void*>(block.get()));
  if (told == CL_INVALID_OPERATION) {
    made.kept = std::move(block);
    return made;
  }
  check(told, "clSetMemObjectDestructorCallback", "a buffer over host memory");
  (void)block.release();  // The callback's.
  return made;
}

TENON_INLINE Handle<cl_event> copy_buffer(const Native& native, cl_mem from, cl_mem to, std::size_t from_offset,
                                          std::size_t to_offset, std::size_t size) {
  cl_event event = nullptr;
  check(call(clEnqueueCopyBuffer, native.transfers.get(), from, to, from_offset, to_offset, size, cl_uint{0},
             static_cast<const cl_event*>(nullptr), &event),
        "clEnqueueCopyBuffer", [&] { return "copying " + std::to_string(size) + " bytes on " + native.device.name; });
  return Handle<cl_event>(event);
}

TENON_INLINE MappedBuffer::MappedBuffer(const Native& native, cl_mem buffer, cl_map_flags flags, std::size_t offset,
                                        std::size_t size, Deadline deadline)
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

TENON_INLINE cl_int MappedBuffer::unmap(cl_event* event) noexcept {
  if (!data_) return CL_SUCCESS;
  const cl_int status =
      clEnqueueUnmapMemObject(native_->transfers.get(), buffer_, std::exchange(data_, nullptr), 0, nullptr, event);
  clFlush(native_->transfers.get());
  return status;
}

TENON_INLINE Handle<cl_event> MappedBuffer::end() {
  cl_event event = nullptr;
  check(injected() ? injected_code() : unmap(&event), "clEnqueueUnmapMemObject", "ending a host access");
  return Handle<cl_event>(event);
}

TENON_INLINE bool aliases(const Native& native, cl_mem buffer, std::size_t size, const HostAccess& on_host,
                          const std::function<void()>& take, const std::function<void()>& give) {
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
TENON_INLINE bool aliases(const Native& native, cl_mem buffer, std::byte* host, std::size_t size) {
  const auto nothing = [] {};
  return aliases(
      native, buffer, size, [&](const std::function<bool(std::byte*)>& use) { return use(host); }, nothing, nothing);
}

/// Whether CL_MEM_USE_HOST_PTR over memory of exactly this alignment aliases it.
TENON_INLINE bool shares_host_pointer(Native& native, std::size_t alignment) {
  constexpr std::size_t kPage = 4096;
  HostBuffer made = make_host_buffer(native, kProbeBytes, 2 * kPage, alignment);
  native.tells_of_release = !made.kept;
  try {
    return aliases(native, made.buffer.get(), made.host, kProbeBytes);
  } catch (...) {
    (void)made.kept.release();  // A command that is late may still write it.
    throw;
  }
}

/// Whether mapping a buffer of the driver still gives its own memory after the device has used it.
TENON_INLINE bool shares_mapped_buffer(const Native& native) {
  const Handle<cl_mem> buffer = make_buffer(native, CL_MEM_READ_WRITE, kProbeBytes, nullptr, "a buffer");
  const Handle<cl_mem> scratch = make_buffer(native, CL_MEM_READ_WRITE, kProbeBytes, nullptr, "a scratch buffer");
  finish(copy_buffer(native, scratch.get(), buffer.get(), 0, 0, kProbeBytes), default_deadline());
  const MappedBuffer mapped(native, buffer.get(), CL_MAP_READ | CL_MAP_WRITE, 0, kProbeBytes, default_deadline());
  return aliases(native, buffer.get(), mapped.data(), kProbeBytes);
}

/// Tests whether a device that says that it has the host's memory does: some drivers of such GPUs copy behind the pointer
/// (of old versions, or where the pages do not suit them), and mapping would hide that. Both sides are idle in between,
/// so that caches of GPUs are written back.
TENON_INLINE bool shares_host_memory(Native& native) {
  try {
    return shares_host_pointer(native, 4096);
  } catch (const Error& error) {
    if (error.code() == Code::kResourceExhausted || error.code() == Code::kDeadlineExceeded) throw;
    return false;  // The driver refuses host pointers.
  }
}

TENON_INLINE void judge_sharing(Native& native, std::optional<Coherency> wished) {
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

TENON_INLINE FacetContext::FacetContext(Ref<detail::Native> native, MemoryKind kind, const std::string& device_name)
    : native_(std::move(native)), kind_(kind), device_name_(device_name) {
  // The main context has the short name.
  name_ = (kind == kBufferMemory ? std::string("opencl") : std::string(kind.name())) + ":" + device_name;
}

namespace detail {

TENON_INLINE const FacetContext& facet(const Context& context, const char* function) {
  const FacetContext* facet = facet_of(context);
  if (!facet)
    throw Error(Code::kInvalidArgument, std::string("opencl::") + function + ": " +
                                            (context ? std::string(context->name()) : std::string("a null context")) +
                                            " is no OpenCL context");
  return *facet;
}

}  // namespace detail
}  // namespace opencl
}  // namespace v1
}  // namespace tenon
