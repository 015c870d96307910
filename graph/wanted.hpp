// SPDX-License-Identifier: Apache-2.0
// Whether the compilation that runs in a thread is still wanted.
#pragma once

#include <functional>
#include <string>

#include <tenon/core/export.hpp>

namespace tenon {
inline namespace v1 {

/// While it lives, compilations in this thread ask between passes, nodes and programs whether they are still wanted.
/// Scopes nest: the inner one decides.
class TENON_API CancellationScope {
 public:
  /// @param is_wanted  Called in this thread, and in those that help it; must not throw. Empty: always.
  explicit CancellationScope(std::function<bool()> is_wanted);
  CancellationScope(const CancellationScope&) = delete;
  CancellationScope& operator=(const CancellationScope&) = delete;
  ~CancellationScope();
  /// That of this thread's scope, for threads that help it; empty without one.
  static std::function<bool()> current();
  /// TimeLimit::check() calls it. @errors kCancelled: "compiling 'm' was given up: it is not wanted any more".
  static void check(const char* what, const std::string& subject);

 private:
  std::function<bool()> is_wanted_;
  CancellationScope* outer_;
};

}  // namespace v1
}  // namespace tenon
