// SPDX-License-Identifier: Apache-2.0
// Finds the maxima of heat maps, and reads the points beside boxes.
#include <tenon/vision/keypoints.hpp>

#include <algorithm>
#include <cstddef>
#include <optional>

#include <tenon/core/error.hpp>
#include <tenon/vision/internal/anchors.hpp>
#include <tenon/vision/internal/reading.hpp>

namespace tenon {
inline namespace v1 {
namespace vision {
namespace {

Tensor made_points(std::size_t count) { return Tensor(ElementType::kF32, Shape{count, 3}); }

void put(const Keypoints& points, std::size_t index, const DecodeOptions& options, float x, float y, float score) {
  const Box at = to_frame(options, {x, y, x, y});
  float* const row = points.data<float>() + 3 * index;
  row[0] = at.x1, row[1] = at.y1, row[2] = score;
}

/// The shift by a quarter cell towards the higher neighbour; 0 at the borders.
float quarter(const float* at, std::size_t place, std::size_t extent, std::size_t step) {
  if (place == 0 || place + 1 >= extent) return 0;
  const float difference = at[step] - *(at - step);
  return difference > 0 ? 0.25f : difference < 0 ? -0.25f : 0;
}

/// An empty tensor if no two outputs are scores along the axes.
Keypoints keypoints_of_axes(std::span<const Tensor> outputs, const DecodeOptions& options) {
  const auto is_axis = [](const Tensor& output, std::size_t extent) {
    return is_real(output) && output.shape().size() == 3 && output.shape()[0] == 1 && output.element_count() > 0 &&
           output.shape()[2] % extent == 0;
  };
  // Where the input is a square, the first is that of x.
  const auto x = std::find_if(outputs.begin(), outputs.end(),
                              [&](const Tensor& output) { return is_axis(output, options.input_width); });
  const auto y = std::find_if(outputs.begin(), outputs.end(), [&](const Tensor& output) {
    return x != outputs.end() && &output != &*x && is_axis(output, options.input_height) &&
           output.shape()[1] == x->shape()[1] &&
           output.shape()[2] / options.input_height == x->shape()[2] / options.input_width;
  });
  if (x == outputs.end() || y == outputs.end()) return {};
  const Keypoints points = made_points(x->shape()[1]);
  std::vector<float> scratch_x, scratch_y;
  const float *along = floats(*x, scratch_x), *down = floats(*y, scratch_y);
  const std::size_t columns = x->shape()[2], rows = y->shape()[2];
  const auto step = static_cast<float>(columns / options.input_width);
  for (std::size_t k = 0; k < x->shape()[1]; ++k, along += columns, down += rows) {
    const float* const best_x = std::max_element(along, along + columns);
    const float* const best_y = std::max_element(down, down + rows);
    put(points, k, options, static_cast<float>(best_x - along) / step, static_cast<float>(best_y - down) / step,
        std::min(*best_x, *best_y));
  }
  return points;
}

}  // namespace

Keypoints keypoints_of_maps(std::span<const Tensor> outputs, const DecodeOptions& options) {
  const auto maps = std::find_if(outputs.begin(), outputs.end(), [](const Tensor& output) {
    return is_real(output) && output.shape().size() == 4 && output.shape()[0] == 1 && output.element_count() > 0;
  });
  if (maps == outputs.end() && options.input_width != 0 && options.input_height != 0) {
    if (const Keypoints points = keypoints_of_axes(outputs, options)) return points;
  }
  if (maps == outputs.end() || options.input_width == 0 || options.input_height == 0)
    throw Error(
        Code::kInvalidArgument,
        "decoding Keypoints: no output is [1,points,h,w], no two are [1,points,k*width] and [1,points,k*height] of "
        "f32 or f16, or the size of the input is not known; there are:" +
            list_of(outputs));
  std::vector<float> scratch;
  const float* values = floats(*maps, scratch);
  const std::size_t count = maps->shape()[1], height = maps->shape()[2], width = maps->shape()[3];
  const float step_x = static_cast<float>(options.input_width) / static_cast<float>(width);
  const float step_y = static_cast<float>(options.input_height) / static_cast<float>(height);
  const Keypoints points = made_points(count);
  for (std::size_t k = 0; k < count; ++k) {
    const float* map = values + k * height * width;
    const auto best = static_cast<std::size_t>(std::max_element(map, map + height * width) - map);
    const std::size_t x = best % width, y = best / width;
    const float at_x = static_cast<float>(x) + quarter(map + best, x, width, 1) + 0.5f;
    const float at_y = static_cast<float>(y) + quarter(map + best, y, height, width) + 0.5f;
    put(points, k, options, at_x * step_x, at_y * step_y, map[best]);
  }
  return points;
}

std::vector<PosedObject> posed_objects(std::span<const Tensor> outputs, const DecodeOptions& options) {
  return posed_objects(outputs, options, nullptr);
}

std::vector<PosedObject> posed_objects(std::span<const Tensor> outputs, const DecodeOptions& options, bool* is_cut) {
  const std::size_t labels = std::max<std::size_t>(options.labels.size(), 1);
  const std::size_t step = options.keypoint_values == 2 ? 2 : 3;
  const auto are_points = [&](std::size_t numbers) {
    return options.keypoint_count == 0 ? numbers % step == 0 : numbers == options.keypoint_count * step;
  };
  std::optional<std::size_t> extra;
  const auto rows = std::find_if(outputs.begin(), outputs.end(), [&](const Tensor& output) {
    extra = is_real(output) ? Anchors::extra_of(output.shape(), options, labels, are_points) : std::nullopt;
    return extra.has_value();
  });
  if (rows == outputs.end())
    throw Error(Code::kInvalidArgument, "decoding YOLOv8-pose: no output is [1,n,6+" + std::to_string(step) +
                                            "*points], and no output is [1,4+labels+" + std::to_string(step) +
                                            "*points,n] of f32 or f16 with " + std::to_string(labels) +
                                            " labels; there are:" + list_of(outputs));
  std::vector<float> scratch;
  const Anchors anchors(*rows, floats(*rows, scratch), options, *extra);
  std::vector<PosedObject> found;
  for (const Candidate& candidate : anchors.best(is_cut)) {
    const Box box = clipped(options, to_frame(options, candidate.box));
    PosedObject& made = found.emplace_back();
    made.object = {{box.x1, box.y1, box.x2, box.y2},
                   label_of(options, static_cast<std::size_t>(candidate.label_id)),
                   candidate.label_id,
                   candidate.score,
                   -1};
    made.points = made_points(*extra / step);
    for (std::size_t k = 0; k < *extra / step; ++k) {
      const auto number = [&](std::size_t which) { return anchors.extra(candidate.index, step * k + which); };
      put(made.points, k, options, number(0), number(1), step == 3 ? number(2) : 1.0f);
    }
  }
  return found;
}

}  // namespace vision
}  // namespace v1
}  // namespace tenon
