// SPDX-License-Identifier: Apache-2.0
// Files of the compile cache. All go by a descriptor of the folder that was looked at, so that nobody exchanges it
// between the look and the use.
#include <tenon/drivers/npu/compiler/compile_cache.hpp>

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include <tenon/core/host.hpp>

namespace tenon::npu::compiler {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kDefaultLimit = std::uint64_t{1} << 30;
constexpr std::string_view kSuffix = ".npu_graph", kTemporary = ".tmp";
constexpr char kMagic[8] = {'T', 'E', 'N', 'O', 'N', 'N', 'P', 'C'};
constexpr std::uint64_t kFormat = 1;
/// The header has a page of its own, so that what follows is aligned as it was.
constexpr std::size_t kPage = 4096;

/// Little-endian, as every machine that this driver runs on. The rest of its page is zeros.
struct Header {
  char magic[8];
  std::uint64_t format;
  std::uint64_t size;  ///< Of the bytes behind the page.
  CacheKey key;
  store::ContentHash
      begin;               ///< Of the bytes' first page, which names the hash of all of them: these bytes and no other.
  store::ContentHash own;  ///< Of the header before this field.
};
static_assert(std::is_trivially_copyable_v<Header> && sizeof(Header) == 88);

class Descriptor {
 public:
  explicit Descriptor(int fd = -1) : fd_(fd) {}
  Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  int get() const { return fd_; }
  explicit operator bool() const { return fd_ >= 0; }

 private:
  int fd_;
};

store::ContentHash hash_of_begin(const void* data, std::size_t size) {
  return store::content_hash(data, std::min(size, kPage));
}

/// This user's, and nobody else's to write.
bool is_private(const struct stat& status) {
  return status.st_uid == ::geteuid() && (status.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

void say_once(const std::string& text) {
  static std::atomic<bool> said{false};
  if (!said.exchange(true)) std::fprintf(stderr, "libze_tenon_npu: %s\n", text.c_str());
}

/// @param make  Makes it where it is missing. Empty: there is none, or none to be trusted.
Descriptor open_folder(const fs::path& folder, bool make) {
  if (folder.empty()) return Descriptor();
  if (make) {
    std::error_code ignored;
    if (folder.has_parent_path()) fs::create_directories(folder.parent_path(), ignored);
    ::mkdir(folder.c_str(), 0700);
  }
  Descriptor opened(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  struct stat status {};
  if (!opened || ::fstat(opened.get(), &status) != 0) return Descriptor();
  if (is_private(status)) return opened;
  say_once("the cache folder \"" + folder.string() + "\" is not used: " +
           (status.st_uid != ::geteuid() ? "it belongs to user " + std::to_string(status.st_uid) +
                                               ", this process is user " + std::to_string(::geteuid())
                                         : std::string("others may write to it (chmod go-w mends it)")) +
           "; TENON_NPU_CACHE_DIR names another");
  return Descriptor();
}

std::string name_of(const CacheKey& key) { return key.all.to_text() + std::string(kSuffix); }

/// Calls visit(name, status) for the regular files of the folder that end so.
template <typename Visit>
void each_file(const Descriptor& folder, std::string_view suffix, Visit visit) {
  // A descriptor of its own: a stream takes the one it is given, and its position.
  const int fd = ::openat(folder.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return;
  const std::unique_ptr<DIR, int (*)(DIR*)> stream(::fdopendir(fd), &::closedir);
  if (!stream) {
    ::close(fd);
    return;
  }
  while (const dirent* entry = ::readdir(stream.get())) {
    const std::string_view name(entry->d_name);
    struct stat status {};
    if (name.ends_with(suffix) && ::fstatat(folder.get(), entry->d_name, &status, AT_SYMLINK_NOFOLLOW) == 0 &&
        S_ISREG(status.st_mode))
      visit(std::string(name), status);
  }
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

/// Whether the name still is that of the open file.
bool is_named(const Descriptor& folder, const std::string& name, const Descriptor& file) {
  struct stat by_name {
  }, by_file{};
  return ::fstatat(folder.get(), name.c_str(), &by_name, AT_SYMLINK_NOFOLLOW) == 0 &&
         ::fstat(file.get(), &by_file) == 0 && by_name.st_ino == by_file.st_ino && by_name.st_dev == by_file.st_dev;
}

/// A new file, locked as long as it is open: by that others see that somebody writes it. Process numbers say nothing
/// about that: every container has its own.
Descriptor make_temporary(const Descriptor& folder, const std::string& stem, std::string& name) {
  for (int i = 0; i < 16; ++i) {
    std::uint64_t random[2];
    if (::getrandom(random, sizeof random, 0) != sizeof random) return Descriptor();
    name = stem + "." + store::ContentHash{random[0], random[1]}.to_text() + std::string(kTemporary);
    Descriptor file(::openat(folder.get(), name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
    if (!file) return file;
    // Who cleans up may have been faster: then it is gone.
    if (::flock(file.get(), LOCK_EX | LOCK_NB) == 0 || errno == ENOLCK || errno == ENOTSUP)
      if (is_named(folder, name, file)) return file;
    ::unlinkat(folder.get(), name.c_str(), 0);
  }
  return Descriptor();
}

/// Files that nobody writes any more.
void remove_temporaries(const Descriptor& folder) {
  each_file(folder, kTemporary, [&](const std::string& name, const struct stat&) {
    const Descriptor file(::openat(folder.get(), name.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOFOLLOW));
    if (file && ::flock(file.get(), LOCK_EX | LOCK_NB) == 0 && is_named(folder, name, file))
      ::unlinkat(folder.get(), name.c_str(), 0);
  });
}

void make_room(const Descriptor& folder, std::uint64_t limit, const std::string& newest) {
  struct Entry {
    std::string name;
    timespec used;
    std::uint64_t size;
  };
  std::vector<Entry> entries;
  std::uint64_t total = 0;
  each_file(folder, kSuffix, [&](std::string name, const struct stat& status) {
    total += static_cast<std::uint64_t>(status.st_size);
    // The newest's time may be no later than others', as clocks of file systems tick.
    if (name != newest)
      entries.push_back({std::move(name), status.st_mtim, static_cast<std::uint64_t>(status.st_size)});
  });
  std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) {
    return std::pair(a.used.tv_sec, a.used.tv_nsec) < std::pair(b.used.tv_sec, b.used.tv_nsec);
  });
  for (const Entry& entry : entries) {
    if (total <= limit) return;
    if (::unlinkat(folder.get(), entry.name.c_str(), 0) == 0) total -= entry.size;
  }
}

/// The whole file, read-only; empty when it cannot be had or is not this user's alone.
Tensor map_private(const Descriptor& folder, const std::string& name) {
  // Opening blocks on nothing, be it a pipe.
  const Descriptor file(::openat(folder.get(), name.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOFOLLOW));
  struct stat status {};
  if (!file || ::fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode) || !is_private(status)) return {};
  const auto size = static_cast<std::size_t>(status.st_size);
  if (size == 0) return {};
  void* address = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.get(), 0);
  if (address == MAP_FAILED) return {};
  ::futimens(file.get(), nullptr);  // Used now.
  auto memory = HostMemory::borrow(address, size, true, [address, size] { ::munmap(address, size); });
  return Tensor(TensorInfo{ElementType::kU8, Shape{size}, {}}, std::move(memory));
}

/// The header is whole, of this key, and of the bytes behind it.
bool is_entry_of(const CacheKey& key, const Tensor& file) {
  Header header;
  if (file.size_bytes() <= kPage) return false;
  const char* start = static_cast<const char*>(file.data());
  std::memcpy(&header, start, sizeof header);
  return std::memcmp(header.magic, kMagic, sizeof kMagic) == 0 && header.format == kFormat &&
         header.own == store::content_hash(&header, offsetof(Header, own)) &&
         header.size == file.size_bytes() - kPage && header.key.all == key.all && header.key.model == key.model &&
         header.begin == hash_of_begin(start + kPage, file.size_bytes() - kPage);
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
  const Descriptor folder = open_folder(folder_, false);
  if (!folder) return std::nullopt;
  const Tensor file = map_private(folder, name_of(key));
  if (!file) return std::nullopt;
  if (!is_entry_of(key, file)) {
    ::unlinkat(folder.get(), name_of(key).c_str(), 0);
    return std::nullopt;
  }
  return Tensor(TensorInfo{ElementType::kU8, Shape{file.size_bytes() - kPage}, {}}, file.memory(),
                file.offset() + kPage, file.lease());
}

void CompileCache::store(const CacheKey& key, const Tensor& bytes) const {
  if (folder_.empty() || bytes.size_bytes() + kPage > limit_) return;
  const Descriptor folder = open_folder(folder_, true);
  if (!folder) return;
  remove_temporaries(folder);
  Header header{};
  std::memcpy(header.magic, kMagic, sizeof kMagic);
  header.format = kFormat;
  header.size = bytes.size_bytes();
  header.key = key;
  header.begin = hash_of_begin(bytes.data(), bytes.size_bytes());
  header.own = store::content_hash(&header, offsetof(Header, own));
  std::vector<char> page(kPage);
  std::memcpy(page.data(), &header, sizeof header);

  std::string temporary;
  const Descriptor file = make_temporary(folder, key.all.to_text(), temporary);
  if (!file) return;
  const std::string name = name_of(key);
  if (!write_all(file.get(), page.data(), page.size()) ||
      !write_all(file.get(), static_cast<const char*>(bytes.data()), bytes.size_bytes()) ||
      ::renameat(folder.get(), temporary.c_str(), folder.get(), name.c_str()) != 0) {
    ::unlinkat(folder.get(), temporary.c_str(), 0);
    return;
  }
  make_room(folder, limit_, name);
}

void CompileCache::remove(const CacheKey& key) const {
  if (const Descriptor folder = open_folder(folder_, false)) ::unlinkat(folder.get(), name_of(key).c_str(), 0);
}

std::uint64_t CompileCache::used_bytes() const {
  std::uint64_t used = 0;
  if (const Descriptor folder = open_folder(folder_, false))
    each_file(folder, kSuffix,
              [&](const std::string&, const struct stat& s) { used += static_cast<std::uint64_t>(s.st_size); });
  return used;
}

}  // namespace tenon::npu::compiler
