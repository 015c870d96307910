// SPDX-License-Identifier: Apache-2.0
// Files that are safe to open and to write: opening never blocks, and writing leaves no partial file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

#include <tenon/core/export.hpp>
#include <tenon/core/fd.hpp>

namespace tenon {
inline namespace v1 {

/// A regular file, open for reading. Anything else that has a path (a FIFO, a socket, a device, a folder) is refused
/// before anything can block on it.
class TENON_API RegularFile {
 public:
  /// @errors kNotFound, kPermissionDenied, kResourceExhausted (descriptors, memory), kInvalidArgument: not a regular
  ///         file (names its type); all name the path and the system's reason.
  explicit RegularFile(const std::filesystem::path& path);
  RegularFile(const RegularFile&) = delete;
  RegularFile& operator=(const RegularFile&) = delete;

  int fd() const noexcept { return fd_.get(); }
  /// Values from the moment when the file was opened; times since 1970.
  std::uint64_t size_bytes() const noexcept { return size_bytes_; }
  std::int64_t modified_ns() const noexcept { return modified_ns_; }
  std::int64_t changed_ns() const noexcept { return changed_ns_; }

 private:
  UniqueFd fd_;
  std::uint64_t size_bytes_ = 0;
  std::int64_t modified_ns_ = 0, changed_ns_ = 0;
};

/// Durability of a committed file, by the event that it survives: the end of its process, or also a crash of the
/// machine (fsync, which waits for the disk). kProcess suits files that are checked before use and can be made again.
enum class Durability { kProcess, kMachine };

/// A file that appears under its name only with commit(), and then complete. Until then it is a temporary file in the
/// same folder, locked by this object. A temporary file without a lock was left by a killed process, whatever its name,
/// process id or container says.
/// @thread one at a time; any number of objects, in any processes, may have the same target: the last commit() stays.
class TENON_API NewFile {
 public:
  /// @param mode  Mode of the new file, before the umask is applied.
  /// @errors kNotFound, kPermissionDenied, kResourceExhausted, kUnavailable, kInvalidArgument (a link of /dev or /proc that leads to an open
  ///         file, which no file may replace); all name the path.
  explicit NewFile(const std::filesystem::path& target, unsigned mode = 0666,
                   Durability durability = Durability::kMachine);
  /// Creates the file in the folder that `folder` is open on, even if the folder was renamed meanwhile. @param target
  /// Its last component is the file's name there; the whole path is for messages. @errors as above; as
  /// UniqueFd::duplicate.
  NewFile(const UniqueFd& folder, const std::filesystem::path& target, unsigned mode, Durability durability);
  /// Removes the temporary file if it was not committed.
  ~NewFile();
  NewFile(const NewFile&) = delete;
  NewFile& operator=(const NewFile&) = delete;

  /// The temporary file's path, for writers that need a name and for signal handlers that remove the file.
  const std::filesystem::path& temporary() const noexcept { return temporary_; }
  /// Appends to the bytes written so far. @errors kResourceExhausted: the disk is full; kUnavailable.
  void write(const void* data, std::size_t size);
  /// As write(), at any offset and in any order; write() continues behind the end.
  void write_at(const void* data, std::size_t size, std::uint64_t offset);
  /// Reports errors that the file system tells only when a file is closed or reaches the disk. Callers that commit
  /// several files together, all or none, flush all of them first. commit() flushes too.
  void flush();
  /// Renames the file to its target.
  void commit();

  /// True for names of such temporary files.
  static bool is_temporary(const std::filesystem::path& file);
  /// Removes a temporary file if its writer has ended. @return false: it is still being written, or cannot be removed.
  static bool remove_if_abandoned(const std::filesystem::path& temporary) noexcept;
  /// As above, for the file `name` in `folder`.
  static bool remove_if_abandoned(const UniqueFd& folder, const std::string& name) noexcept;
  /// Removes abandoned temporary files of `target`.
  static void remove_abandoned(const std::filesystem::path& target);

 private:
  [[noreturn]] void fail(const char* what, const char* call, int error) const;
  void open_temporary(unsigned mode);
  int folder() const noexcept;
  UniqueFd folder_;  ///< None: paths are absolute or relative to the working folder.
  std::filesystem::path target_, place_, temporary_;
  Durability durability_;
  UniqueFd fd_;
  std::uint64_t end_ = 0;
  bool committed_ = false;
};

/// A file that grows under its own name, so that others can follow it: lines, traces. Unlike a NewFile it is there before it is complete, and
/// a name that is a link leads to the file behind it (/dev/stdout is such a link). What writes by one says so in its documentation.
/// @thread as int.
class TENON_API GrowingFile {
 public:
  /// kEnd: all writes go behind what is in the file, also behind what others write. kAnywhere: where the writer says; reset_to() removes
  /// what was there.
  enum class Place : std::uint8_t { kEnd, kAnywhere };
  /// Makes the file if there is none, and never blocks. A FIFO, a device, a terminal is opened as it is.
  /// @param mode  Mode of a new file, before the umask is applied.
  /// @errors kNotFound, kPermissionDenied, kResourceExhausted (descriptors), kUnavailable (a FIFO without a reader: ENXIO); all name the
  ///         path and the system's reason.
  explicit GrowingFile(const std::filesystem::path& path, Place place, unsigned mode = 0666);

  /// Open for writing; it does not block.
  int fd() const noexcept { return fd_.get(); }
  /// Gives the descriptor away: the caller closes it.
  [[nodiscard]] int release() noexcept { return fd_.release(); }
  /// Whether it is a regular file, which has a size and an old content.
  bool is_regular() const noexcept { return is_regular_; }
  /// The size of a regular file when it was opened, in bytes; else 0.
  std::uint64_t size_bytes() const noexcept { return size_bytes_; }
  /// Keeps others that lock it from writing until it is closed. @return whether no other has locked it.
  bool try_lock() const noexcept;
  /// Keeps the first `size` bytes of a regular file: removes what was there before, or what a write that failed has left.
  /// @return 0, or the system's code.
  int reset_to(std::uint64_t size) const noexcept;

 private:
  UniqueFd fd_;
  bool is_regular_ = false;
  std::uint64_t size_bytes_ = 0;
};

/// The entries of a folder, in no order. Unlike std::filesystem::directory_iterator, whose steps are noexcept in
/// libstdc++, it does not end the program when memory is short.
/// @param error  Set when the folder can't be read, cleared otherwise. @errors only std::bad_alloc.
TENON_API std::vector<std::filesystem::path> list_folder(const std::filesystem::path& folder, std::error_code& error);
/// The entries of the folder that `folder` is open on.
TENON_API std::vector<std::filesystem::path> list_folder(const UniqueFd& folder, std::error_code& error);

}  // namespace v1
}  // namespace tenon
