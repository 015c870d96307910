// SPDX-License-Identifier: Apache-2.0
// The runtime's exception classes, under the names that OpenVINO gives them.
#pragma once

#include <string>

#include <tenon/core/error.hpp>
#include <tenon/core/export.hpp>

namespace tenon {
inline namespace v1 {

/// The base of everything that Tenon throws: a handler for Exception catches errors of core and of the frameworks, too.
using Exception = Error;

/// A check of the caller's arguments failed.
class TENON_API AssertFailure : public Error {
 public:
  explicit AssertFailure(const std::string& message, Code code = Code::kInvalidArgument) : Error(code, message) {}
};

/// The requested feature does not exist on this device or in this version.
class TENON_API NotImplemented : public AssertFailure {
 public:
  explicit NotImplemented(const std::string& what) : AssertFailure("Not Implemented: " + what, Code::kUnimplemented) {}
};

/// The request is running: wait() first, or use another request.
class TENON_API Busy : public Error {
 public:
  explicit Busy(const std::string& message) : Error(Code::kFailedPrecondition, message) {}
};

/// The inference was cancelled before it was over.
class TENON_API Cancelled : public Error {
 public:
  explicit Cancelled(const std::string& message) : Error(Code::kCancelled, message) {}
};

}  // namespace v1
}  // namespace tenon
