// SPDX-License-Identifier: Apache-2.0
// Opening, writing and listing files.
#include <tenon/core/file.hpp>

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <memory>
#include <string_view>

#include <tenon/core/error.hpp>

namespace tenon {
inline namespace v1 {
namespace detail {

inline constexpr std::string_view kTemporary = ".part";
/// Number of hexadecimal digits, after a ".", between a target's name and ".part".
inline constexpr std::size_t kUniqueDigits = 16;

TENON_INLINE Code code_of_errno(int error) {
  switch (error) {
    case ENOENT:
    case ENOTDIR:
      return Code::kNotFound;
    case EACCES:
    case EPERM:
    case EROFS:
      return Code::kPermissionDenied;
    case ENOMEM:
    case EMFILE:
    case ENFILE:
    case ENOSPC:
    case EDQUOT:
    case EFBIG:
      return Code::kResourceExhausted;
    default:
      return Code::kUnavailable;
  }
}

[[noreturn]] TENON_INLINE void fail_file(const std::filesystem::path& path, const char* call, int error) {
  throw Error(code_of_errno(error), "cannot open \"" + path.string() + "\": " + std::strerror(error), call, error);
}

TENON_INLINE const char* kind_of(mode_t mode) {
  if (S_ISDIR(mode)) return "a directory";
  if (S_ISFIFO(mode)) return "a FIFO (named pipe)";
  if (S_ISSOCK(mode)) return "a socket";
  if (S_ISCHR(mode)) return "a character device";
  if (S_ISBLK(mode)) return "a block device";
  return "of an unknown kind";
}

TENON_INLINE void expect_regular(const std::filesystem::path& path, mode_t mode) {
  if (!S_ISREG(mode))
    throw Error(Code::kInvalidArgument,
                "cannot read \"" + path.string() + "\": it is " + kind_of(mode) + ", and a regular file is expected");
}

/// Random, so that another user of the folder cannot tell which name comes next; without random numbers of the system, unlike those of
/// other processes (in containers the first process is always 1).
TENON_INLINE std::string unique_digits() {
  std::uint64_t value = 0;
  if (::getrandom(&value, sizeof value, GRND_NONBLOCK) != static_cast<ssize_t>(sizeof value)) {
    static std::atomic<std::uint64_t> serial{0};
    timespec now{};
    ::clock_gettime(CLOCK_REALTIME, &now);
    value = static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000u + static_cast<std::uint64_t>(now.tv_nsec);
    value ^= (static_cast<std::uint64_t>(::getpid()) << 40) + serial.fetch_add(1, std::memory_order_relaxed);
    value *= 0x9e3779b97f4a7c15u;
    value ^= value >> 29;
  }
  char text[kUniqueDigits + 1];
  std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(value));
  return text;
}

/// Calls fsync. Errors that say that such files cannot be synchronised are no failure.
template <typename Fail>
void sync(const UniqueFd& fd, const Fail& fail) {
  while (::fsync(fd.get()) != 0) {
    if (errno == EINTR) continue;
    if (errno != EINVAL && errno != ENOTSUP && errno != EROFS) fail(errno);
    return;
  }
}

TENON_INLINE bool remove_if_abandoned(int folder, const char* temporary) noexcept {
  const UniqueFd file(::openat(folder, temporary, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW));
  if (!file) return false;
  struct stat status {};
  bool abandoned = false;
  if (::fstat(file.get(), &status) == 0 && S_ISREG(status.st_mode)) {
    if (::flock(file.get(), LOCK_EX | LOCK_NB) == 0) {
      abandoned = true;
    } else if (errno != EWOULDBLOCK) {
      constexpr std::time_t kDay = 86400;
      abandoned = ::time(nullptr) - status.st_mtim.tv_sec > kDay;
    }
  }
  // Removed under the lock, so that the writer of a file that was only just created notices the removal.
  return abandoned && ::unlinkat(folder, temporary, 0) == 0;
}

/// @param opened  Taken over and closed. Null: errno holds the reason.
TENON_INLINE std::vector<std::filesystem::path> names_in(DIR* opened, const std::filesystem::path& folder,
                                                         std::error_code& error) {
  error.clear();
  std::vector<std::filesystem::path> all;
  const std::unique_ptr<DIR, int (*)(DIR*)> stream(opened, &::closedir);
  if (!stream) {
    error.assign(errno, std::generic_category());
    return all;
  }
  for (;;) {
    errno = 0;
    const dirent* item = ::readdir(stream.get());
    if (!item) {
      if (errno != 0) error.assign(errno, std::generic_category());
      return all;
    }
    const std::string_view name = item->d_name;
    if (name != "." && name != "..") all.push_back(folder / name);
  }
}

}  // namespace detail

TENON_INLINE RegularFile::RegularFile(const std::filesystem::path& path) {
  struct stat status {};
  // Checked before opening too: opening a device can have effects, and the error of opening a socket does not mention
  // sockets.
  if (::stat(path.c_str(), &status) == 0) detail::expect_regular(path, status.st_mode);
  // O_NONBLOCK: if the file is replaced by a FIFO meanwhile, opening does not block. It makes no difference to a
  // regular file.
  fd_.reset(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (!fd_) detail::fail_file(path, "open", errno);
  if (::fstat(fd_.get(), &status) != 0) detail::fail_file(path, "fstat", errno);
  detail::expect_regular(path, status.st_mode);
  const auto ns = [](const timespec& time) { return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec; };
  size_bytes_ = static_cast<std::uint64_t>(status.st_size);
  modified_ns_ = ns(status.st_mtim);
  changed_ns_ = ns(status.st_ctim);
}

TENON_INLINE void NewFile::fail(const char* what, const char* call, int error) const {
  throw Error(detail::code_of_errno(error),
              "cannot " + std::string(what) + " \"" + target_.string() + "\": " + std::strerror(error), call, error);
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

TENON_INLINE int NewFile::folder() const noexcept { return folder_ ? folder_.get() : AT_FDCWD; }

TENON_INLINE void NewFile::open_temporary(unsigned mode) {
  constexpr int kMaxAttempts = 100;
  for (int attempt = 0;; ++attempt) {
    temporary_ = place_.string() + '.' + detail::unique_digits() + std::string(detail::kTemporary);
    fd_.reset(::openat(folder(), temporary_.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, static_cast<mode_t>(mode)));
    if (!fd_) {
      if (errno == EEXIST && attempt < kMaxAttempts) continue;
      fail("make a temporary file beside", "open", errno);
    }
    // On file systems without locks, a temporary file counts as abandoned by its age.
    const bool locked = ::flock(fd_.get(), LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK;
    struct stat status {};
    // A cleanup may have removed the file before it was locked.
    if (locked && ::fstat(fd_.get(), &status) == 0 && status.st_nlink > 0) return;
    ::unlinkat(folder(), temporary_.c_str(), 0);
    fd_.reset();
    if (attempt >= kMaxAttempts) fail("lock a temporary file beside", "flock", EWOULDBLOCK);
  }
}

TENON_INLINE NewFile::~NewFile() {
  if (!committed_) ::unlinkat(folder(), temporary_.c_str(), 0);
}

TENON_INLINE void NewFile::write(const void* data, std::size_t size) { write_at(data, size, end_); }

TENON_INLINE void NewFile::write_at(const void* data, std::size_t size, std::uint64_t offset) {
  const char* bytes = static_cast<const char*>(data);
  while (size > 0) {
    const ssize_t written = ::pwrite(fd_.get(), bytes, size, static_cast<off_t>(offset));
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) fail("write", "pwrite", errno);
    bytes += written;
    size -= static_cast<std::size_t>(written);
    offset += static_cast<std::uint64_t>(written);
  }
  end_ = offset;
}

TENON_INLINE void NewFile::flush() {
  if (durability_ == Durability::kMachine) detail::sync(fd_, [this](int error) { fail("write", "fsync", error); });
  // Closing a duplicate reports the same errors and keeps the lock.
  const int copy = ::fcntl(fd_.get(), F_DUPFD_CLOEXEC, 0);
  if (copy >= 0 && ::close(copy) != 0 && errno != EINTR) fail("write", "close", errno);
}

TENON_INLINE void NewFile::commit() {
  flush();
  if (::renameat(folder(), temporary_.c_str(), folder(), place_.c_str()) != 0) fail("replace", "rename", errno);
  committed_ = true;
  if (durability_ != Durability::kMachine) return;
  // The name is stored in the folder, so the folder is synchronised too. Without permission to read the folder, the
  // file is kept and its name reaches the disk with the next write-back.
  const auto parent = place_.has_parent_path() ? place_.parent_path() : std::filesystem::path(".");
  const UniqueFd names(::openat(folder(), parent.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (names) detail::sync(names, [](int) {});
}

TENON_INLINE bool NewFile::is_temporary(const std::filesystem::path& file) {
  const std::string name = file.filename().string();
  constexpr std::size_t kEnd = 1 + detail::kUniqueDigits + detail::kTemporary.size();
  if (name.size() <= kEnd || !name.ends_with(detail::kTemporary)) return false;
  const std::string_view digits = std::string_view(name).substr(name.size() - kEnd, 1 + detail::kUniqueDigits);
  return digits[0] == '.' && digits.find_first_not_of("0123456789abcdef", 1) == std::string_view::npos;
}

TENON_INLINE bool NewFile::remove_if_abandoned(const std::filesystem::path& temporary) noexcept {
  return detail::remove_if_abandoned(AT_FDCWD, temporary.c_str());
}
TENON_INLINE bool NewFile::remove_if_abandoned(const UniqueFd& folder, const std::string& name) noexcept {
  return detail::remove_if_abandoned(folder.get(), name.c_str());
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

TENON_INLINE std::vector<std::filesystem::path> list_folder(const std::filesystem::path& folder,
                                                            std::error_code& error) {
  return detail::names_in(::opendir(folder.c_str()), folder, error);
}

TENON_INLINE std::vector<std::filesystem::path> list_folder(const UniqueFd& folder, std::error_code& error) {
  // A descriptor of its own: fdopendir() takes over the descriptor and its position.
  UniqueFd own(::openat(folder.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  DIR* const stream = own ? ::fdopendir(own.get()) : nullptr;
  if (stream) static_cast<void>(own.release());
  return detail::names_in(stream, {}, error);
}

}  // namespace v1
}  // namespace tenon
