// SPDX-License-Identifier: Apache-2.0
// A file, pipe or standard output that gets whole lines.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>

#include <tenon/core/fd.hpp>

namespace tenon {
inline namespace v1 {
namespace elements {
namespace publish {

/// @thread one at a time; interrupt() any.
class LineFile {
 public:
  /// @param path    "-": standard output. A named pipe must have a reader.
  /// @param append  Behind what is there, else instead of it.
  /// @errors kNotFound, kPermissionDenied, kUnavailable: all name the path and the remedy.
  LineFile(std::string path, bool append);

  /// Adds a line break. A file keeps whole lines only: what was written of a line that failed is removed.
  /// @errors kResourceExhausted: the disk is full; kUnavailable: nobody reads any more; kDeadlineExceeded: a reader that
  /// takes nothing for 10 s; kCancelled: interrupted.
  void write(std::string_view line);
  /// Ends a write() that waits.
  void interrupt() noexcept { is_interrupted_ = true; }

 private:
  void wait_for_room() const;
  [[noreturn]] void fail(int error);

  const std::string path_;
  UniqueFd fd_;
  bool is_regular_ = false;
  std::int64_t size_ = 0;  ///< Of whole lines.
  std::string buffer_;
  std::atomic<bool> is_interrupted_{false};
};

}  // namespace publish
}  // namespace elements
}  // namespace v1
}  // namespace tenon
