// SPDX-License-Identifier: Apache-2.0
// Pooling over regions of interest: of whole pixels, of groups of channels by position, and of shifted parts.
#include <algorithm>
#include <cmath>

#include <tenon/graph/ops/internal/kernel.hpp>
#include <tenon/graph/ops/internal/table_rows.hpp>
#include <tenon/graph/ops/roi_pooling.hpp>

namespace tenon {
inline namespace v1 {

namespace {
/// A plane of height and width.
double bilinear(const float* plane, std::size_t height, std::size_t width, double y, double x) {
  const double top = std::floor(y), left = std::floor(x), dy = y - top, dx = x - left;
  const auto row = static_cast<std::size_t>(top), column = static_cast<std::size_t>(left);
  const std::size_t below = std::min(row + 1, height - 1), right = std::min(column + 1, width - 1);
  const auto at = [&](std::size_t r, std::size_t c) { return static_cast<double>(plane[r * width + c]); };
  return (at(row, column) * (1 - dx) + at(row, right) * dx) * (1 - dy) +
         (at(below, column) * (1 - dx) + at(below, right) * dx) * dy;
}

Dimension regions_of(const Node& node, std::size_t width) {
  require_rank(node, 0, 4, 4);
  require_rank(node, 1, 2, 2);
  common_type(node, 0, 2);
  require_real(node, 0);
  const PartialShape& rois = node.get_input_partial_shape(1);
  if (rois.rank().is_dynamic()) return Dimension::dynamic();
  if (!rois[1].compatible(static_cast<std::int64_t>(width)))
    fail("regions " + rois.to_string() + ": expected " + std::to_string(width) + " numbers each");
  return rois[0];
}

std::int64_t positive(const Node& node, const char* attribute) {
  const std::int64_t value = node.get_attributes().get_int(attribute);
  if (value < 1 || value > (1 << 16))
    fail("attribute '" + std::string(attribute) + "' is " + std::to_string(value) + ", expected 1 to 65536");
  return value;
}

// --- ROIPooling: data, regions [n, 5] of picture, x1, y1, x2, y2 --------------------------------------------------------

void infer_roi_pooling(Node& node) {
  const Dimension count = regions_of(node, 5);
  const PartialShape& data = node.get_input_partial_shape(0);
  set_output(node, 0,
             {count, data.rank().is_static() ? data[1] : Dimension::dynamic(), positive(node, "pooled_h"),
              positive(node, "pooled_w")});
}

void evaluate_roi_pooling(const Node& node, std::span<const Tensor> inputs, std::span<Tensor> outputs) {
  const Shape &in = inputs[0].shape(), &out = outputs[0].shape();
  const double scale = node.get_attributes().get_double("spatial_scale");
  const bool is_max = node.get_attributes().get_string("method") == "max";
  const Read<float> x(inputs[0]), rois(inputs[1]);
  Write<float> y(outputs[0]);
  std::fill_n(y.data(), y.size(), 0.0f);
  if (in[2] == 0 || in[3] == 0) return y.commit();  // Empty images.
  for (std::size_t r = 0; r < out[0]; ++r) {
    const float* roi = rois.data() + r * 5;
    const std::int64_t picture = roi_picture(roi[0], r, in[0]);
    if (picture < 0) break;
    const RoiPoolAxis across(roi[1], roi[3], scale, out[3], in[3]), down(roi[2], roi[4], scale, out[2], in[2]);
    if (!across.is_finite() || !down.is_finite()) fail("region " + std::to_string(r) + " is not finite");
    for (std::size_t c = 0; c < in[1]; ++c) {
      const float* plane = x.data() + (static_cast<std::size_t>(picture) * in[1] + c) * in[2] * in[3];
      float* to = y.data() + (r * out[1] + c) * out[2] * out[3];
      for (std::size_t ph = 0; ph < out[2]; ++ph) {
        for (std::size_t pw = 0; pw < out[3]; ++pw, ++to) {
          if (is_max) {
            const auto [y0, y1] = down.pixels(ph);
            const auto [x0, x1] = across.pixels(pw);
            if (y0 >= y1 || x0 >= x1) continue;
            *to = plane[y0 * in[3] + x0];
            for (std::size_t row = y0; row < y1; ++row)
              for (std::size_t column = x0; column < x1; ++column) *to = std::max(*to, plane[row * in[3] + column]);
            continue;
          }
          double at_y = 0, at_x = 0;
          if (down.point(ph, at_y) && across.point(pw, at_x))
            *to = static_cast<float>(bilinear(plane, in[2], in[3], at_y, at_x));
        }
      }
    }
  }
  y.commit();
}

// --- PSROIPooling: each position of the output reads its own channels ------------------------------------------------

void infer_ps_roi_pooling(Node& node) {
  const Dimension count = regions_of(node, 5);
  const std::int64_t group = positive(node, "group_size"), channels = positive(node, "output_dim");
  const bool is_average = node.get_attributes().get_string("mode") == "average";
  const std::int64_t parts =
      is_average ? group * group : positive(node, "spatial_bins_x") * positive(node, "spatial_bins_y");
  const PartialShape& data = node.get_input_partial_shape(0);
  if (data.rank().is_static() && !data[1].compatible(channels * parts))
    fail("data " + data.to_string() + ": expected " + std::to_string(channels * parts) +
         " channels, output_dim times " + std::to_string(parts));
  set_output(node, 0, {count, channels, group, group});
}

void evaluate_ps_roi_pooling(const Node& node, std::span<const Tensor> inputs, std::span<Tensor> outputs) {
  const Shape &in = inputs[0].shape(), &out = outputs[0].shape();
  const Read<float> x(inputs[0]), rois(inputs[1]);
  Write<float> y(outputs[0]);
  std::fill_n(y.data(), y.size(), 0.0f);
  if (in[2] == 0 || in[3] == 0) return y.commit();  // Empty images.
  const PsRoiPooling what(node.get_attributes(), in, out);
  std::vector<double> sums(what.channels);
  for (std::size_t r = 0; r < out[0]; ++r) {
    const float* roi = rois.data() + r * 5;
    const std::int64_t picture = roi_picture(roi[0], r, in[0]);
    if (picture < 0) break;
    ps_roi_pool(what, x.data() + static_cast<std::size_t>(picture) * in[1] * in[2] * in[3], roi, r, sums.data(),
                y.data() + r * out[1] * out[2] * out[3]);
  }
  y.commit();
}

// --- DeformablePSROIPooling: data, regions [, offsets [n, 2 * classes, parts, parts]] ----------------------------------

void infer_deformable_psroi(Node& node) {
  const Dimension count = regions_of(node, 5);
  const std::int64_t group = positive(node, "group_size"), channels = positive(node, "output_dim");
  positive(node, "spatial_bins_x"), positive(node, "spatial_bins_y"), positive(node, "part_size");
  if (node.get_input_size() > 2) require_rank(node, 2, 4, 4);
  set_output(node, 0, {count, channels, group, group});
}

void evaluate_deformable_psroi(const Node& node, std::span<const Tensor> inputs, std::span<Tensor> outputs) {
  const Attributes& attributes = node.get_attributes();
  const Shape &in = inputs[0].shape(), &out = outputs[0].shape();
  const double scale = attributes.get_double("spatial_scale"), spread = attributes.get_double("trans_std");
  const auto samples_x = attributes.get_int("spatial_bins_x"), samples_y = attributes.get_int("spatial_bins_y");
  const auto parts = static_cast<std::size_t>(attributes.get_int("part_size"));
  const bool is_shifted = inputs.size() > 2;
  const std::size_t group = out[2], plane = in[2] * in[3], classes = is_shifted ? inputs[2].shape()[1] / 2 : 1;
  if (in[1] < out[1] * group * group)
    fail("data " + to_string(in) + ": expected " + std::to_string(out[1] * group * group) + " channels");
  if (is_shifted &&
      (classes == 0 || inputs[2].shape()[0] < out[0] || inputs[2].shape()[2] < parts || inputs[2].shape()[3] < parts))
    fail("offsets " + to_string(inputs[2].shape()) + " do not fit " + std::to_string(out[0]) + " regions of " +
         std::to_string(parts) + " parts");
  const Read<float> x(inputs[0]), rois(inputs[1]);
  const std::vector<float> offsets = is_shifted ? to_vector<float>(inputs[2]) : std::vector<float>();
  Write<float> y(outputs[0]);
  std::fill_n(y.data(), y.size(), 0.0f);
  if (in[2] == 0 || in[3] == 0) return y.commit();  // Empty images.
  const auto n = static_cast<double>(group);
  const std::size_t each = std::max<std::size_t>(out[1] / classes, 1);
  for (std::size_t r = 0; r < out[0]; ++r) {
    const float* roi = rois.data() + r * 5;
    const std::int64_t picture = roi_picture(roi[0], r, in[0]);
    if (picture < 0) break;
    const auto edge = [&](int i, double more) {
      return (std::round(static_cast<double>(roi[i])) + more) * scale - 0.5;
    };
    const double left = edge(1, 0), top = edge(2, 0), width = std::max(edge(3, 1) - left, 0.1),
                 height = std::max(edge(4, 1) - top, 0.1);
    if (!std::isfinite(left + top + width + height)) fail("region " + std::to_string(r) + " is not finite");
    const double bin_h = height / n, bin_w = width / n, step_h = bin_h / static_cast<double>(samples_y),
                 step_w = bin_w / static_cast<double>(samples_x);
    for (std::size_t c = 0; c < out[1]; ++c) {
      for (std::size_t ph = 0; ph < group; ++ph) {
        for (std::size_t pw = 0; pw < group; ++pw) {
          double shift_x = 0, shift_y = 0;
          if (is_shifted) {
            const std::size_t part_h = ph * parts / group, part_w = pw * parts / group;
            const Shape& os = inputs[2].shape();
            const std::size_t kind = std::min(c / each, classes - 1) * 2;
            const auto at = [&](std::size_t channel) {
              return static_cast<double>(offsets[((r * os[1] + channel) * os[2] + part_h) * os[3] + part_w]) * spread;
            };
            shift_x = at(kind) * width, shift_y = at(kind + 1) * height;
          }
          const double y0 = static_cast<double>(ph) * bin_h + top + shift_y,
                       x0 = static_cast<double>(pw) * bin_w + left + shift_x;
          const float* from =
              x.data() + (static_cast<std::size_t>(picture) * in[1] + (c * group + ph) * group + pw) * plane;
          double sum = 0;
          std::size_t count = 0;
          for (std::int64_t iy = 0; iy < samples_y; ++iy) {
            for (std::int64_t ix = 0; ix < samples_x; ++ix) {
              double at_y = y0 + static_cast<double>(iy) * step_h, at_x = x0 + static_cast<double>(ix) * step_w;
              if (at_x < -0.5 || at_x > static_cast<double>(in[3]) - 0.5 || at_y < -0.5 ||
                  at_y > static_cast<double>(in[2]) - 0.5)
                continue;
              at_x = std::clamp(at_x, 0.0, static_cast<double>(in[3] - 1)),
              at_y = std::clamp(at_y, 0.0, static_cast<double>(in[2] - 1));
              sum += bilinear(from, in[2], in[3], at_y, at_x);
              ++count;
            }
          }
          if (count > 0)
            y[((r * out[1] + c) * group + ph) * group + pw] = static_cast<float>(sum / static_cast<double>(count));
        }
      }
    }
  }
  y.commit();
}
}  // namespace

std::int64_t roi_picture(float number, std::size_t region, std::size_t pictures) {
  if (number == -1) return -1;
  if (!(number >= 0 && number < static_cast<float>(pictures)))
    fail("region " + std::to_string(region) + " is of picture " + std::to_string(number) + ", outside of a batch of " +
         std::to_string(pictures));
  return static_cast<std::int64_t>(number);
}

void ps_roi_pool(const PsRoiPooling& what, const float* picture, const float* roi, std::size_t region, double* sums,
                 float* out) {
  const auto number = [&](int i) { return static_cast<double>(roi[i]); };
  if (!std::isfinite(number(1) + number(2) + number(3) + number(4)))
    fail("region " + std::to_string(region) + " is not finite");
  const std::size_t group = what.group, plane = what.height * what.width;
  const auto n = static_cast<double>(group);
  const double left = what.is_average ? std::round(number(1)) * what.scale : number(1) * what.scale,
               top = what.is_average ? std::round(number(2)) * what.scale : number(2) * what.scale;
  const double right = what.is_average ? (std::round(number(3)) + 1) * what.scale : number(3) * what.scale,
               bottom = what.is_average ? (std::round(number(4)) + 1) * what.scale : number(4) * what.scale;
  // Sampling positions are computed once for all channels.
  for (std::size_t ph = 0; ph < group; ++ph) {
    for (std::size_t pw = 0; pw < group; ++pw) {
      const auto i = static_cast<double>(ph), j = static_cast<double>(pw);
      std::fill_n(sums, what.channels, 0.0);
      std::size_t count = what.bins_x * what.bins_y;
      if (what.is_average) {
        const double height = std::max(bottom - top, 0.1) / n, width = std::max(right - left, 0.1) / n;
        const auto bounded = [](double value, std::size_t extent) {
          return static_cast<std::size_t>(std::clamp(value, 0.0, static_cast<double>(extent)));
        };
        const std::size_t y0 = bounded(std::floor(top + i * height), what.height),
                          y1 = bounded(std::ceil(top + (i + 1) * height), what.height);
        const std::size_t x0 = bounded(std::floor(left + j * width), what.width),
                          x1 = bounded(std::ceil(left + (j + 1) * width), what.width);
        count = y1 > y0 && x1 > x0 ? (y1 - y0) * (x1 - x0) : 0;
        for (std::size_t c = 0; count > 0 && c < what.channels; ++c) {
          const float* from = picture + ((c * group + ph) * group + pw) * plane;
          for (std::size_t row = y0; row < y1; ++row)
            for (std::size_t column = x0; column < x1; ++column)
              sums[c] += static_cast<double>(from[row * what.width + column]);
        }
      } else {
        // The region is divided into bins, each sampled once for every position of the output.
        const double height = (bottom - top) / static_cast<double>(what.bins_y),
                     width = (right - left) / static_cast<double>(what.bins_x);
        const auto last_y = static_cast<double>(what.height - 1), last_x = static_cast<double>(what.width - 1);
        for (std::size_t bin = 0; bin < count; ++bin) {
          const double first_y = top + static_cast<double>(bin / what.bins_x) * height,
                       first_x = left + static_cast<double>(bin % what.bins_x) * width;
          const double at_y =
              group > 1 ? i * height * last_y / (n - 1) + first_y * last_y : (first_y + height / 2) * last_y;
          const double at_x =
              group > 1 ? j * width * last_x / (n - 1) + first_x * last_x : (first_x + width / 2) * last_x;
          if (at_y < 0 || at_y > last_y || at_x < 0 || at_x > last_x) continue;
          for (std::size_t c = 0; c < what.channels; ++c)
            sums[c] += bilinear(picture + (bin * what.channels + c) * plane, what.height, what.width, at_y, at_x);
        }
      }
      for (std::size_t c = 0; c < what.channels; ++c)
        out[(c * group + ph) * group + pw] = count > 0 ? static_cast<float>(sums[c] / static_cast<double>(count)) : 0;
    }
  }
}

void add_regions_rows(OperationTable& table) {
  const std::vector<std::int64_t> none;
  // OpenVINO writes the pooled extents under three names.
  table.add("ROIPooling", 2, 2, 2, infer_roi_pooling, evaluate_roi_pooling, "Pools regions of pictures to one size.")
      .integer("pooled_h")
      .integer("pooled_w")
      .real("spatial_scale")
      .text("method", "max", {"max", "bilinear"})
      .ints("output_size", none)
      .ints("output_roi", none);
  table
      .add("PSROIPooling", 1, 2, 2, infer_ps_roi_pooling, evaluate_ps_roi_pooling,
           "Pools regions; each output position reads its own channels.")
      .integer("output_dim")
      .integer("group_size")
      .real("spatial_scale")
      .text("mode", "average", {"average", "bilinear"})
      .integer("spatial_bins_x", 1)
      .integer("spatial_bins_y", 1);
  table
      .add("DeformablePSROIPooling", 1, 2, 3, infer_deformable_psroi, evaluate_deformable_psroi,
           "PSROIPooling of parts that are shifted by given offsets.")
      .integer("output_dim")
      .real("spatial_scale")
      .integer("group_size", 1)
      .text("mode", "bilinear_deformable", {"bilinear_deformable"})
      .integer("spatial_bins_x", 1)
      .integer("spatial_bins_y", 1)
      .real("trans_std", 1.0)
      .integer("part_size", 1);
}

}  // namespace v1
}  // namespace tenon
