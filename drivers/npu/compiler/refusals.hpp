// SPDX-License-Identifier: Apache-2.0
// Operations that the compiler refuses on purpose (TENON_NPU_REFUSE), as an older compiler or a smaller device would.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <tenon/core/element_type.hpp>
#include <tenon/graph/node.hpp>

namespace tenon::npu::compiler {

/// One operation a line: its type, and optionally the element type of its first output: "Softmax", "MatMul f16". The rest of a
/// line behind "#" is a comment.
class Refusals {
 public:
  Refusals() = default;
  /// @errors kNotFound: the file cannot be read; kInvalidArgument: a line is no operation, or no element type.
  explicit Refusals(const std::filesystem::path& file);
  /// Those of TENON_NPU_REFUSE; none if it is not set. Read once. @errors as the constructor, at each call.
  static const Refusals& from_environment();

  bool refuses(const Node& node) const;
  /// The lines without comments: what a compilation depends on. Empty: nothing is refused.
  const std::string& text() const noexcept { return text_; }

 private:
  struct Entry {
    std::string type;
    std::optional<ElementType> element_type;
  };
  std::vector<Entry> entries_;
  std::string text_;
};

}  // namespace tenon::npu::compiler
