// SPDX-License-Identifier: Apache-2.0
// Files as all readers and writers here open them: reading never blocks, writing leaves no partial file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

#include <tenon/core/export.hpp>

namespace tenon {
inline namespace v1 {

/// A regular file, open for reading. Anything else that has a path (a FIFO, a socket, a device, a folder) is refused
/// before anything can block on it.
class TENON_API RegularFile {
 public:
  /// @errors kNotFound, kPermissionDenied, kResourceExhausted (descriptors, memory), kInvalidArgument: not a regular
  ///         file (says what it is); all name the path and the system's reason.
  explicit RegularFile(const std::filesystem::path& path);
  ~RegularFile();
  RegularFile(const RegularFile&) = delete;
  RegularFile& operator=(const RegularFile&) = delete;

  int fd() const noexcept { return fd_; }
  /// As of the moment the file was opened; times since 1970.
  std::uint64_t size_bytes() const noexcept { return size_bytes_; }
  std::int64_t modified_ns() const noexcept { return modified_ns_; }
  std::int64_t changed_ns() const noexcept { return changed_ns_; }

 private:
  int fd_ = -1;
  std::uint64_t size_bytes_ = 0;
  std::int64_t modified_ns_ = 0, changed_ns_ = 0;
};

/// A file that appears under its name complete, with commit(), or not at all. Until then it is a temporary file beside
/// its target, locked by this object. A temporary file without a lock was left by a killed process, whatever its name,
/// process id or container.
/// @thread one at a time. Any number of objects, in any processes, may have the same target: the last commit() wins.
class TENON_API NewFile {
 public:
  /// @param mode  Mode of the new file, before the umask is applied.
  /// @errors kNotFound, kPermissionDenied, kResourceExhausted, kUnavailable; all name the path.
  explicit NewFile(const std::filesystem::path& target, unsigned mode = 0666);
  /// Removes the temporary file unless it was committed.
  ~NewFile();
  NewFile(const NewFile&) = delete;
  NewFile& operator=(const NewFile&) = delete;

  /// Appends. @errors kResourceExhausted: the disk is full; kUnavailable.
  void write(const void* data, std::size_t size);
  /// As write(), at any offset and in any order; write() continues behind the end.
  void write_at(const void* data, std::size_t size, std::uint64_t offset);
  /// Reports errors that the file system reports only on close. When several files are to be committed all or none,
  /// flush all of them first. commit() does it too.
  void flush();
  /// Renames the file to its target. Bytes survive a crash of the process, but may be lost in a crash of the machine.
  void commit();

  /// True for names of such temporary files.
  static bool is_temporary(const std::filesystem::path& file);
  /// Removes a temporary file whose writer is gone. @return false: it is still being written, or cannot be removed.
  static bool remove_if_abandoned(const std::filesystem::path& temporary) noexcept;
  /// Removes the abandoned temporary files of `target`.
  static void remove_abandoned(const std::filesystem::path& target);

 private:
  [[noreturn]] void fail(const char* what, const char* call, int error) const;
  std::filesystem::path target_;
  std::string temporary_;
  int fd_ = -1;
  std::uint64_t end_ = 0;
  bool committed_ = false;
};

/// The entries of a folder, in no order. Unlike std::filesystem::directory_iterator, whose steps are noexcept in
/// libstdc++, it does not end the program when memory is short.
/// @param error  Set when the folder can't be read, cleared otherwise. @errors only std::bad_alloc.
TENON_API std::vector<std::filesystem::path> list_folder(const std::filesystem::path& folder, std::error_code& error);

}  // namespace v1
}  // namespace tenon
