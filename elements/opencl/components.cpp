// SPDX-License-Identifier: Apache-2.0
// Describes formats as lists of components, and colour conversions as matrices. @source ITU-T H.273, table 4 (KR, KB) and its
// equations for ranges
#include <tenon/elements/opencl/components.hpp>

#include <algorithm>
#include <string>

#include <tenon/core/error.hpp>
#include <tenon/core/frame_layout.hpp>

namespace tenon {
inline namespace v1 {
namespace elements {
namespace opencl {
namespace {

/// The plane of each component, and its offset in a pixel of that plane.
struct Order {
  PixelFormat format;
  std::array<std::size_t, 3> plane, offset;
};
constexpr Order kOrders[] = {
    {kNv12, {0, 1, 1}, {0, 0, 1}},      {kNv21, {0, 1, 1}, {0, 1, 0}},      {kNv16, {0, 1, 1}, {0, 0, 1}},
    {kI420, {0, 1, 2}, {0, 0, 0}},      {kYv12, {0, 2, 1}, {0, 0, 0}},      {kI422, {0, 1, 2}, {0, 0, 0}},
    {kI444, {0, 1, 2}, {0, 0, 0}},      {kRgb24, {0, 0, 0}, {0, 1, 2}},     {kBgr24, {0, 0, 0}, {2, 1, 0}},
    {kRgba, {0, 0, 0}, {0, 1, 2}},      {kBgra, {0, 0, 0}, {2, 1, 0}},      {kRgbx, {0, 0, 0}, {0, 1, 2}},
    {kBgrx, {0, 0, 0}, {2, 1, 0}},      {kRgbPlanar, {0, 1, 2}, {0, 0, 0}}, {kBgrPlanar, {2, 1, 0}, {0, 0, 0}},
    {kGbrPlanar, {2, 0, 1}, {0, 0, 0}},
};

/// A matrix of 3x4 doubles.
using Matrix = std::array<std::array<double, 4>, 3>;

Matrix multiply(const Matrix& a, const Matrix& b) {
  Matrix product{};
  for (std::size_t row = 0; row < 3; ++row) {
    for (std::size_t column = 0; column < 4; ++column) {
      for (std::size_t k = 0; k < 3; ++k) product[row][column] += a[row][k] * b[k][column];
    }
    product[row][3] += a[row][3];
  }
  return product;
}

bool is_rgb(const FrameInfo& info) { return format_info(info.format).model == ColourModel::kRgb; }

LumaWeights weights_of(const FrameInfo& info) { return luma_weights(resolved_colour_space(info)); }

/// The matrix from RGB of 0 to 255 to the components of the picture.
Matrix from_rgb(const FrameInfo& info) {
  if (is_rgb(info)) return {{{1, 0, 0, 0}, {0, 1, 0, 0}, {0, 0, 1, 0}}};
  const auto [red, blue] = weights_of(info);
  const double green = 1 - red - blue;
  const bool is_full = resolved_colour_range(info) == ColourRange::kFull;
  const double luma = is_full ? 1 : 219.0 / 255, chroma = is_full ? 1 : 224.0 / 255, black = is_full ? 0 : 16;
  const double u = chroma / (2 * (1 - blue)), v = chroma / (2 * (1 - red));
  return {{{red * luma, green * luma, blue * luma, black},
           {-red * u, -green * u, (1 - blue) * u, 128},
           {(1 - red) * v, -green * v, -blue * v, 128}}};
}

Matrix to_rgb(const FrameInfo& info) {
  if (is_rgb(info)) return from_rgb(info);
  const auto [red, blue] = weights_of(info);
  const double green = 1 - red - blue;
  const bool is_full = resolved_colour_range(info) == ColourRange::kFull;
  const double luma = is_full ? 1 : 255.0 / 219, chroma = is_full ? 1 : 255.0 / 224, black = is_full ? 0 : 16;
  const double v_to_red = 2 * (1 - red) * chroma, u_to_blue = 2 * (1 - blue) * chroma;
  const double u_to_green = -u_to_blue * blue / green, v_to_green = -v_to_red * red / green;
  const double base = -black * luma;
  return {{{luma, 0, v_to_red, base - 128 * v_to_red},
           {luma, u_to_green, v_to_green, base - 128 * (u_to_green + v_to_green)},
           {luma, u_to_blue, 0, base - 128 * u_to_blue}}};
}

}  // namespace

std::vector<Component> components_of(PixelFormat format) {
  const PixelFormatInfo& info = format_info(format);
  if (format == kGray8) return {Component{}};
  const auto* const found =
      std::find_if(std::begin(kOrders), std::end(kOrders), [&](const Order& one) { return one.format == format; });
  if (found == std::end(kOrders))
    throw Error(Code::kUnimplemented,
                "convert_cl: " + to_string(format) +
                    " is not supported; it takes planar and packed formats of 8 bits (nv12, i420, "
                    "rgb, bgra, gray8...); convert by=cpu");
  std::vector<Component> all;
  for (std::size_t i = 0; i < 3; ++i) {
    const PlaneLayout& plane = info.planes[found->plane[i]];
    all.push_back({found->plane[i], plane.channels, found->offset[i], plane.width_shift, plane.height_shift});
  }
  return all;
}

std::vector<PixelFormat> known_formats() {
  std::vector<PixelFormat> all;
  for (const Order& order : kOrders) all.push_back(order.format);
  all.push_back(kGray8);
  return all;
}

ColourMatrix colours_between(const FrameInfo& from, const FrameInfo& to) {
  const bool are_alike =
      is_rgb(from) == is_rgb(to) && (is_rgb(from) || (resolved_colour_space(from) == resolved_colour_space(to) &&
                                                      resolved_colour_range(from) == resolved_colour_range(to)));
  const Matrix whole =
      are_alike ? Matrix{{{1, 0, 0, 0}, {0, 1, 0, 0}, {0, 0, 1, 0}}} : multiply(from_rgb(to), to_rgb(from));
  ColourMatrix flat{};
  for (std::size_t row = 0; row < 3; ++row)
    for (std::size_t column = 0; column < 4; ++column) flat[row * 4 + column] = static_cast<float>(whole[row][column]);
  return flat;
}

}  // namespace opencl
}  // namespace elements
}  // namespace v1
}  // namespace tenon
