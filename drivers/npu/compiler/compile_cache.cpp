// SPDX-License-Identifier: Apache-2.0
// The compile cache: a private cache folder, and the header that binds an entry to its graph.
#include <tenon/drivers/npu/compiler/compile_cache.hpp>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <utility>

#include <tenon/core/error.hpp>
#include <tenon/store/bytes.hpp>
#include <tenon/store/cache_folder.hpp>
#include <tenon/store/sealed_header.hpp>

namespace tenon::npu::compiler {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kDefaultLimit = std::uint64_t{1} << 30;
constexpr store::CacheFolder::Rules kRules{.suffix = ".npu_graph", .entry_mode = 0600, .is_private = true};
constexpr std::uint32_t kFormat = 2;
/// The header has a page of its own, so that the bytes behind it keep their alignment.
constexpr std::size_t kPage = 4096;

/// The rest of its page is zeros. The header's `content` is the hash of the next page alone; that page contains the
/// hash of all bytes.
using EntryHeader = store::Sealed<CacheKey>;
static_assert(sizeof(EntryHeader) == 88);

[[noreturn]] void damaged_entry(const std::string& what) {
  throw Error(Code::kDataLoss, "NPU: the entry of the compile cache is damaged, or another's: " + what);
}

store::Format entry_format() {
  return {.magic = "TENONNPC", .version = kFormat, .minor = 0, .damaged = &damaged_entry};
}

store::ContentHash hash_of_begin(const void* data, std::size_t size) {
  return store::content_hash(data, std::min(size, kPage));
}

std::string name_of(const CacheKey& key) { return store::CacheFolder::name_of(key.all, kRules); }

/// Opens the folder; reports once if it cannot be trusted.
store::CacheFolder open_folder(const fs::path& path,
                               store::CacheFolder::Missing missing = store::CacheFolder::Missing::kLeave) {
  store::CacheFolder folder(path, kRules, missing);
  static std::atomic<bool> said{false};
  if (!folder.distrust().empty() && !said.exchange(true))
    std::fprintf(stderr,
                 "libze_tenon_npu: the cache folder \"%s\" is not used: %s; TENON_NPU_CACHE_DIR names another\n",
                 path.c_str(), folder.distrust().c_str());
  return folder;
}

/// Whether the header is complete and belongs to this key and to the bytes behind it.
bool is_entry_of(const CacheKey& key, const Tensor& file) try {
  const std::string_view all = store::bytes_of(file);
  const EntryHeader header = store::unseal<CacheKey>(all, entry_format());
  return all.size() > kPage && header.start.total == all.size() && header.fields.all == key.all &&
         header.fields.model == key.model &&
         header.start.content == hash_of_begin(all.data() + kPage, all.size() - kPage);
} catch (const Error&) {
  return false;
}

fs::path default_folder() {
  if (const char* cache = std::getenv("XDG_CACHE_HOME"); cache && *cache) return fs::path(cache) / "tenon" / "npu";
  if (const char* home = std::getenv("HOME"); home && *home) return fs::path(home) / ".cache" / "tenon" / "npu";
  return {};
}

}  // namespace

CompileCache::CompileCache(fs::path folder, std::uint64_t limit) : folder_(std::move(folder)), limit_(limit) {}

CompileCache CompileCache::from_environment() {
  const char* folder = std::getenv("TENON_NPU_CACHE_DIR");
  std::uint64_t limit = kDefaultLimit;
  if (const char* text = std::getenv("TENON_NPU_CACHE_BYTES")) {
    const std::string_view view(text);
    std::uint64_t value = 0;
    const auto result = std::from_chars(view.data(), view.data() + view.size(), value);
    if (result.ec == std::errc{} && result.ptr == view.data() + view.size())
      limit = value;
    else
      std::fprintf(stderr, "libze_tenon_npu: TENON_NPU_CACHE_BYTES is '%s', and no number of bytes\n", text);
  }
  return CompileCache(folder ? fs::path(folder) : default_folder(), limit);
}

std::optional<Tensor> CompileCache::find(const CacheKey& key) const {
  const store::CacheFolder folder = open_folder(folder_);
  if (!folder) return std::nullopt;
  const Tensor file = folder.map(name_of(key));
  if (!file) return std::nullopt;
  if (!is_entry_of(key, file)) {
    folder.remove(name_of(key));
    return std::nullopt;
  }
  return store::part_of(file, kPage, file.size_bytes() - kPage);
}

void CompileCache::set_limit(std::uint64_t limit) {
  limit_.store(limit, std::memory_order_relaxed);
  if (const store::CacheFolder folder = open_folder(folder_)) folder.evict(limit, {});
}

bool CompileCache::make_folder() const {
  return !folder_.empty() && static_cast<bool>(open_folder(folder_, store::CacheFolder::Missing::kMake));
}

bool CompileCache::store(const CacheKey& key, const Tensor& bytes) const try {
  if (folder_.empty() || bytes.size_bytes() + kPage > limit()) return false;
  const store::CacheFolder folder = open_folder(folder_, store::CacheFolder::Missing::kMake);
  if (!folder) return false;
  folder.remove_abandoned();
  EntryHeader header{};
  header.start.total = kPage + bytes.size_bytes();
  header.start.content = hash_of_begin(bytes.data(), bytes.size_bytes());
  header.fields = key;
  store::seal(header, entry_format());
  const auto file = folder.make(name_of(key));
  file->write(&header, sizeof header);
  file->write_at(bytes.data(), bytes.size_bytes(), kPage);
  file->commit();
  folder.evict(limit(), name_of(key));
  return true;
} catch (const Error&) {  // For example a full disk: the compiler works without a cache.
  return false;
}

void CompileCache::remove(const CacheKey& key) const { open_folder(folder_).remove(name_of(key)); }

std::uint64_t CompileCache::used_bytes() const { return open_folder(folder_).used_bytes(); }

}  // namespace tenon::npu::compiler
