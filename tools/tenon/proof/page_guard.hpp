// SPDX-License-Identifier: Apache-2.0
// Locks the pages of a buffer, wherever they are mapped, and notes which module's code touches each of them first.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <tenon/core/memory.hpp>

namespace tenon::tool {

/// One at a time per process. The first access to a locked page raises SIGSEGV; the handler notes the address of the
/// instruction, unlocks the page and continues, so only timing is disturbed.
class PageGuard {
 public:
  struct Findings {
    std::size_t pages = 0;  ///< The number of pages touched.
    std::vector<std::string>
        readers;  ///< The modules whose code touched them, each once: file names, or texts with the prefixes below.
  };
  static constexpr const char* kKernel = "OpenCL kernel ";     ///< Before the name of a kernel that PoCL compiled.
  static constexpr const char* kGenerated = "generated code";  ///< Code without a module: some runtime compiled it.

  /// [begin, end), whole pages.
  struct Range {
    std::uintptr_t begin = 0, end = 0;
  };
  static constexpr std::size_t kMostRanges = 16;

  /// Whether this processor's signal context is known here.
  static bool supported();
  /// Every mapping of the memory's descriptor in this process, since drivers make mappings of their own. If the kernel does
  /// not list mappings, only the memory's own.
  static std::vector<Range> mappings_of(const Memory& memory);
  /// @param ranges  1..kMostRanges, mapped for reading and writing. @errors kUnavailable: mprotect refused;
  /// kFailedPrecondition: one exists; kInvalidArgument: the number of ranges, or one that does not begin at a page.
  explicit PageGuard(const std::vector<Range>& ranges);
  ~PageGuard();
  PageGuard(const PageGuard&) = delete;
  PageGuard& operator=(const PageGuard&) = delete;
  /// Unlocks everything and returns the findings.
  Findings release();

 private:
  void unlock() noexcept;
  bool locked_ = false;
};

}  // namespace tenon::tool
