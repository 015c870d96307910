// SPDX-License-Identifier: Apache-2.0
// Thousands of damaged models and binaries: each gives an Error or a program, nothing else.
#include <algorithm>

#include <gtest/gtest.h>

#include <tenon/core/error.hpp>
#include <tenon/drivers/npu/testing/compiled.hpp>

namespace tenon::npu::compiler {
namespace compiler_corruption_test {

/// Makes a few changes: bytes replaced, removed or duplicated.
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
      case 2:  // Replaces digits by other digits: offsets, sizes, extents.
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
    compile(request_for(ir), nullptr).program->load();
  } catch (const Error&) {
  }
  try {
    supported_layers(request_for(ir));
  } catch (const Error&) {
  }
}

/// Acts like a client: loads the blob, sets memory of the required sizes, executes it.
/// @return whether execution succeeded.
bool try_blob(const Bytes& blob) {
  constexpr std::size_t kMaxBytes = 1 << 20;
  static engine::Workers workers(2);
  try {
    const auto program = std::make_shared<Program>(own_copy(blob));
    program->load();
    ProgramRun run(program);
    std::vector<Tensor> memory;
    for (std::size_t i = 0; i < program->arguments().size(); ++i) {
      const Argument& argument = program->arguments()[i];
      const auto bytes = checked_size_bytes(argument.type, argument.max_shape());
      if (!bytes || *bytes > kMaxBytes) return false;
      memory.emplace_back(ElementType::kU8, Shape{*bytes + 1});
      std::memset(memory.back().data(), argument.role == Argument::Role::kShape ? 0 : 1, *bytes);
      run.set_argument(i, memory.back().data());
    }
    run.execute(workers);
    return true;
  } catch (const Error&) {
    return false;
  }
}

TEST(Corruption, OfModelsIsAnErrorAtMost) {
  std::mt19937 random(7);
  for (const auto& model : {small_model(), stateful_model(), small_model(PartialShape{Dimension(1, 4), 3})}) {
    const Bytes whole = in_memory(*model);
    for (int i = 0; i < 300; ++i) try_ir(damaged(whole, random, 0));
    // After the sizes, so that the text is damaged.
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
  int executed = 0;
  for (const auto& model : {small_model(), stateful_model(), small_model(PartialShape{Dimension(1, 4), 3})}) {
    const Tensor bytes = compile(request_for(in_memory(*model)), nullptr).program->bytes();
    const auto* data = static_cast<const std::uint8_t*>(bytes.data());
    const Bytes whole(data, data + bytes.size_bytes());
    for (int i = 0; i < 400; ++i) {
      Bytes changed = damaged(whole, random, i % 2 ? 24 : 128);
      // Bytes after a binary are not part of it.
      const bool is_whole = changed.size() >= whole.size() && std::equal(whole.begin(), whole.end(), changed.begin());
      EXPECT_TRUE(!try_blob(changed) || is_whole) << "damage that no hash saw";
      repair_hashes(changed);
      executed += try_blob(changed);
    }
  }
  EXPECT_GT(executed, 100) << "most damage must get past the checks, or it tests nothing but hashes";
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

}  // namespace compiler_corruption_test
}  // namespace tenon::npu::compiler
