// SPDX-License-Identifier: Apache-2.0
// Runs the engine's input kernel in the calling thread.
#include <tenon/elements/inference/picture_stage.hpp>

#include <array>
#include <utility>

#include <tenon/core/tensor.hpp>
#include <tenon/graph/input_stage/input_stage.hpp>

namespace tenon {
inline namespace v1 {
namespace elements {
namespace inference {
namespace {

InputStageSpec spec_for(const Model& model, const FrameInfo& info, const PixelRect& part) {
  InputStageOptions options = options_from(model, info);
  options.crop = part;
  return make_spec(options);
}

}  // namespace

PictureStage::PictureStage(const Model& model, const FrameInfo& info, const PixelRect& part)
    : plan_(spec_for(model, info, part)) {
  if (plan_.spec().transposed) sideways_.resize(target_bytes());
}

std::size_t PictureStage::target_bytes() const {
  return element_count(plan_.spec().target_shape()) * size_bytes(plan_.spec().type);
}

void PictureStage::run(const Frame& frame, void* target) {
  const InputStageSpec& spec = plan_.spec();
  const auto planes = plane_views(spec, frame.planes());
  const std::span<const PlaneView> used(planes.data(), spec.input_count());
  if (!spec.transposed) return plan_.run_rows(used, target, 0, spec.height);
  plan_.run_rows(used, sideways_.data(), 0, spec.height);
  // Transpose: rows become columns.
  const auto sample = static_cast<std::ptrdiff_t>(size_bytes(spec.type));
  const auto h = static_cast<std::ptrdiff_t>(spec.height), w = static_cast<std::ptrdiff_t>(spec.width);
  const auto c = static_cast<std::ptrdiff_t>(spec.channels);
  const Shape shape = spec.model_shape();
  const ByteStrides packed = spec.planar ? ByteStrides{c * h * w * sample, h * w * sample, h * sample, sample}
                                         : ByteStrides{c * h * w * sample, h * c * sample, c * sample, sample};
  const ByteStrides turned = spec.planar ? ByteStrides{c * h * w * sample, h * w * sample, sample, w * sample}
                                         : ByteStrides{c * h * w * sample, c * sample, w * c * sample, sample};
  copy_strided(spec.type, shape, sideways_.data(), turned, target, packed);
}

}  // namespace inference
}  // namespace elements
}  // namespace v1
}  // namespace tenon
