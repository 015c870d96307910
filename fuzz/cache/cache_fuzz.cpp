// SPDX-License-Identifier: Apache-2.0
// Any bytes as a cache entry and as a CPU blob: a model, or a tenon::Error. Hashes stop nearly all mutations at once,
// so every input is tried unchanged, and once more with the hashes corrected, so that the code behind them is
// reached.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include <tenon/core/error.hpp>
#include <tenon/engine/blob.hpp>
#include <tenon/graph/model_ops.hpp>
#include <tenon/runtime/cache/cache.hpp>

namespace {

// The layouts of both headers, as in runtime/cache/file.cpp and devices/cpu/blob.cpp.
constexpr std::size_t kEntryHeader = 112, kEntryInfoBytes = 24, kEntryInfoHash = 48, kEntryPayloadHash = 64,
                      kEntryOwn = 96;
constexpr std::size_t kBlobHeader = 512, kBlobTotal = 16, kBlobContent = 104, kBlobIdentity = 128, kBlobOwn = 496;

std::uint64_t number_at(const std::string& bytes, std::size_t at) {
  std::uint64_t value;
  std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}
void put(std::string& bytes, std::size_t at, const tenon::ContentHash& hash) {
  std::memcpy(bytes.data() + at, &hash, sizeof hash);
}

void repair_entry(std::string& bytes) {
  if (bytes.size() < kEntryHeader) return;
  const std::uint64_t info = number_at(bytes, kEntryInfoBytes), room = bytes.size() - kEntryHeader;
  if (info <= room) {
    put(bytes, kEntryInfoHash, tenon::content_hash(bytes.data() + kEntryHeader, info));
    put(bytes, kEntryPayloadHash,
        tenon::content_hash(bytes.data() + kEntryHeader + info, bytes.size() - kEntryHeader - info));
  }
  put(bytes, kEntryOwn, tenon::content_hash(bytes.data(), kEntryOwn));
}

void repair_blob(std::string& bytes) {
  if (bytes.size() < kBlobHeader) return;
  const std::string identity = tenon::engine::blob_identity();
  std::memset(bytes.data() + kBlobIdentity, 0, kBlobOwn - kBlobIdentity);
  std::memcpy(bytes.data() + kBlobIdentity, identity.data(), identity.size());
  const std::uint64_t total = number_at(bytes, kBlobTotal);
  if (total >= kBlobHeader && total <= bytes.size())
    put(bytes, kBlobContent, tenon::content_hash(bytes.data() + kBlobHeader, total - kBlobHeader));
  put(bytes, kBlobOwn, tenon::content_hash(bytes.data(), kBlobOwn));
}

void try_blob(const std::string& bytes) {
  tenon::Tensor tensor(tenon::ElementType::kU8, tenon::Shape{bytes.size()});
  if (!bytes.empty()) std::memcpy(tensor.data(), bytes.data(), bytes.size());
  try {
    const auto blob = tenon::engine::read_blob(tensor, false);
    blob.prepared.model->get_ordered_ops();
  } catch (const tenon::Error&) {
  }
}

void try_entry(const std::string& bytes) {
  static const int fd = ::memfd_create("entry", 0);
  static const std::string path = "/proc/self/fd/" + std::to_string(fd);
  if (::ftruncate(fd, 0) != 0 || ::pwrite(fd, bytes.data(), bytes.size(), 0) < 0) return;
  try {
    const auto entry = tenon::cache::read_entry(path);
    try_blob(std::string(static_cast<const char*>(entry.payload.data()), entry.payload.size_bytes()));
  } catch (const tenon::Error&) {
  }
}

/// A convolution and a Relu: one packed constant, one that keeps its values.
std::shared_ptr<tenon::Model> small_model(const tenon::PartialShape& shape) {
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

void write_seed(const std::string& folder, const std::string& name, const std::string& bytes) {
  std::ofstream(folder + "/" + name, std::ios::binary) << bytes;
}

/// Correcting the hashes of a whole file changes nothing, unless a header's layout differs from this fuzzer's.
void check_repair(const std::string& whole, void (*repair)(std::string&)) {
  std::string repaired = whole;
  repair(repaired);
  if (repaired == whole) return;
  std::fprintf(stderr, "cache_fuzz: a header's layout has changed: mend the offsets in this fuzzer\n");
  std::exit(1);
}

/// A blob of each kind, and each as a cache entry.
void write_seeds(const std::string& folder) {
  using namespace tenon;
  std::filesystem::create_directories(folder);
  const auto fixed = small_model(PartialShape{1, 32, 2, 2});
  std::ostringstream prepared, open, weightless;
  using Kind = engine::Blob::Kind;
  const auto write = [](std::ostream& stream, Kind kind, engine::PackedModel model) {
    engine::write_blob(stream, {kind, "small", ElementType::kF32, std::move(model)});
  };
  write(prepared, Kind::kPrepared, engine::packed_model_of(*engine::Plan::compile(fixed)));
  write(open, Kind::kModel, {small_model(PartialShape{Dimension(), 32, 2, 2}), {}});
  write(weightless, Kind::kWeightless, {fixed, {}});
  for (const auto& [name, blob] :
       {std::pair{"prepared", prepared.str()}, {"open", open.str()}, {"weightless", weightless.str()}}) {
    check_repair(blob, repair_blob);
    write_seed(folder, std::string(name) + ".blob", blob);
    cache::EntryInfo info;
    info.model = "small";
    info.device = "CPU";
    info.files.push_back({"/nowhere/model.xml", 17, 1, 2});
    const std::string file = folder + "/" + name + ".entry";
    cache::write_entry(file, info, [&](std::ostream& stream) {
      stream.write(blob.data(), static_cast<std::streamsize>(blob.size()));
    });
    std::ostringstream entry;
    entry << std::ifstream(file, std::ios::binary).rdbuf();
    check_repair(entry.str(), repair_entry);
  }
}

}  // namespace

/// With TENON_FUZZ_SEEDS=FOLDER it fills that folder and exits: this build makes the entries.
extern "C" int LLVMFuzzerInitialize(int*, char***) {
  if (const char* folder = std::getenv("TENON_FUZZ_SEEDS")) {
    write_seeds(folder);
    std::exit(0);
  }
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string given(reinterpret_cast<const char*>(data), size);
  try_blob(given);
  try_entry(given);
  std::string blob = given;
  repair_blob(blob);
  try_blob(blob);
  std::string entry = given;
  repair_entry(entry);
  try_entry(entry);
  return 0;
}
