// SPDX-License-Identifier: Apache-2.0
// A frame of any format, scaled and converted in one pass.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include <tenon/core/frame.hpp>
#include <tenon/core/ledger.hpp>
#include <tenon/engine/kernels/image/input_stage.hpp>
#include <tenon/graph/input_stage/input_stage.hpp>

namespace tenon {
inline namespace v1 {
namespace elements {
namespace overlay {

/// @thread one at a time. @cost nothing is allocated as long as frames stay alike.
class Stage {
 public:
  /// @param wanted  All but the source. A width or height of 0 is that of the upright frame.
  explicit Stage(const InputStageOptions& wanted) : wanted_(wanted) {}

  /// Prepares for frames like this. @errors as make_spec()
  void prepare(const FrameInfo& info);
  /// Of the result, upright: [1, c, h, w] or [1, h, w, c]. @pre prepared
  Shape shape() const { return plan_->spec().model_shape(); }
  const FrameGeometry& geometry() const { return plan_->spec().upright; }
  /// @param frame   Of the info that it is prepared for, on the host.
  /// @param target  Of shape(), packed.
  /// @param ledger  Where the bytes read are booked as converted.
  void run(const Frame& frame, void* target, Ledger& ledger);

 private:
  void turn(const std::byte* from, std::byte* to) const;

  const InputStageOptions wanted_;
  FrameInfo info_;
  std::optional<engine::InputStagePlan> plan_;
  std::vector<std::byte> sideways_;  ///< Of frames that are stored so.
};

}  // namespace overlay
}  // namespace elements
}  // namespace v1
}  // namespace tenon
