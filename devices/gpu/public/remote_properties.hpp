// SPDX-License-Identifier: Apache-2.0
// Keys and values that describe the GPU's contexts and remote tensors, with OpenVINO's names.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <ostream>

#include <tenon/runtime/exception.hpp>
#include <tenon/runtime/properties.hpp>  // IWYU pragma: export
#include <tenon/runtime/property.hpp>

namespace tenon {
inline namespace v1 {
namespace intel_gpu {

using gpu_handle_param = void*;
using os_handle_param = int;

/// What a context is made of.
enum class ContextType {
  OCL = 0,        ///< A cl_context.
  VA_SHARED = 1,  ///< A VADisplay.
  ZE = 2,         ///< A ze_context.
};
TENON_ENUM_TEXT(ContextType, "context type",
                {{ContextType::OCL, "OCL"}, {ContextType::VA_SHARED, "VA_SHARED"}, {ContextType::ZE, "ZE"}})
inline constexpr Property<ContextType> context_type{"CONTEXT_TYPE"};
/// The cl_context.
inline constexpr Property<gpu_handle_param> ocl_context{"OCL_CONTEXT"};
/// Which of a cl_context's devices, counted from 0.
inline constexpr Property<int> ocl_context_device_id{"OCL_CONTEXT_DEVICE_ID"};
/// Which tile of a device: -1 or 0, since contexts are of whole devices. GPU.0.1 is a part of one.
inline constexpr Property<int> tile_id{"TILE_ID"};
/// The cl_command_queue that all inferences go to. When read: null, unless the application gave one.
inline constexpr Property<gpu_handle_param> ocl_queue{"OCL_QUEUE"};
/// The VADisplay.
inline constexpr Property<gpu_handle_param> va_device{"VA_DEVICE"};

/// What a tensor's memory is.
enum class SharedMemType {
  OCL_BUFFER = 0,          ///< A cl_mem of the application's; when read, also one that the device made.
  OCL_IMAGE2D = 1,         ///< A 2-D image: the application's, or a new one if MEM_HANDLE is missing.
  USM_USER_BUFFER = 2,     ///< The application's USM pointer.
  USM_HOST_BUFFER = 3,     ///< USM that the device allocates in host memory.
  USM_DEVICE_BUFFER = 4,   ///< USM that the device allocates in its own memory.
  VA_SURFACE = 5,          ///< A plane of a VASurfaceID.
  DX_BUFFER = 6,           ///< An ID3D11Buffer: Windows only.
  BUFFER_FROM_HANDLE = 7,  ///< What another API exported: a descriptor.
  CPU_VA = 8,              ///< The application's own pages.
  MMAPED_FILE = 9,         ///< A file's bytes, mapped.
};
TENON_ENUM_TEXT(SharedMemType, "kind of memory",
                {{SharedMemType::OCL_BUFFER, "OCL_BUFFER"},
                 {SharedMemType::OCL_IMAGE2D, "OCL_IMAGE2D"},
                 {SharedMemType::USM_USER_BUFFER, "USM_USER_BUFFER"},
                 {SharedMemType::USM_HOST_BUFFER, "USM_HOST_BUFFER"},
                 {SharedMemType::USM_DEVICE_BUFFER, "USM_DEVICE_BUFFER"},
                 {SharedMemType::VA_SURFACE, "VA_SURFACE"},
                 {SharedMemType::DX_BUFFER, "DX_BUFFER"},
                 {SharedMemType::BUFFER_FROM_HANDLE, "BUFFER_FROM_HANDLE"},
                 {SharedMemType::CPU_VA, "CPU_VA"},
                 {SharedMemType::MMAPED_FILE, "MMAPED_FILE"}})
inline constexpr Property<SharedMemType> shared_mem_type{"SHARED_MEM_TYPE"};
/// The cl_mem, or the pointer.
inline constexpr Property<gpu_handle_param> mem_handle{"MEM_HANDLE"};
/// What another API exported: a descriptor, which stays the application's.
inline constexpr Property<os_handle_param> os_handle{"OS_HANDLE"};
/// Whether the device only reads the application's pages.
enum class AccessMode { READ = 0, READ_WRITE = 1 };
TENON_ENUM_TEXT(AccessMode, "access mode", {{AccessMode::READ, "READ"}, {AccessMode::READ_WRITE, "READ_WRITE"}})
/// The application's own pages, which must outlive the tensor; how many bytes they are (-1: as the shape says), and what is done
/// with them.
inline constexpr Property<void*> cpu_va{"CPU_VA"};
inline constexpr Property<std::int64_t> cpu_va_size{"CPU_VA_SIZE"};
inline constexpr Property<AccessMode> cpu_va_access{"CPU_VA_ACCESS"};

/// Memory that has neither a cl_mem nor a pointer of OpenCL's, by kind, and as arguments of ClContext::create_tensor().
enum class MemType {
  SHARED_BUF = 0,  ///< A descriptor.
  CPU_VA = 1,      ///< The application's own pages.
};
struct SharedBufferHandle {
  using value_type = int;
  value_type value{};
};
struct VirtualAddressMemory {
  explicit VirtualAddressMemory(void* pointer, std::int64_t size_bytes = -1, AccessMode mode = AccessMode::READ_WRITE)
      : ptr(pointer), size(size_bytes), access(mode) {}
  void* ptr;
  std::int64_t size;
  AccessMode access;
};
/// A file, the byte at which the tensor begins (a multiple of a page), and whether what is written reaches it.
struct FileDescriptor {
  FileDescriptor() = default;  ///< Empty, as Any makes it before it has a value.
  /// @errors kInvalidArgument: an empty path.
  explicit FileDescriptor(const std::filesystem::path& file_path, std::size_t offset_in_bytes = 0,
                          AccessMode file_access = AccessMode::READ)
      : path(file_path), offset(offset_in_bytes), access(file_access) {
    if (file_path.empty()) throw AssertFailure("[GPU] Provided file path is empty.");
  }
  std::filesystem::path path;
  std::size_t offset = 0;
  AccessMode access = AccessMode::READ;
};
inline std::ostream& operator<<(std::ostream& out, const FileDescriptor& file) {
  return out << file.path << " from byte " << file.offset << ", " << file.access;
}
/// Also a path as text, with file_offset, for callers without C++ types: read only.
inline constexpr Property<FileDescriptor> file_descriptor{"FILE_DESCRIPTOR"};
/// Where the tensor begins in the file, in bytes. Tenon's own key.
inline constexpr Property<std::uint64_t> file_offset{"FILE_OFFSET"};
/// The VASurfaceID.
inline constexpr Property<std::uint32_t> dev_object_handle{"DEV_OBJECT_HANDLE"};
/// The plane of a VASurfaceID: 0 is Y, 1 is UV.
inline constexpr Property<std::uint32_t> va_plane{"VA_PLANE"};

}  // namespace intel_gpu
}  // namespace v1
}  // namespace tenon
