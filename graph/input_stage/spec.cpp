// SPDX-License-Identifier: Apache-2.0
// Converts options to numbers (planes, matrices, taps), and checks the arguments of kernels.
#include <tenon/graph/input_stage/spec.hpp>

#include <algorithm>
#include <cmath>
#include <string>

#include <tenon/core/error.hpp>
#include <tenon/core/orientation.hpp>
#include <tenon/core/tensor.hpp>
#include <tenon/graph/input_stage/input_stage.hpp>

namespace tenon {
inline namespace v1 {
namespace {

/// @source OpenVINO's operations NV12toRGB-8 and I420toRGB-8: BT.601 of limited range, three digits.
void yuv_to_rgb_three_digits(InputStageSpec& spec) {
  spec.matrix = {{{1.164, 0, 1.596}, {1.164, -0.391, -0.813}, {1.164, 2.018, 0}}};
}

void set_matrix(InputStageSpec& spec, const InputStageOptions& options) {
  if (spec.convert_first) {
    yuv_to_rgb_three_digits(spec);
  } else {
    const ColourMap map = rgb_from(options.source, spec.layout);
    spec.matrix = map.matrix;
    spec.offset = map.offset;
  }
  if (options.channels == ChannelOrder::kBgr) {
    std::swap(spec.matrix[0], spec.matrix[2]);
    std::swap(spec.offset[0], spec.offset[2]);
  } else if (options.channels == ChannelOrder::kGray) {
    const auto [kr, kb] =
        luma_weights(spec.layout.component_count == 1 ? ColourSpace::kBt601 : resolved_colour_space(options.source));
    const double weight[3] = {kr, 1 - kr - kb, kb};
    std::array<double, 3> row{};
    double offset = 0;
    for (std::size_t c = 0; c < 3; ++c) {
      for (std::size_t k = 0; k < 3; ++k) row[k] += weight[c] * spec.matrix[c][k];
      offset += weight[c] * spec.offset[c];
    }
    spec.matrix[0] = row;
    spec.offset[0] = offset;
  }
}

/// An explicit part of the target takes precedence over the fit.
void place(FrameGeometry& geometry, const InputStageOptions& options) {
  const PixelRect& to = options.placed;
  if (to == PixelRect{}) return;
  if (to.width == 0 || to.height == 0 || to.x > options.width || to.y > options.height ||
      to.width > options.width - to.x || to.height > options.height - to.y)
    throw Error(Code::kInvalidArgument, "input stage: " + std::to_string(to.width) + "x" + std::to_string(to.height) +
                                            " pixels at (" + std::to_string(to.x) + "," + std::to_string(to.y) +
                                            ") leave the target of " + std::to_string(options.width) + "x" +
                                            std::to_string(options.height));
  geometry.placed = to;
}

/// From the upright picture and the model's input to the orientation that the kernel reads and writes.
void turn(InputStageSpec& spec, const InputStageOptions& options) {
  const Rotation rotation = options.source.rotation;
  spec.flip_x = flips_columns(rotation);
  spec.flip_y = flips_rows(rotation);
  spec.transposed = is_quarter_turn(rotation);
  spec.geometry.crop = stored_rect(spec.upright.crop, rotation, spec.source_width, spec.source_height);
  spec.geometry.placed = spec.upright.placed;
  if (spec.transposed) {
    std::swap(spec.width, spec.height);
    std::swap(spec.geometry.placed.x, spec.geometry.placed.y);
    std::swap(spec.geometry.placed.width, spec.geometry.placed.height);
  }
  const FrameGeometry& g = spec.geometry;
  spec.columns = make_taps(g.crop.x, g.crop.width, g.placed.width, options.resize);
  spec.rows = make_taps(g.crop.y, g.crop.height, g.placed.height, options.resize);
  if (spec.flip_x) mirror_taps(spec.columns, g.crop.x, g.crop.width);
  if (spec.flip_y) mirror_taps(spec.rows, g.crop.y, g.crop.height);
}

void set_rules(InputStageSpec& spec, const InputStageOptions& options) {
  const FrameLayout& layout = spec.layout;
  spec.convert_first = options.colour_rule != ColourRule::kBlended;
  spec.round_first = options.colour_rule == ColourRule::kPerPixelRounded;
  spec.packed = options.packed && layout.plane_count > 1;
  const bool is_420 = options.source.format == kNv12 || options.source.format == kI420;
  if (spec.convert_first && (!is_420 || options.channels == ChannelOrder::kGray))
    throw Error(Code::kUnimplemented,
                "input stage: colours are computed per source pixel for NV12 and I420 to RGB and BGR only, not for " +
                    to_string(options.source.format));
  if (!spec.packed) return;
  if (layout.is_yuv && (!is_420 || spec.source_width % 2 != 0 || spec.source_height % 2 != 0))
    throw Error(Code::kUnimplemented,
                "input stage: planes in one tensor are read for NV12 and I420 of even width and "
                "height and for planar RGB, not for " +
                    to_string(options.source.format) + " of " + std::to_string(spec.source_width) + "x" +
                    std::to_string(spec.source_height));
}

/// Views of planes that lie in one tensor without gaps.
std::array<PlaneView, 3> packed_views(const InputStageSpec& spec, const Tensor& tensor) {
  if (!tensor || tensor.element_type() != spec.layout.sample_type() || tensor.shape() != spec.packed_shape() ||
      !tensor.is_contiguous())
    throw Error(Code::kInvalidArgument, "input stage: the planes must lie in one packed tensor " +
                                            std::string(name(spec.layout.sample_type())) + " " +
                                            to_string(spec.packed_shape()) + ", but " +
                                            (tensor ? to_string(tensor) : "an empty tensor") + " was given");
  std::array<PlaneView, 3> views;
  const auto* at = static_cast<const std::uint8_t*>(tensor.data());
  for (std::size_t plane = 0; plane < spec.layout.plane_count; ++plane) {
    const Shape shape = spec.plane_shape(plane);
    const std::size_t pitch = shape[2] * shape[3] * size_bytes(spec.layout.sample_type());
    views[plane] = {at, static_cast<std::ptrdiff_t>(pitch)};
    at += shape[1] * pitch;
  }
  return views;
}

std::string plane_name(const InputStageSpec& spec, std::size_t plane) {
  return "input stage: plane " + std::to_string(plane) + " of " + std::to_string(spec.layout.plane_count) + " (" +
         std::to_string(spec.source_width) + "x" + std::to_string(spec.source_height) + " frame)";
}

/// Extents of a tensor read as rows of packed samples; rank 4 [1,h,w,c], 3 [h,w,c] or 2 [h,w*c].
bool matches(const Shape& shape, const Shape& wanted) {
  if (shape.size() == 4) return shape == wanted;
  if (shape.size() == 3) return shape[0] == wanted[1] && shape[1] == wanted[2] && shape[2] == wanted[3];
  return shape.size() == 2 && shape[0] == wanted[1] && shape[1] == wanted[2] * wanted[3];
}

}  // namespace

PixelRect used_crop(const InputStageOptions& options) {
  const double part = options.crop_fraction;
  if (!(part > 0 && part <= 1))
    throw Error(Code::kInvalidArgument,
                "input stage: a crop_fraction of " + std::to_string(part) + "; it must be above 0 and at most 1");
  PixelRect crop = options.crop;
  if (part == 1) return crop;
  if (crop == PixelRect{}) crop = {0, 0, options.source.upright_width_px(), options.source.upright_height_px()};
  const auto shrink = [part](std::size_t& begin, std::size_t& extent) {
    const std::size_t used = std::clamp<std::size_t>(
        static_cast<std::size_t>(std::lround(static_cast<double>(extent) * part)), 1, std::max<std::size_t>(extent, 1));
    begin += (extent - std::min(used, extent)) / 2;
    extent = std::min(used, extent);
  };
  shrink(crop.x, crop.width);
  shrink(crop.y, crop.height);
  return crop;
}

InputStageSpec make_spec(const InputStageOptions& options) {
  InputStageSpec spec;
  spec.upright = make_geometry(options.source.upright_width_px(), options.source.upright_height_px(),
                               used_crop(options), options.width, options.height, options.fit);
  spec.layout = frame_layout(options.source);
  spec.source_width = options.source.width_px;
  spec.source_height = options.source.height_px;
  spec.width = options.width;
  spec.height = options.height;
  spec.channels = options.channels == ChannelOrder::kGray ? 1 : 3;
  spec.planar = options.layout == ImageLayout::kNchw;
  spec.type = options.type;
  if (options.type != ElementType::kF32 && options.type != ElementType::kF16 && options.type != ElementType::kU8)
    throw Error(Code::kUnimplemented,
                "input stage: cannot write " + std::string(name(options.type)) + "; it writes f32, f16 and u8");
  for (std::size_t c = 0; c < 3; ++c) {
    if (!std::isfinite(options.mean[c]) || !std::isfinite(options.scale[c]) || !std::isfinite(options.pad[c]) ||
        options.scale[c] == 0)
      throw Error(Code::kInvalidArgument, "input stage: mean " + std::to_string(options.mean[c]) + ", scale " +
                                              std::to_string(options.scale[c]) + ", padding " +
                                              std::to_string(options.pad[c]) + " of channel " + std::to_string(c) +
                                              ": each must be finite and scale not 0");
  }
  spec.mean = options.mean;
  spec.scale = options.scale;
  spec.pad = options.pad;
  place(spec.upright, options);
  turn(spec, options);
  set_rules(spec, options);
  set_matrix(spec, options);
  return spec;
}

std::array<PlaneView, 3> plane_views(const InputStageSpec& spec, std::span<const Tensor> tensors) {
  if (spec.packed && tensors.size() == 1) return packed_views(spec, tensors[0]);
  const bool with_alpha = spec.layout.has_alpha_plane && tensors.size() == spec.input_count() + 1u;
  if (tensors.size() != spec.input_count() && !with_alpha)
    throw Error(Code::kInvalidArgument, "input stage: " + std::to_string(spec.input_count()) +
                                            " planes are read, but " + std::to_string(tensors.size()) +
                                            " tensors were given");
  std::array<PlaneView, 3> views;
  const ElementType type = spec.layout.sample_type();
  const auto item = static_cast<std::ptrdiff_t>(size_bytes(type));
  for (std::size_t plane = 0; plane < spec.input_count(); ++plane) {
    const Tensor& tensor = tensors[plane];
    Shape wanted = spec.plane_shape(plane);
    if (!tensor || tensor.element_type() != type || !matches(tensor.shape(), wanted))
      throw Error(Code::kInvalidArgument, plane_name(spec, plane) + " must be " + std::string(name(type)) + " " +
                                              to_string(wanted) + ", but " +
                                              (tensor ? to_string(tensor) : "an empty tensor") + " was given");
    const Shape& shape = tensor.shape();
    const ByteStrides& strides = tensor.byte_strides();
    const std::size_t rows = shape.size() == 4 ? 1 : 0;
    const auto row_bytes = static_cast<std::ptrdiff_t>(wanted[2] * wanted[3]) * item;
    bool packed = true;
    std::ptrdiff_t step = item;
    for (std::size_t axis = shape.size(); axis-- > rows + 1;) {
      packed &= shape[axis] == 1 || strides[axis] == step;
      step *= static_cast<std::ptrdiff_t>(shape[axis]);
    }
    const std::ptrdiff_t pitch = strides[rows];
    if (!packed || (shape[rows] > 1 && pitch < row_bytes))
      throw Error(Code::kInvalidArgument,
                  plane_name(spec, plane) + ": samples of a row must be packed and rows at least " +
                      std::to_string(row_bytes) + " bytes apart, but the byte strides are " + to_string(strides));
    const void* data = tensor.data();
    if (pitch % item != 0 || reinterpret_cast<std::uintptr_t>(data) % static_cast<std::uintptr_t>(item) != 0)
      throw Error(Code::kInvalidArgument, plane_name(spec, plane) +
                                              ": 16-bit samples must lie at even addresses, but the byte strides are " +
                                              to_string(strides));
    views[plane] = {data, pitch};
  }
  return views;
}

void check_target(const InputStageSpec& spec, const Tensor& target) {
  if (!target || target.element_type() != spec.type || target.shape() != spec.target_shape() || !target.is_contiguous())
    throw Error(Code::kInvalidArgument, "input stage: the target must be packed " + std::string(name(spec.type)) + " " +
                                            to_string(spec.target_shape()) + ", but " +
                                            (target ? to_string(target) : "an empty tensor") + " was given");
}

}  // namespace v1
}  // namespace tenon
