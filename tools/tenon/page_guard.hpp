// SPDX-License-Identifier: Apache-2.0
// Locks the pages of a buffer and notes which module's code touches each of them first.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace tenon::tool {

/// One at a time in a process. The first access to a locked page raises SIGSEGV; the handler notes the address of the
/// instruction, unlocks the page and lets it go on: what runs is disturbed in its time only.
class PageGuard {
 public:
  struct Findings {
    std::size_t pages = 0;             ///< That were touched.
    std::vector<std::string> readers;  ///< File names of the modules whose code touched them, each once.
  };

  /// Whether this processor's signal context is known here.
  static bool supported();
  /// @param begin  Of a whole mapping: a page boundary. @errors kUnavailable: mprotect refused; kFailedPrecondition:
  /// one exists.
  PageGuard(void* begin, std::size_t size_bytes);
  ~PageGuard();
  PageGuard(const PageGuard&) = delete;
  PageGuard& operator=(const PageGuard&) = delete;
  /// Unlocks everything and says what was seen.
  Findings release();

 private:
  void unlock() noexcept;
  bool locked_ = false;
};

}  // namespace tenon::tool
