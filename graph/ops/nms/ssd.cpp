// SPDX-License-Identifier: Apache-2.0
// Final layers of detectors in older IRs: prior boxes, DetectionOutput, RegionYolo, ReorgYolo.
#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include <tenon/graph/ops/internal/kernel.hpp>
#include <tenon/graph/ops/internal/table_rows.hpp>

namespace tenon {
inline namespace v1 {

namespace {

// --- PriorBox, PriorBoxClustered
// --------------------------------------------------------------------------------------

/// The requested ratios and their reciprocals, without repetitions, 1 first.
std::vector<double> all_ratios(const Attributes& attributes) {
  std::vector<double> ratios{1.0};
  for (double ratio : attributes.get_doubles("aspect_ratio")) {
    if (ratio <= 0) fail("an aspect ratio is not positive");
    if (std::any_of(ratios.begin(), ratios.end(), [&](double known) { return std::abs(known - ratio) < 1e-6; }))
      continue;
    ratios.push_back(ratio);
    if (attributes.get_bool("flip")) ratios.push_back(1.0 / ratio);
  }
  return ratios;
}

/// Boxes per grid cell, counted as in OpenVINO; a box with density d counts d * d times.
std::int64_t priors_per_place(const Attributes& attributes) {
  const auto ratios = static_cast<std::int64_t>(all_ratios(attributes).size());
  const auto count = [&](const char* name) { return static_cast<std::int64_t>(attributes.get_doubles(name).size()); };
  std::int64_t total = attributes.get_bool("scale_all_sizes") ? ratios * count("min_size") + count("max_size")
                                                              : ratios + count("min_size") - 1;
  if (count("fixed_size") > 0) total = ratios * count("fixed_size");
  for (double density : attributes.get_doubles("density")) {
    if (density < 1 || density > 1024) fail("a density is outside 1..1024");
    const auto whole = static_cast<std::int64_t>(density);
    total += (count("fixed_ratio") > 0 ? count("fixed_ratio") : ratios) * (whole * whole - 1);
  }
  return total;
}

void infer_priors(Node& node, std::int64_t per_place) {
  require_integral(node, 0);
  require_integral(node, 1);
  if (per_place < 1) fail("its sizes give no box at all");
  Dimension length = Dimension::dynamic();
  if (const auto size = known_ints(node, 0)) {
    if (size->size() != 2 || (*size)[0] < 0 || (*size)[1] < 0) fail("the grid must be two extents");
    length = Dimension((*size)[0]) * Dimension((*size)[1]) * Dimension(4 * per_place);
  }
  node.set_output_type(0, element::f32, {2, length});
}

struct Grid {
  double height, width, image_height, image_width;
};
Grid grid_of(std::span<const Tensor> inputs) {
  const auto grid = to_vector<double>(inputs[0]), image = to_vector<double>(inputs[1]);
  if (grid.size() != 2 || image.size() != 2) fail("the grid and the picture must each have two extents");
  return {grid[0], grid[1], image[0], image[1]};
}

/// Writes the boxes, then their variances.
void write_priors(const Attributes& attributes, std::vector<double> boxes, Tensor& output) {
  if (attributes.get_bool("clip"))
    for (double& x : boxes) x = std::clamp(x, 0.0, 1.0);
  std::vector<double> variance = attributes.get_doubles("variance");
  if (variance.empty()) variance = {0.1};
  if (variance.size() != 1 && variance.size() != 4) fail("there must be one variance, or four");
  Write<float> result(output);
  if (result.size() != 2 * boxes.size()) fail("the boxes are not as many as their sizes say");
  for (std::size_t i = 0; i < boxes.size(); ++i) {
    result[i] = static_cast<float>(boxes[i]);
    result[boxes.size() + i] = static_cast<float>(variance[variance.size() == 1 ? 0 : i % 4]);
  }
  result.commit();
}

void infer_prior_box(Node& node) { infer_priors(node, priors_per_place(node.get_attributes())); }

class PriorBoxes {
 public:
  PriorBoxes(const Attributes& attributes, const Grid& grid)
      : grid_(grid),
        min_(attributes.get_doubles("min_size")),
        max_(attributes.get_doubles("max_size")),
        fixed_(attributes.get_doubles("fixed_size")),
        fixed_ratios_(attributes.get_doubles("fixed_ratio")),
        densities_(attributes.get_doubles("density")),
        ratios_(all_ratios(attributes)),
        all_sizes_(attributes.get_bool("scale_all_sizes")),
        max_first_(attributes.get_bool("min_max_aspect_ratios_order", true)) {
    double step = attributes.get_double("step");
    if (!all_sizes_) {
      step = step == -1 ? grid.image_height / grid.height : step * grid.image_height;
      for (double& size : min_) size *= grid.image_height;
    }
    const bool has_step = step != 0;
    const double step_x = has_step ? step : grid.image_width / grid.width,
                 step_y = has_step ? step : grid.image_height / grid.height,
                 offset = has_step ? attributes.get_double("offset") : 0.5;
    for (std::int64_t row = 0; static_cast<double>(row) < grid.height; ++row) {
      for (std::int64_t column = 0; static_cast<double>(column) < grid.width; ++column)
        at((static_cast<double>(column) + offset) * step_x, (static_cast<double>(row) + offset) * step_y);
    }
  }
  std::vector<double> take() { return std::move(boxes_); }

 private:
  void at(double x, double y) {
    for (std::size_t s = 0; s < fixed_.size(); ++s) fixed_boxes(x, y, s);
    for (std::size_t s = 0; s < min_.size(); ++s) {
      add(x, y, min_[s] / 2, min_[s] / 2);
      if (max_first_) add_between(x, y, s);
      if (all_sizes_ || s + 1 == min_.size()) add_ratios(x, y, min_[all_sizes_ ? s : 0] / 2);
      if (!max_first_) add_between(x, y, s);
    }
  }
  void add_between(double x, double y, std::size_t s) {
    if (s >= max_.size()) return;
    const double half = std::sqrt(min_[s] * max_[s]) / 2;
    add(x, y, half, half);
  }
  void add_ratios(double x, double y, double half) {
    for (double ratio : ratios_) {
      if (std::abs(ratio - 1) >= 1e-6) add(x, y, half * std::sqrt(ratio), half / std::sqrt(ratio));
    }
  }
  void fixed_boxes(double x, double y, std::size_t s) {
    const double half = fixed_[s] / 2;
    if (!fixed_ratios_.empty()) {
      for (double ratio : fixed_ratios_) spread(x, y, s, half * std::sqrt(ratio), half / std::sqrt(ratio));
      return;
    }
    if (!densities_.empty()) spread(x, y, s, half, half);
    for (double ratio : ratios_) {
      if (std::abs(ratio - 1) >= 1e-6) spread(x, y, s, half * std::sqrt(ratio), half / std::sqrt(ratio));
    }
  }
  /// Adds density * density boxes around the cell, clipped to the image.
  void spread(double x, double y, std::size_t s, double half_width, double half_height) {
    const double density = s < densities_.size() ? std::floor(densities_[s]) : 1,
                 shift = std::floor(fixed_[s] / density);
    for (std::int64_t row = 0; static_cast<double>(row) < density; ++row) {
      for (std::int64_t column = 0; static_cast<double>(column) < density; ++column) {
        const auto r = static_cast<double>(row), c = static_cast<double>(column);
        add(x - fixed_[s] / 2 + shift / 2 + c * shift, y - fixed_[s] / 2 + shift / 2 + r * shift, half_width,
            half_height);
        for (std::size_t i = boxes_.size() - 4; i < boxes_.size(); ++i)
          boxes_[i] = i % 4 < 2 ? std::max(boxes_[i], 0.0) : std::min(boxes_[i], 1.0);
      }
    }
  }
  void add(double x, double y, double half_width, double half_height) {
    boxes_.insert(boxes_.end(), {(x - half_width) / grid_.image_width, (y - half_height) / grid_.image_height,
                                 (x + half_width) / grid_.image_width, (y + half_height) / grid_.image_height});
  }

  Grid grid_;
  std::vector<double> min_, max_, fixed_, fixed_ratios_, densities_, ratios_;
  bool all_sizes_, max_first_;
  std::vector<double> boxes_;
};

void evaluate_prior_box(const Node& node, std::span<const Tensor> inputs, std::span<Tensor> outputs) {
  write_priors(node.get_attributes(), PriorBoxes(node.get_attributes(), grid_of(inputs)).take(), outputs[0]);
}

void infer_clustered(Node& node) {
  const auto& widths = node.get_attributes().get_doubles("width");
  if (widths.size() != node.get_attributes().get_doubles("height").size())
    fail("the numbers of widths and heights differ");
  infer_priors(node, static_cast<std::int64_t>(widths.size()));
}

void evaluate_clustered(const Node& node, std::span<const Tensor> inputs, std::span<Tensor> outputs) {
  const Attributes& attributes = node.get_attributes();
  const Grid grid = grid_of(inputs);
  const auto &widths = attributes.get_doubles("width"), &heights = attributes.get_doubles("height");
  const double step = attributes.get_double("step"), offset = attributes.get_double("offset");
  const auto step_of = [&](const char* name, double image, double count) {
    const double own = attributes.get_double(name);
    return own != 0 ? own : step != 0 ? step : image / count;
  };
  const double step_x = step_of("step_w", grid.image_width, grid.width),
               step_y = step_of("step_h", grid.image_height, grid.height);
  std::vector<double> boxes;
  for (std::int64_t row = 0; static_cast<double>(row) < grid.height; ++row) {
    for (std::int64_t column = 0; static_cast<double>(column) < grid.width; ++column) {
      const double x = (static_cast<double>(column) + offset) * step_x,
                   y = (static_cast<double>(row) + offset) * step_y;
      for (std::size_t s = 0; s < widths.size(); ++s) {
        boxes.insert(boxes.end(), {(x - widths[s] / 2) / grid.image_width, (y - heights[s] / 2) / grid.image_height,
                                   (x + widths[s] / 2) / grid.image_width, (y + heights[s] / 2) / grid.image_height});
      }
    }
  }
  write_priors(attributes, std::move(boxes), outputs[0]);
}

// --- DetectionOutput
// --------------------------------------------------------------------------------------------------

struct DetectionShape {
  std::int64_t images = 0, priors = 0, classes = 0, most = 0;
};

/// Derives sizes from the inputs' extents. @errors extents that do not fit together.
DetectionShape detection_shape(const Attributes& attributes, const Shape& boxes, const Shape& scores,
                               const Shape& priors) {
  DetectionShape s;
  const std::int64_t size = attributes.get_bool("normalized") ? 4 : 5;
  s.images = static_cast<std::int64_t>(boxes[0]);
  s.priors = static_cast<std::int64_t>(priors[2]) / size;
  if (s.priors < 1 || static_cast<std::int64_t>(priors[2]) % size != 0)
    fail("the priors have " + std::to_string(priors[2]) + " numbers, no multiple of " + std::to_string(size));
  s.classes = attributes.has("num_classes") ? attributes.get_int("num_classes")
                                            : static_cast<std::int64_t>(scores[1]) / s.priors;
  const std::int64_t locations = attributes.get_bool("share_location") ? 1 : s.classes;
  const bool encoded = attributes.get_bool("variance_encoded_in_target");
  // Divided, not multiplied, because extents come from files and may be huge.
  const auto is_product = [](std::size_t extent, std::int64_t a, std::int64_t b) {
    const auto whole = static_cast<std::int64_t>(extent);
    return whole % b == 0 && whole / b == a;
  };
  if (s.classes < 1 || s.classes > (1 << 20) || !is_product(scores[1], s.priors, s.classes) ||
      !is_product(boxes[1], s.priors, locations * 4) || scores[0] != boxes[0] ||
      (priors[0] != 1 && priors[0] != boxes[0]) || (!encoded && priors[1] != 2) || priors[1] < 1)
    fail("boxes " + to_string(boxes) + ", scores " + to_string(scores) + " and priors " + to_string(priors) +
         " do not fit together");
  const auto& keep = attributes.get_ints("keep_top_k");
  const std::int64_t top = attributes.get_int("top_k");
  if (top > (1 << 30)) fail("top_k is " + std::to_string(top));
  s.most = !keep.empty() && keep[0] > 0 ? keep[0] : top > 0 ? top * s.classes : static_cast<std::int64_t>(scores[1]);
  if (s.most > (std::int64_t{1} << 50)) fail("it would keep " + std::to_string(s.most) + " boxes");
  return s;
}

void infer_detection_output(Node& node) {
  require_rank(node, 0, 2, 2);
  require_rank(node, 1, 2, 2);
  require_rank(node, 2, 3, 3);
  const element::Type type = common_type(node, 0, 3);
  if (node.get_attributes().get_bool("decrease_label_id")) fail("decrease_label_id is not supported");
  Dimension rows = Dimension::dynamic();
  if (node.get_input_partial_shape(0).is_static() && node.get_input_partial_shape(1).is_static() &&
      node.get_input_partial_shape(2).is_static()) {
    const DetectionShape shape = detection_shape(node.get_attributes(), node.get_input_shape(0),
                                                 node.get_input_shape(1), node.get_input_shape(2));
    rows = Dimension(shape.images) * Dimension(shape.most);
  }
  node.set_output_type(0, type, {1, 1, rows, 7});
}

struct DecodedBox {
  float x0, y0, x1, y1;
  float area() const { return x1 < x0 || y1 < y0 ? 0 : (x1 - x0) * (y1 - y0); }
};

float overlap(const DecodedBox& a, const DecodedBox& b) {
  const float width = std::min(a.x1, b.x1) - std::max(a.x0, b.x0), height = std::min(a.y1, b.y1) - std::max(a.y0, b.y0);
  if (width <= 0 || height <= 0) return 0;
  const float shared = width * height;
  return shared / (a.area() + b.area() - shared);
}

class Detector {
 public:
  Detector(const Node& node, std::span<const Tensor> inputs)
      : attributes_(node.get_attributes()),
        boxes_(inputs[0]),
        scores_(inputs[1]),
        priors_(inputs[2]),
        shape_(detection_shape(attributes_, inputs[0].shape(), inputs[1].shape(), inputs[2].shape())) {
    prior_images_ = static_cast<std::int64_t>(inputs[2].shape()[0]);
    prior_stride_ = static_cast<std::int64_t>(inputs[2].shape()[2]);
    has_variances_ = !attributes_.get_bool("variance_encoded_in_target");
  }

  void run(Tensor& output) {
    Write<float> rows(output);
    std::fill_n(rows.data(), rows.size(), 0.0F);
    std::size_t count = 0;
    const std::size_t most = rows.size() / 7;
    for (std::int64_t image = 0; image < shape_.images; ++image) {
      for (const auto& [label, kept] : detect(image)) {
        for (const std::int64_t prior : kept) {
          if (count == most) break;
          DecodedBox box = decode(image, prior, label);
          if (attributes_.get_bool("clip_after_nms")) clip(box);
          float* row = rows.data() + 7 * count++;
          const float values[] = {static_cast<float>(image),
                                  static_cast<float>(label),
                                  score(image, prior, label),
                                  box.x0,
                                  box.y0,
                                  box.x1,
                                  box.y1};
          std::copy_n(values, 7, row);
        }
      }
    }
    if (count < most) rows[7 * count] = -1;  // The end of the list.
    rows.commit();
  }

 private:
  using Kept = std::map<std::int64_t, std::vector<std::int64_t>>;  // label to priors

  float score(std::int64_t image, std::int64_t prior, std::int64_t label) const {
    return scores_[static_cast<std::size_t>((image * shape_.priors + prior) * shape_.classes + label)];
  }
  static void clip(DecodedBox& box) {
    for (float* x : {&box.x0, &box.y0, &box.x1, &box.y1}) *x = std::clamp(*x, 0.0F, 1.0F);
  }

  DecodedBox decode(std::int64_t image, std::int64_t prior, std::int64_t label) const {
    const bool normalized = attributes_.get_bool("normalized"), share = attributes_.get_bool("share_location");
    const std::int64_t size = normalized ? 4 : 5, rows = has_variances_ ? 2 : 1;
    const std::int64_t base = (prior_images_ == 1 ? 0 : image) * rows * prior_stride_;
    const float* p = priors_.data() + base + prior * size + (normalized ? 0 : 1);
    DecodedBox anchor{p[0], p[1], p[2], p[3]};
    if (!normalized) {
      const auto width = static_cast<float>(attributes_.get_int("input_width")),
                 height = static_cast<float>(attributes_.get_int("input_height"));
      anchor = {anchor.x0 / width, anchor.y0 / height, anchor.x1 / width, anchor.y1 / height};
    }
    float variance[4] = {1, 1, 1, 1};
    if (has_variances_) std::copy_n(priors_.data() + base + prior_stride_ + prior * 4, 4, variance);
    const std::int64_t locations = share ? 1 : shape_.classes;
    const float* d = boxes_.data() + ((image * shape_.priors + prior) * locations + (share ? 0 : label)) * 4;
    DecodedBox box;
    if (attributes_.get_string("code_type") == "caffe.PriorBoxParameter.CORNER") {
      box = {anchor.x0 + variance[0] * d[0], anchor.y0 + variance[1] * d[1], anchor.x1 + variance[2] * d[2],
             anchor.y1 + variance[3] * d[3]};
    } else {
      const float width = anchor.x1 - anchor.x0, height = anchor.y1 - anchor.y0;
      const float x = variance[0] * d[0] * width + (anchor.x0 + anchor.x1) / 2,
                  y = variance[1] * d[1] * height + (anchor.y0 + anchor.y1) / 2;
      const float w = std::exp(variance[2] * d[2]) * width, h = std::exp(variance[3] * d[3]) * height;
      box = {x - w / 2, y - h / 2, x + w / 2, y + h / 2};
    }
    if (attributes_.get_bool("clip_before_nms")) clip(box);
    return box;
  }

  Kept detect(std::int64_t image) const {
    Kept kept;
    std::size_t total = 0;
    for (std::int64_t label = 0; label < shape_.classes; ++label) {
      if (label == attributes_.get_int("background_label_id")) continue;
      auto chosen = suppress(image, label);
      total += chosen.size();
      if (!chosen.empty()) kept.emplace(label, std::move(chosen));
    }
    const auto& keep = attributes_.get_ints("keep_top_k");
    if (keep.empty() || keep[0] < 0 || total <= static_cast<std::size_t>(keep[0])) return kept;
    std::vector<std::pair<float, std::pair<std::int64_t, std::int64_t>>> all;
    for (const auto& [label, priors] : kept)
      for (std::int64_t prior : priors) all.push_back({score(image, prior, label), {label, prior}});
    std::stable_sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
    all.resize(static_cast<std::size_t>(keep[0]));
    kept.clear();
    for (const auto& each : all) kept[each.second.first].push_back(each.second.second);
    return kept;
  }

  std::vector<std::int64_t> suppress(std::int64_t image, std::int64_t label) const {
    const auto threshold = static_cast<float>(attributes_.get_double("confidence_threshold")),
               most_overlap = static_cast<float>(attributes_.get_double("nms_threshold"));
    std::vector<std::int64_t> order, chosen;
    for (std::int64_t prior = 0; prior < shape_.priors; ++prior)
      if (score(image, prior, label) > threshold) order.push_back(prior);
    std::stable_sort(order.begin(), order.end(),
                     [&](std::int64_t a, std::int64_t b) { return score(image, a, label) > score(image, b, label); });
    const std::int64_t top = attributes_.get_int("top_k");
    if (top >= 0 && static_cast<std::size_t>(top) < order.size()) order.resize(static_cast<std::size_t>(top));
    std::vector<DecodedBox> boxes;
    for (const std::int64_t prior : order) {
      const DecodedBox box = decode(image, prior, label);
      const bool is_free = std::none_of(boxes.begin(), boxes.end(),
                                        [&](const DecodedBox& other) { return overlap(box, other) > most_overlap; });
      if (!is_free) continue;
      boxes.push_back(box);
      chosen.push_back(prior);
    }
    return chosen;
  }

  const Attributes& attributes_;
  const Read<float> boxes_, scores_, priors_;
  DetectionShape shape_;
  std::int64_t prior_images_ = 1, prior_stride_ = 0;
  bool has_variances_ = true;
};

void evaluate_detection_output(const Node& node, std::span<const Tensor> inputs, std::span<Tensor> outputs) {
  Detector(node, inputs).run(outputs[0]);
}

// --- RegionYolo, ReorgYolo
// --------------------------------------------------------------------------------------------

void infer_region_yolo(Node& node) {
  require_rank(node, 0, 4, 4);
  const Attributes& attributes = node.get_attributes();
  const PartialShape& in = node.get_input_partial_shape(0);
  const std::int64_t values = attributes.get_int("coords") + attributes.get_int("classes") + 1;
  const bool softmax = attributes.get_bool("do_softmax");
  const std::int64_t regions =
      softmax ? attributes.get_int("num") : static_cast<std::int64_t>(attributes.get_ints("mask").size());
  if (attributes.get_int("coords") < 2 || attributes.get_int("classes") < 0 || regions < 1 || values > (1 << 20) ||
      regions > (1 << 20))
    fail("coords, classes or the number of regions are out of range");
  if (in.rank().is_static() && in[1].is_static() && in[1].get_length() != values * regions)
    fail("the data has " + in[1].to_string() + " channels, expected " + std::to_string(values * regions));
  if (!softmax) {
    PartialShape out = in.rank().is_static() ? in : PartialShape::dynamic(4);
    out[1] = values * regions;
    return set_output(node, 0, out);
  }
  const std::size_t first = normalized_axis(attributes.get_int("axis"), 4),
                    last = normalized_axis(attributes.get_int("end_axis"), 4);
  if (last < first) fail("end_axis lies before axis");
  if (in.rank().is_dynamic()) return set_output(node, 0, PartialShape::dynamic());
  PartialShape out;
  for (std::size_t i = 0; i < first; ++i) out.push_back(in[i]);
  Dimension product(1);
  for (std::size_t i = first; i <= last; ++i) product = product * in[i];
  out.push_back(product);
  for (std::size_t i = last + 1; i < 4; ++i) out.push_back(in[i]);
  set_output(node, 0, out);
}

void evaluate_region_yolo(const Node& node, std::span<const Tensor> inputs, std::span<Tensor> outputs) {
  const Attributes& attributes = node.get_attributes();
  const auto coords = static_cast<std::size_t>(attributes.get_int("coords")),
             classes = static_cast<std::size_t>(attributes.get_int("classes"));
  const bool softmax = attributes.get_bool("do_softmax");
  const std::size_t regions =
      softmax ? static_cast<std::size_t>(attributes.get_int("num")) : attributes.get_ints("mask").size();
  const Shape& in = inputs[0].shape();
  const std::size_t plane = in[2] * in[3], values = coords + classes + 1;
  const Read<float> x(inputs[0]);
  Write<float> y(outputs[0]);
  if (x.size() != y.size() || in[1] != values * regions) fail("the data does not have as many channels as its regions");
  std::copy_n(x.data(), x.size(), y.data());
  const auto squash = [&](float* first, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) first[i] = 1.0F / (1.0F + std::exp(-first[i]));
  };
  for (std::size_t region = 0; region < in[0] * regions; ++region) {
    float* at = y.data() + region * values * plane;
    squash(at, 2 * plane);
    squash(at + coords * plane, (softmax ? 1 : classes + 1) * plane);
    if (!softmax) continue;
    float* first = at + (coords + 1) * plane;
    for (std::size_t i = 0; i < plane; ++i) {
      float most = -std::numeric_limits<float>::infinity(), total = 0;
      for (std::size_t c = 0; c < classes; ++c) most = std::max(most, first[c * plane + i]);
      for (std::size_t c = 0; c < classes; ++c) total += first[c * plane + i] = std::exp(first[c * plane + i] - most);
      for (std::size_t c = 0; c < classes; ++c) first[c * plane + i] /= total;
    }
  }
  y.commit();
}

std::int64_t reorg_stride(const Node& node) {
  const auto& stride = node.get_attributes().get_ints("stride");
  if (stride.empty() || stride[0] < 1 || stride[0] > (1 << 20)) fail("the stride must be positive");
  return stride[0];
}

void infer_reorg_yolo(Node& node) {
  require_rank(node, 0, 4, 4);
  const std::int64_t stride = reorg_stride(node);
  PartialShape out = node.get_input_partial_shape(0);
  if (out.rank().is_dynamic()) return set_output(node, 0, PartialShape::dynamic(4));
  if (out[1].is_static() && out[1].get_length() % (stride * stride) != 0)
    fail("the data has " + out[1].to_string() + " channels, no multiple of the stride's square");
  for (std::size_t i = 2; i < 4; ++i) {
    if (out[i].is_static() && out[i].get_length() % stride != 0)
      fail("an extent of " + out[i].to_string() + " is not a multiple of the stride " + std::to_string(stride));
    out[i] = out[i].is_static() ? Dimension(out[i].get_length() / stride) : Dimension::dynamic();
  }
  out[1] = out[1] * Dimension(stride * stride);
  set_output(node, 0, out);
}

void evaluate_reorg_yolo(const Node& node, std::span<const Tensor> inputs, std::span<Tensor> outputs) {
  const auto stride = static_cast<std::size_t>(reorg_stride(node));
  const Shape& in = inputs[0].shape();
  const std::size_t channels = in[1] / (stride * stride), width = in[3] * stride, height = in[2] * stride;
  const Read<float> x(inputs[0]);
  Write<float> y(outputs[0]);
  std::size_t at = 0;
  for (std::size_t n = 0; n < in[0]; ++n) {
    for (std::size_t c = 0; c < in[1]; ++c) {
      const std::size_t offset = c / channels;
      for (std::size_t row = 0; row < in[2]; ++row) {
        for (std::size_t column = 0; column < in[3]; ++column, ++at) {
          const std::size_t from_row = row * stride + offset / stride, from_column = column * stride + offset % stride;
          y[at] = x[((n * channels + c % channels) * height + from_row) * width + from_column];
        }
      }
    }
  }
  y.commit();
}
}  // namespace

void add_ssd_rows(OperationTable& table) {
  const std::vector<double> none;
  for (const unsigned opset : {1U, 8U}) {
    auto row = table.add("PriorBox", opset, 2, 2, infer_prior_box, evaluate_prior_box,
                         "Boxes of given sizes and ratios around every cell of a grid.");
    row.reals("min_size", none).reals("max_size", none).reals("aspect_ratio", none).reals("density", none);
    row.reals("fixed_ratio", none).reals("fixed_size", none).reals("variance", none);
    row.flag("clip", false).flag("flip", false).flag("scale_all_sizes", true).real("step", 0.0).real("offset", 0.0);
    if (opset == 8) row.flag("min_max_aspect_ratios_order", true);
  }
  table
      .add("PriorBoxClustered", 1, 2, 2, infer_clustered, evaluate_clustered,
           "Boxes of given widths and heights around every cell of a grid.")
      .reals("width")
      .reals("height")
      .flag("clip", false)
      .real("step", 0.0)
      .real("step_w", 0.0)
      .real("step_h", 0.0)
      .real("offset", 0.0)
      .reals("variance", none);
  for (const unsigned opset : {1U, 8U}) {
    auto row = table.add("DetectionOutput", opset, 3, 3, infer_detection_output, evaluate_detection_output,
                         "Boxes decoded from priors, the best of each class kept.");
    if (opset == 1) row.integer("num_classes");
    row.integer("background_label_id", 0).integer("top_k", -1).flag("variance_encoded_in_target", false);
    row.ints("keep_top_k").text("code_type", "caffe.PriorBoxParameter.CORNER").flag("share_location", true);
    row.real("nms_threshold")
        .real("confidence_threshold", 0.0)
        .flag("clip_after_nms", false)
        .flag("clip_before_nms", false);
    row.flag("decrease_label_id", false).flag("normalized", false).integer("input_height", 1).integer("input_width", 1);
    row.real("objectness_score", 0.0);
  }
  table.add("RegionYolo", 1, 1, 1, infer_region_yolo, evaluate_region_yolo, "The last layer of YOLO 2 and 3.")
      .integer("coords")
      .integer("classes")
      .integer("num")
      .flag("do_softmax", true)
      .ints("mask", std::vector<std::int64_t>{})
      .integer("axis")
      .integer("end_axis")
      .reals("anchors", none);
  table.add("ReorgYolo", 1, 1, 1, infer_reorg_yolo, evaluate_reorg_yolo, "Space to depth in the form of YOLO 2.")
      .ints("stride");
}

}  // namespace v1
}  // namespace tenon
