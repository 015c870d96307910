// SPDX-License-Identifier: Apache-2.0
// Files of a cache folder.
#include <tenon/store/cache_folder.hpp>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include <tenon/core/host.hpp>

namespace tenon::inline v1::store {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kDigits = 32;

std::int64_t nanoseconds(const timespec& time) { return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec; }
/// The time of use alone, now.
constexpr timespec kUsedNow[2] = {{0, UTIME_NOW}, {0, UTIME_OMIT}};

}  // namespace

bool CacheFolder::is_trusted(std::uint64_t user, std::uint64_t mode) const noexcept {
  return !rules_.is_private || (user == ::geteuid() && (mode & (S_IWGRP | S_IWOTH)) == 0);
}

CacheFolder::CacheFolder(const fs::path& path, const Rules& rules, Missing missing) : path_(path), rules_(rules) {
  error_ = std::make_error_code(std::errc::no_such_file_or_directory);
  if (path.empty()) return;
  if (missing == Missing::kMake) {
    std::error_code ignored;
    if (path.has_parent_path()) fs::create_directories(path.parent_path(), ignored);
    ::mkdir(path.c_str(), 0700);
  }
  UniqueFd opened(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  struct stat status {};
  if (!opened || ::fstat(opened.get(), &status) != 0) {
    error_.assign(errno, std::generic_category());
    return;
  }
  error_.clear();
  if (is_trusted(status.st_uid, status.st_mode))
    fd_ = std::move(opened);
  else if (status.st_uid != ::geteuid())
    distrust_ =
        "it belongs to user " + std::to_string(status.st_uid) + ", this process is user " + std::to_string(::geteuid());
  else
    distrust_ = "others may write to it (chmod go-w mends it)";
}

std::string CacheFolder::name_of(const ContentHash& key, const Rules& rules) {
  return key.to_text() + std::string(rules.suffix);
}

bool CacheFolder::is_entry(const fs::path& file, const Rules& rules) {
  const std::string name = file.filename().string();
  return name.size() == kDigits + rules.suffix.size() && name.ends_with(rules.suffix) &&
         name.find_first_not_of("0123456789abcdef") >= kDigits;
}

bool CacheFolder::is_temporary(const fs::path& file, const Rules& rules) {
  const std::string name = file.filename().string();
  const std::size_t entry = kDigits + rules.suffix.size();
  return file.extension() == ".part" && name.size() > entry && is_entry(name.substr(0, entry), rules);
}

std::vector<CacheFolder::Entry> CacheFolder::entries() const {
  std::vector<Entry> all;
  if (!fd_) return all;
  std::error_code ignored;
  for (const fs::path& name : list_folder(fd_, ignored)) {
    struct stat status {};
    if (!is_entry(name, rules_) ||
        ::fstatat(fd_.get(), name.c_str(), &status, rules_.is_private ? AT_SYMLINK_NOFOLLOW : 0) != 0 ||
        !S_ISREG(status.st_mode))
      continue;
    all.push_back({name.string(), static_cast<std::uint64_t>(status.st_size), nanoseconds(status.st_atim),
                   nanoseconds(status.st_mtim)});
  }
  return all;
}

std::uint64_t CacheFolder::used_bytes() const {
  std::uint64_t used = 0;
  for (const Entry& entry : entries()) used += entry.size_bytes;
  return used;
}

Tensor CacheFolder::map(const std::string& name) const {
  // Opening waits for nothing, be it a pipe.
  const UniqueFd file(
      ::openat(fd_.get(), name.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC | (rules_.is_private ? O_NOFOLLOW : 0)));
  struct stat status {};
  if (!file || ::fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode) ||
      !is_trusted(status.st_uid, status.st_mode))
    return {};
  const auto size = static_cast<std::size_t>(status.st_size);
  if (size == 0) return {};
  void* address = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.get(), 0);
  if (address == MAP_FAILED) return {};
  ::futimens(file.get(), kUsedNow);
  auto memory = HostMemory::borrow(address, size, true, [address, size] { ::munmap(address, size); });
  return Tensor(TensorInfo{ElementType::kU8, Shape{size}, {}}, std::move(memory));
}

void CacheFolder::touch(const std::string& name) const noexcept {
  if (fd_) ::utimensat(fd_.get(), name.c_str(), kUsedNow, 0);
}

std::unique_ptr<NewFile> CacheFolder::make(const std::string& name) const {
  return std::make_unique<NewFile>(fd_, path_ / name, rules_.entry_mode, Durability::kProcess);
}

bool CacheFolder::remove(const std::string& name) const noexcept {
  return fd_ && ::unlinkat(fd_.get(), name.c_str(), 0) == 0;
}

void CacheFolder::remove_abandoned() const {
  if (!fd_) return;
  std::error_code ignored;
  for (const fs::path& name : list_folder(fd_, ignored))
    if (is_temporary(name, rules_)) NewFile::remove_if_abandoned(fd_, name.string());
}

void CacheFolder::evict(std::uint64_t limit_bytes, const std::string& keep) const {
  std::vector<Entry> all = entries();
  std::uint64_t total = 0;
  for (const Entry& entry : all) total += entry.size_bytes;
  std::sort(all.begin(), all.end(), [](const Entry& a, const Entry& b) { return a.used_ns < b.used_ns; });
  for (const Entry& entry : all) {
    if (total <= limit_bytes) return;
    if (entry.name != keep && remove(entry.name)) total -= entry.size_bytes;
  }
}

}  // namespace tenon::inline v1::store
