// SPDX-License-Identifier: Apache-2.0
// A frame, or a part of it, into a place of a model's input: one pass that reads the frame where it lies.
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
  /// @param model  As options_from() reads it: what it wants of pictures.
  /// @param part   Of the upright frame; empty: all of it.
  /// @errors as options_from() and make_spec().
  PictureStage(const Model& model, const FrameInfo& info, const PixelRect& part = {});
  /// Where the part lies in the input, in pixels of the whole frame.
  const FrameGeometry& geometry() const { return plan_.spec().upright; }
  std::size_t frame_width() const { return plan_.spec().upright_width(); }
  std::size_t frame_height() const { return plan_.spec().upright_height(); }
  std::size_t target_bytes() const;
  /// @param frame   Of the info, with planes that the host reads.
  /// @param target  target_bytes() of the input.
  void run(const Frame& frame, void* target);

 private:
  engine::InputStagePlan plan_;
  std::vector<std::byte> sideways_;  ///< Of pictures that were stored so.
};

}  // namespace inference
}  // namespace elements
}  // namespace v1
}  // namespace tenon
