// SPDX-License-Identifier: Apache-2.0
// Bytes in tensors of any framework, and the process's descriptors, for tests of frameworks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <iterator>
#include <numeric>
#include <span>
#include <vector>

#include <tenon/core/context.hpp>
#include <tenon/core/tensor.hpp>

namespace tenon::testing {

/// `from`, the next byte, and so on.
inline std::vector<std::uint8_t> counted(std::size_t size, std::uint8_t from) {
  std::vector<std::uint8_t> bytes(size);
  std::iota(bytes.begin(), bytes.end(), from);
  return bytes;
}
/// The bytes as the tensor's own framework reads and writes them.
inline std::vector<std::uint8_t> bytes_of(const Tensor& tensor) {
  std::vector<std::uint8_t> bytes(tensor.size_bytes());
  tensor.context()->read(tensor, std::as_writable_bytes(std::span(bytes)));
  return bytes;
}
inline void write(const Tensor& tensor, const std::vector<std::uint8_t>& bytes) {
  tensor.context()->write(tensor, std::as_bytes(std::span(bytes)));
}
inline TensorInfo bytes_info(std::size_t size) { return {element::u8, {size}, {}}; }
inline std::size_t open_fds() {
  using Iterator = std::filesystem::directory_iterator;
  return static_cast<std::size_t>(std::distance(Iterator("/proc/self/fd"), Iterator()));
}

}  // namespace tenon::testing
