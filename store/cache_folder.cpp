// SPDX-License-Identifier: Apache-2.0
// Files of a cache folder.
#include <tenon/store/cache_folder.hpp>

#include <algorithm>
#include <new>

#include <tenon/core/adopt_bytes.hpp>
#include <tenon/core/host.hpp>
#include <tenon/core/platform/files.hpp>
#include <tenon/core/platform/mappings.hpp>

namespace tenon::inline v1::store {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kDigits = 32;

platform::Links links_of(const CacheFolder::Rules& rules) {
  return rules.is_private ? platform::Links::kRefuse : platform::Links::kFollow;
}

}  // namespace

bool CacheFolder::is_trusted(int fd) const {
  platform::FileTrust trust;
  return !rules_.is_private || (!platform::trust_of(fd, trust) && trust.is_own && !trust.others_may_write);
}

CacheFolder::CacheFolder(const fs::path& path, const Rules& rules, Missing missing) : path_(path), rules_(rules) {
  error_ = std::make_error_code(std::errc::no_such_file_or_directory);
  if (path.empty()) return;
  if (missing == Missing::kMake) {
    std::error_code ignored;
    if (path.has_parent_path()) fs::create_directories(path.parent_path(), ignored);
    platform::make_private_folder(path);
  }
  UniqueFd opened;
  platform::FileTrust trust;
  auto failure = platform::open_folder(path, opened);
  if (!failure) failure = platform::trust_of(opened.get(), trust);
  if (failure) {
    error_ = platform::error_code_of(failure);
    return;
  }
  error_.clear();
  if (!rules_.is_private || (trust.is_own && !trust.others_may_write))
    fd_ = std::move(opened);
  else if (!trust.is_own)
    distrust_ = "it belongs to user " + trust.owner + ", this process is user " + trust.user;
  else
    distrust_ = std::string("others may write to it (") + platform::kOwnRightsRemedy + ")";
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
    platform::FileStatus status;
    if (!is_entry(name, rules_) || platform::status_in(fd_.get(), name, links_of(rules_), status) ||
        status.type != platform::FileType::kRegular)
      continue;
    all.push_back({name.string(), status.size_bytes, status.used_ns, status.modified_ns});
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
  UniqueFd file;
  platform::FileStatus status;
  if (platform::open_file(fd_.get(), name, links_of(rules_), file) || platform::status_of(file.get(), status) ||
      status.type != platform::FileType::kRegular || !is_trusted(file.get()))
    return {};
  const auto size = static_cast<std::size_t>(status.size_bytes);
  if (size == 0) return {};
  void* address = nullptr;
  if (platform::map_file(file.get(), size, address)) return {};
  platform::mark_used(file.get());
  auto memory = adopt_bytes(address, size, true, [address, size] { platform::unmap(address, size); });
  return Tensor(TensorInfo{ElementType::kU8, Shape{size}, {}}, std::move(memory));
}

void CacheFolder::touch(const std::string& name) const noexcept {
  try {
    if (fd_) platform::mark_used_in(fd_.get(), name);
  } catch (const std::bad_alloc&) {
    // The entry seems older than it is: it is removed earlier.
  }
}

std::unique_ptr<NewFile> CacheFolder::make(const std::string& name) const {
  return std::make_unique<NewFile>(fd_, path_ / name, rules_.entry_mode, Durability::kProcess);
}

bool CacheFolder::remove(const std::string& name) const noexcept {
  try {
    return fd_ && platform::remove_in(fd_.get(), name);
  } catch (const std::bad_alloc&) {
    return false;
  }
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
