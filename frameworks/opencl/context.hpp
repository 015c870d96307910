// SPDX-License-Identifier: Apache-2.0
// One cl_context with a device and a queue, and Tenon's contexts over it: one for each kind of memory.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <tenon/core/context.hpp>
#include <tenon/core/device_identity.hpp>
#include <tenon/core/memory_kind.hpp>
#include <tenon/core/policy.hpp>
#include <tenon/core/ref_counted.hpp>
#include <tenon/frameworks/opencl/device.hpp>
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
  /// Whose the descriptor of an imported buffer is: not known yet, the importer's, or the driver's, which closes it at once
  /// or with the buffer. Found out at the first import of each kind of handle, see import_buffer().
  enum class DescriptorOwner : std::uint8_t { kUnknown, kImporter, kDriver };
  mutable std::array<std::atomic<DescriptorOwner>, 2> descriptor_owners{};  ///< For opaque descriptors, for dma-bufs.
  Coherency coherency = Coherency::kCopied;
  /// CL_MEM_USE_HOST_PTR shares host pointers of this alignment without a copy. 0: none.
  std::size_t share_alignment = 0;
  /// A mapped buffer that the driver allocated is the memory that the device works on, and stays so. PoCL maps a copy
  /// after the device has used the buffer.
  bool maps_alias = false;
  /// The platform says when a buffer is gone (clSetMemObjectDestructorCallback), so that buffers may lie in memory of ours.
  bool tells_of_release = true;
  mutable std::mutex map_mutex;  ///< Serialises maps and unmaps of lasting views.
};

/// @param properties  Such as CL_QUEUE_PROFILING_ENABLE.
Handle<cl_command_queue> make_queue(const Native& native, cl_command_queue_properties properties = 0);

Handle<cl_mem> make_buffer(const Native& native, cl_mem_flags flags, std::size_t size, void* host, const char* what);

/// Host memory under a buffer. data() is null where there was none.
class HostBlock {
 public:
  HostBlock(std::size_t size, std::size_t alignment);
  HostBlock(const HostBlock&) = delete;
  HostBlock& operator=(const HostBlock&) = delete;
  ~HostBlock();
  std::byte* data() const { return data_; }

 private:
  std::size_t alignment_;
  std::byte* data_;
};

/// A buffer over host memory of its own, which is freed when the buffer is really gone: users may hold references, and commands
/// may still run, also those of a caller that failed and waits for none.
struct HostBuffer {
  std::unique_ptr<HostBlock>
      kept;  ///< Where the platform does not say when that is (Wine's refuses callbacks): the caller's to keep.
  Handle<cl_mem> buffer;
  std::byte* host = nullptr;
};
/// @param offset  Where the buffer begins in memory of that alignment, for a smaller one.
HostBuffer make_host_buffer(const Native& native, std::size_t size, std::size_t alignment, std::size_t offset = 0);

/// Makes the device copy between two buffers. @return the command's event.
Handle<cl_event> copy_buffer(const Native& native, cl_mem from, cl_mem to, std::size_t from_offset,
                             std::size_t to_offset, std::size_t size);

/// A mapped region, unmapped on destruction. The pointer is the driver's, so a wait that times out endangers no
/// caller's memory.
class MappedBuffer {
 public:
  /// @errors those of clEnqueueMapBuffer; kDeadlineExceeded.
  MappedBuffer(const Native& native, cl_mem buffer, cl_map_flags flags, std::size_t offset, std::size_t size,
               Deadline deadline);
  MappedBuffer(const MappedBuffer&) = delete;
  MappedBuffer& operator=(const MappedBuffer&) = delete;
  ~MappedBuffer() { unmap(nullptr); }

  std::byte* data() const { return static_cast<std::byte*>(data_); }
  /// Ends the access, once. @return the code of the call; `event` may be null.
  cl_int unmap(cl_event* event) noexcept;
  /// Ends the access; writes are in place when the returned event is complete. @errors those of the call.
  Handle<cl_event> end();

 private:
  const Native* native_;
  cl_mem buffer_;
  void* data_ = nullptr;
};

/// An access of the host's: calls its argument with the address and returns what that returns.
using HostAccess = std::function<bool(const std::function<bool(std::byte*)>&)>;

/// Tests whether a buffer and what the host sees are the same memory: the host writes and the device copies it out; the
/// device copies back in and the host checks. No map or unmap in between.
/// @param on_host  Calls its argument with the host's address.  @param take, give  Begin and end the device's turn.
bool aliases(const Native& native, cl_mem buffer, std::size_t size, const HostAccess& on_host,
             const std::function<void()>& take, const std::function<void()>& give);

inline constexpr std::size_t kProbeBytes = 4096 + 64;

/// CPU devices share without map and unmap if a test says so; of other devices that would be luck.
void judge_sharing(Native& native, std::optional<Coherency> wished);

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
  FacetContext(Ref<detail::Native> native, MemoryKind kind, const std::string& device_name);
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

/// The native side of a context of this framework; null for contexts of others.
inline const Native* native_of(const Context& context) {
  const FacetContext* facet = facet_of(context);
  return facet ? &facet->native() : nullptr;
}
/// @errors kInvalidArgument, which names `function`: a context of another framework.
const FacetContext& facet(const Context& context, const char* function);

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
