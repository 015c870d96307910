// SPDX-License-Identifier: Apache-2.0
// An eye on every pass that runs in the process: what tools show of a compilation, whatever device runs the passes.
#pragma once

#include <functional>
#include <string>

#include <tenon/core/export.hpp>

namespace tenon {
inline namespace v1 {

class Model;

namespace pass {

/// While one lives, its function is called for each Manager::run, from any thread, one call at a time: first with the
/// pass "" and the model as it came, then after each pass. What the function throws is ignored.
/// @cost none for runs while no observer lives; a lock per pass else.
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
