// SPDX-License-Identifier: Apache-2.0
// Writes whole lines to a file, a pipe or standard output.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <tenon/core/fd.hpp>
#include <tenon/core/file.hpp>

namespace tenon {
inline namespace v1 {
namespace elements {
namespace publish {

/// @thread one at a time; interrupt() any.
class LineFile {
 public:
  /// @param path    "-": standard output. A named pipe must have a reader.
  /// @param append  True: appends to the file; false: replaces its content, with the first line or begin().
  /// @errors kNotFound, kPermissionDenied, kUnavailable: all name the path and the remedy.
  LineFile(std::string path, bool append);
  /// Removes what the file held before, unless lines are appended.
  void begin();

  /// Writes a line and a line break. A file keeps whole lines only: if a line fails, the part that was written is removed.
  /// @errors kResourceExhausted: the disk is full; kUnavailable: the reader has gone; kDeadlineExceeded: the reader took nothing
  /// for 10 s; kCancelled: interrupt() was called.
  void write(std::string_view line);
  /// Makes a write() that waits end.
  void interrupt() noexcept { is_interrupted_ = true; }
  void resume() { is_interrupted_ = false; }

 private:
  void wait_for_room() const;
  [[noreturn]] void fail(int error);

  int fd() const { return file_ ? file_->fd() : standard_output_.get(); }

  const std::string path_;
  std::optional<GrowingFile> file_;
  UniqueFd standard_output_;
  bool is_regular_ = false, replaces_ = false;
  std::int64_t size_ = 0;  ///< The size of the whole lines, in bytes.
  std::string buffer_;
  std::atomic<bool> is_interrupted_{false};
};

}  // namespace publish
}  // namespace elements
}  // namespace v1
}  // namespace tenon
