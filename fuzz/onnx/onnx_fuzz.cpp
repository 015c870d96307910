// SPDX-License-Identifier: Apache-2.0
// Any bytes as an ONNX model. The result is a model or a tenon::Error.
#include <cstring>

#include <tenon/graph/readers/onnx/onnx_reader.hpp>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  // A separate copy, so that reading past the end is detected.
  tenon::Tensor bytes(tenon::ElementType::kU8, tenon::Shape{size});
  if (size > 0) std::memcpy(bytes.data(), data, size);
  try {
    tenon::read_onnx(bytes, "/nonexistent");
  } catch (const tenon::Error&) {
  }
  return 0;
}
