// SPDX-License-Identifier: Apache-2.0
// Detectors of faces with landmarks: the eyes, the nose, the corners of the mouth; and those of MediaPipe, which also find palms and persons.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
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

constexpr std::size_t kNumbers = 10;  ///< The coordinates of five points.

/// Numbers for each of `count` boxes in [count,k] or [1,count,k]; 0 if it is no such output.
std::size_t numbers_in(const TensorInfo& output, std::size_t count) {
  const Shape& shape = output.shape;
  if (!is_real(output.type) || shape.size() < 2 || shape.size() > 3 || (shape.size() == 3 && shape[0] != 1)) return 0;
  return shape[shape.size() - 2] == count ? shape.back() : 0;
}

/// The outputs of one stride.
struct FaceLevel {
  std::size_t stride = 0, count = 0, boxes = 0;
  std::array<std::size_t, 2> scores{};  ///< Both the same where there is one.
  std::optional<std::size_t> points;
};

/// The outputs over grids of these strides, with `anchors` boxes for each cell and `score_outputs` outputs of scores; empty if they are
/// not all there.
std::vector<FaceLevel> face_levels(const DecodeOptions& options, std::span<const TensorInfo> outputs,
                                   std::size_t anchors, std::size_t score_outputs) {
  std::vector<FaceLevel> levels;
  for (const std::size_t stride : {std::size_t{8}, std::size_t{16}, std::size_t{32}, std::size_t{64}}) {
    FaceLevel level;
    level.stride = stride;
    level.count = (options.input_width / stride) * (options.input_height / stride) * anchors;
    std::size_t scores = 0, boxes = 0;
    for (std::size_t i = 0; i < outputs.size() && level.count > 0; ++i) {
      const std::size_t numbers = numbers_in(outputs[i], level.count);
      if (numbers == 1 && scores < level.scores.size()) level.scores[scores++] = i;
      if (numbers == 4 && boxes++ == 0) level.boxes = i;
      if (numbers == kNumbers && !level.points) level.points = i;
    }
    if (scores == 1) level.scores[1] = level.scores[0];
    if (scores == score_outputs && boxes == 1) levels.push_back(level);
  }
  return levels.size() >= 3 ? levels : std::vector<FaceLevel>();
}

/// Keeps the landmarks of candidates, by their index.
class FaceDecoder : public ObjectDecoder {
 public:
  /// @param numbers  The coordinates of the points of one face.
  explicit FaceDecoder(std::size_t numbers = kNumbers) : numbers_(numbers) {}
  void describe(const DecodeOptions& options, const Candidate& candidate, const ResultTarget& target,
                metadata::Id object) override {
    const std::size_t begin = candidate.index * numbers_;
    if (begin + numbers_ > points_.size()) return;
    const float* const found = points_.data() + begin;
    Tensor made(ElementType::kF32, Shape{numbers_ / 2, 3});
    auto* number = made.data<float>();
    for (std::size_t k = 0; k < numbers_; k += 2) {
      const Box at = to_frame(options, {found[k], found[k + 1], found[k], found[k + 1]});
      *number++ = at.x1, *number++ = at.y1, *number++ = candidate.score;
    }
    add_points(std::move(made), target, object);
  }

 protected:
  void clear() { count_ = 0, points_.clear(); }
  /// @param point  Gives the place of a landmark from its two numbers.
  template <typename Point>
  void add_face(std::vector<Candidate>& found, const Box& box, float score, const float* numbers, Point point) {
    for (std::size_t k = 0; numbers && k < numbers_; k += 2) {
      const auto [x, y] = point(numbers[k], numbers[k + 1]);
      points_.push_back(x), points_.push_back(y);
    }
    found.push_back({box, score, 0, count_++});
  }

 private:
  const std::size_t numbers_;
  std::vector<float> points_;
  std::uint32_t count_ = 0;
};

/// SCRFD: two anchors in each cell, distances to the sides of the box and offsets of the points, in strides, from the cell's corner.
/// YuNet: one, centre and logarithm of the size; the score is the root of two. @source insightface's scrfd.py; OpenCV's face_detect.cpp
class GridFaceDecoder final : public FaceDecoder {
 public:
  explicit GridFaceDecoder(bool is_scrfd) : is_scrfd_(is_scrfd) {}
  static std::vector<FaceLevel> levels(const DecodeOptions& options, std::span<const TensorInfo> outputs,
                                       bool is_scrfd) {
    return is_scrfd ? face_levels(options, outputs, 2, 1) : face_levels(options, outputs, 1, 2);
  }

  bool find(const DecodeOptions& options, std::span<const Tensor> outputs, std::vector<Candidate>& found) override {
    describe_outputs(outputs, infos_);
    clear();
    for (const FaceLevel& level : levels(options, infos_, is_scrfd_)) read_level(options, outputs, level, found);
    return false;
  }

 private:
  void read_level(const DecodeOptions& options, std::span<const Tensor> outputs, const FaceLevel& level,
                  std::vector<Candidate>& found) {
    const float* boxes = floats(outputs[level.boxes], values_[0]);
    const float* first = floats(outputs[level.scores[0]], values_[1]);
    const float* second = floats(outputs[level.scores[1]], values_[2]);
    const float* points = level.points ? floats(outputs[*level.points], values_[3]) : nullptr;
    const std::size_t anchors = is_scrfd_ ? 2 : 1, columns = options.input_width / level.stride;
    const auto stride = static_cast<float>(level.stride);
    for (std::size_t i = 0; i < level.count; ++i) {
      const float score = is_scrfd_ ? first[i] : std::sqrt(share(first[i]) * share(second[i]));
      if (!(score >= options.confidence_threshold)) continue;
      const auto x = static_cast<float>(i / anchors % columns), y = static_cast<float>(i / anchors / columns);
      const float* b = boxes + 4 * i;
      const Box box =
          is_scrfd_
              ? Box{(x - b[0]) * stride, (y - b[1]) * stride, (x + b[2]) * stride, (y + b[3]) * stride}
              : around((x + b[0]) * stride, (y + b[1]) * stride, std::exp(b[2]) * stride, std::exp(b[3]) * stride);
      add_face(found, box, score, points ? points + kNumbers * i : nullptr,
               [&](float px, float py) { return std::pair((x + px) * stride, (y + py) * stride); });
    }
  }
  static float share(float value) { return std::clamp(value, 0.0f, 1.0f); }

  const bool is_scrfd_;
  std::vector<TensorInfo> infos_;
  std::array<std::vector<float>, 4> values_;
};

/// RetinaFace: distances [1,n,4], scores [1,n,2] and points [1,n,10] from priors, two in each cell of strides 8, 16 and 32, with the
/// variances 0.1 and 0.2. @source J. Deng et al., RetinaFace (2019), as its implementation in PyTorch exports it
class PriorFaceDecoder final : public FaceDecoder {
 public:
  explicit PriorFaceDecoder(const DecoderSettings& settings) : sizes_(settings.numbers("sizes")) {
    if (sizes_.size() != 6)
      throw Error(Code::kInvalidArgument,
                  "decoding RetinaFace: parameter sizes must be six numbers, two for each stride");
  }
  struct Outputs {
    std::size_t boxes, scores, points;
  };
  static std::optional<Outputs> outputs_in(const DecodeOptions& options, std::span<const TensorInfo> infos) {
    std::size_t count = 0;
    for (const std::size_t stride : {std::size_t{8}, std::size_t{16}, std::size_t{32}})
      count += 2 * cells(options.input_width, stride) * cells(options.input_height, stride);
    const auto with = [&](std::size_t numbers) {
      return static_cast<std::size_t>(
          std::find_if(infos.begin(), infos.end(),
                       [&](const TensorInfo& info) { return numbers_in(info, count) == numbers; }) -
          infos.begin());
    };
    const Outputs found{with(4), with(2), with(kNumbers)};
    if (count == 0 || std::max({found.boxes, found.scores, found.points}) >= infos.size()) return std::nullopt;
    return found;
  }

  bool find(const DecodeOptions& options, std::span<const Tensor> outputs, std::vector<Candidate>& found) override {
    describe_outputs(outputs, infos_);
    clear();
    const Outputs places = *outputs_in(options, infos_);
    const float* boxes = floats(outputs[places.boxes], values_[0]);
    const float* scores = floats(outputs[places.scores], values_[1]);
    const float* points = floats(outputs[places.points], values_[2]);
    std::size_t i = 0;
    for (std::size_t level = 0; level < 3; ++level) {
      const std::size_t step = std::size_t{8} << level;
      const auto stride = static_cast<float>(step);
      for (std::size_t y = 0; y < cells(options.input_height, step); ++y) {
        for (std::size_t x = 0; x < cells(options.input_width, step); ++x) {
          for (std::size_t a = 0; a < 2; ++a, ++i) {
            const float score = scores[2 * i + 1];
            if (!(score >= options.confidence_threshold)) continue;
            const auto size = static_cast<float>(sizes_[2 * level + a]);
            const float cx = (static_cast<float>(x) + 0.5f) * stride, cy = (static_cast<float>(y) + 0.5f) * stride;
            const float* b = boxes + 4 * i;
            const Box box = around(cx + b[0] * 0.1f * size, cy + b[1] * 0.1f * size, size * std::exp(b[2] * 0.2f),
                                   size * std::exp(b[3] * 0.2f));
            add_face(found, box, score, points + kNumbers * i,
                     [&](float px, float py) { return std::pair(cx + px * 0.1f * size, cy + py * 0.1f * size); });
          }
        }
      }
    }
    return false;
  }

 private:
  static std::size_t cells(std::size_t extent, std::size_t stride) { return (extent + stride - 1) / stride; }

  const std::vector<double> sizes_;
  std::vector<TensorInfo> infos_;
  std::array<std::vector<float>, 3> values_;
};

/// CenterFace: maps over cells of four pixels: scores [1,1,h,w], logarithms of height and width in cells, offsets of the centre (both
/// [1,2,h,w], y before x), and points [1,10,h,w] in parts of the box from its corner. @source Y. Xu et al., CenterFace (2019), as its program
/// reads them
class MapFaceDecoder final : public FaceDecoder {
 public:
  struct Maps {
    std::size_t scores, sizes, offsets, points, width, height;
  };
  static std::optional<Maps> maps_in(const DecodeOptions& options, std::span<const TensorInfo> infos) {
    const std::size_t width = options.input_width / kCell, height = options.input_height / kCell;
    const auto with = [&](std::size_t channels, std::size_t from) {
      const auto is_it = [&](const TensorInfo& info) {
        return is_real(info.type) && info.shape == Shape{1, channels, height, width};
      };
      from = std::min(from, infos.size());
      return static_cast<std::size_t>(
          std::find_if(infos.begin() + static_cast<std::ptrdiff_t>(from), infos.end(), is_it) - infos.begin());
    };
    const std::size_t sizes = with(2, 0);
    const Maps found{with(1, 0), sizes, with(2, sizes + 1), with(kNumbers, 0), width, height};
    if (width * height == 0 || std::max({found.scores, found.offsets, found.points}) >= infos.size())
      return std::nullopt;
    return found;
  }

  bool find(const DecodeOptions& options, std::span<const Tensor> outputs, std::vector<Candidate>& found) override {
    describe_outputs(outputs, infos_);
    clear();
    const Maps maps = *maps_in(options, infos_);
    const std::size_t cells = maps.width * maps.height;
    const float* scores = floats(outputs[maps.scores], values_[0]);
    const float* sizes = floats(outputs[maps.sizes], values_[1]);
    const float* offsets = floats(outputs[maps.offsets], values_[2]);
    const float* points = floats(outputs[maps.points], values_[3]);
    constexpr auto kPixels = static_cast<float>(kCell);
    for (std::size_t i = 0; i < cells; ++i) {
      if (!(scores[i] >= options.confidence_threshold)) continue;
      const float height = std::exp(sizes[i]) * kPixels, width = std::exp(sizes[cells + i]) * kPixels;
      const float y = (static_cast<float>(i / maps.width) + offsets[i] + 0.5f) * kPixels,
                  x = (static_cast<float>(i % maps.width) + offsets[cells + i] + 0.5f) * kPixels;
      // The program moves a corner into the picture, and keeps the size.
      const float x1 = std::max(0.0f, x - width / 2), y1 = std::max(0.0f, y - height / 2);
      std::array<float, kNumbers> own{};
      for (std::size_t k = 0; k < kNumbers; ++k) own[k] = points[k * cells + i];
      add_face(found, {x1, y1, x1 + width, y1 + height}, scores[i], own.data(),
               [&](float py, float px) { return std::pair(x1 + px * width, y1 + py * height); });
    }
    return false;
  }

 private:
  static constexpr std::size_t kCell = 4;
  std::vector<TensorInfo> infos_;
  std::array<std::vector<float>, 4> values_;
};

/// The cells of one stride, with so many boxes around the centre of each.
struct CentreGrid {
  std::size_t stride, boxes;
};
/// The grids of a model, in the order of its rows.
using CentreGrids = std::array<CentreGrid, 3>;
constexpr CentreGrids kCentreGrids[] = {{{{8, 2}, {16, 6}, {0, 0}}},  // faces at close range, palms, persons of 128x128
                                        {{{8, 2}, {16, 2}, {32, 6}}},  // persons of 224x224, palms of 256x256
                                        {{{4, 1}, {0, 0}, {0, 0}}}};   // faces at a distance

/// MediaPipe's detectors: rows of centre, size and points, in pixels of the input from the centre of their cell, beside logits; for all grids
/// together or for each. @source V. Bazarevsky et al., BlazeFace (2019), and the grids in MediaPipe's graphs
class CentreDecoder final : public FaceDecoder {
 public:
  explicit CentreDecoder(std::size_t numbers) : FaceDecoder(numbers), row_(4 + numbers) {}
  /// Places of the outputs for one grid, or for all.
  struct Part {
    std::size_t rows, scores;
  };
  struct Layout {
    CentreGrids grids;
    std::vector<Part> parts;
  };
  static std::optional<Layout> layout_of(const DecodeOptions& options, std::span<const TensorInfo> infos,
                                         std::size_t row) {
    for (const CentreGrids& grids : kCentreGrids) {
      std::size_t all = 0;
      std::vector<Part> parts;
      for (const CentreGrid& grid : grids) {
        const std::size_t count = count_of(options, grid);
        all += count;
        if (const auto part = part_of(infos, count, row)) parts.push_back(*part);
      }
      const auto used = static_cast<std::size_t>(
          std::count_if(grids.begin(), grids.end(), [](const CentreGrid& grid) { return grid.boxes > 0; }));
      if (const auto part = part_of(infos, all, row)) return Layout{grids, {*part}};
      if (parts.size() == used) return Layout{grids, std::move(parts)};
    }
    return std::nullopt;
  }

  bool find(const DecodeOptions& options, std::span<const Tensor> outputs, std::vector<Candidate>& found) override {
    describe_outputs(outputs, infos_);
    clear();
    const Layout layout = *layout_of(options, infos_, row_);
    std::size_t next = 0;
    for (std::size_t g = 0; g < layout.grids.size(); ++g) {
      const CentreGrid& grid = layout.grids[g];
      const std::size_t count = count_of(options, grid);
      if (count == 0) continue;
      const bool is_apart = layout.parts.size() > 1;
      const Part& part = layout.parts[is_apart ? g : 0];
      const float* rows = floats(outputs[part.rows], values_[0]) + (is_apart ? 0 : next * row_);
      const float* scores = floats(outputs[part.scores], values_[1]) + (is_apart ? 0 : next);
      const std::size_t columns = options.input_width / grid.stride;
      const auto stride = static_cast<float>(grid.stride);
      for (std::size_t i = 0; i < count; ++i) {
        const float score = 1 / (1 + std::exp(-scores[i]));
        if (!(score >= options.confidence_threshold)) continue;
        const std::size_t cell = i / grid.boxes;
        const float x = (static_cast<float>(cell % columns) + 0.5f) * stride,
                    y = (static_cast<float>(cell / columns) + 0.5f) * stride;
        const float* r = rows + i * row_;
        add_face(found, around(x + r[0], y + r[1], r[2], r[3]), score, r + 4,
                 [&](float px, float py) { return std::pair(x + px, y + py); });
      }
      next += count;
    }
    return false;
  }

 private:
  static std::size_t count_of(const DecodeOptions& options, const CentreGrid& grid) {
    if (grid.boxes == 0) return 0;
    return (options.input_width / grid.stride) * (options.input_height / grid.stride) * grid.boxes;
  }
  static std::optional<Part> part_of(std::span<const TensorInfo> infos, std::size_t count, std::size_t row) {
    const auto with = [&](std::size_t numbers) {
      const auto is_it = [&](const TensorInfo& info) { return numbers_in(info, count) == numbers; };
      return static_cast<std::size_t>(std::find_if(infos.begin(), infos.end(), is_it) - infos.begin());
    };
    const Part found{with(row), with(1)};
    if (count == 0 || std::max(found.rows, found.scores) >= infos.size()) return std::nullopt;
    return found;
  }

  const std::size_t row_;
  std::vector<TensorInfo> infos_;
  std::array<std::vector<float>, 2> values_;
};

/// @param points  Their number.
DecoderType centre_type(const char* name, std::vector<std::string> other_names, std::size_t points, const char* label) {
  const std::size_t numbers = 2 * points;
  DecoderType type{name,
                   std::move(other_names),
                   "rows [1,n," + std::to_string(4 + numbers) + "] and logits [1,n,1] around the centres of cells",
                   {},
                   true,
                   {label},
                   {},
                   {}};
  type.fits = [numbers](const DecodeOptions& options, std::span<const TensorInfo> outputs) {
    return CentreDecoder::layout_of(options, outputs, 4 + numbers).has_value();
  };
  type.make = [numbers](const DecodeOptions&, const DecoderSettings&) {
    return std::make_unique<CentreDecoder>(numbers);
  };
  return type;
}

DecoderType grid_face_type(const char* name, const char* expects, bool is_scrfd) {
  DecoderType type{name, {}, expects, {}, true, {}, {}, {}};
  type.labels = {"face"};
  type.fits = [is_scrfd](const DecodeOptions& options, std::span<const TensorInfo> outputs) {
    return !GridFaceDecoder::levels(options, outputs, is_scrfd).empty();
  };
  type.make = [is_scrfd](const DecodeOptions&, const DecoderSettings&) {
    return std::make_unique<GridFaceDecoder>(is_scrfd);
  };
  return type;
}

}  // namespace

std::vector<DecoderType> face_types() {
  DecoderType retina{"RetinaFace",
                     {"retina_face"},
                     "boxes [1,n,4], scores [1,n,2] and points [1,n,10], two for each cell",
                     {{"sizes", "16,32,64,128,256,512", "sides of the priors in pixels, two for each stride"}},
                     true,
                     {},
                     {},
                     {}};
  retina.labels = {"face"};
  retina.fits = [](const DecodeOptions& options, std::span<const TensorInfo> outputs) {
    return PriorFaceDecoder::outputs_in(options, outputs).has_value();
  };
  retina.make = [](const DecodeOptions&, const DecoderSettings& settings) {
    return std::make_unique<PriorFaceDecoder>(settings);
  };
  DecoderType centre{"CenterFace",
                     {},
                     "scores [1,1,h,w], sizes and offsets [1,2,h,w] and points [1,10,h,w] over cells of four pixels",
                     {},
                     true,
                     {"face"},
                     {},
                     {}};
  centre.fits = [](const DecodeOptions& options, std::span<const TensorInfo> outputs) {
    return MapFaceDecoder::maps_in(options, outputs).has_value();
  };
  centre.make = [](const DecodeOptions&, const DecoderSettings&) { return std::make_unique<MapFaceDecoder>(); };
  return {grid_face_type(
              "SCRFD", "scores [n,1], boxes [n,4] and perhaps points [n,10] for each stride, two for each cell,", true),
          grid_face_type("YuNet", "two scores [1,n,1], boxes [1,n,4] and points [1,n,10] for each stride", false),
          std::move(retina),
          std::move(centre),
          centre_type("BlazeFace", {"mediapipe_face"}, 6, "face"),
          centre_type("BlazePalm", {"mediapipe_palm", "palm_detection"}, 7, "palm"),
          centre_type("BlazePose", {"mediapipe_pose", "pose_detection"}, 4, "person")};
}

}  // namespace vision
}  // namespace v1
}  // namespace tenon
