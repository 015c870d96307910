// SPDX-License-Identifier: Apache-2.0
// Files by descriptors, as POSIX and Linux have them.
#include <tenon/core/platform/files.hpp>

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstring>
#include <memory>
#include <string_view>
#include <utility>

namespace tenon {
inline namespace v1 {
namespace platform {
namespace detail {

static_assert(kMaxPath >= PATH_MAX);

TENON_INLINE Failure failed(const char* call) { return {call, errno}; }
TENON_INLINE int folder_of(int folder) { return folder == kWorkingFolder ? AT_FDCWD : folder; }

TENON_INLINE FileType type_of(mode_t mode) {
  if (S_ISREG(mode)) return FileType::kRegular;
  if (S_ISDIR(mode)) return FileType::kDirectory;
  if (S_ISFIFO(mode)) return FileType::kFifo;
  if (S_ISSOCK(mode)) return FileType::kSocket;
  if (S_ISCHR(mode)) return FileType::kCharacterDevice;
  if (S_ISBLK(mode)) return FileType::kBlockDevice;
  return FileType::kUnknown;
}

TENON_INLINE std::int64_t nanoseconds(const timespec& time) {
  return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

TENON_INLINE FileStatus status_from(const struct stat& from) {
  return {type_of(from.st_mode),
          static_cast<std::uint64_t>(from.st_size),
          static_cast<std::uint64_t>(from.st_dev),
          static_cast<std::uint64_t>(from.st_ino),
          static_cast<std::uint64_t>(from.st_nlink),
          nanoseconds(from.st_atim),
          nanoseconds(from.st_mtim),
          nanoseconds(from.st_ctim)};
}

/// The time of use alone, now.
inline constexpr timespec kUsedNow[2] = {{0, UTIME_NOW}, {0, UTIME_OMIT}};

/// @param opened  Taken over and closed. Null: errno holds the reason.
TENON_INLINE Failure read_names(DIR* opened, std::vector<std::filesystem::path>& names) {
  const std::unique_ptr<DIR, int (*)(DIR*)> stream(opened, &::closedir);
  if (!stream) return failed("opendir");
  for (;;) {
    errno = 0;
    const dirent* item = ::readdir(stream.get());
    if (!item) return errno != 0 ? failed("readdir") : Failure{};
    const std::string_view name = item->d_name;
    if (name != "." && name != "..") names.emplace_back(name);
  }
}

}  // namespace detail

TENON_INLINE std::string message_of(int error) { return std::strerror(error); }
TENON_INLINE std::error_code error_code_of(const Failure& failure) { return {failure.error, std::generic_category()}; }
TENON_INLINE Code code_of(int error) {
  switch (error) {
    case ENOENT:
    case ENOTDIR:
      return Code::kNotFound;
    case EACCES:
    case EPERM:
    case EROFS:
    case EISDIR:
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

TENON_INLINE Failure status_of(const std::filesystem::path& path, FileStatus& status) {
  struct stat found {};
  if (::stat(path.c_str(), &found) != 0) return detail::failed("stat");
  status = detail::status_from(found);
  return {};
}
TENON_INLINE Failure status_of(int fd, FileStatus& status) {
  struct stat found {};
  if (::fstat(fd, &found) != 0) return detail::failed("fstat");
  status = detail::status_from(found);
  return {};
}
TENON_INLINE Failure status_in(int folder, const std::filesystem::path& name, Links links, FileStatus& status) {
  struct stat found {};
  const int flags = links == Links::kRefuse ? AT_SYMLINK_NOFOLLOW : 0;
  if (::fstatat(detail::folder_of(folder), name.c_str(), &found, flags) != 0) return detail::failed("fstatat");
  status = detail::status_from(found);
  return {};
}
TENON_INLINE Failure trust_of(int fd, FileTrust& trust) {
  struct stat found {};
  if (::fstat(fd, &found) != 0) return detail::failed("fstat");
  trust = {found.st_uid == ::geteuid(), (found.st_mode & (S_IWGRP | S_IWOTH)) != 0, std::to_string(found.st_uid),
           std::to_string(::geteuid())};
  return {};
}

TENON_INLINE Failure open_file(int folder, const std::filesystem::path& name, Links links, UniqueFd& opened) {
  // O_NONBLOCK: opening a FIFO does not block. It makes no difference to a regular file.
  const int flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | (links == Links::kRefuse ? O_NOFOLLOW : 0);
  opened.reset(::openat(detail::folder_of(folder), name.c_str(), flags));
  return opened ? Failure{} : detail::failed("open");
}
TENON_INLINE Failure open_to_write(const std::filesystem::path& path, UniqueFd& opened) {
  opened.reset(::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  return opened ? Failure{} : detail::failed("open");
}
TENON_INLINE Failure open_to_grow(const std::filesystem::path& path, unsigned mode, bool at_end, UniqueFd& opened) {
  const int flags = O_WRONLY | O_CREAT | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | (at_end ? O_APPEND : 0);
  opened.reset(::open(path.c_str(), flags, static_cast<mode_t>(mode)));
  return opened ? Failure{} : detail::failed("open");
}
TENON_INLINE Failure open_folder(const std::filesystem::path& path, UniqueFd& opened) {
  opened.reset(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  return opened ? Failure{} : detail::failed("open");
}
TENON_INLINE Failure make_private_folder(const std::filesystem::path& path) {
  return ::mkdir(path.c_str(), 0700) == 0 ? Failure{} : detail::failed("mkdir");
}
TENON_INLINE Failure make_file(int folder, const std::filesystem::path& name, unsigned mode, UniqueFd& made) {
  made.reset(::openat(detail::folder_of(folder), name.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC,
                      static_cast<mode_t>(mode)));
  return made ? Failure{} : detail::failed("open");
}
TENON_INLINE bool exists(const Failure& failure) noexcept { return failure.error == EEXIST; }

TENON_INLINE Lock try_lock(int fd) noexcept {
  if (::flock(fd, LOCK_EX | LOCK_NB) == 0) return Lock::kTaken;
  return errno == EWOULDBLOCK ? Lock::kHeldByAnother : Lock::kUnsupported;
}
TENON_INLINE Failure read_at(int fd, void* data, std::size_t size, std::uint64_t offset, std::size_t& count) {
  for (;;) {
    const ssize_t read = ::pread(fd, data, size, static_cast<off_t>(offset));
    if (read < 0 && errno == EINTR) continue;
    if (read < 0) return detail::failed("pread");
    count = static_cast<std::size_t>(read);
    return {};
  }
}
TENON_INLINE Failure write_at(int fd, const void* data, std::size_t size, std::uint64_t offset, std::size_t& count) {
  for (;;) {
    const ssize_t written = ::pwrite(fd, data, size, static_cast<off_t>(offset));
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return detail::failed("pwrite");
    count = static_cast<std::size_t>(written);
    return {};
  }
}
TENON_INLINE Failure shorten(int fd, std::uint64_t size) noexcept {
  return ::ftruncate(fd, static_cast<off_t>(size)) == 0 ? Failure{} : detail::failed("ftruncate");
}
TENON_INLINE Failure synchronise(int fd) {
  while (::fsync(fd) != 0) {
    if (errno == EINTR) continue;
    if (errno != EINVAL && errno != ENOTSUP && errno != EROFS) return detail::failed("fsync");
    return {};
  }
  return {};
}
TENON_INLINE void synchronise_folder_of(int folder, const std::filesystem::path& name) {
  const auto parent = name.has_parent_path() ? name.parent_path() : std::filesystem::path(".");
  const UniqueFd names(::openat(detail::folder_of(folder), parent.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (names) synchronise(names.get());
}
TENON_INLINE Failure close_copy(int fd) {
  const int copy = ::fcntl(fd, F_DUPFD_CLOEXEC, 0);
  return copy >= 0 && ::close(copy) != 0 && errno != EINTR ? detail::failed("close") : Failure{};
}
TENON_INLINE Failure rename_in(int folder, const std::filesystem::path& from, const std::filesystem::path& to) {
  const int at = detail::folder_of(folder);
  return ::renameat(at, from.c_str(), at, to.c_str()) == 0 ? Failure{} : detail::failed("rename");
}
TENON_INLINE bool remove_in(int folder, const std::filesystem::path& name) noexcept {
  return ::unlinkat(detail::folder_of(folder), name.c_str(), 0) == 0;
}
TENON_INLINE void mark_used(int fd) noexcept { ::futimens(fd, detail::kUsedNow); }
TENON_INLINE void mark_used_in(int folder, const std::filesystem::path& name) noexcept {
  ::utimensat(detail::folder_of(folder), name.c_str(), detail::kUsedNow, 0);
}

TENON_INLINE Failure names_in(const std::filesystem::path& folder, std::vector<std::filesystem::path>& names) {
  return detail::read_names(::opendir(folder.c_str()), names);
}
TENON_INLINE Failure names_in(int folder, std::vector<std::filesystem::path>& names) {
  // A descriptor of its own: fdopendir() takes over the descriptor and its position.
  UniqueFd own(::openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  DIR* const stream = own ? ::fdopendir(own.get()) : nullptr;
  if (stream) static_cast<void>(own.release());
  return detail::read_names(stream, names);
}

TENON_INLINE void remove_by_signal(const char* path) noexcept { ::unlink(path); }

TENON_INLINE bool random_bits(std::uint64_t& bits) noexcept {
  return ::getrandom(&bits, sizeof bits, GRND_NONBLOCK) == static_cast<ssize_t>(sizeof bits);
}
TENON_INLINE std::uint64_t process_id() noexcept { return static_cast<std::uint64_t>(::getpid()); }
TENON_INLINE std::size_t open_descriptor_count() {
  std::vector<std::filesystem::path> names;
  names_in("/proc/self/fd", names);
  return names.size();
}
TENON_INLINE std::uint64_t machine_memory_bytes() noexcept {
  return static_cast<std::uint64_t>(::sysconf(_SC_PHYS_PAGES)) * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

}  // namespace platform
}  // namespace v1
}  // namespace tenon
