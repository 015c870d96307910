// SPDX-License-Identifier: Apache-2.0
// Any bytes as what the GPU device finds in its cache folder: a table of tuned kernels, as it is and with its hashes made right, and the text of
// a driver's program, which is changed for CUDA. The result is a table that is written and read the same again, a text, or an Error.
#include <stdlib.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>

#include <tenon/core/error.hpp>
#include <tenon/devices/gpu/program/kept_choices.hpp>
#include <tenon/devices/gpu/program/warpgroups.hpp>
#include <tenon/devices/gpu/twin/ptx.hpp>
#include <tenon/store/content_hash.hpp>
#include <tenon/store/testing/reseal.hpp>

namespace {

using namespace tenon;
using namespace tenon::gpu_device;

constexpr std::size_t kHeaderBytes = 72;  ///< An entry has before its table: its start, its key, its hash.
constexpr std::string_view kKey = "key";

store::ContentHash key() { return store::content_hash(kKey.data(), kKey.size()); }

/// A folder of this user alone with one entry; goes with the process.
struct Folder {
  std::filesystem::path path, entry;
  Folder() {
    std::string made = (std::filesystem::temp_directory_path() / "tenon_gpu_files_XXXXXX").string();
    if (!::mkdtemp(made.data())) std::abort();
    path = made;
    write_choices(path, key(), {{"convolution f32 1x16x12x12", "tile 4x4"}, {"product f16 64x64", "rules"}});
    for (const auto& each : std::filesystem::directory_iterator(path)) entry = each.path();
    if (entry.extension() != ".cl_tuning") std::abort();
  }
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path, ignored);
  }
};

void try_entry(const Folder& folder, std::string_view bytes) {
  std::ofstream(folder.entry, std::ios::binary | std::ios::trunc) << bytes;
  try {
    const Choices choices = read_choices(folder.path, key()).choices;
    write_choices(folder.path, key(), choices);
    if (read_choices(folder.path, key()).choices != choices) std::abort();
  } catch (const Error&) {
  }
}

void try_program(std::string_view text) {
  is_ptx(text);
  has_waits(text);
  has_warpgroups(text);
  open_warpgroups(text);
  ptx_for_cuda(text);
}

}  // namespace

/// With TENON_FUZZ_SEEDS=FOLDER it writes seeds to that folder and exits.
extern "C" int LLVMFuzzerInitialize(int*, char***) {
  const char* const seeds = std::getenv("TENON_FUZZ_SEEDS");
  if (!seeds) return 0;
  std::filesystem::create_directories(seeds);
  {
    const Folder folder;
    std::ifstream entry(folder.entry, std::ios::binary);
    std::string bytes{std::istreambuf_iterator<char>(entry), {}}, right = bytes;
    store::reseal(right, kHeaderBytes);
    if (right != bytes) {
      std::fprintf(stderr, "gpu_files_fuzz: an entry's header has changed: mend its size in this fuzzer\n");
      std::exit(1);
    }
    std::ofstream(std::string(seeds) + "/table.cl_tuning", std::ios::binary) << bytes;
  }
  std::ofstream(std::string(seeds) + "/program.ptx")
      << "//\n.version 8.5\n.target sm_90\n.address_size 64\n.shared .align 1024 .b8 a_graphs_memory[64];\n.entry "
         "a(\n)\n{\n\t.reg .b32 %r<2>;\n"
         "\tmov.u32 %r1, %envreg3;\n/*sm_90a wgmma.fence; sm_90a*/\n/*wait for kernels*/\n\tret;\n}\n";
  std::exit(0);
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const Folder folder;
  const std::string given(reinterpret_cast<const char*>(data), size);
  std::string right = given;
  store::reseal(right, kHeaderBytes);
  try_entry(folder, given);
  try_entry(folder, right);
  try_program(given);
  return 0;
}
