// SPDX-License-Identifier: Apache-2.0
// The one exception type, and the canonical list of codes that C and Python map from.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <source_location>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include <tenon/core/export.hpp>

namespace tenon {
inline namespace v1 {

/// Canonical codes (the set of absl/gRPC); the numbers are part of the C ABI.
enum class Code : std::int32_t {
  kOk = 0,
  kCancelled = 1,
  kUnknown = 2,
  kInvalidArgument = 3,
  kDeadlineExceeded = 4,
  kNotFound = 5,
  kAlreadyExists = 6,
  kPermissionDenied = 7,
  kResourceExhausted = 8,
  kFailedPrecondition = 9,
  kAborted = 10,
  kOutOfRange = 11,
  kUnimplemented = 12,
  kInternal = 13,
  kUnavailable = 14,
  kDataLoss = 15,
};

constexpr std::string_view name(Code code) {
  constexpr std::string_view names[] = {
      "ok",        "cancelled",      "unknown",           "invalid argument",   "deadline exceeded",
      "not found", "already exists", "permission denied", "resource exhausted", "failed precondition",
      "aborted",   "out of range",   "unimplemented",     "internal",           "unavailable",
      "data loss"};
  return names[static_cast<std::size_t>(code)];
}

/// A failure. The message names the object, what was expected and found, and the remedy; `native_api` and `native_code`
/// say which foreign call failed, if one did. Causes: thrown with std::throw_with_nested, printed by describe().
class TENON_API Error : public std::runtime_error {
 public:
  Error(Code code, const std::string& message, std::source_location where = std::source_location::current())
      : std::runtime_error(message), code_(code), where_(where) {}
  Error(Code code, const std::string& message, std::string native_api, std::int64_t native_code,
        std::source_location where = std::source_location::current())
      : std::runtime_error(message + " (" + native_api + " gave " + std::to_string(native_code) + ")"),
        code_(code),
        native_api_(std::move(native_api)),
        native_code_(native_code),
        where_(where) {}

  Code code() const noexcept { return code_; }
  /// Empty when no foreign call failed.
  const std::string& native_api() const noexcept { return native_api_; }
  std::int64_t native_code() const noexcept { return native_code_; }
  const std::source_location& where() const noexcept { return where_; }

 private:
  Code code_;
  std::string native_api_;
  std::int64_t native_code_ = 0;
  std::source_location where_;
};

/// The message of an exception followed by those of its causes, one per line.
TENON_API std::string describe(const std::exception& error);

/// A refusal is a normal result: the operation is not possible here, and `reason` names the missing capability. A value
/// kept for explain(), unlike a failure, which is an exception.
struct Refusal {
  std::string reason;
};

}  // namespace v1
}  // namespace tenon
