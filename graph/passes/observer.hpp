// SPDX-License-Identifier: Apache-2.0
// Observes every pass in the process, so that tools can show a compilation, whatever device runs the passes.
#pragma once

#include <functional>
#include <string>

#include <tenon/core/export.hpp>

namespace tenon {
inline namespace v1 {

class Model;

namespace pass {

/// While an Observer exists, its function is called for each Manager::run, from any thread, one call at a time: first
/// with pass "" and the unchanged model, then after each pass. Exceptions of the function are ignored.
/// @cost none while no observer exists; otherwise a lock per pass.
class TENON_API Observer {
 public:
  using Function = std::function<void(const Model& model, const std::string& pass, bool changed)>;
  explicit Observer(Function function);
  ~Observer();
  Observer(const Observer&) = delete;
  Observer& operator=(const Observer&) = delete;

  /// Called by Manager.
  static void tell(const Model& model, const std::string& pass, bool changed) noexcept;

 private:
  Function function_;
};

}  // namespace pass
}  // namespace v1
}  // namespace tenon
