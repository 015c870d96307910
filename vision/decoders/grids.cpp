// SPDX-License-Identifier: Apache-2.0
// Raw grids of YOLO's heads with anchors: an output for each stride, with the numbers of each anchor in each cell.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <tenon/core/error.hpp>
#include <tenon/vision/internal/families.hpp>
#include <tenon/vision/internal/function_decoder.hpp>
#include <tenon/vision/internal/row_decoder.hpp>

namespace tenon {
inline namespace v1 {
namespace vision {
namespace {

/// Numbers of a box before the scores of its classes: place, size, objectness.
constexpr std::size_t kBeforeClasses = 5;

/// Where the numbers of one output lie. Steps are in elements.
struct Grid {
  std::size_t output = 0, rows = 0, columns = 0, classes = 0, stride = 0;
  std::size_t anchor_step = 0, row_step = 0, column_step = 0, number_step = 0;
};

/// The grid of an output with its extents in these axes; nothing if the input is no multiple of it.
std::optional<Grid> grid_over(const DecodeOptions& options, std::size_t rows, std::size_t columns,
                              std::size_t numbers) {
  if (rows == 0 || columns == 0 || options.input_height % rows != 0 || options.input_width % columns != 0)
    return std::nullopt;
  const std::size_t stride = options.input_height / rows;
  const std::size_t wanted = kBeforeClasses + options.labels.size();
  if (stride == 0 || options.input_width / columns != stride || numbers <= kBeforeClasses) return std::nullopt;
  if (!options.labels.empty() && numbers != wanted) return std::nullopt;
  Grid made;
  made.rows = rows, made.columns = columns, made.classes = numbers - kBeforeClasses, made.stride = stride;
  return made;
}

/// [1,a*(5+c),h,w], [1,h,w,a*(5+c)], [1,a,h,w,5+c] or [1,h,w,a,5+c].
std::optional<Grid> grid_in(const DecodeOptions& options, const TensorInfo& output, std::size_t anchors) {
  const Shape& s = output.shape;
  std::optional<Grid> made;
  if (is_real_of_rank(output, 5)) {
    if (s[1] == anchors && (made = grid_over(options, s[2], s[3], s[4]))) {
      made->anchor_step = s[2] * s[3] * s[4], made->row_step = s[3] * s[4], made->column_step = s[4];
    } else if (s[3] == anchors && (made = grid_over(options, s[1], s[2], s[4]))) {
      made->anchor_step = s[4], made->row_step = s[2] * s[3] * s[4], made->column_step = s[3] * s[4];
    }
    if (made) made->number_step = 1;
  } else if (is_real_of_rank(output, 4)) {
    if (s[1] % anchors == 0 && (made = grid_over(options, s[2], s[3], s[1] / anchors))) {
      made->number_step = s[2] * s[3], made->anchor_step = s[1] / anchors * s[2] * s[3];
      made->row_step = s[3], made->column_step = 1;
    } else if (s[3] % anchors == 0 && (made = grid_over(options, s[1], s[2], s[3] / anchors))) {
      made->number_step = 1, made->anchor_step = s[3] / anchors;
      made->row_step = s[2] * s[3], made->column_step = s[3];
    }
  }
  return made;
}

/// The grids among the outputs, fine ones first; empty if there are not as many as the anchors are for. @param anchors  the anchors of all grids
std::vector<Grid> grids_in(const DecodeOptions& options, std::span<const TensorInfo> outputs, std::size_t anchors) {
  constexpr std::size_t kMostGrids = 6;
  for (std::size_t count = std::min(kMostGrids, outputs.size()); count > 0; --count) {
    if (anchors % count != 0) continue;
    std::vector<Grid> grids;
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      if (auto grid = grid_in(options, outputs[i], anchors / count)) {
        grid->output = i;
        grids.push_back(*grid);
      }
    }
    if (grids.size() != count) continue;
    std::sort(grids.begin(), grids.end(), [](const Grid& a, const Grid& b) { return a.stride < b.stride; });
    return grids;
  }
  return {};
}

class GridDecoder final : public ObjectDecoder {
 public:
  /// @errors kInvalidArgument: anchors that are no pairs, or no scale.
  explicit GridDecoder(const DecoderSettings& settings)
      : anchors_(settings.numbers("anchors")),
        scales_(settings.numbers("xy_scale")),
        is_square_(settings.flag("square")),
        has_softmax_(settings.flag("softmax")),
        in_cells_(settings.flag("anchors_in_cells")) {
    if (anchors_.empty() || anchors_.size() % 2 != 0 || scales_.empty())
      throw Error(Code::kInvalidArgument,
                  "decoding grids: parameter anchors must be widths and heights in turn, and xy_scale a number for all "
                  "grids or one for each");
  }

  bool find(const DecodeOptions& options, std::span<const Tensor> outputs, std::vector<Candidate>& found) override {
    describe_outputs(outputs, infos_);
    const std::vector<Grid> grids = grids_in(options, infos_, anchors_.size() / 2);
    scratch_.candidates = &found;
    std::size_t index = 0;
    for (std::size_t level = 0; level < grids.size(); ++level)
      read_grid(options, grids[level], level, grids.size(), floats(outputs[grids[level].output], scratch_.values),
                index);
    return false;
  }

 private:
  void read_grid(const DecodeOptions& options, const Grid& grid, std::size_t level, std::size_t levels,
                 const float* values, std::size_t& index) {
    const std::size_t anchors = anchors_.size() / 2 / levels;
    const auto scale = static_cast<float>(scales_[std::min(level, scales_.size() - 1)]);
    const auto stride = static_cast<float>(grid.stride);
    const Scores read(options, true);
    scores_.resize(grid.classes);
    for (std::size_t a = 0; a < anchors; ++a) {
      const double* const anchor = anchors_.data() + 2 * (level * anchors + a);
      const float unit = in_cells_ ? stride : 1;
      const float wide = static_cast<float>(anchor[0]) * unit, high = static_cast<float>(anchor[1]) * unit;
      for (std::size_t y = 0; y < grid.rows; ++y) {
        const float* at = values + a * grid.anchor_step + y * grid.row_step;
        for (std::size_t x = 0; x < grid.columns; ++x, at += grid.column_step, ++index) {
          const auto number = [&](std::size_t k) { return at[k * grid.number_step]; };
          if (!read.pass(number(4))) continue;  // A class score is at most 1.
          for (std::size_t c = 0; c < grid.classes; ++c) scores_[c] = number(kBeforeClasses + c);
          if (has_softmax_) to_logits();
          const auto make_box = [&] {
            const auto centre = [&](float value, std::size_t cell) {
              return (sigmoid(value) * scale - (scale - 1) / 2 + static_cast<float>(cell)) * stride;
            };
            const auto size = [&](float value, float of_anchor) {
              const float twice = 2 * sigmoid(value);
              return (is_square_ ? twice * twice : std::exp(value)) * of_anchor;
            };
            return around(centre(number(0), x), centre(number(1), y), size(number(2), wide), size(number(3), high));
          };
          add_labels(options, scratch_, read, scores_.data(), grid.classes, sigmoid(number(4)), index, make_box);
        }
      }
    }
  }

  /// Scores whose sigmoid is their softmax.
  void to_logits() {
    const float top = *std::max_element(scores_.begin(), scores_.end());
    double sum = 0;
    for (float& score : scores_) sum += std::exp(static_cast<double>(score) - top);
    for (float& score : scores_) {
      const double mine = std::exp(static_cast<double>(score) - top);
      score = static_cast<float>(std::log(mine) - std::log(std::max(sum - mine, 1e-30)));
    }
  }

  const std::vector<double> anchors_, scales_;
  const bool is_square_, has_softmax_, in_cells_;
  std::vector<TensorInfo> infos_;
  std::vector<float> scores_;
  RowScratch scratch_;
};

struct GridValues {
  const char *anchors, *scale = "1", *square = "false", *softmax = "false", *in_cells = "false";
};

DecoderType grid_type(std::string name, std::vector<std::string> other_names, const GridValues& values) {
  DecoderType type{std::move(name),
                   std::move(other_names),
                   "a grid for each stride: [1,a*(5+labels),h,w], [1,h,w,a*(5+labels)], [1,a,h,w,5+labels] or "
                   "[1,h,w,a,5+labels], logits,",
                   {},
                   true,
                   {},
                   {},
                   {}};
  type.parameters = {{"anchors", values.anchors,
                      "widths and heights of the anchors in turn, in pixels of the input, the finest grid first"},
                     {"xy_scale", values.scale, "how far a centre reaches beyond its cell, for all grids or for each"},
                     {"square", values.square, "sizes are (2 sigmoid)^2 of the anchor, else its exponential"},
                     {"softmax", values.softmax, "scores of classes exclude each other"},
                     {"anchors_in_cells", values.in_cells, "anchors are in cells of their grid"}};
  type.fits = [count = std::count(type.parameters[0].value.begin(), type.parameters[0].value.end(), ',') / 2 + 1](
                  const DecodeOptions& options, std::span<const TensorInfo> outputs) {
    const auto given = options.parameters.find("anchors");
    const auto anchors =
        given == options.parameters.end()
            ? static_cast<std::size_t>(count)
            : static_cast<std::size_t>(std::count(given->second.begin(), given->second.end(), ',')) / 2 + 1;
    return !grids_in(options, outputs, anchors).empty();
  };
  type.make = [](const DecodeOptions&, const DecoderSettings& settings) {
    return std::make_unique<GridDecoder>(settings);
  };
  return type;
}

/// Anchors that were made of COCO's boxes. @source the papers and configurations of YOLOv2 to v7
constexpr const char* kAnchors2 = "0.57273,0.677385,1.87446,2.06253,3.33843,5.47434,7.88282,3.52778,9.77052,9.16828";
constexpr const char* kAnchors3 = "10,13,16,30,33,23,30,61,62,45,59,119,116,90,156,198,373,326";
constexpr const char* kAnchors3Tiny = "10,14,23,27,37,58,81,82,135,169,344,319";
constexpr const char* kAnchors4Tiny = "23,27,37,58,81,82,81,82,135,169,344,319";
constexpr const char* kAnchors4 = "12,16,19,36,40,28,36,75,76,55,72,146,142,110,192,243,459,401";

}  // namespace

std::vector<DecoderType> grid_types() {
  return {grid_type("YOLOv3", {"yolo_v3", "yolov3-grids"}, {kAnchors3}),
          grid_type("YOLOv3-tiny", {"yolo_v3_tiny"}, {kAnchors3Tiny}),
          grid_type("YOLOv4-tiny", {"yolo_v4_tiny"}, {kAnchors4Tiny, "1.05"}),
          grid_type("YOLOv2", {"yolo_v2"}, {kAnchors2, "1", "false", "true", "true"}),
          grid_type("YOLOv4-grids", {"yolo_v4_grids"}, {kAnchors4, "1.2,1.1,1.05"}),
          grid_type("YOLOv5-grids", {"yolo_v5_grids"}, {kAnchors3, "2", "true"}),
          grid_type("YOLOv7-grids", {"yolo_v7_grids"}, {kAnchors4, "2", "true"})};
}

}  // namespace vision
}  // namespace v1
}  // namespace tenon
