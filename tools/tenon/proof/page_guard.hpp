// SPDX-License-Identifier: Apache-2.0
// Locks the pages of a buffer, wherever they are mapped, and notes which module's code touches each of them first.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <tenon/core/memory.hpp>

namespace tenon::tool {

/// One at a time in a process. The first access to a locked page raises SIGSEGV; the handler notes the address of the
/// instruction, unlocks the page and lets it go on: what runs is disturbed in its time only.
class PageGuard {
 public:
  struct Findings {
    std::size_t pages = 0;             ///< That were touched.
    std::vector<std::string> readers;  ///< File names of the modules whose code touched them, each once.
  };

  /// [begin, end), whole pages.
  struct Range {
    std::uintptr_t begin = 0, end = 0;
  };
  static constexpr std::size_t kMostRanges = 16;

  /// Whether this processor's signal context is known here.
  static bool supported();
  /// Every mapping that this process has of the memory's descriptor: drivers make their own. Only the memory's own
  /// where the kernel does not tell.
  static std::vector<Range> mappings_of(const Memory& memory);
  /// @param ranges  1..kMostRanges, mapped for reading and writing. @errors kUnavailable: mprotect refused;
  /// kFailedPrecondition: one exists; kInvalidArgument: the number of ranges, or one that does not begin at a page.
  explicit PageGuard(const std::vector<Range>& ranges);
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
