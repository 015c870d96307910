// SPDX-License-Identifier: Apache-2.0
// Memory of other APIs by descriptor (cl_khr_external_memory): imported as buffers, which are taken and given back.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include <tenon/core/context.hpp>
#include <tenon/core/edge.hpp>
#include <tenon/core/error.hpp>
#include <tenon/core/fd.hpp>
#include <tenon/core/hazards.hpp>
#include <tenon/core/memory.hpp>
#include <tenon/core/policy.hpp>
#include <tenon/core/tensor.hpp>
#include <tenon/core/timeline.hpp>
#include <tenon/frameworks/opencl/context.hpp>
#include <tenon/frameworks/opencl/extensions.hpp>
#include <tenon/frameworks/opencl/native.hpp>

namespace tenon {
inline namespace v1 {
namespace opencl {
namespace detail {

class Turns;

/// The extension's number for a kind of descriptor; 0: it has none. A stand-in for a dma-buf is passed as one.
cl_uint handle_type_of(FdKind kind);

/// Why a device takes no descriptor of this kind; empty when it does.
std::string import_obstacle(const Native& native, FdKind kind);

/// A picture in imported memory: an image of these rows, from the first byte on.
struct ImportedRows {
  cl_image_format format{};
  cl_image_desc desc{};
};
ImportedRows imported_rows(const cl_image_format& format, std::size_t width, std::size_t height, std::size_t pitch);

/// The import itself. @param fd  The driver's from now on, perhaps: nothing else may use this descriptor.
/// @param rows  Null: a buffer. @errors as import_buffer().
Handle<cl_mem> import_descriptor(const Native& native, int fd, FdKind kind, std::size_t size,
                                 const ImportedRows* rows = nullptr);

/// @name What differs between systems, in posix/ and windows/.
/// `fd` stays the caller's. The buffer, or the image, has to be acquired before its first use. The caller has asked
/// import_obstacle(). A driver may keep a descriptor of its own open as long as the buffer lives.
/// @errors those of clCreateBufferWithProperties or clCreateImageWithProperties.
Handle<cl_mem> import_buffer(const Native& native, int fd, FdKind kind, std::size_t size,
                             const ImportedRows* rows = nullptr);
/// Device and inode of an open file; `otherwise` where the system does not tell.
MemoryIdentity identity_of_file(int fd, const MemoryIdentity& otherwise);
/// Notes in `native` what the device makes of dma-bufs, or of the memfds that stand in for them. @errors those of tests' own failures.
void judge_dmabufs(Native& native);

/// Enqueues the taking or giving back of an imported buffer, after the unfinished work on `memory`.
/// @param before  The last such command, if it is known. @return its end; its queue is flushed.
TimelinePoint hand_over(const Native& native, ExtensionCalls::HandOver function, const char* name, cl_mem buffer,
                        const Memory& memory, const TimelinePoint& before = {});

/// OpenCL's possession of an imported buffer or image. It ends at the latest with this object: NVIDIA's clReleaseContext waits
/// for ever for what was acquired and went without being released (driver 580).
/// @thread one at a time.
class Possession {
 public:
  /// @param native, buffer  Outlive it.
  Possession(const Native& native, cl_mem buffer) : native_(native), buffer_(buffer) {}
  Possession(const Possession&) = delete;
  Possession& operator=(const Possession&) = delete;
  ~Possession();

  /// After the unfinished work on `memory`. @return the point from which it is OpenCL's. @errors those of the call.
  TimelinePoint take(const Memory& memory);
  /// The same for its end. Tests do not ask it to fail, because it runs where no failure is reported.
  /// @param taken  What take() returned, if it is known.
  TimelinePoint give_back(const Memory& memory, const TimelinePoint& taken = {});

 private:
  const Native& native_;
  const cl_mem buffer_;
  int times_ = 0;  ///< It is OpenCL's as often as it was taken.
};

/// No bytes: what others wait for, but what replaces no earlier write and its failure.
inline constexpr WrittenBytes kNoBytes{0, 0, true};

/// Why a description's memory cannot be imported into `to`; nothing when it may.
std::optional<Refusal> refuses_descriptor(const Description& from, const Context& to, Access access);

/// `source`, whose memory refuses_descriptor() does not refuse, as a buffer of `to`: imported, or what the cl_context has
/// of it already. @param fd  of the whole memory; stays the caller's. @errors as import_buffer(); those of acquiring.
Tensor map_by_descriptor(const Tensor& source, const Context& to, int fd, FdKind kind, const MapOptions& options);

/// Whether the turns are those of a buffer that map_by_descriptor() imported.
bool are_of_import(const Turns& turns);

/// Finds out what the device imports. Dma-bufs and their stand-ins are tried, since extension strings promise them for
/// devices that then read other pages. Without a way to make a dma-buf, the extension string has to do.
void judge_imports(Native& native);

}  // namespace detail

/// Whether the device behind `context` imports descriptors of this kind: the dma-bufs of all frameworks, and what its own
/// other APIs export (kOpaqueFd, kVulkanFd, kCudaFd).
/// @param reason  If not null: is set to why not. @errors kInvalidArgument: a context of another framework.
bool imports(const Context& context, FdKind kind, std::string* reason = nullptr);

/// Memory of another API, by its descriptor, as a tensor over a buffer: the same bytes. OpenCL has it from now on, until
/// give_back(); take() before it is used here again.
///
/// @param fd    Stays the caller's and may be closed; the tensor keeps a duplicate.
/// @param kind  What made it: FdKind::kDmabuf, kOpaqueFd (Vulkan's, OpenCL's own), kCudaFd.
/// @param size_bytes  The size of the whole allocation, as its maker says.
/// @errors kUnimplemented: the device imports no such descriptors (says what it lacks); kOutOfRange: `info` needs more
/// than `size_bytes`; kInvalidArgument: a context that is none of buffers, a closed descriptor; those of the import.
/// @thread any. @cost the import; no bytes are moved.
/// @source cl_khr_external_memory, cl_khr_external_memory_opaque_fd, cl_khr_external_memory_dma_buf
Tensor import_fd(const Context& context, int fd, FdKind kind, std::size_t size_bytes, const TensorInfo& info);

/// Gives the memory of a tensor of import_fd() back to the API that it came from, after all noted work on it.
/// @return the point from which that API may use it. @errors kInvalidArgument: another tensor; those of the call.
TimelinePoint give_back(const Tensor& tensor);
/// Takes it again, after all noted work on it: note what the other API does with `tensor.memory()->hazards()`. Commands
/// wait for it by wait_list(), maps by themselves. @errors as give_back().
TimelinePoint take(const Tensor& tensor);

}  // namespace opencl
}  // namespace v1
}  // namespace tenon
