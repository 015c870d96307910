// SPDX-License-Identifier: Apache-2.0
// Pages of the application's, and files, as buffers.
#include <tenon/devices/gpu/remote/host_memory.hpp>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>

#include <tenon/core/error.hpp>
#include <tenon/core/fd.hpp>
#include <tenon/core/platform/files.hpp>
#include <tenon/core/platform/mappings.hpp>
#include <tenon/devices/gpu/public/remote_properties.hpp>
#include <tenon/devices/gpu/remote/params.hpp>
#include <tenon/runtime/exception.hpp>

namespace tenon::inline v1::gpu_device {
namespace {

using intel_gpu::AccessMode;
using intel_gpu::FileDescriptor;

/// @param what  "a tensor over CPU_VA".  @param way_around  What to do where the device has memory of its own.
client::Handle<cl_mem> in_place(const Gpu& gpu, void* data, std::size_t size, AccessMode access,
                                const std::string& what, const std::string& way_around) {
  const client::Native& native = gpu.native();
  if (native.coherency != opencl::Coherency::kStanding)
    throw Error(Code::kUnimplemented, "GPU: " + what + ": " + native.device.name +
                                          " does not work in the host's memory without maps or copies; " + way_around);
  if (reinterpret_cast<std::uintptr_t>(data) % native.share_alignment != 0)
    throw Error(Code::kInvalidArgument, "GPU: " + what + " begins at a multiple of " +
                                            std::to_string(native.share_alignment) +
                                            " bytes, or the device copies it; allocate it so (aligned_alloc)");
  return client::make_buffer(native,
                             CL_MEM_USE_HOST_PTR | (access == AccessMode::READ ? CL_MEM_READ_ONLY : CL_MEM_READ_WRITE),
                             std::max<std::size_t>(size, 1), data, "a buffer over the host's memory");
}

/// A file's pages, from an offset on.
class Mapping {
 public:
  Mapping(const FileDescriptor& file, std::size_t size) : size_(std::max<std::size_t>(size, 1)) {
    const std::string name = file.path.string();
    const bool is_written = file.access == AccessMode::READ_WRITE;
    UniqueFd fd;
    if (const auto failure =
            is_written ? platform::open_to_write(file.path, fd)
                       : platform::open_file(platform::kWorkingFolder, file.path, platform::Links::kFollow, fd))
      fail(platform::code_of(failure.error) == Code::kPermissionDenied ? Code::kPermissionDenied : Code::kNotFound,
           name, failure);
    platform::FileStatus about;
    if (platform::status_of(fd.get(), about) || about.type != platform::FileType::kRegular)
      throw Error(Code::kInvalidArgument, "GPU: \"" + name + "\" is not a regular file");
    const std::size_t granularity = platform::mapping_granularity(), length = about.size_bytes;
    if (file.offset % granularity != 0)
      throw Error(Code::kInvalidArgument, "GPU: a tensor over \"" + name + "\" begins at a multiple of " +
                                              std::to_string(granularity) + " bytes, not at " +
                                              std::to_string(file.offset));
    if (file.offset > length || size_ > length - file.offset)
      throw Error(Code::kOutOfRange, "GPU: \"" + name + "\" has " + std::to_string(length) +
                                         " bytes, and the tensor needs " + std::to_string(size_) + " from byte " +
                                         std::to_string(file.offset) + " on");
    // Private pages may be written, which never reaches the file: a kernel that does is no crash.
    if (const auto failure = platform::map_part(
            fd.get(), file.offset, size_, is_written ? platform::Writes::kToFile : platform::Writes::kPrivate, pages_))
      fail(Code::kResourceExhausted, name, failure);
  }
  ~Mapping() { platform::unmap(pages_, size_); }
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;
  void* pages() const { return pages_; }

 private:
  [[noreturn]] static void fail(Code code, const std::string& name, const platform::Failure& failure) {
    throw Error(code, "GPU: a tensor over \"" + name + "\": " + platform::message_of(failure.error), failure.call,
                failure.error);
  }
  void* pages_ = nullptr;
  std::size_t size_;
};

}  // namespace

client::Handle<cl_mem> host_buffer(const Gpu& gpu, const AnyMap& params, std::size_t size) {
  const Any* given = find(params, intel_gpu::cpu_va.name());
  if (!given) given = find(params, intel_gpu::mem_handle.name());
  void* const data = given ? given->as<void*>() : nullptr;
  if (!data) throw AssertFailure("[GPU] host buffer must not be nullptr for CPU_VA memory type");
  const Any* bytes = find(params, intel_gpu::cpu_va_size.name());
  const std::int64_t room = bytes ? bytes->as<std::int64_t>() : -1;
  if (room >= 0 && static_cast<std::size_t>(room) < size)
    throw Error(Code::kOutOfRange,
                "GPU: CPU_VA_SIZE is " + std::to_string(room) + " bytes, and the tensor needs " + std::to_string(size));
  const Any* access = find(params, intel_gpu::cpu_va_access.name());
  return in_place(gpu, data, size, access ? access->as<AccessMode>() : AccessMode::READ_WRITE, "a tensor over CPU_VA",
                  "give the request a Tensor over these pages, which is moved at each inference");
}

client::Handle<cl_mem> file_buffer(const Gpu& gpu, const AnyMap& params, std::size_t size) {
  const Any* given = find(params, intel_gpu::file_descriptor.name());
  if (!given) throw AssertFailure("[GPU] No parameter FILE_DESCRIPTOR found in parameters map");
  FileDescriptor file =
      given->is<FileDescriptor>() ? given->as<FileDescriptor>() : FileDescriptor(given->as<std::string>());
  if (const Any* offset = find(params, intel_gpu::file_offset.name())) file.offset = offset->as<std::uint64_t>();
  if (!gpu.native().tells_of_release)
    throw Error(Code::kUnimplemented,
                "GPU: a tensor over \"" + file.path.string() +
                    "\": the platform refuses clSetMemObjectDestructorCallback, so it does not "
                    "say when the file may be unmapped; give the request the Tensor of map_file()");
  auto mapping = std::make_unique<Mapping>(file, size);
  auto buffer = in_place(gpu, mapping->pages(), size, file.access, "a tensor over \"" + file.path.string() + "\"",
                         "give the request the Tensor of map_file(), which is moved at each inference");
  // Commands and the application may hold the cl_mem for longer than the tensor lives.
  client::check(
      client::call(
          clSetMemObjectDestructorCallback, buffer.get(),
          [](cl_mem, void* pages) { delete static_cast<Mapping*>(pages); }, static_cast<void*>(mapping.get())),
      "clSetMemObjectDestructorCallback", "keeping a file mapped");
  (void)mapping.release();  // The callback's.
  return buffer;
}

}  // namespace tenon::inline v1::gpu_device
