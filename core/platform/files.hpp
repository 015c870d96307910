// SPDX-License-Identifier: Apache-2.0
// Calls of the system for files and folders. Names in a folder are looked up through the folder's descriptor.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

#include <tenon/core/error.hpp>
#include <tenon/core/export.hpp>
#include <tenon/core/fd.hpp>

namespace tenon {
inline namespace v1 {
namespace platform {

/// A call of the system that failed, and its code (errno, or GetLastError()); converts to false where none failed.
struct Failure {
  const char* call = nullptr;
  int error = 0;
  explicit operator bool() const noexcept { return call != nullptr; }
};
/// The system's words for a code.
TENON_API std::string message_of(int error);
TENON_API std::error_code error_code_of(const Failure& failure);
/// kNotFound, kPermissionDenied, kResourceExhausted, else kUnavailable.
TENON_API Code code_of(int error);

enum class FileType : std::uint8_t { kRegular, kDirectory, kFifo, kSocket, kCharacterDevice, kBlockDevice, kUnknown };
struct FileStatus {
  FileType type = FileType::kUnknown;
  std::uint64_t size_bytes = 0;
  std::uint64_t device = 0, inode = 0;  ///< Equal for two names of one file. Windows: volume and file index.
  std::uint64_t links = 0;
  std::int64_t used_ns = 0, modified_ns = 0, changed_ns = 0;  ///< Since 1970.
};
/// The rights to a file or folder beside those of this process's user.
struct FileTrust {
  bool is_own = false, others_may_write = false;
  std::string owner, user;  ///< For messages: the owner of the file, the user of this process.
};

#ifdef _WIN32
inline constexpr const char* kOwnRightsRemedy = "icacls FOLDER /inheritance:r /grant:r *S-1-3-4:(OI)(CI)F mends it";
#else
inline constexpr const char* kOwnRightsRemedy = "chmod go-w mends it";
#endif

/// In place of a folder's descriptor: paths are absolute or relative to the working folder.
inline constexpr int kWorkingFolder = -1;
/// Whether a symbolic link as the last component of a path is followed, or refused.
enum class Links : std::uint8_t { kFollow, kRefuse };

TENON_API Failure status_of(const std::filesystem::path& path, FileStatus& status);
TENON_API Failure status_of(int fd, FileStatus& status);
/// Links::kRefuse: the status of the link itself.
TENON_API Failure status_in(int folder, const std::filesystem::path& name, Links links, FileStatus& status);
TENON_API Failure trust_of(int fd, FileTrust& trust);

/// Opens for reading; never blocks, whatever the type of the file.
TENON_API Failure open_file(int folder, const std::filesystem::path& name, Links links, UniqueFd& opened);
/// Opens a file that is there for reading and writing; never blocks.
TENON_API Failure open_to_write(const std::filesystem::path& path, UniqueFd& opened);
/// Opens a file for writing, and makes it if there is none; never blocks, whatever its type. @param at_end  All writes go behind its end.
TENON_API Failure open_to_grow(const std::filesystem::path& path, unsigned mode, bool at_end, UniqueFd& opened);
/// Opens a folder, so that names in it can be looked up.
TENON_API Failure open_folder(const std::filesystem::path& path, UniqueFd& opened);
/// Makes a folder that only this user may use.
TENON_API Failure make_private_folder(const std::filesystem::path& path);
/// Makes a new file for reading and writing. @return exists(): there is one of that name.
TENON_API Failure make_file(int folder, const std::filesystem::path& name, unsigned mode, UniqueFd& made);
TENON_API bool exists(const Failure& failure) noexcept;

enum class Lock : std::uint8_t { kTaken, kHeldByAnother, kUnsupported };
/// Locks a whole file until its last descriptor is closed. Does not wait.
TENON_API Lock try_lock(int fd) noexcept;
TENON_API Failure read_at(int fd, void* data, std::size_t size, std::uint64_t offset, std::size_t& count);
TENON_API Failure write_at(int fd, const void* data, std::size_t size, std::uint64_t offset, std::size_t& count);
/// Removes what a regular file has behind its first `size` bytes.
TENON_API Failure shorten(int fd, std::uint64_t size) noexcept;
/// Waits until the file is on the disk. File systems that cannot tell are no failure.
TENON_API Failure synchronise(int fd);
/// As synchronise(), for the folder in which the file `name` is; does what it can.
TENON_API void synchronise_folder_of(int folder, const std::filesystem::path& name);
/// Reports the errors that a file system tells only when a descriptor is closed; `fd` stays open.
TENON_API Failure close_copy(int fd);
/// Renames a file within a folder, over a file that has the name.
TENON_API Failure rename_in(int folder, const std::filesystem::path& from, const std::filesystem::path& to);
/// @return whether there was such a file, and it was removed.
TENON_API bool remove_in(int folder, const std::filesystem::path& name) noexcept;
/// Sets the time of use to now.
TENON_API void mark_used(int fd) noexcept;
TENON_API void mark_used_in(int folder, const std::filesystem::path& name) noexcept;

/// The names in a folder, without "." and "..", appended.
TENON_API Failure names_in(const std::filesystem::path& folder, std::vector<std::filesystem::path>& names);
TENON_API Failure names_in(int folder, std::vector<std::filesystem::path>& names);

/// Removes the file with this path, of at most kMaxPath bytes with the zero at its end, in UTF-8. Safe in signal handlers.
inline constexpr std::size_t kMaxPath = 4096;
TENON_API void remove_by_signal(const char* path) noexcept;

/// Random bits of the system; false where it has none at the moment.
TENON_API bool random_bits(std::uint64_t& bits) noexcept;
TENON_API std::uint64_t process_id() noexcept;
/// The descriptors that this process has open; on Windows, its handles. For tests of leaks.
TENON_API std::size_t open_descriptor_count();
/// The physical memory of this machine, in bytes.
TENON_API std::uint64_t machine_memory_bytes() noexcept;

}  // namespace platform
}  // namespace v1
}  // namespace tenon
