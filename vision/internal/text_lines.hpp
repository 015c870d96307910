// SPDX-License-Identifier: Apache-2.0
// Lines of numbers, read with messages that say file and line.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <tenon/core/error.hpp>

namespace tenon {
inline namespace v1 {
namespace vision {

/// The numbers of one line. @thread one at a time
class NumberLine {
 public:
  NumberLine(const std::string& file, std::size_t line) : file_(file), line_(line) {}
  std::size_t size() const { return values_.size(); }
  double operator[](std::size_t column) const { return values_[column]; }
  void add(double value) { values_.push_back(value); }
  std::string place() const { return file_ + ":" + std::to_string(line_); }

  [[noreturn]] void refuse(const std::string& what) const {
    throw Error(Code::kInvalidArgument, place() + ": " + what);
  }
  /// @errors kInvalidArgument: not a whole number from `least` on.
  std::int64_t whole(std::size_t column, const char* what, std::int64_t least) const {
    const double value = values_[column];
    if (value != std::floor(value) || value < static_cast<double>(least) || value > 9e15)
      refuse("column " + std::to_string(column + 1) + ", " + what + ", must be a whole number from " +
             std::to_string(least) + " on, found " + number_text(value));
    return static_cast<std::int64_t>(value);
  }
  static std::string number_text(double value);

 private:
  const std::string& file_;
  std::size_t line_;
  std::vector<double> values_;
};

/// Reads lines of numbers with commas or blanks between them; empty lines are skipped. @param file  Names the text in messages.
/// @errors kInvalidArgument: something is not a finite number, with file, line and column.
std::vector<NumberLine> number_lines(std::string_view text, const std::string& file);

}  // namespace vision
}  // namespace v1
}  // namespace tenon
