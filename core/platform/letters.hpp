// SPDX-License-Identifier: Apache-2.0
// Upper and lower case of the letters of all scripts.
#pragma once

#include <cstdint>
#include <string>

#include <tenon/core/export.hpp>

namespace tenon {
inline namespace v1 {
namespace platform {

/// The system's table of letters. A value that is not copied. @thread const members from any thread
class TENON_API Letters {
 public:
  /// @param locale  "tr_TR.UTF-8". C.UTF-8 stands for "" and for what the system lacks. Windows has one table for all.
  explicit Letters(const std::string& locale);
  ~Letters();
  Letters(const Letters&) = delete;
  Letters& operator=(const Letters&) = delete;
  /// False: the system has no such table, and letters stay as they are.
  explicit operator bool() const noexcept { return table_ != nullptr; }
  /// The letter (a code point) in the other case; itself where it has none.
  std::uint32_t changed(std::uint32_t letter, bool to_upper) const noexcept;

 private:
  void* table_;
};

}  // namespace platform
}  // namespace v1
}  // namespace tenon
