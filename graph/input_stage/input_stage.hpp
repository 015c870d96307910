// SPDX-License-Identifier: Apache-2.0
// The input stage: makes a model take frames instead of a tensor.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <tenon/core/element_type.hpp>
#include <tenon/core/export.hpp>
#include <tenon/core/pixel_format.hpp>
#include <tenon/graph/input_stage/geometry.hpp>
#include <tenon/graph/input_stage/spec.hpp>

namespace tenon {
inline namespace v1 {

class Model;
class Node;
template <typename T>
class Output;

/// kGray is the luma of the picture as RGB, 0 to 255: limited range is stretched (Y 16 gives 0), so that a picture gives the same
/// values however it is stored. OpenVINO's GPU plugin computes the same of NV12 surfaces; a Y plane as it lies is given as a tensor,
/// or by PrePostProcessor with the format GRAY.
enum class ChannelOrder : std::uint8_t { kRgb, kBgr, kGray };
/// How colours are computed. kBlended: from blended samples, with one conversion per target pixel and exact
/// coefficients. Otherwise like separate operations: per source pixel before the resize, with the coefficients of
/// OpenVINO's NV12toRGB (three digits), rounded to integers or not.
enum class ColourRule : std::uint8_t { kBlended, kPerPixel, kPerPixelRounded };
enum class ImageLayout : std::uint8_t { kNchw, kNhwc };

/// How to turn a frame into a model's input. Pitches are not part of it: each tensor has its own.
struct InputStageOptions {
  /// Unknown colour space and range follow core's rules (resolved_colour_space, resolved_colour_range). Pictures are
  /// turned according to source.rotation.
  FrameInfo source;
  std::size_t width = 0, height = 0;
  ElementType type = ElementType::kF32;  ///< f32, f16 or u8 (rounded to nearest, saturated).
  ImageLayout layout = ImageLayout::kNchw;
  ChannelOrder channels = ChannelOrder::kRgb;
  /// (value - mean) / scale, value in 0..255, in the order of the model's channels.
  std::array<double, 3> mean{0, 0, 0}, scale{1, 1, 1};
  ResizeMode resize = ResizeMode::kLinear;
  Fit fit = Fit::kStretch;
  double crop_fraction = 1;  ///< Part of the crop's width and height that is used, around its centre, before `fit`.
  std::array<double, 3> pad{0, 0, 0};  ///< Value beside a letterboxed picture, 0..255 before mean and scale.
  PixelRect crop;                      ///< Part of the upright source to use; all of it when empty.
  PixelRect placed;                    ///< Part of the target to fill; by `fit` when empty.
  ColourRule colour_rule = ColourRule::kBlended;
  bool packed = false;  ///< The planes come in one tensor: I420 and NV12 of even size, planar RGB.

  friend bool operator==(const InputStageOptions&, const InputStageOptions&) = default;
};

/// Derives options from the input's shape and from what is known of the model (ModelInfo), by the keys of fact_keys() that are of the
/// input. Without color_space, pictures are RGB; a model with one channel gets GRAY. Callers of Model API pass BGR pictures, so its
/// reverse_input_channels means RGB with YES and BGR with NO; our frames know their own order, so nothing is reversed blindly.
/// Dynamic height and width are what the model was exported for (input_size, or shortest_edge and longest_edge of the frame), or the
/// frame's; a dynamic batch becomes 1. An empty `input` means the first one.
///
/// @errors kInvalidArgument: the input is not a picture ([1,c,h,w] or [1,h,w,c], or without a batch; c 1 or 3), or a value cannot be read
///         (names key, value, source and what is accepted). kNotFound: no such input.
TENON_API InputStageOptions options_from(const Model& model, const FrameInfo& source, const std::string& input = {});

/// The part of the upright source that is used before `fit`: options.crop, or all, less what crop_fraction leaves out; empty: all.
TENON_API PixelRect used_crop(const InputStageOptions& options);

/// Converts options to the numbers that kernels use. @errors kInvalidArgument; kUnimplemented: a pixel format, modifier
/// or type that the stage does not read or write (the message lists the supported ones).
TENON_API InputStageSpec make_spec(const InputStageOptions& options);

/// A copy of `model` in which input `input` (the first if empty) is replaced by one input per plane of options.source
/// and an InputStage operation. Plane inputs are [1, rows, columns, samples] of u8 (u16 for P010). Their names are
/// "<input>/y", "<input>/uv" for NV12 and P010, "/y", "/u", "/v" for I420, "/r", "/g", "/b" in plane order; formats of
/// one plane keep the input's name.
///
/// @errors kInvalidArgument: the stage's output does not fit the input. kNotFound: no such input. As make_spec.
TENON_API std::shared_ptr<Model> with_input_stage(const Model& model, const std::string& input,
                                                  const InputStageOptions& options);

/// The operation over the planes (one input if options.packed), followed by a Transpose for a quarter turn. @errors as
/// make_spec; inputs that do not fit.
TENON_API std::shared_ptr<Node> make_input_stage(const std::vector<Output<Node>>& planes,
                                                 const InputStageOptions& options, const std::string& friendly_name);

/// Names of the planes as above; "" for a format of one plane.
TENON_API std::vector<std::string> plane_suffixes(PixelFormat format);

/// The numbers of an InputStage node, for devices that lower it. @errors kInvalidArgument: damaged attributes.
TENON_API InputStageSpec spec_of(const Node& node);

/// How frames are placed in the input of a model from with_input_stage (its first stage if there are several); nothing
/// for other models.
TENON_API std::optional<FrameGeometry> geometry_of(const Model& model);

}  // namespace v1
}  // namespace tenon
