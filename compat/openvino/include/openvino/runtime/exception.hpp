// SPDX-License-Identifier: Apache-2.0
// The exceptions of requests.
#pragma once

#include <string>

#include "openvino/core/except.hpp"

namespace ov {

/// The inference was cancelled before it was over.
class OPENVINO_API Cancelled : public Exception {
 public:
  [[noreturn]] static void create(const std::string& explanation);
  explicit Cancelled(const std::string& what_arg) : Exception(what_arg) {}
  ~Cancelled() override;
};

/// The request is running.
class OPENVINO_API Busy : public Exception {
 public:
  [[noreturn]] static void create(const std::string& explanation);
  explicit Busy(const std::string& what_arg) : Exception(what_arg) {}
  ~Busy() override;
};

}  // namespace ov
