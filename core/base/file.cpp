// SPDX-License-Identifier: Apache-2.0
// Opening, writing and listing files.
#include <tenon/core/file.hpp>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <new>
#include <string_view>

#include <tenon/core/error.hpp>
#include <tenon/core/platform/files.hpp>

namespace tenon {
inline namespace v1 {
namespace detail {

inline constexpr std::string_view kTemporary = ".part";
/// Number of hexadecimal digits, after a ".", between a target's name and ".part".
inline constexpr std::size_t kUniqueDigits = 16;

[[noreturn]] TENON_INLINE void fail_file(const std::filesystem::path& path, const platform::Failure& failure) {
  throw Error(platform::code_of(failure.error),
              "cannot open \"" + path.string() + "\": " + platform::message_of(failure.error), failure.call,
              failure.error);
}

TENON_INLINE const char* kind_of(platform::FileType type) {
  switch (type) {
    case platform::FileType::kDirectory:
      return "a directory";
    case platform::FileType::kFifo:
      return "a FIFO (named pipe)";
    case platform::FileType::kSocket:
      return "a socket";
    case platform::FileType::kCharacterDevice:
      return "a character device";
    case platform::FileType::kBlockDevice:
      return "a block device";
    default:
      return "of an unknown kind";
  }
}

TENON_INLINE void expect_regular(const std::filesystem::path& path, const platform::FileStatus& status) {
  if (status.type != platform::FileType::kRegular)
    throw Error(Code::kInvalidArgument, "cannot read \"" + path.string() + "\": it is " + kind_of(status.type) +
                                            ", and a regular file is expected");
}

TENON_INLINE std::int64_t since_1970_ns() {
  return std::chrono::nanoseconds(std::chrono::system_clock::now().time_since_epoch()).count();
}

/// Random, so that another user of the folder cannot tell which name comes next; without random numbers of the system, unlike those of
/// other processes (in containers the first process is always 1).
TENON_INLINE std::string unique_digits() {
  std::uint64_t value = 0;
  if (!platform::random_bits(value)) {
    static std::atomic<std::uint64_t> serial{0};
    value = static_cast<std::uint64_t>(since_1970_ns());
    value ^= (platform::process_id() << 40) + serial.fetch_add(1, std::memory_order_relaxed);
    value *= 0x9e3779b97f4a7c15u;
    value ^= value >> 29;
  }
  char text[kUniqueDigits + 1];
  std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(value));
  return text;
}

TENON_INLINE bool remove_if_abandoned(int folder, const std::filesystem::path& temporary) {
  UniqueFd file;
  platform::FileStatus status;
  if (platform::open_file(folder, temporary, platform::Links::kRefuse, file)) return false;
  bool abandoned = false;
  if (!platform::status_of(file.get(), status) && status.type == platform::FileType::kRegular) {
    const platform::Lock lock = platform::try_lock(file.get());
    constexpr std::int64_t kDay = 86'400'000'000'000;
    abandoned = lock == platform::Lock::kTaken ||
                (lock == platform::Lock::kUnsupported && since_1970_ns() - status.modified_ns > kDay);
  }
  // Removed under the lock, so that the writer of a file that was only just created notices the removal.
  return abandoned && platform::remove_in(folder, temporary);
}

/// Whether a path is one of the links that stand for open files: /dev/stdout, /dev/fd/3. Replacing it would take it from all programs.
TENON_INLINE bool is_link_of_the_system(const std::filesystem::path& path) {
  platform::FileStatus status;
  if (platform::status_in(platform::kWorkingFolder, path, platform::Links::kRefuse, status) ||
      status.type != platform::FileType::kUnknown)
    return false;
  std::error_code error;
  const auto folder = path.has_parent_path() ? path.parent_path() : std::filesystem::path(".");
  const std::string real = std::filesystem::canonical(folder, error).generic_string() + "/";
  return real == "/dev/" || real.starts_with("/proc/");
}

}  // namespace detail

TENON_INLINE RegularFile::RegularFile(const std::filesystem::path& path) {
  platform::FileStatus status;
  // Checked before opening too: opening a device can have effects, and the error of opening a socket does not mention
  // sockets.
  if (!platform::status_of(path, status)) detail::expect_regular(path, status);
  if (const auto failure = platform::open_file(platform::kWorkingFolder, path, platform::Links::kFollow, fd_))
    detail::fail_file(path, failure);
  if (const auto failure = platform::status_of(fd_.get(), status)) detail::fail_file(path, failure);
  detail::expect_regular(path, status);
  size_bytes_ = status.size_bytes;
  modified_ns_ = status.modified_ns;
  changed_ns_ = status.changed_ns;
}

TENON_INLINE void NewFile::fail(const char* what, const char* call, int error) const {
  throw Error(platform::code_of(error),
              "cannot " + std::string(what) + " \"" + target_.string() + "\": " + platform::message_of(error), call,
              error);
}

TENON_INLINE NewFile::NewFile(const std::filesystem::path& target, unsigned mode, Durability durability)
    : target_(target), place_(target), durability_(durability) {
  open_temporary(mode);
}

TENON_INLINE NewFile::NewFile(const UniqueFd& folder, const std::filesystem::path& target, unsigned mode,
                              Durability durability)
    : folder_(folder.duplicate()), target_(target), place_(target.filename()), durability_(durability) {
  open_temporary(mode);
}

TENON_INLINE int NewFile::folder() const noexcept { return folder_ ? folder_.get() : platform::kWorkingFolder; }

TENON_INLINE void NewFile::open_temporary(unsigned mode) {
  constexpr int kMaxAttempts = 100;
  if (!folder_ && detail::is_link_of_the_system(place_))
    throw Error(Code::kInvalidArgument, "cannot replace \"" + target_.string() +
                                            "\": it leads to what a process has open, and is no file; name a file");
  for (int attempt = 0;; ++attempt) {
    temporary_ = place_;
    temporary_ += '.' + detail::unique_digits() + std::string(detail::kTemporary);
    if (const auto failure = platform::make_file(folder(), temporary_, mode, fd_)) {
      if (platform::exists(failure) && attempt < kMaxAttempts) continue;
      fail("make a temporary file beside", failure.call, failure.error);
    }
    // On file systems without locks, a temporary file counts as abandoned by its age.
    const bool locked = platform::try_lock(fd_.get()) != platform::Lock::kHeldByAnother;
    platform::FileStatus status;
    // A cleanup may have removed the file before it was locked.
    if (locked && !platform::status_of(fd_.get(), status) && status.links > 0) return;
    platform::remove_in(folder(), temporary_);
    fd_.reset();
    if (attempt >= kMaxAttempts)
      throw Error(Code::kUnavailable, "cannot lock a temporary file beside \"" + target_.string() +
                                          "\": other processes took the lock of each that was made");
  }
}

TENON_INLINE NewFile::~NewFile() {
  if (!committed_) platform::remove_in(folder(), temporary_);
}

TENON_INLINE void NewFile::write(const void* data, std::size_t size) { write_at(data, size, end_); }

TENON_INLINE void NewFile::write_at(const void* data, std::size_t size, std::uint64_t offset) {
  const char* bytes = static_cast<const char*>(data);
  while (size > 0) {
    std::size_t written = 0;
    if (const auto failure = platform::write_at(fd_.get(), bytes, size, offset, written))
      fail("write", failure.call, failure.error);
    bytes += written;
    size -= written;
    offset += written;
  }
  end_ = offset;
}

TENON_INLINE void NewFile::flush() {
  if (durability_ == Durability::kMachine)
    if (const auto failure = platform::synchronise(fd_.get())) fail("write", failure.call, failure.error);
  // Closing a duplicate reports the same errors and keeps the lock.
  if (const auto failure = platform::close_copy(fd_.get())) fail("write", failure.call, failure.error);
}

TENON_INLINE void NewFile::commit() {
  flush();
  if (const auto failure = platform::rename_in(folder(), temporary_, place_))
    fail("replace", failure.call, failure.error);
  committed_ = true;
  // The name is stored in the folder, so the folder is synchronised too. Without permission to read the folder, the
  // file is kept and its name reaches the disk with the next write-back.
  if (durability_ == Durability::kMachine) platform::synchronise_folder_of(folder(), place_);
  fd_.reset();  // On Windows an open file cannot be replaced by the next one of this name.
}

TENON_INLINE bool NewFile::is_temporary(const std::filesystem::path& file) {
  const std::string name = file.filename().string();
  constexpr std::size_t kEnd = 1 + detail::kUniqueDigits + detail::kTemporary.size();
  if (name.size() <= kEnd || !name.ends_with(detail::kTemporary)) return false;
  const std::string_view digits = std::string_view(name).substr(name.size() - kEnd, 1 + detail::kUniqueDigits);
  return digits[0] == '.' && digits.find_first_not_of("0123456789abcdef", 1) == std::string_view::npos;
}

TENON_INLINE bool NewFile::remove_if_abandoned(const std::filesystem::path& temporary) noexcept {
  try {
    return detail::remove_if_abandoned(platform::kWorkingFolder, temporary);
  } catch (const std::bad_alloc&) {
    return false;
  }
}
TENON_INLINE bool NewFile::remove_if_abandoned(const UniqueFd& folder, const std::string& name) noexcept {
  try {
    return detail::remove_if_abandoned(folder.get(), name);
  } catch (const std::bad_alloc&) {
    return false;
  }
}

TENON_INLINE void NewFile::remove_abandoned(const std::filesystem::path& target) {
  const std::string start = target.filename().string() + '.';
  std::error_code ignored;
  const auto folder = target.has_parent_path() ? target.parent_path() : std::filesystem::path(".");
  for (const std::filesystem::path& file : list_folder(folder, ignored)) {
    const std::string name = file.filename().string();
    if (name.size() == start.size() + detail::kUniqueDigits + detail::kTemporary.size() && name.starts_with(start) &&
        is_temporary(file))
      remove_if_abandoned(file);
  }
}

TENON_INLINE GrowingFile::GrowingFile(const std::filesystem::path& path, Place place, unsigned mode) {
  if (const auto failure = platform::open_to_grow(path, mode, place == Place::kEnd, fd_))
    detail::fail_file(path, failure);
  platform::FileStatus status;
  if (const auto failure = platform::status_of(fd_.get(), status)) detail::fail_file(path, failure);
  is_regular_ = status.type == platform::FileType::kRegular;
  size_bytes_ = is_regular_ ? status.size_bytes : 0;
}

TENON_INLINE bool GrowingFile::try_lock() const noexcept {
  return platform::try_lock(fd_.get()) != platform::Lock::kHeldByAnother;
}

TENON_INLINE int GrowingFile::reset_to(std::uint64_t size) const noexcept {
  return is_regular_ ? platform::shorten(fd_.get(), size).error : 0;
}

TENON_INLINE std::vector<std::filesystem::path> list_folder(const std::filesystem::path& folder,
                                                            std::error_code& error) {
  std::vector<std::filesystem::path> names;
  const platform::Failure failure = platform::names_in(folder, names);
  error = failure ? platform::error_code_of(failure) : std::error_code();
  for (std::filesystem::path& name : names) name = folder / name;
  return names;
}

TENON_INLINE std::vector<std::filesystem::path> list_folder(const UniqueFd& folder, std::error_code& error) {
  std::vector<std::filesystem::path> names;
  const platform::Failure failure = platform::names_in(folder.get(), names);
  error = failure ? platform::error_code_of(failure) : std::error_code();
  return names;
}

}  // namespace v1
}  // namespace tenon
