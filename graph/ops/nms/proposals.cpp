// SPDX-License-Identifier: Apache-2.0
// Two-stage detectors: boxes proposed from anchors, pooled from a pyramid, and decoded class by class.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include <tenon/graph/ops/internal/kernel.hpp>
#include <tenon/graph/ops/internal/table_rows.hpp>

namespace tenon {
inline namespace v1 {

namespace {
struct Box {
  float x0, y0, x1, y1;
};
struct Scored {
  Box box;
  float score = 0;
  std::int64_t category = 0;  ///< A class, or a flag.
};

/// A box moved and scaled by a network's outputs. In pixel coordinates both ends belong to a box, and `offset` is 1.
Box decoded(const Box& anchor, float dx, float dy, float log_w, float log_h, float offset, float most) {
  const float width = anchor.x1 - anchor.x0 + offset, height = anchor.y1 - anchor.y0 + offset;
  const float x = anchor.x0 + 0.5f * width + dx * width, y = anchor.y0 + 0.5f * height + dy * height;
  const float w = std::exp(std::min(log_w, most)) * width, h = std::exp(std::min(log_h, most)) * height;
  return {x - 0.5f * w, y - 0.5f * h, x + 0.5f * w, y + 0.5f * h};
}

Box clipped(const Box& box, float width, float height) {
  const auto inside = [](float value, float most) { return std::max(0.0f, std::min(value, most)); };
  return {inside(box.x0, width), inside(box.y0, height), inside(box.x1, width), inside(box.y1, height)};
}

float overlap(const Box& a, const Box& b, float offset) {
  if (std::max(a.x0, b.x0) > std::min(a.x1, b.x1) || std::max(a.y0, b.y0) > std::min(a.y1, b.y1)) return 0;
  const auto area = [&](const Box& box) { return (box.x1 - box.x0 + offset) * (box.y1 - box.y0 + offset); };
  const float width = std::max(0.0f, std::min(a.x1, b.x1) - std::max(a.x0, b.x0) + offset),
              height = std::max(0.0f, std::min(a.y1, b.y1) - std::max(a.y0, b.y0) + offset);
  return width * height / (area(a) + area(b) - width * height);
}

void keep_best(std::vector<Scored>& boxes, std::int64_t count) {
  std::stable_sort(boxes.begin(), boxes.end(), [](const Scored& a, const Scored& b) { return a.score > b.score; });
  if (count >= 0 && boxes.size() > static_cast<std::size_t>(count)) boxes.resize(static_cast<std::size_t>(count));
}

/// The best boxes, in order; boxes that overlap a better one by more than the threshold are removed.
std::vector<Scored> suppressed(const std::vector<Scored>& sorted, double threshold, std::int64_t count, float offset,
                               double eta = 1) {
  std::vector<Scored> kept;
  for (const Scored& next : sorted) {
    if (static_cast<std::int64_t>(kept.size()) >= count) break;
    const auto hides = [&](const Scored& other) {
      return static_cast<double>(overlap(next.box, other.box, offset)) > threshold;
    };
    if (std::any_of(kept.begin(), kept.end(), hides)) continue;
    kept.push_back(next);
    if (eta < 1 && threshold > 0.5) threshold *= eta;
  }
  return kept;
}

std::int64_t count_of(const Node& node, const char* attribute) {
  const std::int64_t value = node.get_attributes().get_int(attribute);
  if (value < 0 || value > (1 << 24))
    fail("attribute '" + std::string(attribute) + "' is " + std::to_string(value) + ", expected 0 to 2^24");
  return value;
}
void require_count(bool fits, const char* what, const Shape& shape) {
  if (!fits) fail(std::string(what) + " of shape " + to_string(shape) + " do not fit the other inputs");
}

// --- Proposal: class_probs [N, 2A, H, W], deltas [N, 4A, H, W], image [3 or 4] ------------------------------------------

void infer_proposal(Node& node) {
  const element::Type type = common_type(node, 0, 3);
  require_real(node, 0);
  require_rank(node, 0, 4, 4);
  require_rank(node, 1, 4, 4);
  require_rank(node, 2, 1, 2);
  const PartialShape &scores = node.get_input_partial_shape(0), &deltas = node.get_input_partial_shape(1);
  const Attributes& attributes = node.get_attributes();
  const auto anchors =
      static_cast<std::int64_t>(attributes.get_doubles("ratio").size() * attributes.get_doubles("scale").size());
  if (scores.rank().is_static() && !scores[1].compatible(2 * anchors))
    fail("class_probs " + scores.to_string() + ": expected " + std::to_string(2 * anchors) + " channels for " +
         std::to_string(anchors) + " anchors");
  if (deltas.rank().is_static() && !deltas[1].compatible(4 * anchors))
    fail("bbox_deltas " + deltas.to_string() + ": expected " + std::to_string(4 * anchors) + " channels for " +
         std::to_string(anchors) + " anchors");
  const Dimension batch = scores.rank().is_static() ? scores[0] : Dimension::dynamic();
  const Dimension count = batch * Dimension(count_of(node, "post_nms_topn"));
  node.set_output_type(0, type, {count, 5});
  if (node.operation().opset >= 4) node.set_output_type(1, type, {count});
}

std::vector<Box> anchors_of(const Attributes& attributes, bool is_tensorflow, float offset) {
  const auto base = static_cast<float>(attributes.get_int("base_size"));
  const float centre = 0.5f * (base - offset), shift = is_tensorflow ? 0.5f * base : 0;
  std::vector<Box> anchors;
  for (const double ratio : attributes.get_doubles("ratio")) {
    const auto r = static_cast<float>(ratio);
    float width = std::sqrt(base * base / r), height = width * r;
    if (!is_tensorflow) width = std::round(width), height = std::round(width * r);
    for (const double scale : attributes.get_doubles("scale")) {
      const float w = 0.5f * (width * static_cast<float>(scale) - offset),
                  h = 0.5f * (height * static_cast<float>(scale) - offset);
      anchors.push_back({centre - w - shift, centre - h - shift, centre + w - shift, centre + h - shift});
    }
  }
  return anchors;
}

void evaluate_proposal(const Node& node, std::span<const Tensor> inputs, std::span<Tensor> outputs) {
  const Attributes& attributes = node.get_attributes();
  const Shape& shape = inputs[0].shape();
  const bool is_tensorflow = attributes.get_string("framework") == "tensorflow";
  const float offset = is_tensorflow ? 0 : 1;
  const auto number = [&](const char* name) { return static_cast<float>(attributes.get_double(name)); };
  const std::vector<Box> anchors = anchors_of(attributes, is_tensorflow, offset);
  const auto image = to_vector<float>(inputs[2]);
  if (image.size() < 3) fail("image_shape has " + std::to_string(image.size()) + " values, expected 3 or 4");
  // TensorFlow's boxes are y first, and its anchors are clipped.
  const float height = image[is_tensorflow ? 1 : 0], width = image[is_tensorflow ? 0 : 1];
  const float scale_h = image[2], scale_w = image.size() > 3 ? image[3] : image[2];
  const auto least = static_cast<float>(attributes.get_int("min_size")),
             stride = static_cast<float>(attributes.get_int("feat_stride"));
  const std::size_t rows = shape[2], columns = shape[3], plane = rows * columns, kinds = anchors.size();
  const std::int64_t most = count_of(node, "post_nms_topn");
  require_count(inputs[1].element_count() == shape[0] * kinds * 4 * plane && shape[1] == 2 * kinds, "bbox_deltas",
                inputs[1].shape());
  const Read<float> scores(inputs[0]), deltas(inputs[1]);
  Write<float> y(outputs[0]);
  std::vector<float> probabilities(shape[0] * static_cast<std::size_t>(most), 0);
  std::fill_n(y.data(), y.size(), 0.0f);
  for (std::size_t n = 0; n < shape[0]; ++n) {
    std::vector<Scored> boxes;
    for (std::size_t at = 0; at < plane; ++at) {
      const std::size_t row = at / columns;
      float x = static_cast<float>(at % columns) * stride, top = static_cast<float>(row) * stride;
      if (is_tensorflow) std::swap(x, top);
      for (std::size_t a = 0; a < kinds; ++a) {
        const float* own = deltas.data() + (n * kinds + a) * 4 * plane + at;
        Box anchor{x + anchors[a].x0, top + anchors[a].y0, x + anchors[a].x1, top + anchors[a].y1};
        if (is_tensorflow) anchor = clipped(anchor, width, height);
        const float place = number("box_coordinate_scale"), size = number("box_size_scale");
        Box box = decoded(anchor, own[0] / place, own[plane] / place, own[2 * plane] / size, own[3 * plane] / size,
                          offset, std::numeric_limits<float>::max());
        if (attributes.get_bool("clip_before_nms")) box = clipped(box, width - offset, height - offset);
        const bool fits = box.x1 - box.x0 + offset >= least * scale_w && box.y1 - box.y0 + offset >= least * scale_h;
        boxes.push_back({box, fits ? scores[((n * 2 + 1) * kinds + a) * plane + at] : 0.0f});
      }
    }
    keep_best(boxes, attributes.get_int("pre_nms_topn"));
    const auto kept = suppressed(boxes, attributes.get_double("nms_thresh"), most, offset);
    for (std::size_t i = 0; i < kept.size(); ++i) {
      Box box = kept[i].box;
      if (attributes.get_bool("clip_after_nms")) box = clipped(box, width, height);
      if (attributes.get_bool("normalize")) box = {box.x0 / width, box.y0 / height, box.x1 / width, box.y1 / height};
      const std::size_t row = n * static_cast<std::size_t>(most) + i;
      const float values[] = {static_cast<float>(n), box.x0, box.y0, box.x1, box.y1};
      std::copy(std::begin(values), std::end(values), y.data() + row * 5);
      probabilities[row] = kept[i].score;
    }
    // An image index of -1 ends a list that is not full.
    if (static_cast<std::int64_t>(kept.size()) < most) y[(n * static_cast<std::size_t>(most) + kept.size()) * 5] = -1;
  }
  y.commit();
  if (outputs.size() > 1 && !probabilities.empty())
    store_elements(outputs[1].element_type(), probabilities.data(), probabilities.size(), outputs[1].data());
}

// --- GenerateProposals: im_info [N, 3 or 4], anchors [H, W, A, 4], deltas [N, 4A, H, W], scores [N, A, H, W] ------------
// --- and ExperimentalDetectronGenerateProposalsSingleImage: im_info [3], anchors [HWA, 4], deltas [4A, H, W], scores ---

constexpr float kMostLog = 4.135166556742356f;  // log(1000 / 16)

/// Both operations move anchors in the same way, and differ in the counts.
struct Counting {
  float decode = 0;         ///< 1: both ends belong to a box in pixels.
  float overlap = 0;        ///< The same for the comparison of boxes.
  bool drops_small = true;  ///< Removes small boxes after the best were chosen; otherwise small boxes count as the
                            ///< worst.
};

std::vector<Scored> proposed(const Node& node, const float* info, std::size_t info_size, const float* anchors,
                             const float* deltas, const float* scores, std::size_t kinds, std::size_t plane,
                             const Counting& counting) {
  const Attributes& attributes = node.get_attributes();
  const float height = info[0], width = info[1], scale_h = info[2], scale_w = info_size > 3 ? info[3] : info[2];
  const auto least = static_cast<float>(attributes.get_double("min_size"));
  const float offset = counting.decode;
  std::vector<Scored> boxes;
  for (std::size_t at = 0; at < plane; ++at) {
    for (std::size_t a = 0; a < kinds; ++a) {
      const float *own = anchors + (at * kinds + a) * 4, *by = deltas + a * 4 * plane + at;
      Box box =
          decoded({own[0], own[1], own[2], own[3]}, by[0], by[plane], by[2 * plane], by[3 * plane], offset, kMostLog);
      box = clipped({box.x0, box.y0, box.x1 - offset, box.y1 - offset}, width - offset, height - offset);
      const bool is_large = box.x1 - box.x0 + offset >= least * scale_w && box.y1 - box.y0 + offset >= least * scale_h;
      boxes.push_back({box, is_large || counting.drops_small ? scores[a * plane + at] : 0.0f, is_large});
    }
  }
  keep_best(boxes, count_of(node, "pre_nms_count"));
  if (counting.drops_small) std::erase_if(boxes, [](const Scored& one) { return one.category == 0; });
  const double eta = attributes.get_double("nms_eta", 1);
  return suppressed(boxes, attributes.get_double("nms_threshold"), count_of(node, "post_nms_count"), counting.overlap,
                    eta);
}

void infer_generate(Node& node) {
  const element::Type type = common_type(node, 0, 4);
  require_real(node, 0);
  require_rank(node, 0, 2, 2);
  for (std::size_t i = 1; i < 4; ++i) require_rank(node, i, 4, 4);
  count_of(node, "pre_nms_count"), count_of(node, "post_nms_count");
  const PartialShape &info = node.get_input_partial_shape(0), &scores = node.get_input_partial_shape(3);
  if (info.rank().is_static() && info[1].is_static() && info[1].get_length() != 3 && info[1].get_length() != 4)
    fail("im_info " + info.to_string() + ": expected 3 or 4 numbers for each picture");
  const Dimension batch = scores.rank().is_static() ? scores[0] : Dimension::dynamic();
  node.set_output_type(0, type, {Dimension::dynamic(), 4});
  node.set_output_type(1, type, {Dimension::dynamic()});
  const ElementType counts = node.get_attributes().get_type("roi_num_type");
  if (counts != ElementType::kI32 && counts != ElementType::kI64)
    fail("attribute 'roi_num_type': expected i32 or i64, found " + std::string(name(counts)));
  node.set_output_type(2, counts, {batch});
}

void evaluate_generate(const Node& node, std::span<const Tensor> inputs, std::span<Tensor> outputs) {
  const Shape &shape = inputs[3].shape(), &info_shape = inputs[0].shape();
  const std::size_t kinds = shape[1], plane = shape[2] * shape[3], size = info_shape[1];
  require_count(inputs[1].element_count() == plane * kinds * 4, "anchors", inputs[1].shape());
  require_count(inputs[2].element_count() == shape[0] * plane * kinds * 4, "deltas", inputs[2].shape());
  require_count(info_shape[0] == shape[0] && size >= 3, "im_info", info_shape);
  const Read<float> info(inputs[0]), anchors(inputs[1]), deltas(inputs[2]), scores(inputs[3]);
  const float offset = node.get_attributes().get_bool("normalized") ? 0.0f : 1.0f;
  std::vector<float> boxes, values;
  std::vector<std::int64_t> counts;
  for (std::size_t n = 0; n < shape[0]; ++n) {
    const auto kept =
        proposed(node, info.data() + n * size, size, anchors.data(), deltas.data() + n * kinds * 4 * plane,
                 scores.data() + n * kinds * plane, kinds, plane, Counting{offset, offset});
    for (const Scored& one : kept) {
      boxes.insert(boxes.end(), {one.box.x0, one.box.y0, one.box.x1, one.box.y1});
      values.push_back(one.score);
    }
    counts.push_back(static_cast<std::int64_t>(kept.size()));
  }
  const ElementType type = inputs[0].element_type();
  outputs[0] = Tensor(type, Shape{values.size(), 4});
  outputs[1] = Tensor(type, Shape{values.size()});
  if (!outputs[2] || outputs[2].element_count() != counts.size())
    outputs[2] = Tensor(node.get_attributes().get_type("roi_num_type"), Shape{counts.size()});
  if (!values.empty()) {
    store_elements(type, boxes.data(), boxes.size(), outputs[0].data());
    store_elements(type, values.data(), values.size(), outputs[1].data());
  }
  if (!counts.empty()) store_elements(outputs[2].element_type(), counts.data(), counts.size(), outputs[2].data());
}

void infer_single(Node& node) {
  const element::Type type = common_type(node, 0, 4);
  require_real(node, 0);
  require_rank(node, 0, 1, 1);
  require_rank(node, 1, 2, 2);
  require_rank(node, 2, 3, 3);
  require_rank(node, 3, 3, 3);
  count_of(node, "pre_nms_count");
  const std::int64_t count = count_of(node, "post_nms_count");
  node.set_output_type(0, type, {count, 4});
  node.set_output_type(1, type, {count});
}

/// Rows of boxes and their scores, filled up with zeros.
void write_boxes(const std::vector<Scored>& kept, Tensor& boxes, Tensor& scores) {
  Write<float> b(boxes), s(scores);
  std::fill_n(b.data(), b.size(), 0.0f);
  std::fill_n(s.data(), s.size(), 0.0f);
  for (std::size_t i = 0; i < kept.size() && i < s.size(); ++i) {
    const Box& box = kept[i].box;
    const float values[] = {box.x0, box.y0, box.x1, box.y1};
    std::copy(std::begin(values), std::end(values), b.data() + i * 4);
    s[i] = kept[i].score;
  }
  b.commit();
  s.commit();
}

void evaluate_single(const Node& node, std::span<const Tensor> inputs, std::span<Tensor> outputs) {
  const Shape& shape = inputs[3].shape();
  const std::size_t kinds = shape[0], plane = shape[1] * shape[2];
  require_count(inputs[1].element_count() == plane * kinds * 4, "anchors", inputs[1].shape());
  require_count(inputs[2].element_count() == plane * kinds * 4, "deltas", inputs[2].shape());
  require_count(inputs[0].element_count() >= 3, "im_info", inputs[0].shape());
  const Read<float> info(inputs[0]), anchors(inputs[1]), deltas(inputs[2]), scores(inputs[3]);
  write_boxes(
      proposed(node, info.data(), 3, anchors.data(), deltas.data(), scores.data(), kinds, plane, Counting{1, 0, false}),
      outputs[0], outputs[1]);
}

// --- ExperimentalDetectronPriorGridGenerator: priors [A, 4], features [1, C, H, W], image [1, C, H, W] -----------------

void infer_prior_grid(Node& node) {
  require_rank(node, 0, 2, 2);
  require_rank(node, 1, 4, 4);
  require_rank(node, 2, 4, 4);
  const PartialShape &priors = node.get_input_partial_shape(0), &features = node.get_input_partial_shape(1);
  const Attributes& attributes = node.get_attributes();
  const auto extent_of = [&](const char* attribute, std::size_t axis) {
    const std::int64_t given = attributes.get_int(attribute);
    if (given < 0 || given > (1 << 16)) fail("attribute '" + std::string(attribute) + "' is " + std::to_string(given));
    Dimension extent = features.rank().is_static() ? features[axis] : Dimension::dynamic();
    if (given > 0 && !Dimension::merge(extent, extent, Dimension(given)))
      fail("attribute '" + std::string(attribute) + "' is " + std::to_string(given) + ", but the features are " +
           features.to_string());
    return extent;
  };
  const Dimension kinds = priors.rank().is_static() ? priors[0] : Dimension::dynamic(), rows = extent_of("h", 2),
                  columns = extent_of("w", 3);
  if (attributes.get_bool("flatten"))
    set_output(node, 0, {rows * columns * kinds, 4});
  else
    set_output(node, 0, {rows, columns, kinds, 4});
}

void evaluate_prior_grid(const Node& node, std::span<const Tensor> inputs, std::span<Tensor> outputs) {
  const Attributes& attributes = node.get_attributes();
  const Shape &features = inputs[1].shape(), &image = inputs[2].shape();
  const std::size_t rows = features[2], columns = features[3], kinds = inputs[0].shape()[0];
  const auto step = [&](const char* attribute, std::size_t whole, std::size_t parts) {
    const double fixed = attributes.get_double(attribute);
    return static_cast<float>(
        fixed > 0 ? fixed : static_cast<double>(whole) / static_cast<double>(std::max<std::size_t>(parts, 1)));
  };
  const float step_x = step("stride_x", image[3], columns), step_y = step("stride_y", image[2], rows);
  const Read<float> priors(inputs[0]);
  Write<float> y(outputs[0]);
  if (priors.size() != kinds * 4) fail("priors of shape " + to_string(inputs[0].shape()) + ": expected 4 numbers each");
  std::size_t at = 0;
  for (std::size_t row = 0; row < rows; ++row)
    for (std::size_t column = 0; column < columns; ++column)
      for (std::size_t k = 0; k < kinds * 4; ++k, ++at)
        y[at] = priors[k] +
                (k % 2 == 0 ? step_x * (static_cast<float>(column) + 0.5f) : step_y * (static_cast<float>(row) + 0.5f));
  y.commit();
}

// --- ExperimentalDetectronTopKROIs: regions [n, 4], scores [n] -----------------------------------------------------------

void infer_top_rois(Node& node) {
  require_rank(node, 0, 2, 2);
  require_rank(node, 1, 1, 1);
  set_output(node, 0, {count_of(node, "max_rois"), 4});
}

void evaluate_top_rois(const Node&, std::span<const Tensor> inputs, std::span<Tensor> outputs) {
  const Read<float> rois(inputs[0]), scores(inputs[1]);
  require_count(rois.size() == scores.size() * 4, "scores", inputs[1].shape());
  Write<float> y(outputs[0]);
  std::vector<std::size_t> order(scores.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return scores[a] > scores[b]; });
  std::fill_n(y.data(), y.size(), 0.0f);
  for (std::size_t i = 0; i < order.size() && i * 4 < y.size(); ++i)
    std::copy_n(rois.data() + order[i] * 4, 4, y.data() + i * 4);
  y.commit();
}

// --- ExperimentalDetectronROIFeatureExtractor: regions [n, 4], then the levels of a pyramid [1, C, H, W] ---------------

void infer_extractor(Node& node) {
  require_rank(node, 0, 2, 2);
  const PartialShape &rois = node.get_input_partial_shape(0), &features = node.get_input_partial_shape(1);
  const auto& scales = node.get_attributes().get_ints("pyramid_scales");
  if (scales.size() < node.get_input_size() - 1)
    fail("pyramid_scales has " + std::to_string(scales.size()) + " values for " +
         std::to_string(node.get_input_size() - 1) + " levels");
  for (const std::int64_t scale : scales)
    if (scale < 1) fail("pyramid_scales holds " + std::to_string(scale));
  Dimension channels;
  for (std::size_t i = 1; i < node.get_input_size(); ++i) {
    require_rank(node, i, 4, 4);
    const PartialShape& level = node.get_input_partial_shape(i);
    if (level.rank().is_static() && !Dimension::merge(channels, channels, level[1]))
      fail("the levels " + features.to_string() + " and " + level.to_string() + " differ in their channels");
  }
  const Dimension count = rois.rank().is_static() ? rois[0] : Dimension::dynamic();
  const std::int64_t size = count_of(node, "output_size");
  set_output(node, 0, {count, channels, size, size});
  set_output(node, 1, {count, 4});
}

double sample(const float* plane, std::int64_t height, std::int64_t width, double y, double x) {
  if (height < 1 || width < 1) return 0;
  if (y < -1 || y > static_cast<double>(height) || x < -1 || x > static_cast<double>(width)) return 0;
  y = std::clamp(y, 0.0, static_cast<double>(height - 1)), x = std::clamp(x, 0.0, static_cast<double>(width - 1));
  const auto top = static_cast<std::int64_t>(y), left = static_cast<std::int64_t>(x);
  const std::int64_t below = std::min(top + 1, height - 1), right = std::min(left + 1, width - 1);
  const double dy = y - static_cast<double>(top), dx = x - static_cast<double>(left);
  const auto at = [&](std::int64_t row, std::int64_t column) {
    return static_cast<double>(plane[row * width + column]);
  };
  return (at(top, left) * (1 - dx) + at(top, right) * dx) * (1 - dy) +
         (at(below, left) * (1 - dx) + at(below, right) * dx) * dy;
}

void evaluate_extractor(const Node& node, std::span<const Tensor> inputs, std::span<Tensor> outputs) {
  const Attributes& attributes = node.get_attributes();
  const auto& scales = attributes.get_ints("pyramid_scales");
  const bool aligned = attributes.get_bool("aligned");
  const std::int64_t ratio = attributes.get_int("sampling_ratio");
  const Shape& out = outputs[0].shape();
  const std::size_t size = out[2], channels = out[1];
  const auto levels = static_cast<std::int64_t>(inputs.size()) - 1;
  const Read<float> rois(inputs[0]);
  std::vector<std::vector<float>> pyramid;
  for (std::size_t i = 1; i < inputs.size(); ++i) pyramid.push_back(to_vector<float>(inputs[i]));
  Write<float> y(outputs[0]), same(outputs[1]);
  std::copy_n(rois.data(), rois.size(), same.data());
  constexpr double kMaxSamples = 4096;
  for (std::size_t r = 0; r < out[0]; ++r) {
    const float* roi = rois.data() + r * 4;
    const auto side = [&](int i) { return static_cast<double>(roi[i + 2]) - static_cast<double>(roi[i]); };
    const double area = side(0) * side(1);
    // A region of 224 pixels square belongs to the third level.
    std::int64_t level = 0;
    if (area > 0)
      level = static_cast<std::int64_t>(
          std::clamp(std::floor(2 + std::log2(std::sqrt(area) / 224 + 1e-6)), 0.0, static_cast<double>(levels - 1)));
    const auto at = static_cast<std::size_t>(level);
    const double scale = 1.0 / static_cast<double>(scales[at]), shift = aligned ? 0.5 : 0;
    const auto height = static_cast<std::int64_t>(inputs[at + 1].shape()[2]),
               width = static_cast<std::int64_t>(inputs[at + 1].shape()[3]);
    const double x0 = static_cast<double>(roi[0]) * scale - shift, y0 = static_cast<double>(roi[1]) * scale - shift;
    double w = static_cast<double>(roi[2]) * scale - shift - x0, h = static_cast<double>(roi[3]) * scale - shift - y0;
    w = std::max(w, 1.0), h = std::max(h, 1.0);
    const double bin_w = w / static_cast<double>(size), bin_h = h / static_cast<double>(size);
    if (!std::isfinite(bin_w) || !std::isfinite(bin_h)) fail("region " + std::to_string(r) + " is not finite");
    const auto samples = [&](double bin) {
      return ratio > 0 ? ratio : static_cast<std::int64_t>(std::clamp(std::ceil(bin), 0.0, kMaxSamples));
    };
    const std::int64_t rows = samples(bin_h), columns = samples(bin_w);
    for (std::size_t c = 0; c < channels; ++c) {
      const float* plane = pyramid[at].data() + c * static_cast<std::size_t>(height * width);
      for (std::size_t p = 0; p < size * size; ++p) {
        const std::size_t row = p / size, column = p % size;
        double sum = 0;
        for (std::int64_t i = 0; i < rows; ++i)
          for (std::int64_t j = 0; j < columns; ++j)
            sum += sample(
                plane, height, width,
                y0 + (static_cast<double>(row) + (static_cast<double>(i) + 0.5) / static_cast<double>(rows)) * bin_h,
                x0 + (static_cast<double>(column) + (static_cast<double>(j) + 0.5) / static_cast<double>(columns)) *
                         bin_w);
        y[(r * channels + c) * size * size + p] =
            rows * columns > 0 ? static_cast<float>(sum / static_cast<double>(rows * columns)) : 0;
      }
    }
  }
  y.commit();
  same.commit();
}

// --- ExperimentalDetectronDetectionOutput: regions [n, 4], deltas [n, 4 classes], scores [n, classes], im_info [1, 3] ---

void infer_detection(Node& node) {
  if (node.get_attributes().get_bool("class_agnostic_box_regression"))
    throw Error(Code::kUnimplemented, "class_agnostic_box_regression true is a form that is not computed yet");
  const element::Type type = common_type(node, 0, 4);
  require_real(node, 0);
  for (std::size_t i = 0; i < 4; ++i) require_rank(node, i, 2, 2);
  const std::int64_t classes = count_of(node, "num_classes"), most = count_of(node, "max_detections_per_image");
  const PartialShape &deltas = node.get_input_partial_shape(1), &scores = node.get_input_partial_shape(2);
  if (deltas.rank().is_static() && !deltas[1].compatible(4 * classes))
    fail("deltas " + deltas.to_string() + ": expected " + std::to_string(4 * classes) + " numbers for each region");
  if (scores.rank().is_static() && !scores[1].compatible(classes))
    fail("scores " + scores.to_string() + ": expected " + std::to_string(classes) + " numbers for each region");
  if (node.get_attributes().get_doubles("deltas_weights").size() != 4)
    fail("deltas_weights has " + std::to_string(node.get_attributes().get_doubles("deltas_weights").size()) +
         " values, expected 4");
  node.set_output_type(0, type, {most, 4});
  node.set_output_type(1, ElementType::kI32, {most});
  node.set_output_type(2, type, {most});
}

void evaluate_detection(const Node& node, std::span<const Tensor> inputs, std::span<Tensor> outputs) {
  const Attributes& attributes = node.get_attributes();
  const auto classes = static_cast<std::size_t>(attributes.get_int("num_classes"));
  const auto& weights = attributes.get_doubles("deltas_weights");
  const auto most = static_cast<float>(attributes.get_double("max_delta_log_wh"));
  const double threshold = attributes.get_double("score_threshold");
  const std::size_t count = inputs[0].shape()[0];
  const Read<float> rois(inputs[0]), deltas(inputs[1]), scores(inputs[2]), info(inputs[3]);
  require_count(rois.size() == count * 4, "regions", inputs[0].shape());
  require_count(deltas.size() == count * classes * 4, "deltas", inputs[1].shape());
  require_count(scores.size() == count * classes && info.size() >= 2, "scores or im_info", inputs[2].shape());
  std::vector<Scored> all;
  for (std::size_t c = 1; c < classes; ++c) {  // Class 0 is the background.
    std::vector<Scored> own;
    for (std::size_t i = 0; i < count; ++i) {
      const float score = scores[i * classes + c];
      if (!(static_cast<double>(score) > threshold)) continue;
      const float *roi = rois.data() + i * 4, *by = deltas.data() + (i * classes + c) * 4;
      const auto part = [&](std::size_t k) { return by[k] / static_cast<float>(weights[k]); };
      const Box box = decoded({roi[0], roi[1], roi[2], roi[3]}, part(0), part(1), part(2), part(3), 1, most);
      // Only the upper left corner, which could be outside, is clamped.
      const auto inside = [](float value) { return std::max(value, 0.0f); };
      own.push_back({{inside(box.x0), inside(box.y0), inside(box.x1 - 1), inside(box.y1 - 1)},
                     score,
                     static_cast<std::int64_t>(c)});
    }
    keep_best(own, -1);
    const auto kept = suppressed(own, attributes.get_double("nms_threshold"), count_of(node, "post_nms_count"), 1);
    all.insert(all.end(), kept.begin(), kept.end());
  }
  keep_best(all, count_of(node, "max_detections_per_image"));
  write_boxes(all, outputs[0], outputs[2]);
  Write<std::int64_t> labels(outputs[1]);
  for (std::size_t i = 0; i < labels.size(); ++i) labels[i] = i < all.size() ? all[i].category : 0;
  labels.commit();
}
}  // namespace

void add_proposals_rows(OperationTable& table) {
  for (const unsigned opset : {1U, 4U})
    table
        .add("Proposal", opset, 3, 3, infer_proposal, evaluate_proposal,
             "The best boxes around anchors, moved by the deltas of a network.")
        .integer("base_size")
        .integer("pre_nms_topn")
        .integer("post_nms_topn")
        .real("nms_thresh")
        .integer("feat_stride")
        .integer("min_size")
        .reals("ratio")
        .reals("scale")
        .flag("clip_before_nms", true)
        .flag("clip_after_nms", false)
        .flag("normalize", false)
        .real("box_size_scale", 1.0)
        .real("box_coordinate_scale", 1.0)
        .text("framework", "");
  table
      .add("GenerateProposals", 9, 4, 4, infer_generate, evaluate_generate,
           "The best boxes around given anchors, for each image.")
      .real("min_size")
      .real("nms_threshold")
      .integer("pre_nms_count")
      .integer("post_nms_count")
      .flag("normalized", true)
      .real("nms_eta", 1.0)
      .type("roi_num_type", ElementType::kI64);
  table
      .add("ExperimentalDetectronGenerateProposalsSingleImage", 6, 4, 4, infer_single, evaluate_single,
           "The best boxes around given anchors, for one image.")
      .real("min_size")
      .real("nms_threshold")
      .integer("pre_nms_count")
      .integer("post_nms_count");
  table
      .add("ExperimentalDetectronPriorGridGenerator", 6, 3, 3, infer_prior_grid, evaluate_prior_grid,
           "Anchors around every cell of a grid.")
      .flag("flatten", true)
      .integer("h", 0)
      .integer("w", 0)
      .real("stride_x", 0.0)
      .real("stride_y", 0.0);
  table.add("ExperimentalDetectronTopKROIs", 6, 2, 2, infer_top_rois, evaluate_top_rois, "The best regions, in order.")
      .integer("max_rois", 0);
  table
      .add("ExperimentalDetectronROIFeatureExtractor", 6, 2, kManyInputs, infer_extractor, evaluate_extractor,
           "Pools regions from the level of a pyramid that fits their size.")
      .integer("output_size")
      .integer("sampling_ratio")
      .ints("pyramid_scales")
      .flag("aligned", false);
  table
      .add("ExperimentalDetectronDetectionOutput", 6, 4, 4, infer_detection, evaluate_detection,
           "Boxes of each class around regions, the best of all.")
      .real("score_threshold")
      .real("nms_threshold")
      .real("max_delta_log_wh")
      .integer("num_classes")
      .integer("post_nms_count")
      .integer("max_detections_per_image")
      .flag("class_agnostic_box_regression", false)
      .reals("deltas_weights");
}

}  // namespace v1
}  // namespace tenon
