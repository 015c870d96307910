// SPDX-License-Identifier: Apache-2.0
// Damaged models and binaries, thousands of them: an Error or a program, never anything else.
#include <gtest/gtest.h>

#include <tenon/core/error.hpp>
#include <tenon/drivers/npu/compiler/compiler_test_internal.hpp>

namespace tenon::npu::compiler {
namespace {

/// A few changes: bytes replaced, cut out, doubled.
Bytes damaged(const Bytes& whole, std::mt19937& random, std::size_t begin) {
  Bytes bytes = whole;
  const int changes = 1 + static_cast<int>(random() % 4);
  for (int i = 0; i < changes && bytes.size() > begin + 1; ++i) {
    const std::size_t at = begin + random() % (bytes.size() - begin);
    switch (random() % 5) {
      case 0:
        bytes[at] = static_cast<std::uint8_t>(random());
        break;
      case 1:
        bytes[at] ^= static_cast<std::uint8_t>(1u << random() % 8);
        break;
      case 2:  // Digits become other digits: offsets, sizes, extents.
        for (std::size_t k = at; k < bytes.size() && k < at + 200; ++k)
          if (bytes[k] >= '0' && bytes[k] <= '9') {
            bytes[k] = static_cast<std::uint8_t>('0' + random() % 10);
            break;
          }
        break;
      case 3: {
        const std::size_t size = std::min<std::size_t>(1 + random() % 40, bytes.size() - at);
        bytes.erase(bytes.begin() + static_cast<std::ptrdiff_t>(at),
                    bytes.begin() + static_cast<std::ptrdiff_t>(at + size));
        break;
      }
      default:
        bytes.insert(bytes.begin() + static_cast<std::ptrdiff_t>(at), bytes[at]);
        break;
    }
  }
  return bytes;
}

void try_ir(const Bytes& ir) {
  try {
    Program program(compile(request_for(ir), nullptr).bytes);
    program.load();
  } catch (const Error&) {
  }
  try {
    supported_layers(request_for(ir));
  } catch (const Error&) {
  }
}

void try_blob(const Bytes& blob) {
  try {
    Program program(own_copy(blob));
    program.load();
  } catch (const Error&) {
  }
}

TEST(Corruption, OfModelsIsAnErrorAtMost) {
  std::mt19937 random(7);
  for (const auto& model : {small_model(), stateful_model(), small_model(PartialShape{Dimension(1, 4), 3})}) {
    const Bytes whole = in_memory(*model);
    for (int i = 0; i < 300; ++i) try_ir(damaged(whole, random, 0));
    // Behind the sizes, so that the text is what is damaged.
    const SerializedModel serialized = serialize(*model);
    const Bytes xml(serialized.xml.begin(), serialized.xml.end());
    for (int i = 0; i < 500; ++i) {
      const Bytes changed = damaged(xml, random, 0);
      try_ir(in_memory(std::string(changed.begin(), changed.end()), serialized.weights));
    }
  }
}

TEST(Corruption, OfBinariesIsAnErrorAtMostEvenWithTheirHashesMadeRight) {
  std::mt19937 random(8);
  for (const auto& model : {small_model(), stateful_model(), small_model(PartialShape{Dimension(1, 4), 3})}) {
    const Tensor bytes = compile(request_for(in_memory(*model)), nullptr).bytes;
    const auto* data = static_cast<const std::uint8_t*>(bytes.data());
    const Bytes whole(data, data + bytes.size_bytes());
    for (int i = 0; i < 400; ++i) {
      Bytes changed = damaged(whole, random, i % 2 ? 24 : 128);
      try_blob(changed);
      repair_hashes(changed);
      try_blob(changed);
    }
  }
}

TEST(Corruption, OfBuildFlagsIsAnErrorAtMost) {
  std::mt19937 random(9);
  const std::string good =
      "--inputs_precisions=\"0:FP16 in:1:U8\" --inputs_layouts=\"0:NCHW\" --outputs_precisions=\"0:FP32\" --config "
      "NPU_PLATFORM=\"3720\" NPU_COMPILATION_MODE_PARAMS=\"optimization-level=2 performance-hint-override=latency\"";
  const Bytes whole(good.begin(), good.end());
  for (int i = 0; i < 3000; ++i) {
    const Bytes changed = damaged(whole, random, 0);
    try {
      parse_build_flags(std::string(changed.begin(), changed.end()).c_str());
    } catch (const Error&) {
    }
  }
}

}  // namespace
}  // namespace tenon::npu::compiler
