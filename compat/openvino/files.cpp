// SPDX-License-Identifier: Apache-2.0
// Tensors of files' bytes.
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#ifndef _WIN32
#include <unistd.h>
#endif

#include <openvino/runtime/tensor.hpp>

#include "convert.hpp"

namespace ov {

using detail::guarded;

namespace {
/// A tensor of the bytes that a file of `size` has from an offset on; `read` puts them into memory.
template <typename Read>
Tensor tensor_of_file(const element::Type& element_type, const PartialShape& shape, std::size_t size,
                      std::size_t offset, Read&& read) {
  OPENVINO_ASSERT(element_type.bitwidth() >= 8 && element_type != element::string, "a file has no elements of type ",
                  element_type);
  OPENVINO_ASSERT(offset <= size, "Offset is beyond the end of the file.");
  std::size_t elements = (size - offset) / element_type.size();
  Shape extents;
  if (shape.is_static()) {
    extents = shape.to_shape();
    OPENVINO_ASSERT(shape_size(extents) <= elements, "the file has ", elements, " elements, the shape ", shape);
  } else {
    OPENVINO_ASSERT(shape.rank().is_static(), "the shape ", shape, " has no rank");
    std::size_t known = 1;
    int moving = 0;
    for (const Dimension& dimension : shape) {
      if (dimension.is_static())
        known *= static_cast<std::size_t>(dimension.get_length());
      else
        ++moving;
    }
    OPENVINO_ASSERT(moving == 1 && known != 0 && elements % known == 0, "the file's ", elements,
                    " elements do not fit the shape ", shape);
    for (const Dimension& dimension : shape)
      extents.push_back(dimension.is_static() ? static_cast<std::size_t>(dimension.get_length()) : elements / known);
  }
  Tensor tensor(element_type, extents);
  read(static_cast<char*>(tensor.data()), tensor.get_byte_size());
  return tensor;
}
}  // namespace
Tensor read_tensor_data(const std::filesystem::path& file_name, const element::Type& element_type,
                        const PartialShape& shape, std::size_t offset_in_bytes, bool) {
  return guarded([&] {
    std::error_code error;
    const auto size = std::filesystem::file_size(file_name, error);
    OPENVINO_ASSERT(!error, "Can not open file ", file_name.string(), ": ", error.message());
    return tensor_of_file(element_type, shape, size, offset_in_bytes, [&](char* data, std::size_t bytes) {
      std::ifstream file(file_name, std::ios::binary);
      file.seekg(static_cast<std::streamoff>(offset_in_bytes));
      file.read(data, static_cast<std::streamsize>(bytes));
      OPENVINO_ASSERT(file, "the file ", file_name.string(), " cannot be read");
    });
  });
}
#ifndef _WIN32
Tensor read_tensor_data(FileHandle file_handle, const element::Type& element_type, const PartialShape& shape,
                        std::size_t offset_in_bytes) {
  const std::shared_ptr<void> closed(nullptr, [&](void*) { static_cast<void>(::close(file_handle)); });
  return guarded([&] {
    const auto size = ::lseek(file_handle, 0, SEEK_END);
    OPENVINO_ASSERT(size >= 0, "Can not open file: handle ", file_handle, ": ", std::strerror(errno));
    return tensor_of_file(
        element_type, shape, static_cast<std::size_t>(size), offset_in_bytes, [&](char* data, std::size_t bytes) {
          for (std::size_t done = 0; done < bytes;) {
            const auto got =
                ::pread(file_handle, data + done, bytes - done, static_cast<off_t>(offset_in_bytes + done));
            if (got < 0 && errno == EINTR) continue;
            OPENVINO_ASSERT(got > 0, "the file of handle ", file_handle,
                            " cannot be read: ", got < 0 ? std::strerror(errno) : "it ends before that");
            done += static_cast<std::size_t>(got);
          }
        });
  });
}
#endif

}  // namespace ov
