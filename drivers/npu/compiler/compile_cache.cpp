// SPDX-License-Identifier: Apache-2.0
// Files of the compile cache.
#include <tenon/drivers/npu/compiler/compile_cache.hpp>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <vector>

#include <tenon/core/error.hpp>
#include <tenon/core/mapped_file.hpp>

namespace tenon::npu::compiler {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kDefaultLimit = std::uint64_t{1} << 30;
constexpr const char* kSuffix = ".npu_graph";

struct Entry {
  fs::path path;
  fs::file_time_type used;
  std::uint64_t size;
};

std::vector<Entry> entries_of(const fs::path& folder) {
  std::vector<Entry> entries;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    std::error_code ignored;
    if (it->path().extension() != kSuffix) continue;
    const auto size = it->file_size(ignored);
    if (ignored) continue;
    const auto used = it->last_write_time(ignored);
    if (!ignored) entries.push_back({it->path(), used, size});
  }
  return entries;
}

bool write_all(int fd, const char* data, std::size_t size) {
  while (size > 0) {
    const ::ssize_t count = ::write(fd, data, size);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return false;
    data += count;
    size -= static_cast<std::size_t>(count);
  }
  return true;
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

fs::path CompileCache::path_of(const Hash& key) const { return folder_ / (key.to_text() + kSuffix); }

std::optional<Tensor> CompileCache::find(const Hash& key) const {
  if (folder_.empty()) return std::nullopt;
  const fs::path path = path_of(key);
  std::error_code error;
  if (!fs::exists(path, error)) return std::nullopt;
  try {
    Tensor bytes = map_file(path);
    ::utimensat(AT_FDCWD, path.c_str(), nullptr, 0);  // Used now.
    return bytes;
  } catch (const Error&) {
    return std::nullopt;
  }
}

void CompileCache::store(const Hash& key, const Tensor& bytes) const {
  if (folder_.empty() || bytes.size_bytes() > limit_) return;
  std::error_code error;
  fs::create_directories(folder_, error);
  static std::atomic<unsigned> number{0};
  const fs::path temporary =
      folder_ / (key.to_text() + "." + std::to_string(::getpid()) + "." + std::to_string(number.fetch_add(1)) + ".tmp");
  const int fd = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (fd < 0) return;
  const bool written = write_all(fd, static_cast<const char*>(bytes.data()), bytes.size_bytes());
  const bool closed = ::close(fd) == 0;
  if (!written || !closed || ::rename(temporary.c_str(), path_of(key).c_str()) != 0) {
    ::unlink(temporary.c_str());
    return;
  }
  make_room(path_of(key));
}

void CompileCache::remove(const Hash& key) const {
  if (folder_.empty()) return;
  std::error_code ignored;
  fs::remove(path_of(key), ignored);
}

void CompileCache::make_room(const fs::path& newest) const {
  std::vector<Entry> entries = entries_of(folder_);
  std::uint64_t used = 0;
  for (const Entry& entry : entries) used += entry.size;
  std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) { return a.used < b.used; });
  for (const Entry& entry : entries) {
    if (used <= limit_) return;
    if (entry.path == newest) continue;  // Its time may be no later than others', as clocks of file systems tick.
    std::error_code error;
    if (fs::remove(entry.path, error)) used -= entry.size;
  }
}

std::uint64_t CompileCache::used_bytes() const {
  std::uint64_t used = 0;
  if (!folder_.empty())
    for (const Entry& entry : entries_of(folder_)) used += entry.size;
  return used;
}

}  // namespace tenon::npu::compiler
