// SPDX-License-Identifier: Apache-2.0
// NumPy's .npy files of little-endian C-ordered arrays, for exchanging tensors with Python in tests.
#pragma once

#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include <tenon/core/tensor.hpp>

namespace tenon {
inline namespace v1 {

/// @errors kInvalidArgument: not such a file; kUnimplemented: another element type or order.
inline Tensor read_npy(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream buffer;
  buffer << file.rdbuf();
  const std::string bytes = buffer.str();
  const auto bad = [&](const std::string& why) {
    return Error(Code::kInvalidArgument, "\"" + path.string() + "\" " + why);
  };
  if (!file || bytes.size() < 10 || bytes.compare(0, 6, "\x93NUMPY") != 0 || bytes[6] != 1)
    throw bad("is no .npy file of version 1");
  const std::size_t header_size = static_cast<unsigned char>(bytes[8]) + 256U * static_cast<unsigned char>(bytes[9]);
  if (bytes.size() < 10 + header_size) throw bad("is truncated");
  const std::string header = bytes.substr(10, header_size);
  const struct {
    const char* text;
    ElementType type;
  } kTypes[] = {{"'<f4'", ElementType::kF32}, {"'<i8'", ElementType::kI64},  {"'<i4'", ElementType::kI32},
                {"'|u1'", ElementType::kU8},  {"'|b1'", ElementType::kBool}, {"'<f8'", ElementType::kF64},
                {"'<f2'", ElementType::kF16}};
  ElementType type = ElementType::kUndefined;
  for (const auto& entry : kTypes) {
    if (header.find(entry.text) != std::string::npos) type = entry.type;
  }
  if (type == ElementType::kUndefined || header.find("'fortran_order': False") == std::string::npos) {
    throw Error(Code::kUnimplemented, "\"" + path.string() + "\" holds " + header);
  }
  Shape shape;
  std::istringstream extents(header.substr(header.find('(') + 1));
  std::size_t extent = 0;
  while (extents >> extent) {
    shape.push_back(extent);
    extents.ignore(1, ',');
  }
  Tensor tensor(type, shape);
  if (bytes.size() - 10 - header_size != tensor.size_bytes()) throw bad("has another size than its header says");
  if (tensor.size_bytes() > 0) std::memcpy(tensor.data(), bytes.data() + 10 + header_size, tensor.size_bytes());
  return tensor;
}

}  // namespace v1
}  // namespace tenon
