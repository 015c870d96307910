// SPDX-License-Identifier: Apache-2.0
// Keys and values that describe the NPU's contexts and remote tensors, with OpenVINO's names.
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
namespace intel_npu {

using npu_handle_param = void*;

/// The origin of a tensor's memory.
enum class MemType {
  L0_INTERNAL_BUF = 0,  ///< Allocated by the device through Level Zero.
  SHARED_BUF = 1,       ///< Memory of another API: a dma-buf's descriptor; a handle on Windows.
  MMAPED_FILE = 2,      ///< Bytes of a file.
  CPU_VA = 3            ///< Memory of the application: whole pages, or an allocation in the ze_context.
};
TENON_ENUM_TEXT(MemType, "memory type",
                {{MemType::L0_INTERNAL_BUF, "L0_INTERNAL_BUF"},
                 {MemType::SHARED_BUF, "SHARED_BUF"},
                 {MemType::MMAPED_FILE, "MMAPED_FILE"},
                 {MemType::CPU_VA, "CPU_VA"}})

inline constexpr Property<MemType> mem_type{"MEM_TYPE"};
/// As a parameter: the descriptor or pointer to share. When read: the address of the memory for the device.
inline constexpr Property<npu_handle_param> mem_handle{"MEM_HANDLE"};
/// The ze_context_handle_t. As a parameter of create_context: the application's own, which must outlive the Core.
inline constexpr Property<npu_handle_param> l0_context{"L0_CONTEXT"};

/// A file's bytes from an offset on. @errors kInvalidArgument: "Provided path is empty."
struct FileDescriptor {
  FileDescriptor() = default;  ///< Empty, as Any makes it before it has a value.
  FileDescriptor(const std::filesystem::path& file_path, std::size_t offset_in_bytes = 0)
      : _file_path(file_path), _offset_in_bytes(offset_in_bytes) {
    if (file_path.empty()) throw AssertFailure("Provided path is empty.");
  }
  std::filesystem::path _file_path;
  std::size_t _offset_in_bytes = 0;
};
inline std::ostream& operator<<(std::ostream& out, const FileDescriptor& file) {
  return out << "FileDescriptor{file_path: " << file._file_path << ", offset_in_bytes: " << file._offset_in_bytes
             << "}";
}
/// Also a path as text, with file_offset, for callers without C++ types.
inline constexpr Property<FileDescriptor> file_descriptor{"FILE_DESCRIPTOR"};
/// Where the tensor begins in the file, in bytes. Tenon's own key.
inline constexpr Property<std::uint64_t> file_offset{"FILE_OFFSET"};

/// The use of the memory.
enum class TensorType { INPUT = 0, OUTPUT = 1, BINDED = 2 };
TENON_ENUM_TEXT(TensorType, "tensor type",
                {{TensorType::INPUT, "INPUT"}, {TensorType::OUTPUT, "OUTPUT"}, {TensorType::BINDED, "BINDED"}})
inline constexpr Property<TensorType> tensor_type{"TENSOR_TYPE"};

}  // namespace intel_npu
}  // namespace v1
}  // namespace tenon
