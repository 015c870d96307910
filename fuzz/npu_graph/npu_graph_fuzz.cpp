// SPDX-License-Identifier: Apache-2.0
// Any bytes as input of the NPU's compiler: an in-memory IR, its XML alone, build flags. The result is a program or a
// tenon::Error. fuzz/store covers native binaries.
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>

#include <tenon/core/error.hpp>
#include <tenon/drivers/npu/testing/compiled.hpp>

namespace {

using tenon::npu::compiler::Bytes;
namespace compiler = tenon::npu::compiler;

template <typename Body>
void attempt(Body body) {
  try {
    body();
  } catch (const tenon::Error&) {
  }
}

void try_ir(const Bytes& ir) {
  attempt([&] { compiler::compile(compiler::request_for(ir), nullptr).program->load(); });
  attempt([&] { compiler::supported_layers(compiler::request_for(ir)); });
}

void write_seed(const std::string& folder, const std::string& name, const void* data, std::size_t size) {
  std::ofstream(folder + "/" + name, std::ios::binary)
      .write(static_cast<const char*>(data), static_cast<std::streamsize>(size));
}

void write_seeds(const std::string& folder) {
  std::filesystem::create_directories(folder);
  int number = 0;
  for (const auto& model : {compiler::small_model(), compiler::stateful_model(),
                            compiler::small_model(tenon::PartialShape{tenon::Dimension(1, 4), 3})}) {
    const std::string name = "model" + std::to_string(number++);
    const Bytes ir = compiler::in_memory(*model);
    write_seed(folder, name + ".ir", ir.data(), ir.size());
    const std::string xml = tenon::serialize(*model).xml;
    write_seed(folder, name + ".xml", xml.data(), xml.size());
  }
  const std::string flags = "--inputs_precisions=\"0:FP16\" --config NPU_TILES=\"2\" PERF_COUNT=\"YES\"";
  write_seed(folder, "flags", flags.data(), flags.size());
}

}  // namespace

/// With TENON_FUZZ_SEEDS=FOLDER it writes seeds to that folder and exits: models as this build writes them.
extern "C" int LLVMFuzzerInitialize(int*, char***) {
  if (const char* folder = std::getenv("TENON_FUZZ_SEEDS")) {
    write_seeds(folder);
    std::exit(0);
  }
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const Bytes given(data, data + size);
  // Weights for the constants of an XML without weights.
  static const tenon::Tensor weights = [] {
    tenon::Tensor zeros(tenon::ElementType::kU8, tenon::Shape{65536});
    std::memset(zeros.data(), 0, zeros.size_bytes());
    return zeros;
  }();
  // Addresses in an IR are trusted within this process's memory, so the fuzzer must not invent them.
  const std::string text(given.begin(), given.end());
  if (text.find("WeightsPointerAttribute") == text.npos) {
    try_ir(given);
    try_ir(compiler::in_memory(text, weights));
  }
  attempt([&] { compiler::parse_build_flags(text.c_str()); });
  return 0;
}
