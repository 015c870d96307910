// SPDX-License-Identifier: Apache-2.0
// The input stage as parameters for kernels: samples of each plane, taps, and the colour matrix.
#pragma once

#include <array>
#include <cstddef>
#include <span>

#include <tenon/core/element_type.hpp>
#include <tenon/core/export.hpp>
#include <tenon/core/frame_layout.hpp>
#include <tenon/core/shape.hpp>
#include <tenon/graph/input_stage/geometry.hpp>

namespace tenon {
inline namespace v1 {

/// All that a kernel needs. Target channel c before normalisation is
///   clamp(offset[c] + sum over k of matrix[c][k] * sample[k], 0, 255)
/// on samples interpolated with the taps (a pixel has the chroma of its 2x2 block, as in OpenVINO's NV12toRGB), then
/// (value - mean[c]) / scale[c]. With convert_first the order is reversed: pixels are converted, clamped and (with
/// round_first) rounded, halves to even, and the results are interpolated. The value is then computed in float and in
/// this order, so that halves round to the same side everywhere:
///   matrix[c][0] * (Y - 16) + matrix[c][1] * (U - 128) + matrix[c][2] * (V - 128).
/// Outside geometry.placed the value is pad[c].
/// mean, scale and pad are in the order of the target's channels.
///
/// For a rotated frame the taps run backwards along an axis (flip_x, flip_y), and for a quarter turn the target is
/// written with rows and columns swapped (transposed). source_*, width, height, geometry and taps describe what the
/// kernel reads and writes; upright and the members below it describe the picture and the model's input.
struct InputStageSpec {
  FrameLayout layout;
  std::size_t source_width = 0, source_height = 0;
  std::size_t width = 0, height = 0;
  bool transposed = false, flip_x = false, flip_y = false;
  FrameGeometry upright;  ///< Maps the model's results back to the upright picture.
  std::size_t channels = 3;
  bool planar = true;  ///< NCHW, else NHWC.
  bool convert_first = false, round_first = false;
  bool packed = false;  ///< The planes are in one tensor, in sequence.
  ElementType type = ElementType::kF32;
  FrameGeometry geometry;
  AxisTaps columns, rows;  ///< For positions inside geometry.placed.
  std::array<std::array<double, 3>, 3> matrix{};
  std::array<double, 3> offset{};
  std::array<double, 3> mean{}, scale{1, 1, 1}, pad{};

  Shape plane_shape(std::size_t plane) const {
    const FramePlaneLayout& p = layout.planes[plane];
    const auto halved = [](std::size_t extent, unsigned shift) {
      return (extent + (std::size_t{1} << shift) - 1) >> shift;
    };
    const std::size_t columns = layout.pairs ? (source_width + 1) / 2 * 2 : source_width;
    return {1, halved(source_height, p.shift_y), halved(columns, p.shift_x), p.step};
  }
  /// Shape of the single tensor if packed: luma rows followed by half as many chroma rows, or [1, 3, rows, columns].
  Shape packed_shape() const {
    if (!layout.is_yuv) return {1, layout.plane_count, source_height, source_width};
    return {1, source_height / 2 * 3, source_width, 1};
  }
  std::size_t input_count() const { return packed ? 1 : layout.plane_count; }
  Shape input_shape(std::size_t input) const { return packed ? packed_shape() : plane_shape(input); }
  std::size_t model_width() const { return transposed ? height : width; }
  std::size_t model_height() const { return transposed ? width : height; }
  std::size_t upright_width() const { return transposed ? source_height : source_width; }
  std::size_t upright_height() const { return transposed ? source_width : source_height; }
  /// Shape of the model's input, after the transposition.
  Shape model_shape() const {
    return planar ? Shape{1, channels, model_height(), model_width()}
                  : Shape{1, model_height(), model_width(), channels};
  }
  /// Shape that the kernel writes.
  Shape target_shape() const { return planar ? Shape{1, channels, height, width} : Shape{1, height, width, channels}; }
};

/// A plane's first sample and the bytes from one row to the next; samples within a row are packed.
struct PlaneView {
  const void* data = nullptr;
  std::ptrdiff_t pitch_bytes = 0;
};

class Tensor;

/// Checks `tensors` so that kernels stay inside their memory: count, type, shape ([1,h,w,c], [h,w,c] or [h,w*c]) and
/// packed samples within a row. Returns their planes. A packed tensor must have its own shape and no gaps. A frame's plane of
/// alpha may follow; it is not read.
/// @errors kInvalidArgument: names the plane, what was expected and what was found.
TENON_API std::array<PlaneView, 3> plane_views(const InputStageSpec& spec, std::span<const Tensor> tensors);

/// Checks that `target` has the spec's type and shape and is packed. @errors kInvalidArgument.
TENON_API void check_target(const InputStageSpec& spec, const Tensor& target);

/// The scalar definition, slow and simple; the reference for other kernels. `target` holds packed spec.type elements.
TENON_API void run_input_stage_reference(const InputStageSpec& spec, std::span<const PlaneView> planes, void* target);

}  // namespace v1
}  // namespace tenon
