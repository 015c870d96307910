// SPDX-License-Identifier: Apache-2.0
// Cancellation of a compilation, for the thread that runs it.
#pragma once

#include <functional>
#include <string>

#include <tenon/core/export.hpp>

namespace tenon {
inline namespace v1 {

/// During its lifetime, compilations in this thread check between passes, nodes and programs whether they are still
/// wanted. Scopes nest: the inner one decides.
class TENON_API CancellationScope {
 public:
  /// @param is_wanted  Called in this thread and in its helper threads; must not throw. Empty: always wanted.
  explicit CancellationScope(std::function<bool()> is_wanted);
  CancellationScope(const CancellationScope&) = delete;
  CancellationScope& operator=(const CancellationScope&) = delete;
  ~CancellationScope();
  /// The function of this thread's scope, for its helper threads; empty without a scope.
  static std::function<bool()> current();
  /// TimeLimit::check() calls it. @errors kCancelled: "compiling 'm' was given up: it is not wanted any more".
  static void check(const char* what, const std::string& subject);

 private:
  std::function<bool()> is_wanted_;
  CancellationScope* outer_;
};

}  // namespace v1
}  // namespace tenon
