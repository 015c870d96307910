// SPDX-License-Identifier: Apache-2.0
// Colour conversion of decoded pictures: NV12 and I420, in one tensor or one per plane, to RGB or BGR.
#include <algorithm>
#include <cmath>

#include <tenon/graph/ops/internal/kernel.hpp>
#include <tenon/graph/ops/internal/table_rows.hpp>

namespace tenon {
inline namespace v1 {

namespace {

bool is_i420(const Node& node) { return node.get_type_info().name.substr(0, 4) == "I420"; }
bool is_bgr(const Node& node) { return node.get_type_info().name.substr(6) == "BGR"; }

/// Shape of a plane, [N, H, W, channels], as far as known.
PartialShape plane_shape(const Node& node, std::size_t input, std::int64_t channels) {
  PartialShape shape = node.get_input_partial_shape(input);
  if (shape.rank().is_dynamic()) return PartialShape::dynamic(4);
  if (shape.size() != 4)
    fail("input " + std::to_string(input) + " must have shape [N,H,W," + std::to_string(channels) + "], found " +
         shape.to_string());
  if (!Dimension::merge(shape[3], shape[3], Dimension(channels)))
    fail("input " + std::to_string(input) + " must have " + std::to_string(channels) + " channel(s) at axis 3, found " +
         shape.to_string());
  return shape;
}

/// Bounds of an extent, each mapped by f.
template <typename F>
Dimension mapped(const Dimension& d, F f) {
  return d.get_max_length() < 0 ? Dimension(f(d.get_min_length()), -1)
                                : Dimension(f(d.get_min_length()), f(d.get_max_length()));
}

void require_even(const Dimension& d, const char* what) {
  if (d.is_static() && d.get_length() % 2 != 0)
    fail(std::string("the ") + what + " of the picture must be even, found " + d.to_string());
}

void infer_colour(Node& node) {
  const std::size_t planes = node.get_input_size();
  const bool i420 = is_i420(node);
  if (planes != 1 && planes != (i420 ? 3u : 2u))
    fail("1 or " + std::string(i420 ? "3" : "2") + " planes are expected, found " + std::to_string(planes));
  const element::Type type = common_type(node, 0, planes);
  if (!type.is_dynamic() && !type.is_real() && !(type == element::u8))
    fail("element type must be u8 or floating point, found " + type.to_string());
  PartialShape out = plane_shape(node, 0, 1);
  if (planes == 1) {
    // Two thirds of the rows are luma.
    if (out[1].is_static() && out[1].get_length() % 3 != 0)
      fail("the rows of a single plane must be a multiple of 3 (luma and half as much chroma), found " +
           out.to_string());
    out[1] = mapped(out[1], [](std::int64_t rows) { return rows / 3 * 2; });
  }
  for (std::size_t plane = 1; plane < planes; ++plane) {
    const PartialShape chroma = plane_shape(node, plane, i420 ? 1 : 2);
    PartialShape wide = chroma;
    wide[1] = wide[1] * Dimension(2);
    wide[2] = wide[2] * Dimension(2);
    bool fits = true;
    for (std::size_t axis = 0; axis < 3; ++axis) fits &= wide[axis].compatible(out[axis]);
    if (!fits)
      fail("Y shape is inconsistent with UV: plane 0 is " + node.get_input_partial_shape(0).to_string() + ", plane " +
           std::to_string(plane) + " is " + chroma.to_string() + ", which must have half the rows and columns");
    for (std::size_t axis = 0; axis < 3; ++axis) {
      // Doubling chroma bounds gives only even numbers; only an exact extent determines luma's.
      if (wide[axis].is_static() || axis == 0) Dimension::merge(out[axis], out[axis], wide[axis]);
    }
  }
  require_even(out[1], "height");
  require_even(out[2], "width");
  out[3] = 3;
  node.set_output_type(0, type, out);
}

/// One picture's samples: chroma of pixel (y, x) is u[(y / 2) * row + (x / 2) * step].
template <typename T>
struct Picture {
  const T *luma, *u, *v;
  std::size_t chroma_row, chroma_step;
};

/// @source OpenVINO's NV12toRGB-8 and I420toRGB-8: BT.601 of limited range with coefficients of three digits.
template <typename T>
void convert_picture(const Picture<T>& p, std::size_t height, std::size_t width, bool bgr, bool round, T* out) {
  for (std::size_t y = 0; y < height; ++y) {
    for (std::size_t x = 0; x < width; ++x, out += 3) {
      const std::size_t at = y / 2 * p.chroma_row + x / 2 * p.chroma_step;
      const T luma = T(1.164) * (p.luma[y * width + x] - 16), u = p.u[at] - 128, v = p.v[at] - 128;
      T rgb[3] = {luma + T(1.596) * v, luma - T(0.391) * u - T(0.813) * v, luma + T(2.018) * u};
      for (std::size_t c = 0; c < 3; ++c) {
        const T value = std::clamp(rgb[c], T(0), T(255));
        out[bgr ? 2 - c : c] = round ? std::nearbyint(value) : value;
      }
    }
  }
}

void evaluate_colour(const Node& node, std::span<const Tensor> inputs, std::span<Tensor> outputs) {
  const Shape& shape = outputs[0].shape();
  const std::size_t batch = shape[0], height = shape[1], width = shape[2], chroma = height / 2 * (width / 2);
  if (outputs[0].element_count() == 0) return;
  const bool i420 = is_i420(node), bgr = is_bgr(node);
  const bool round = !info(outputs[0].element_type()).is_real;
  // u8 is computed in float too: the integer type of other kernels would round too early.
  const auto run = [&](auto zero) {
    using T = decltype(zero);
    std::vector<std::vector<T>> planes;
    for (const Tensor& input : inputs) planes.push_back(to_vector<T>(input));
    std::vector<T> result(outputs[0].element_count());
    for (std::size_t n = 0; n < batch; ++n) {
      Picture<T> p{};
      p.chroma_row = i420 ? width / 2 : width;
      p.chroma_step = i420 ? 1 : 2;
      if (inputs.size() == 1) {
        p.luma = planes[0].data() + n * height * width * 3 / 2;
        p.u = p.luma + height * width;
        p.v = i420 ? p.u + chroma : p.u + 1;
      } else {
        p.luma = planes[0].data() + n * height * width;
        p.u = planes[1].data() + n * chroma * p.chroma_step;
        p.v = i420 ? planes[2].data() + n * chroma : p.u + 1;
      }
      convert_picture(p, height, width, bgr, round, result.data() + n * height * width * 3);
    }
    store_elements(outputs[0].element_type(), result.data(), result.size(), outputs[0].data());
  };
  if (outputs[0].element_type() == ElementType::kF64)
    run(double{});
  else
    run(float{});
}

}  // namespace

void add_colour_rows(OperationTable& table) {
  for (const bool bgr : {false, true}) {
    table.add(bgr ? "NV12toBGR" : "NV12toRGB", 8, 1, 2, infer_colour, evaluate_colour,
              "NV12, in one tensor or luma and chroma, to interleaved colours.");
    table.add(bgr ? "I420toBGR" : "I420toRGB", 8, 1, 3, infer_colour, evaluate_colour,
              "I420, in one tensor or one per plane, to interleaved colours.");
  }
}

}  // namespace v1
}  // namespace tenon
