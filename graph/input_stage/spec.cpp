// SPDX-License-Identifier: Apache-2.0
// From options to numbers: planes, matrices, taps; and the checks on what is handed to a kernel.
#include <tenon/graph/input_stage/spec.hpp>

#include <string>

#include <tenon/core/error.hpp>
#include <tenon/core/tensor.hpp>
#include <tenon/graph/input_stage/input_stage.hpp>

namespace tenon {
inline namespace v1 {
namespace {

using Components = std::array<FrameComponent, 3>;

/// Which component lies where; the planes' own extents come from core's table.
struct Placement {
  PixelFormat format;
  std::uint8_t count;
  Components components;  // {plane, step, offset, shift_x, shift_y}
};

constexpr FrameComponent at(std::uint8_t plane, std::uint8_t step = 1, std::uint8_t offset = 0,
                            std::uint8_t shift_x = 0, std::uint8_t shift_y = 0) {
  return {plane, step, offset, shift_x, shift_y};
}

constexpr Placement kPlacements[] = {
    {kI420, 3, {at(0), at(1, 1, 0, 1, 1), at(2, 1, 0, 1, 1)}},
    {kYv12, 3, {at(0), at(2, 1, 0, 1, 1), at(1, 1, 0, 1, 1)}},
    {kI422, 3, {at(0), at(1, 1, 0, 1, 0), at(2, 1, 0, 1, 0)}},
    {kI444, 3, {at(0), at(1), at(2)}},
    {kNv12, 3, {at(0), at(1, 2, 0, 1, 1), at(1, 2, 1, 1, 1)}},
    {kNv21, 3, {at(0), at(1, 2, 1, 1, 1), at(1, 2, 0, 1, 1)}},
    {kNv16, 3, {at(0), at(1, 2, 0, 1, 0), at(1, 2, 1, 1, 0)}},
    {kP010, 3, {at(0), at(1, 2, 0, 1, 1), at(1, 2, 1, 1, 1)}},
    {kYuy2, 3, {at(0, 2, 0), at(0, 4, 1, 1, 0), at(0, 4, 3, 1, 0)}},
    {kUyvy, 3, {at(0, 2, 1), at(0, 4, 0, 1, 0), at(0, 4, 2, 1, 0)}},
    {kGray8, 1, {at(0)}},
    {kRgb24, 3, {at(0, 3, 0), at(0, 3, 1), at(0, 3, 2)}},
    {kBgr24, 3, {at(0, 3, 2), at(0, 3, 1), at(0, 3, 0)}},
    {kRgba, 3, {at(0, 4, 0), at(0, 4, 1), at(0, 4, 2)}},
    {kRgbx, 3, {at(0, 4, 0), at(0, 4, 1), at(0, 4, 2)}},
    {kBgra, 3, {at(0, 4, 2), at(0, 4, 1), at(0, 4, 0)}},
    {kBgrx, 3, {at(0, 4, 2), at(0, 4, 1), at(0, 4, 0)}},
    {kRgbPlanar, 3, {at(0), at(1), at(2)}},
    {kBgrPlanar, 3, {at(2), at(1), at(0)}},
    {kGbrPlanar, 3, {at(2), at(0), at(1)}},
};

struct Luma {
  double red, blue;
};

Luma luma_of(ColourSpace space) {
  switch (space) {  // @source ITU-R BT.601-7, BT.709-6, BT.2020-2 (non-constant luminance)
    case ColourSpace::kBt709:
      return {0.2126, 0.0722};
    case ColourSpace::kBt2020:
      return {0.2627, 0.0593};
    default:
      return {0.299, 0.114};
  }
}

/// Rows R, G, B of the affine map from samples to 0..255.
void yuv_to_rgb(InputStageSpec& spec, ColourSpace space, ColourRange range) {
  const auto [kr, kb] = luma_of(space);
  const double kg = 1 - kr - kb;
  const double unit = static_cast<double>(1 << (spec.layout.bits - 8));
  const bool full = range == ColourRange::kFull;
  const double top = unit * 256 - 1;
  const double luma = full ? 255 / top : 255 / (219 * unit), chroma = full ? 255 / top : 255 / (224 * unit);
  const double black = full ? 0 : 16 * unit, grey = 128 * unit;
  const double u[3] = {0, -2 * kb * (1 - kb) / kg, 2 * (1 - kb)}, v[3] = {2 * (1 - kr), -2 * kr * (1 - kr) / kg, 0};
  for (std::size_t c = 0; c < 3; ++c) {
    spec.matrix[c] = {luma, chroma * u[c], chroma * v[c]};
    spec.offset[c] = -luma * black - chroma * (u[c] + v[c]) * grey;
  }
}

/// @source OpenVINO's operations NV12toRGB-8 and I420toRGB-8: BT.601 of limited range, three digits.
void yuv_to_rgb_three_digits(InputStageSpec& spec) {
  spec.matrix = {{{1.164, 0, 1.596}, {1.164, -0.391, -0.813}, {1.164, 2.018, 0}}};
}

void set_matrix(InputStageSpec& spec, const InputStageOptions& options) {
  const ColourSpace space = resolved_colour_space(options.source);
  const ColourRange range = resolved_colour_range(options.source);
  if (spec.convert_first) {
    yuv_to_rgb_three_digits(spec);
  } else if (spec.layout.is_yuv) {
    yuv_to_rgb(spec, space, range);
  } else if (spec.layout.component_count == 1) {
    const bool full = range == ColourRange::kFull;
    for (std::size_t c = 0; c < 3; ++c) {
      spec.matrix[c] = {full ? 1.0 : 255.0 / 219, 0, 0};
      spec.offset[c] = full ? 0.0 : -16 * 255.0 / 219;
    }
  } else {
    for (std::size_t c = 0; c < 3; ++c) spec.matrix[c][c] = 1;
  }
  if (options.channels == ChannelOrder::kBgr) {
    std::swap(spec.matrix[0], spec.matrix[2]);
    std::swap(spec.offset[0], spec.offset[2]);
  } else if (options.channels == ChannelOrder::kGray) {
    const auto [kr, kb] = luma_of(spec.layout.component_count == 1 ? ColourSpace::kBt601 : space);
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

/// An explicit part of the target goes before the fit.
void place(InputStageSpec& spec, const InputStageOptions& options) {
  const PixelRect& to = options.placed;
  if (to == PixelRect{}) return;
  if (to.width == 0 || to.height == 0 || to.x > spec.width || to.y > spec.height || to.width > spec.width - to.x ||
      to.height > spec.height - to.y)
    throw Error(Code::kInvalidArgument, "input stage: " + std::to_string(to.width) + "x" + std::to_string(to.height) +
                                            " pixels at (" + std::to_string(to.x) + "," + std::to_string(to.y) +
                                            ") leave the target of " + std::to_string(spec.width) + "x" +
                                            std::to_string(spec.height));
  spec.geometry.placed = to;
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

/// Views of the planes that lie in one tensor without gaps.
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
    const std::size_t pitch = shape[2] * shape[3];
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

FrameLayout frame_layout(const FrameInfo& info) {
  const Placement* found = nullptr;
  std::string known;
  for (const Placement& entry : kPlacements) {
    if (entry.format == info.format) found = &entry;
    known += " " + to_string(entry.format);
  }
  if (!found)
    throw Error(Code::kUnimplemented,
                "input stage: cannot read frames of " + to_string(info.format) + "; it reads" + known);
  const PixelFormatInfo& format = format_info(info.format);
  FrameLayout layout;
  layout.is_yuv = format.model == ColourModel::kYuv;
  layout.pairs = info.format == kYuy2 || info.format == kUyvy;
  layout.component_count = found->count;
  layout.components = found->components;
  layout.plane_count = format.plane_count;
  layout.bits = format.sample == ElementType::kU16 ? 10 : 8;
  for (std::size_t plane = 0; plane < format.plane_count; ++plane) {
    const PlaneLayout& p = format.planes[plane];
    layout.planes[plane] = {p.channels, p.width_shift, p.height_shift};
  }
  return layout;
}

InputStageSpec make_spec(const InputStageOptions& options) {
  InputStageSpec spec;
  spec.geometry = make_geometry(options.source.width_px, options.source.height_px, options.crop, options.width,
                                options.height, options.fit);
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
  place(spec, options);
  const FrameGeometry& g = spec.geometry;
  spec.columns = make_taps(g.crop.x, g.crop.width, g.placed.width, options.resize);
  spec.rows = make_taps(g.crop.y, g.crop.height, g.placed.height, options.resize);
  set_rules(spec, options);
  set_matrix(spec, options);
  return spec;
}

std::array<PlaneView, 3> plane_views(const InputStageSpec& spec, std::span<const Tensor> tensors) {
  if (spec.packed && tensors.size() == 1) return packed_views(spec, tensors[0]);
  if (tensors.size() != spec.input_count())
    throw Error(Code::kInvalidArgument, "input stage: " + std::to_string(spec.input_count()) +
                                            " planes are read, but " + std::to_string(tensors.size()) +
                                            " tensors were given");
  std::array<PlaneView, 3> views;
  const ElementType type = spec.layout.sample_type();
  const auto item = static_cast<std::ptrdiff_t>(size_bytes(type));
  for (std::size_t plane = 0; plane < tensors.size(); ++plane) {
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
