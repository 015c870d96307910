// SPDX-License-Identifier: Apache-2.0
// Operations that read between pixels or gather columns: ROIAlign, DeformableConvolution, Col2Im.
#include <algorithm>
#include <cmath>
#include <limits>

#include <tenon/graph/ops/internal/kernel.hpp>
#include <tenon/graph/ops/internal/table_rows.hpp>
#include <tenon/graph/ops/internal/window.hpp>
#include <tenon/graph/ops/roi_align.hpp>

namespace tenon {
inline namespace v1 {

namespace {

/// The four pixels around a point, and their weights.
struct Corners {
  std::size_t at[4] = {};
  double weight[4] = {};
};

// --- ROIAlign
// ---------------------------------------------------------------------------------------------------------

/// @param numbers  Number of values per region. @param what  Their name, for the message.
void infer_regions(Node& node, std::size_t numbers, const char* what) {
  require_rank(node, 0, 4, 4);
  require_rank(node, 1, 2, 2);
  require_rank(node, 2, 1, 1);
  const std::int64_t height = node.get_attributes().get_int("pooled_h"),
                     width = node.get_attributes().get_int("pooled_w");
  if (height < 1 || width < 1) fail("the pooled extent is " + std::to_string(height) + "x" + std::to_string(width));
  if (node.get_attributes().get_int("sampling_ratio") < 0) fail("sampling_ratio is negative");
  const PartialShape &data = node.get_input_partial_shape(0), &rois = node.get_input_partial_shape(1),
                     &batches = node.get_input_partial_shape(2);
  if (rois.rank().is_static() && !rois[1].compatible(static_cast<std::int64_t>(numbers)))
    fail("regions " + rois.to_string() + ": expected " + what + " of each");
  Dimension count = rois.rank().is_static() ? rois[0] : Dimension::dynamic();
  if (batches.rank().is_static() && !Dimension::merge(count, count, batches[0]))
    fail("there are " + count.to_string() + " regions and " + batches[0].to_string() + " batch indices");
  const element::Type type = common_type(node, 0, 2);
  node.set_output_type(0, type, {count, data.rank().is_static() ? data[1] : Dimension::dynamic(), height, width});
}

void infer_roi_align(Node& node) { infer_regions(node, 4, "two corners"); }

Corners roi_corners(double y, double x, std::int64_t height, std::int64_t width) {
  Corners corners;
  const RoiTap down = roi_tap(y, height), across = roi_tap(x, width);
  if (!down.is_inside || !across.is_inside) return corners;
  const std::int64_t rows[] = {down.low, down.low, down.high, down.high},
                     columns[] = {across.low, across.high, across.low, across.high};
  const double dy = down.rest, dx = across.rest;
  const double weights[] = {(1 - dy) * (1 - dx), (1 - dy) * dx, dy * (1 - dx), dy * dx};
  for (int i = 0; i < 4; ++i) {
    corners.at[i] = static_cast<std::size_t>(rows[i] * width + columns[i]);
    corners.weight[i] = weights[i];
  }
  return corners;
}

/// Images, regions, and the result: the tensors of both ROIAligns.
struct Regions {
  const Shape &in, &out;
  std::int64_t height, width;
  Read<float> data;
  Read<double> boxes;
  std::vector<std::int64_t> batches;
  Write<float> result;

  Regions(std::span<const Tensor> inputs, std::span<Tensor> outputs)
      : in(inputs[0].shape()),
        out(outputs[0].shape()),
        height(static_cast<std::int64_t>(in[2])),
        width(static_cast<std::int64_t>(in[3])),
        data(inputs[0]),
        boxes(inputs[1]),
        batches(to_vector<std::int64_t>(inputs[2])),
        result(outputs[0]),
        box_size_(inputs[1].shape()[1]) {}

  /// Empty images, or no channels.
  bool are_of_nothing() const { return data.size() == 0; }
  void commit_zeros() {
    std::fill_n(result.data(), result.size(), 0.0F);
    result.commit();
  }
  /// The five values of a region; its image index must be valid.
  const double* box(std::size_t region) const {
    const std::int64_t batch = batches[region];
    if (batch < 0 || batch >= static_cast<std::int64_t>(in[0]))
      fail("batch index " + std::to_string(batch) + " of region " + std::to_string(region) + " is out of range");
    return boxes.data() + region * box_size_;
  }
  /// A channel of its picture.
  const float* plane(std::size_t region, std::size_t channel) const {
    return data.data() + (static_cast<std::size_t>(batches[region]) * in[1] + channel) * in[2] * in[3];
  }

 private:
  std::size_t box_size_;
};

void evaluate_roi_align(const Node& node, std::span<const Tensor> inputs, std::span<Tensor> outputs) {
  const Attributes& attributes = node.get_attributes();
  const RoiAlignRule rule(attributes);
  const std::string& mode = attributes.get_string("mode");
  const bool is_max = mode == "max", by_corners = mode == "max_corners";
  Regions regions(inputs, outputs);
  if (regions.are_of_nothing()) return regions.commit_zeros();
  const Shape& out = regions.out;
  std::vector<Corners> samples;
  for (std::size_t roi = 0; roi < out[0]; ++roi) {
    const double* box = regions.box(roi);
    const auto corner = [&](std::size_t i) { return static_cast<float>(box[i]); };
    const RoiAxis across = rule.axis(corner(0), corner(2), out[3]), down = rule.axis(corner(1), corner(3), out[2]);
    if (!across.is_finite() || !down.is_finite()) fail("a region is not finite");
    for (std::size_t py = 0; py < out[2]; ++py) {
      for (std::size_t px = 0; px < out[3]; ++px) {
        samples.clear();
        for (std::int64_t iy = 0; iy < down.samples; ++iy)
          for (std::int64_t ix = 0; ix < across.samples; ++ix)
            samples.push_back(roi_corners(down.at(py, iy), across.at(px, ix), regions.height, regions.width));
        for (std::size_t c = 0; c < out[1]; ++c) {
          const float* plane = regions.plane(roi, c);
          double value = 0;
          for (std::size_t s = 0; s < samples.size(); ++s) {
            const Corners& corners = samples[s];
            double sum = 0, largest = std::numeric_limits<double>::lowest();
            for (int i = 0; i < 4; ++i) {
              const double part = corners.weight[i] * static_cast<double>(plane[corners.at[i]]);
              sum += part;
              largest = std::max(largest, part);
            }
            // "max": the maximum of the sampled values and 0, as in OpenVINO. "max_corners": the maximum weighted
            // pixel, as in ONNX.
            if (by_corners)
              value = s == 0 ? largest : std::max(value, largest);
            else
              value = is_max ? std::max(value, sum) : value + sum;
          }
          if (!is_max && !by_corners && !samples.empty()) value /= static_cast<double>(samples.size());
          regions.result[((roi * out[1] + c) * out[2] + py) * out[3] + px] = static_cast<float>(value);
        }
      }
    }
  }
  regions.result.commit();
}

// --- DeformableConvolution
// --------------------------------------------------------------------------------------------

void infer_deformable(Node& node) {
  for (std::size_t i = 0; i < node.get_input_size(); ++i) require_rank(node, i, 4, 4);
  const element::Type type = common_type(node, 0, node.get_input_size());
  const Attributes& attributes = node.get_attributes();
  const std::int64_t group = attributes.get_int("group"), deformable = attributes.get_int("deformable_group");
  constexpr std::int64_t kMax = 1 << 20;  // Products of these stay within 63 bits.
  if (group < 1 || deformable < 1 || group > kMax || deformable > kMax)
    fail("group and deformable_group must lie within 1..2^20");
  const PartialShape &data = node.get_input_partial_shape(0), &filters = node.get_input_partial_shape(2);
  PartialShape out = PartialShape::dynamic(4);
  if (data.rank().is_static()) out[0] = data[0];
  if (filters.rank().is_static()) out[1] = filters[0];
  if (data.rank().is_static() && filters.rank().is_static()) {
    if (data[1].is_static() && filters[1].is_static() &&
        (data[1].get_length() % group != 0 || data[1].get_length() / group != filters[1].get_length()))
      fail("the data has " + data[1].to_string() + " channels, the filters " + filters[1].to_string() + " in each of " +
           std::to_string(group) + " groups");
    if (data[1].is_static() && (data[1].get_length() % deformable != 0 || data[1].get_length() % group != 0))
      fail("the data's channels are no multiple of the groups");
    if (filters[0].is_static() && filters[0].get_length() % group != 0)
      fail("the filters are no multiple of the groups");
    auto window = read_window(attributes, 2, true);
    for (std::size_t i = 0; i < 2; ++i) {
      if (filters[2 + i].is_dynamic()) continue;
      window[i].kernel = filters[2 + i].get_length();
      if (window[i].kernel < 1 || window[i].kernel > kMax) fail("the filters have no extent, or a huge one");
      out[2 + i] = window_count(window[i], data[2 + i], attributes.get_string("auto_pad"));
    }
    if (filters[2].is_static() && filters[3].is_static()) {
      const std::int64_t taps = deformable * filters[2].get_length() * filters[3].get_length();
      const auto expect = [&](std::size_t input, std::int64_t channels, const char* what) {
        if (input >= node.get_input_size()) return;
        const PartialShape wanted{out[0], channels, out[2], out[3]};
        if (!node.get_input_partial_shape(input).compatible(wanted))
          fail(std::string(what) + " have shape " + node.get_input_partial_shape(input).to_string() + ", expected " +
               wanted.to_string());
      };
      expect(1, 2 * taps, "the offsets");
      expect(3, taps, "the weights of the samples");
    }
  }
  node.set_output_type(0, type, out);
}

/// Corners of a point in a picture. Outside counts as zero; without `pads`, only points inside are read.
Corners tap_corners(double y, double x, std::int64_t height, std::int64_t width, bool pads) {
  Corners corners;
  const double min = pads ? -1.0 : 0.0;
  const bool is_inside = (pads ? y > min && x > min : y >= min && x >= min) && y < static_cast<double>(height) &&
                         x < static_cast<double>(width);
  if (!is_inside) return corners;
  const auto top = static_cast<std::int64_t>(std::floor(y)), left = static_cast<std::int64_t>(std::floor(x));
  const double dy = y - static_cast<double>(top), dx = x - static_cast<double>(left);
  const double weights[] = {(1 - dy) * (1 - dx), (1 - dy) * dx, dy * (1 - dx), dy * dx};
  for (int i = 0; i < 4; ++i) {
    std::int64_t row = top + i / 2, column = left + i % 2;
    if (!pads) {
      row = std::min(row, height - 1);
      column = std::min(column, width - 1);
    }
    if (row < 0 || row >= height || column < 0 || column >= width) continue;
    corners.at[i] = static_cast<std::size_t>(row * width + column);
    corners.weight[i] = weights[i];
  }
  return corners;
}

void evaluate_deformable(const Node& node, std::span<const Tensor> inputs, std::span<Tensor> outputs) {
  const Attributes& attributes = node.get_attributes();
  const Shape &in = inputs[0].shape(), &w = inputs[2].shape(), &out = outputs[0].shape();
  auto window = read_window(attributes, 2, true);
  for (std::size_t i = 0; i < 2; ++i) {
    window[i].kernel = static_cast<std::int64_t>(w[2 + i]);
    resolve_auto_pad(window[i], attributes.get_string("auto_pad"), static_cast<std::int64_t>(in[2 + i]));
  }
  const auto groups = static_cast<std::size_t>(attributes.get_int("group"));
  const auto deformable = static_cast<std::size_t>(attributes.get_int("deformable_group"));
  const bool pads = attributes.get_bool("bilinear_interpolation_pad", false);
  const Read<float> data(inputs[0]), offsets(inputs[1]), filters(inputs[2]);
  const std::vector<float> mask = inputs.size() > 3 ? to_vector<float>(inputs[3]) : std::vector<float>();
  Write<float> result(outputs[0]);
  const std::size_t taps = w[2] * w[3], pixels = out[2] * out[3], plane = in[2] * in[3];
  const std::size_t channels_per_filter = w[1], filters_per_group = w[0] / groups;
  std::vector<float> columns(in[1] * taps);
  for (std::size_t n = 0; n < out[0]; ++n) {
    for (std::size_t pixel = 0; pixel < pixels; ++pixel) {
      const double oy =
          static_cast<double>(static_cast<std::int64_t>(pixel / out[3]) * window[0].stride - window[0].pad_begin);
      const double ox =
          static_cast<double>(static_cast<std::int64_t>(pixel % out[3]) * window[1].stride - window[1].pad_begin);
      for (std::size_t g = 0; g < deformable; ++g) {
        for (std::size_t tap = 0; tap < taps; ++tap) {
          const std::size_t at = (n * deformable + g) * taps + tap;
          const double y = oy + static_cast<double>(static_cast<std::int64_t>(tap / w[3]) * window[0].dilation) +
                           static_cast<double>(offsets[2 * at * pixels + pixel]);
          const double x = ox + static_cast<double>(static_cast<std::int64_t>(tap % w[3]) * window[1].dilation) +
                           static_cast<double>(offsets[(2 * at + 1) * pixels + pixel]);
          const Corners corners =
              tap_corners(y, x, static_cast<std::int64_t>(in[2]), static_cast<std::int64_t>(in[3]), pads);
          const double factor = mask.empty() ? 1.0 : static_cast<double>(mask[at * pixels + pixel]);
          const std::size_t count = in[1] / deformable;
          for (std::size_t c = g * count; c < (g + 1) * count; ++c) {
            const float* from = data.data() + (n * in[1] + c) * plane;
            double sum = 0;
            for (int i = 0; i < 4; ++i) sum += corners.weight[i] * static_cast<double>(from[corners.at[i]]);
            columns[c * taps + tap] = static_cast<float>(sum * factor);
          }
        }
      }
      for (std::size_t f = 0; f < w[0]; ++f) {
        const float* column = columns.data() + (f / filters_per_group) * channels_per_filter * taps;
        const float* filter = filters.data() + f * channels_per_filter * taps;
        float sum = 0;
        for (std::size_t k = 0; k < channels_per_filter * taps; ++k) sum += column[k] * filter[k];
        result[(n * w[0] + f) * pixels + pixel] = sum;
      }
    }
  }
  result.commit();
}

// --- Col2Im
// -----------------------------------------------------------------------------------------------------------

void infer_col2im(Node& node) {
  require_rank(node, 0, 2, 3);
  require_integral(node, 1);
  require_integral(node, 2);
  const PartialShape& data = node.get_input_partial_shape(0);
  const PartialShape size = shape_from_input(node, 1);
  const auto kernel = known_ints(node, 2);
  const auto is_extent = [](std::int64_t k) { return k >= 1 && k <= (1 << 20); };
  if (kernel && (kernel->size() != 2 || !is_extent((*kernel)[0]) || !is_extent((*kernel)[1])))
    fail("the kernel must be two extents within 1..2^20");
  PartialShape out = PartialShape::dynamic();
  if (data.rank().is_static()) {
    out = {};
    if (data.size() == 3) out.push_back(data[0]);
    Dimension channels = Dimension::dynamic();
    const Dimension& rows = data[data.size() - 2];
    if (kernel && rows.is_static()) {
      const std::int64_t taps = (*kernel)[0] * (*kernel)[1];
      if (rows.get_length() % taps != 0)
        fail("the data has " + rows.to_string() + " rows, no multiple of the kernel's " + std::to_string(taps));
      channels = rows.get_length() / taps;
    }
    out.push_back(channels);
    if (size.rank().is_static() && size.size() != 2) fail("the output extent must be two numbers");
    for (std::size_t i = 0; i < 2; ++i) out.push_back(size.rank().is_static() ? size[i] : Dimension::dynamic());
  }
  set_output(node, 0, out);
}

void evaluate_col2im(const Node& node, std::span<const Tensor> inputs, std::span<Tensor> outputs) {
  const auto kernel = to_vector<std::int64_t>(inputs[2]);
  const Shape& out = outputs[0].shape();
  const std::size_t lead = out.size() - 3, height = out[lead + 1], width = out[lead + 2];
  const Spatial3 spatial = column_window(node, kernel, out);
  const WindowAxis* window = spatial.window + 1;
  const std::int64_t counts[] = {static_cast<std::int64_t>(spatial.out[1]), static_cast<std::int64_t>(spatial.out[2])};
  const std::size_t columns = inputs[0].shape().back(), taps = static_cast<std::size_t>(kernel[0] * kernel[1]);
  if (columns != static_cast<std::size_t>(counts[0] * counts[1]))
    fail("the data has " + std::to_string(columns) + " columns, expected " + std::to_string(counts[0] * counts[1]));
  const Read<float> data(inputs[0]);
  Write<float> result(outputs[0]);
  std::fill_n(result.data(), result.size(), 0.0F);
  const std::size_t planes = (lead ? out[0] : 1) * out[lead];
  for (std::size_t p = 0; p < planes; ++p) {
    for (std::size_t tap = 0; tap < taps; ++tap) {
      const float* row = data.data() + (p * taps + tap) * columns;
      for (std::int64_t c = 0; c < static_cast<std::int64_t>(columns); ++c) {
        const std::int64_t y = c / counts[1] * window[0].stride - window[0].pad_begin +
                               static_cast<std::int64_t>(tap) / kernel[1] * window[0].dilation;
        const std::int64_t x = c % counts[1] * window[1].stride - window[1].pad_begin +
                               static_cast<std::int64_t>(tap) % kernel[1] * window[1].dilation;
        if (y < 0 || x < 0 || y >= static_cast<std::int64_t>(height) || x >= static_cast<std::int64_t>(width)) continue;
        result[(p * height + static_cast<std::size_t>(y)) * width + static_cast<std::size_t>(x)] += row[c];
      }
    }
  }
  result.commit();
}

// --- ROIAlignRotated: regions [n, 5] of centre, width, height and angle -------------------------------------------------

void infer_rotated(Node& node) { infer_regions(node, 5, "centre, width, height and angle"); }

void evaluate_rotated(const Node& node, std::span<const Tensor> inputs, std::span<Tensor> outputs) {
  const RotatedRoiRule rule(node.get_attributes());
  Regions regions(inputs, outputs);
  if (regions.are_of_nothing()) return regions.commit_zeros();
  const Shape& out = regions.out;
  for (std::size_t roi = 0; roi < out[0]; ++roi) {
    const RotatedRoi region = rule.region(regions.box(roi), out[2], out[3]);
    if (!region.is_finite()) fail("region " + std::to_string(roi) + " is not finite");
    for (std::size_t p = 0; p < out[2] * out[3]; ++p) {
      std::vector<Corners> samples;
      for (std::int64_t i = 0; i < region.samples(); ++i) {
        const auto [y, x] = region.at(p, i);
        samples.push_back(roi_corners(y, x, regions.height, regions.width));
      }
      for (std::size_t channel = 0; channel < out[1]; ++channel) {
        const float* plane = regions.plane(roi, channel);
        double sum = 0;
        for (const Corners& corners : samples)
          for (int i = 0; i < 4; ++i) sum += corners.weight[i] * static_cast<double>(plane[corners.at[i]]);
        regions.result[(roi * out[1] + channel) * out[2] * out[3] + p] =
            static_cast<float>(sum / static_cast<double>(samples.size()));
      }
    }
  }
  regions.result.commit();
}

}  // namespace

Spatial3 column_window(const Node& node, const std::vector<std::int64_t>& kernel, const Shape& picture) {
  auto window = read_window(node.get_attributes(), 2, true);
  const std::size_t first = picture.size() - 2;
  Shape counts = picture;
  for (std::size_t i = 0; i < 2; ++i) {
    window[i].kernel = kernel.at(i);
    counts[first + i] = static_cast<std::size_t>(
        window_count(window[i], static_cast<std::int64_t>(picture[first + i]), "explicit").get_length());
  }
  return spatial3(window, picture, counts, first);
}

void add_sampling_rows(OperationTable& table) {
  const auto add_roi = [&](unsigned opset) {
    auto row = table.add("ROIAlign", opset, 3, 3, infer_roi_align, evaluate_roi_align,
                         "Regions of a feature map pooled to one extent, read between pixels.");
    row.integer("pooled_h")
        .integer("pooled_w")
        .integer("sampling_ratio")
        .real("spatial_scale")
        .text("mode", {}, {"avg", "max", "max_corners"});  // The last is ONNX's; IR has no name for it.
    if (opset >= 9) row.text("aligned_mode", "asymmetric", {"asymmetric", "half_pixel_for_nn", "half_pixel"});
  };
  add_roi(3);
  add_roi(9);
  table
      .add("ROIAlignRotated", 15, 3, 3, infer_rotated, evaluate_rotated,
           "Rotated regions of a feature map pooled to one extent, read between pixels.")
      .integer("pooled_h")
      .integer("pooled_w")
      .integer("sampling_ratio")
      .real("spatial_scale")
      .flag("clockwise_mode");
  const auto add_deformable = [&](unsigned opset) {
    auto row = table.add("DeformableConvolution", opset, 3, opset >= 8 ? 4 : 3, infer_deformable, evaluate_deformable,
                         "A convolution with taps that are moved by offsets.");
    row.ints("strides")
        .ints("pads_begin")
        .ints("pads_end")
        .ints("dilations")
        .text("auto_pad", "explicit", {"explicit", "same_upper", "same_lower", "valid"})
        .integer("group", 1)
        .integer("deformable_group", 1);
    if (opset >= 8) row.flag("bilinear_interpolation_pad", false);
  };
  add_deformable(1);
  add_deformable(8);
  table.add("Col2Im", 15, 3, 3, infer_col2im, evaluate_col2im, "Columns of windows summed back into a picture.")
      .ints("strides", std::vector<std::int64_t>{1, 1})
      .ints("dilations", std::vector<std::int64_t>{1, 1})
      .ints("pads_begin", std::vector<std::int64_t>{0, 0})
      .ints("pads_end", std::vector<std::int64_t>{0, 0});
}

}  // namespace v1
}  // namespace tenon
