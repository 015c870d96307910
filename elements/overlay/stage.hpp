// SPDX-License-Identifier: Apache-2.0
// Scales and converts a frame of any format in one pass.
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

/// @thread one at a time. @cost Allocates nothing as long as frames have the same info.
class Stage {
 public:
  /// @param wanted  All options except the source. A width or height of 0 means that of the upright frame.
  explicit Stage(const InputStageOptions& wanted) : wanted_(wanted) {}

  /// Prepares for frames of this info. @errors as make_spec()
  void prepare(const FrameInfo& info);
  /// The shape of the result, upright: [1, c, h, w] or [1, h, w, c]. @pre prepare() was called.
  Shape shape() const { return plan_->spec().model_shape(); }
  const FrameGeometry& geometry() const { return plan_->spec().upright; }
  /// @param frame   A frame of the prepared info, in memory that the host reads.
  /// @param target  Receives the result: shape(), packed.
  /// @param ledger  Where the bytes read are booked as converted.
  void run(const Frame& frame, void* target, Ledger& ledger);

 private:
  void turn(const std::byte* from, std::byte* to) const;

  const InputStageOptions wanted_;
  FrameInfo info_;
  std::optional<engine::InputStagePlan> plan_;
  std::vector<std::byte> sideways_;  ///< A buffer for frames that are stored sideways.
};

}  // namespace overlay
}  // namespace elements
}  // namespace v1
}  // namespace tenon
