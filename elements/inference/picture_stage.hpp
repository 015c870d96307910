// SPDX-License-Identifier: Apache-2.0
// Writes a frame, or a part of it, into a place of a model's input, in one pass that reads the frame in place.
#pragma once

#include <cstddef>
#include <vector>

#include <tenon/core/frame.hpp>
#include <tenon/engine/kernels/image/input_stage.hpp>
#include <tenon/graph/input_stage/geometry.hpp>
#include <tenon/graph/model.hpp>

namespace tenon {
inline namespace v1 {
namespace elements {
namespace inference {

/// @thread one at a time.
class PictureStage {
 public:
  /// @param model  The model, from which options_from() reads how it wants pictures.
  /// @param part   The part of the upright frame; empty: all of it.
  /// @errors as options_from() and make_spec().
  PictureStage(const Model& model, const FrameInfo& info, const PixelRect& part = {});
  /// The mapping between the input and pixels of the whole frame.
  const FrameGeometry& geometry() const { return plan_.spec().upright; }
  std::size_t frame_width() const { return plan_.spec().upright_width(); }
  std::size_t frame_height() const { return plan_.spec().upright_height(); }
  /// The size of the upright picture that the model gets.
  std::size_t target_width() const { return plan_.spec().model_width(); }
  std::size_t target_height() const { return plan_.spec().model_height(); }
  std::size_t target_bytes() const;
  /// Writes one picture. @param frame  A frame of the given info, with planes that the host can read.
  /// @param target  target_bytes() of the input.
  void run(const Frame& frame, void* target);

 private:
  engine::InputStagePlan plan_;
  std::vector<std::byte> sideways_;  ///< A buffer for pictures that are stored sideways.
};

}  // namespace inference
}  // namespace elements
}  // namespace v1
}  // namespace tenon
