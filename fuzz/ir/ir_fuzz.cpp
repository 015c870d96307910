// SPDX-License-Identifier: Apache-2.0
// Any bytes as an IR's XML with 64 KiB of weights. The result is a model, which can be written and read again, or a
// tenon::Error.
#include <cstring>

#include <tenon/graph/readers/openvino_ir/ir_reader.hpp>
#include <tenon/graph/writers/openvino_ir/ir_writer.hpp>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const tenon::Tensor weights = [] {
    tenon::Tensor zeros(tenon::ElementType::kU8, tenon::Shape{65536});
    std::memset(zeros.data(), 0, zeros.size_bytes());
    return zeros;
  }();
  std::shared_ptr<tenon::Model> model;
  try {
    model = tenon::read_ir({reinterpret_cast<const char*>(data), size}, weights);
  } catch (const tenon::Error&) {
    return 0;
  }
  const tenon::SerializedModel written = tenon::serialize(*model);
  try {
    tenon::read_ir(written.xml, written.weights);
  } catch (const tenon::Error&) {
    // Names that XML can't hold may be lost on the way; only crashes count.
  }
  return 0;
}
