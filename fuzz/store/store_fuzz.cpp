// SPDX-License-Identifier: Apache-2.0
// Any bytes as each stored format: a table, a cache entry, blobs of the CPU and NPU devices, the driver's binary. The
// result is a value or a tenon::Error. Hashes stop nearly all mutations at once, so every input is tried unchanged, and
// again with all hashes in it corrected, so that the code behind the hash checks is reached.
#include <sys/mman.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <string_view>

#include <tenon/core/error.hpp>
#include <tenon/devices/npu/model_info.hpp>
#include <tenon/devices/npu/weightless.hpp>
#include <tenon/drivers/npu/testing/compiled.hpp>
#include <tenon/engine/blob.hpp>
#include <tenon/runtime/cache/cache.hpp>
#include <tenon/store/table.hpp>
#include <tenon/store/testing/reseal.hpp>

namespace {

namespace compiler = tenon::npu::compiler;
namespace npu_device = tenon::npu_device;
namespace store = tenon::store;
using tenon::Tensor;

// Sizes of the headers that the formats' own files define.
constexpr std::size_t kCpuIdentity = 128, kCpuHeader = 512, kEntryHeader = 88, kEntryInfoBytes = 48, kEntryInfo = 56;

template <typename Body>
void attempt(Body body) {
  try {
    body();
  } catch (const tenon::Error&) {
  }
}

/// Corrects the hashes of the format that begins here, if one does.
void repair_at(char* bytes, std::size_t size) {
  const std::string_view all(bytes, size);
  if (all.starts_with("TENONNPU")) {
    store::reseal(bytes, size, 128, 128);
  } else if (all.starts_with("TNPUBLOB")) {
    store::reseal(bytes, size, 512, 512);
  } else if (all.starts_with("TENONCPU") && size >= kCpuHeader) {
    const std::string identity = tenon::engine::blob_identity();
    std::memset(bytes + kCpuIdentity, 0, kCpuHeader - sizeof(store::ContentHash) - kCpuIdentity);
    std::memcpy(bytes + kCpuIdentity, identity.data(), identity.size());
    store::reseal(bytes, size, kCpuHeader, kCpuHeader);
  } else if (all.starts_with("TENONCCH") && size >= kEntryHeader) {
    std::uint64_t info = 0;
    std::memcpy(&info, bytes + kEntryInfoBytes, sizeof info);
    if (info > size - kEntryHeader) return;
    const store::ContentHash hash = store::content_hash(bytes + kEntryHeader, info);
    std::memcpy(bytes + kEntryInfo, &hash, sizeof hash);
    store::reseal(bytes, size, kEntryHeader, kEntryHeader + info);
  }
}

/// From the end, because formats contain one another.
std::string repaired(std::string bytes) {
  for (std::size_t at = bytes.size() / 8 * 8 + 8; at > 0; at -= 8)
    if (at - 8 < bytes.size()) repair_at(bytes.data() + at - 8, bytes.size() - (at - 8));
  return bytes;
}

Tensor tensor_of(std::string_view bytes) {
  return compiler::own_copy({reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()});
}

void try_table(std::string_view bytes) {
  store::TableReader table(bytes, [](const std::string& what) { throw tenon::Error(tenon::Code::kDataLoss, what); });
  attempt([&] {
    for (;;)
      for (std::uint64_t left = table.count() + 1; left > 0; --left) table.view();
  });
}

void try_entry(std::string_view bytes) {
  static const int fd = ::memfd_create("entry", 0);
  static const std::string path = "/proc/self/fd/" + std::to_string(fd);
  if (::ftruncate(fd, 0) != 0 || ::pwrite(fd, bytes.data(), bytes.size(), 0) < 0) return;
  attempt([&] {
    const Tensor payload = tenon::cache::read_entry(path).payload;
    tenon::engine::read_blob(payload, true).prepared.model->get_ordered_ops();
  });
}

void try_blobs(std::string_view bytes) {
  const Tensor tensor = tensor_of(bytes);
  attempt([&] { tenon::engine::read_blob(tensor, false).prepared.model->get_ordered_ops(); });
  attempt([&] { compiler::Program(tensor).load(); });
  attempt([&] {
    const npu_device::Blob blob = npu_device::read_blob(tensor, false, true);
    if (blob.kind == npu_device::BlobKind::kWeightless)
      npu_device::read_weightless({static_cast<const char*>(blob.native.data()), blob.native.size_bytes()}, {});
  });
}

/// A convolution and a Relu: one packed constant, one that keeps its values.
std::shared_ptr<tenon::Model> small_network(const tenon::PartialShape& shape) {
  using namespace tenon;
  auto x = std::make_shared<op::v0::Parameter>(element::f32, shape);
  x->output(0).set_names({"x"});
  const auto constant = [](const Shape& extents) {
    return std::make_shared<op::v0::Constant>(element::f32, extents, std::vector<double>{0.5})->output(0);
  };
  auto conv = std::make_shared<op::v1::Convolution>(x->output(0), constant({32, 32, 1, 1}),
                                                    std::vector<std::int64_t>{1, 1}, std::vector<std::int64_t>{0, 0},
                                                    std::vector<std::int64_t>{0, 0}, std::vector<std::int64_t>{1, 1});
  auto sum = std::make_shared<op::v1::Add>(conv->output(0), constant({1, 32, 1, 1}));
  auto relu = std::make_shared<op::v0::Relu>(sum->output(0));
  relu->output(0).set_names({"y"});
  return std::make_shared<Model>(OutputVector{relu->output(0)}, ParameterVector{x}, "small");
}

/// Correcting valid data changes nothing, unless a header's layout is no longer the one that this file assumes.
void write_seed(const std::string& folder, const std::string& name, const std::string& bytes) {
  if (repaired(bytes) != bytes) {
    std::fprintf(stderr, "store_fuzz: %s: a header's layout has changed: mend the offsets in this fuzzer\n",
                 name.c_str());
    std::exit(1);
  }
  std::ofstream(folder + "/" + name, std::ios::binary) << bytes;
}

std::string text_of(const Tensor& bytes) { return {static_cast<const char*>(bytes.data()), bytes.size_bytes()}; }

void write_cpu_seeds(const std::string& folder) {
  using namespace tenon;
  const auto fixed = small_network(PartialShape{1, 32, 2, 2});
  std::ostringstream prepared, open, weightless;
  using Kind = engine::Blob::Kind;
  const auto write = [](std::ostream& stream, Kind kind, engine::PackedModel model) {
    engine::write_blob(stream, {kind, "small", ElementType::kF32, std::move(model)});
  };
  write(prepared, Kind::kPrepared, engine::packed_model_of(*engine::Plan::compile(fixed)));
  write(open, Kind::kModel, {small_network(PartialShape{Dimension(), 32, 2, 2}), {}});
  write(weightless, Kind::kWeightless, {fixed, {}});
  for (const auto& [name, blob] :
       {std::pair{"prepared", prepared.str()}, {"open", open.str()}, {"weightless", weightless.str()}}) {
    write_seed(folder, std::string(name) + ".cpu", blob);
    cache::EntryInfo info;
    info.model = "small";
    info.device = "CPU";
    info.files.push_back({"/nowhere/model.xml", 17, 1, 2});
    const std::string file = folder + "/" + name + ".entry";
    cache::write_entry(file, info, [&](std::ostream& stream) { stream << blob; });
    std::ostringstream entry;
    entry << std::ifstream(file, std::ios::binary).rdbuf();
    std::filesystem::remove(file);  // The file was written without write permission.
    write_seed(folder, std::string(name) + ".entry", entry.str());
  }
}

void write_npu_seeds(const std::string& folder) {
  int number = 0;
  for (const auto& model : {compiler::small_model(), compiler::stateful_model(),
                            compiler::small_model(tenon::PartialShape{tenon::Dimension(1, 4), 3})}) {
    const std::string name = "model" + std::to_string(number++);
    const std::string binary =
        text_of(compiler::compile(compiler::request_for(compiler::in_memory(*model)), nullptr).program->bytes());
    write_seed(folder, name + ".binary", binary);
    npu_device::ModelInfo info;
    info.name = name;
    info.ports = tenon::Ports::of(*model);
    const std::string left_out = npu_device::write_weightless(*model, {{"PERF_COUNT", "YES"}});
    for (const auto& [kind, native] :
         {std::pair{npu_device::BlobKind::kNative, binary}, {npu_device::BlobKind::kWeightless, left_out}}) {
      std::ostringstream blob;
      npu_device::write_blob(blob, info, kind, native.data(), native.size());
      write_seed(folder, name + (kind == npu_device::BlobKind::kNative ? ".npu" : ".weightless.npu"), blob.str());
    }
  }
}

}  // namespace

/// With TENON_FUZZ_SEEDS=FOLDER it writes seeds to that folder and exits: all are made by this build.
extern "C" int LLVMFuzzerInitialize(int*, char***) {
  if (const char* folder = std::getenv("TENON_FUZZ_SEEDS")) {
    std::filesystem::create_directories(folder);
    write_cpu_seeds(folder);
    write_npu_seeds(folder);
    std::exit(0);
  }
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string given(reinterpret_cast<const char*>(data), size), right = repaired(given);
  try_table(given);
  for (const std::string* bytes : {&given, &right}) {
    try_entry(*bytes);
    try_blobs(*bytes);
  }
  return 0;
}
