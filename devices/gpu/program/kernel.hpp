// SPDX-License-Identifier: Apache-2.0
// Writes one kernel: its parameters, the macros by which its text reads and writes them, and its launch.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <tenon/devices/gpu/program/expression.hpp>
#include <tenon/devices/gpu/program/launch.hpp>

namespace tenon::inline v1::gpu_device {

/// Texts see a parameter NAME as NAME(i), its element i, or as NAME_SET(i, value), and its address as NAME_p; f32 and f16
/// also as NAME_LOAD16(i), 16 of them as float16. Their function begins with "KERNEL {", once. Numbers are constants of the text if the plan is for these shapes alone, else
/// arguments, so that one program serves all shapes.
class Kernel {
 public:
  /// @param is_special  Numbers become constants of the text.
  Kernel(std::string kind, bool is_special) : kind_(std::move(kind)), is_special_(is_special) {}

  Kernel& reads(const std::string& name, const View& view);
  Kernel& writes(const std::string& name, const View& view);
  /// Reads what lies there, and writes over it.
  Kernel& updates(const std::string& name, const View& view);
  /// Rows that may lie further apart than the view says, if it is an application's tensor: NAME_pitch elements.
  Kernel& reads_rows(const std::string& name, const View& view);
  /// A number that other shapes change. @errors kUnimplemented: it needs more than 32 bits.
  Kernel& number(const std::string& name, std::int64_t value);
  /// A macro: part of the text.
  Kernel& define(const std::string& name, const std::string& text);
  Kernel& define(const std::string& name, std::int64_t value) { return define(name, std::to_string(value)); }
  /// The function's text, and what stands before it.
  Kernel& text(std::string_view text);
  /// @param local  None: the driver chooses.
  Kernel& over(std::vector<std::size_t> global, std::vector<std::size_t> local = {});

  /// For reports: of products and convolutions.
  Kernel& multiply_adds(std::uint64_t count) {
    launch_.multiply_adds = count;
    return *this;
  }

  bool is_special() const { return is_special_; }
  Launch launch() const;

 private:
  Kernel& parameter(const std::string& name, const View& view, bool written);
  const std::string kind_;
  const bool is_special_;
  std::string defines_, undefines_, parameters_, begin_, text_;
  Launch launch_;
};

}  // namespace tenon::inline v1::gpu_device
