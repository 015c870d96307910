// SPDX-License-Identifier: Apache-2.0
// Suppression of overlapping boxes: rotated ones, over all classes at once, and by decaying scores.
#include <algorithm>
#include <cmath>
#include <numeric>

#include <tenon/graph/ops/internal/kernel.hpp>
#include <tenon/graph/ops/internal/table_rows.hpp>
#include <tenon/graph/ops/multiclass_nms.hpp>

namespace tenon {
inline namespace v1 {

namespace {
ElementType index_type(const Node& node) {
  const ElementType type = node.get_attributes().get_type("output_type");
  if (type != ElementType::kI32 && type != ElementType::kI64)
    fail("attribute 'output_type': expected i32 or i64, found " + std::string(name(type)));
  return type;
}

/// Indices of scores that are candidates, the best first, at most `limit` (negative: all).
template <typename Rule>
std::vector<std::size_t> best_of(const float* scores, std::size_t count, const Rule& is_candidate, std::int64_t limit) {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < count; ++i)
    if (is_candidate(scores[i])) order.push_back(i);
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return scores[a] > scores[b]; });
  if (limit >= 0 && order.size() > static_cast<std::size_t>(limit)) order.resize(static_cast<std::size_t>(limit));
  return order;
}

// --- MulticlassNms and MatrixNms ----------------------------------------------------------------------------------------

/// x1, y1, x2, y2; in pixels (not normalised) both ends belong to the box, so that neighbours share nothing but may
/// count as overlapping: for MatrixNms disjoint boxes never do.
double overlap(const float* a, const float* b, bool normalized, bool apart_is_none) {
  const double more = normalized ? 0 : 1;
  const auto side = [&](const float* box, int axis) {
    return static_cast<double>(box[axis + 2]) - static_cast<double>(box[axis]) + more;
  };
  const auto area = [&](const float* box) {
    return box[2] < box[0] || box[3] < box[1] ? 0.0 : side(box, 0) * side(box, 1);
  };
  const auto common = [&](int axis) {
    return static_cast<double>(std::min(a[axis + 2], b[axis + 2])) - static_cast<double>(std::max(a[axis], b[axis])) +
           more;
  };
  const double width = common(0), height = common(1), min = apart_is_none ? more : 0;
  if (width <= 0 || height <= 0 || width < min || height < min) return 0;
  return width * height / (area(a) + area(b) - width * height);
}

using Found = SuppressedBox;

void suppress_class(const MulticlassNms& rule, PictureClass& of) {
  const auto order = best_of(
      of.scores, of.count, [&](float score) { return rule.is_candidate(score); }, rule.most);
  const auto box = [&](std::size_t i) { return of.box(order[i]); };
  if (rule.is_matrix) {
    std::vector<double> max(order.size(), 0);
    for (std::size_t i = 0; i < order.size(); ++i) {
      double decay = 1;
      for (std::size_t j = 0; j < i; ++j) {
        const double own = overlap(box(i), box(j), rule.is_normalized, true);
        max[i] = std::max(max[i], own);
        const double by =
            rule.is_gaussian ? std::exp((max[j] * max[j] - own * own) * rule.sigma) : (1 - own) / (1 - max[j]);
        decay = std::min(decay, by);
      }
      const double score = static_cast<double>(of.scores[order[i]]) * decay;
      if (score > rule.post) of.keep(order[i], score);
    }
    return;
  }
  double threshold = rule.overlap;
  for (const std::size_t i : order) {
    const bool hidden = std::any_of(of.kept.begin(), of.kept.end(), [&](const Found& other) {
      return overlap(of.box(i), other.box, rule.is_normalized, false) > threshold;
    });
    if (hidden) continue;
    of.keep(i, static_cast<double>(of.scores[i]));
    threshold = rule.next_overlap(threshold);
  }
}

bool by_score(const Found& a, const Found& b) {
  if (a.score != b.score) return a.score > b.score;
  if (a.batch != b.batch) return a.batch < b.batch;
  return a.category != b.category ? a.category < b.category : a.place < b.place;
}
bool by_class(const Found& a, const Found& b) {
  if (a.category != b.category) return a.category < b.category;
  if (a.batch != b.batch) return a.batch < b.batch;
  return a.score != b.score ? a.score > b.score : a.place < b.place;
}

/// boxes [N, B, 4] and scores [N, C, B]; or, with the numbers of regions, boxes [C, B, 4] and scores [C, B].
void infer_multiclass(Node& node) {
  index_type(node);
  require_real(node, 0);
  common_type(node, 0, 2);
  const bool is_shared = node.get_input_size() > 2;
  require_rank(node, 0, 3, 3);
  require_rank(node, 1, is_shared ? 2 : 3, is_shared ? 2 : 3);
  const PartialShape &boxes = node.get_input_partial_shape(0), &scores = node.get_input_partial_shape(1);
  Dimension pictures;
  if (boxes.rank().is_static() && scores.rank().is_static()) {
    const bool fits =
        boxes[2].compatible(4) && boxes[0].compatible(scores[0]) && boxes[1].compatible(scores[is_shared ? 1 : 2]);
    if (!fits) fail("boxes " + boxes.to_string() + " and scores " + scores.to_string() + " do not belong together");
    if (!is_shared) pictures = boxes[0];
  }
  if (is_shared) {
    require_rank(node, 2, 1, 1);
    const PartialShape& counts = node.get_input_partial_shape(2);
    if (counts.rank().is_static()) pictures = counts[0];
  }
  const ElementType type = node.get_attributes().get_type("output_type");
  node.set_output_type(0, node.get_input_element_type(0), {Dimension::dynamic(), 6});
  node.set_output_type(1, type, {Dimension::dynamic(), 1});
  node.set_output_type(2, type, {pictures});
}

MulticlassNms rule_of(const Node& node) {
  const Attributes& attributes = node.get_attributes();
  MulticlassNms rule;
  rule.is_matrix = is_op(&node, "MatrixNms");
  rule.is_normalized = attributes.get_bool("normalized");
  rule.score = attributes.get_double("score_threshold");
  rule.most = attributes.get_int("nms_top_k");
  if (rule.is_matrix) {
    rule.is_gaussian = attributes.get_string("decay_function") == "gaussian";
    rule.sigma = attributes.get_double("gaussian_sigma");
    rule.post = attributes.get_double("post_threshold");
  } else {
    rule.overlap = attributes.get_double("iou_threshold");
    rule.eta = attributes.get_double("nms_eta");
  }
  return rule;
}

/// Fills in all classes except the background, image by image. @return the number of images.
std::size_t classes_of(std::span<const Tensor> inputs, const float* boxes, const float* scores, std::int64_t background,
                       std::vector<PictureClass>& made) {
  const Shape &bs = inputs[0].shape(), &ss = inputs[1].shape();
  const auto add = [&](std::size_t picture, std::size_t category, const float* own_boxes, const float* own_scores,
                       std::size_t count, std::size_t first, std::size_t step) {
    if (static_cast<std::int64_t>(category) == background) return;
    made.push_back({own_boxes,
                    own_scores,
                    count,
                    static_cast<std::int64_t>(picture),
                    static_cast<std::int64_t>(category),
                    static_cast<std::int64_t>(first),
                    static_cast<std::int64_t>(step),
                    {}});
  };
  if (inputs.size() <= 2) {
    for (std::size_t n = 0; n < bs[0]; ++n)
      for (std::size_t c = 0; c < ss[1]; ++c)
        add(n, c, boxes + n * bs[1] * 4, scores + (n * ss[1] + c) * ss[2], bs[1], n * bs[1], 1);
    return bs[0];
  }
  const auto counts = to_vector<std::int64_t>(inputs[2]);
  std::size_t first = 0;
  for (std::size_t n = 0; n < counts.size(); ++n) {
    if (counts[n] < 0 || first + static_cast<std::size_t>(counts[n]) > bs[1])
      fail("roisnum holds " + std::to_string(counts[n]) + ", more than the " + std::to_string(bs[1] - first) +
           " boxes left");
    const auto count = static_cast<std::size_t>(counts[n]);
    // A box has a separate index for each class.
    for (std::size_t c = 0; c < bs[0]; ++c)
      add(n, c, boxes + (c * bs[1] + first) * 4, scores + c * bs[1] + first, count, first * bs[0] + c, bs[0]);
    first += count;
  }
  return counts.size();
}

void evaluate_multiclass(const Node& node, std::span<const Tensor> inputs, std::span<Tensor> outputs) {
  suppress_classes(node, inputs, outputs, [](const MulticlassNms& rule, std::span<PictureClass> classes) {
    for (PictureClass& each : classes) suppress_class(rule, each);
  });
}

// --- NMSRotated: boxes [N, B, 5] of centre, width, height, angle; scores [N, C, B]; most, overlap, score ---------------

struct Point {
  double x, y;
};
using Polygon = std::vector<Point>;

Polygon corners_of(const double* box, bool clockwise) {
  const double angle = clockwise ? box[4] : -box[4], c = std::cos(angle), s = std::sin(angle);
  Polygon corners;
  for (const auto& [u, v] : {std::pair{-0.5, -0.5}, {0.5, -0.5}, {0.5, 0.5}, {-0.5, 0.5}}) {
    const double x = u * box[2], y = v * box[3];
    corners.push_back({box[0] + x * c - y * s, box[1] + x * s + y * c});
  }
  return corners;
}

double area_of(const Polygon& polygon) {
  double sum = 0;
  for (std::size_t i = 0; i < polygon.size(); ++i) {
    const Point &a = polygon[i], &b = polygon[(i + 1) % polygon.size()];
    sum += a.x * b.y - b.x * a.y;
  }
  return std::abs(sum) / 2;
}

/// The part of `polygon` to the inner side of each edge of `clip` (Sutherland and Hodgman).
Polygon intersection(Polygon polygon, const Polygon& clip) {
  for (std::size_t i = 0; i < clip.size() && !polygon.empty(); ++i) {
    const Point &a = clip[i], &b = clip[(i + 1) % clip.size()];
    const auto side = [&](const Point& p) { return (b.x - a.x) * (p.y - a.y) - (b.y - a.y) * (p.x - a.x); };
    Polygon kept;
    for (std::size_t k = 0; k < polygon.size(); ++k) {
      const Point &p = polygon[k], &q = polygon[(k + 1) % polygon.size()];
      const double from = side(p), to = side(q);
      if (from >= 0) kept.push_back(p);
      if ((from > 0 && to < 0) || (from < 0 && to > 0)) {
        const double t = from / (from - to);
        kept.push_back({p.x + t * (q.x - p.x), p.y + t * (q.y - p.y)});
      }
    }
    polygon = std::move(kept);
  }
  return polygon;
}

void infer_rotated(Node& node) {
  const ElementType type = index_type(node);
  require_real(node, 0);
  require_rank(node, 0, 3, 3);
  require_rank(node, 1, 3, 3);
  const PartialShape &boxes = node.get_input_partial_shape(0), &scores = node.get_input_partial_shape(1);
  if (boxes.rank().is_static() && scores.rank().is_static() &&
      !(boxes[2].compatible(5) && boxes[0].compatible(scores[0]) && boxes[1].compatible(scores[2])))
    fail("boxes " + boxes.to_string() + " and scores " + scores.to_string() + " do not belong together");
  node.set_output_type(0, type, {Dimension::dynamic(), 3});
  node.set_output_type(1, node.get_input_element_type(1), {Dimension::dynamic(), 3});
  node.set_output_type(2, type, {1});
}

struct RotatedBox {
  Polygon corners;
  double area = 0, radius = 0;  ///< The radius of the circle around it.
  Point centre;

  RotatedBox(const double* box, bool clockwise)
      : corners(corners_of(box, clockwise)),
        area(area_of(corners)),
        radius(std::hypot(box[2], box[3]) / 2),
        centre{box[0], box[1]} {}
};

double overlap(const RotatedBox& a, const RotatedBox& b) {
  // Most boxes are far from each other. The margin of a part of a pixel covers rounded sums.
  const double reach = (a.radius + b.radius) * 1.000001;
  if (std::hypot(a.centre.x - b.centre.x, a.centre.y - b.centre.y) > reach) return 0;
  const double both = area_of(intersection(a.corners, b.corners)), either = a.area + b.area - both;
  return either > 0 ? both / either : 0.0;
}

void evaluate_rotated(const Node& node, std::span<const Tensor> inputs, std::span<Tensor> outputs) {
  suppress_rotated(node, inputs, outputs, [](std::size_t count, const auto& body) { body(0, count); });
}
}  // namespace

void suppress_classes(const Node& node, std::span<const Tensor> inputs, std::span<Tensor> outputs,
                      const SuppressClasses& suppress) {
  const Attributes& attributes = node.get_attributes();
  const MulticlassNms rule = rule_of(node);
  const Read<float> boxes(inputs[0]), scores(inputs[1]);
  std::vector<PictureClass> classes;
  const std::size_t pictures =
      classes_of(inputs, boxes.data(), scores.data(), attributes.get_int("background_class"), classes);
  suppress(rule, classes);
  const std::int64_t max = attributes.get_int("keep_top_k");
  const std::string& sort = attributes.get_string("sort_result_type");
  std::vector<Found> all;
  std::vector<std::int64_t> counts;
  auto next = classes.begin();
  for (std::size_t n = 0; n < pictures; ++n) {
    std::vector<Found> own;
    for (; next != classes.end() && next->batch == static_cast<std::int64_t>(n); ++next)
      own.insert(own.end(), next->kept.begin(), next->kept.end());
    std::stable_sort(own.begin(), own.end(), by_score);
    if (max >= 0 && own.size() > static_cast<std::size_t>(max)) own.resize(static_cast<std::size_t>(max));
    if (sort == "classid" && !rule.is_matrix) std::stable_sort(own.begin(), own.end(), by_class);
    counts.push_back(static_cast<std::int64_t>(own.size()));
    all.insert(all.end(), own.begin(), own.end());
  }
  if (attributes.get_bool("sort_result_across_batch") && sort != "none")
    std::stable_sort(all.begin(), all.end(), sort == "score" ? by_score : by_class);
  std::vector<float> rows;
  std::vector<std::int64_t> places;
  for (const Found& found : all) {
    rows.insert(rows.end(), {static_cast<float>(found.category), static_cast<float>(found.score), found.box[0],
                             found.box[1], found.box[2], found.box[3]});
    places.push_back(found.place);
  }
  outputs[0] = Tensor(inputs[0].element_type(), Shape{all.size(), 6});
  outputs[1] = Tensor(attributes.get_type("output_type"), Shape{all.size(), 1});
  if (!outputs[2] || outputs[2].element_count() != counts.size())
    outputs[2] = Tensor(attributes.get_type("output_type"), Shape{counts.size()});
  if (!all.empty()) {
    store_elements(outputs[0].element_type(), rows.data(), rows.size(), outputs[0].data());
    store_elements(outputs[1].element_type(), places.data(), places.size(), outputs[1].data());
  }
  if (!counts.empty()) store_elements(outputs[2].element_type(), counts.data(), counts.size(), outputs[2].data());
}

void suppress_rotated(const Node& node, std::span<const Tensor> inputs, std::span<Tensor> outputs,
                      const LoopOverClasses& loop) {
  const Attributes& attributes = node.get_attributes();
  const Shape &bs = inputs[0].shape(), &ss = inputs[1].shape();
  const Read<double> boxes(inputs[0]);
  const Read<float> scores(inputs[1]);
  const std::int64_t max = std::max<std::int64_t>(to_vector<std::int64_t>(inputs[2]).at(0), 0);
  const double limit = to_vector<double>(inputs[3]).at(0), min = to_vector<double>(inputs[4]).at(0);
  std::vector<RotatedBox> rotated;
  for (std::size_t i = 0; i < bs[0] * bs[1]; ++i)
    rotated.emplace_back(boxes.data() + i * 5, attributes.get_bool("clockwise"));
  std::vector<std::vector<Found>> classes(ss[0] * ss[1]);
  loop(classes.size(), [&](std::size_t begin, std::size_t end) {
    for (std::size_t of = begin; of < end; ++of) {
      const RotatedBox* own = rotated.data() + of / ss[1] * bs[1];
      const float* score = scores.data() + of * ss[2];
      const auto is_candidate = [&](float value) { return static_cast<double>(value) > min; };
      std::vector<std::size_t> kept;
      for (const std::size_t i : best_of(score, ss[2], is_candidate, -1)) {
        if (kept.size() >= static_cast<std::size_t>(max)) break;
        const auto hides = [&](std::size_t other) { return overlap(own[i], own[other]) > limit; };
        if (std::any_of(kept.begin(), kept.end(), hides)) continue;
        kept.push_back(i);
        classes[of].push_back({static_cast<double>(score[i]), static_cast<std::int64_t>(of / ss[1]),
                               static_cast<std::int64_t>(of % ss[1]), static_cast<std::int64_t>(i), nullptr});
      }
    }
  });
  std::vector<Found> all;
  for (const auto& each : classes) all.insert(all.end(), each.begin(), each.end());
  if (attributes.get_bool("sort_result_descending"))
    std::stable_sort(all.begin(), all.end(), [](const Found& a, const Found& b) { return a.score > b.score; });
  std::vector<std::int64_t> places;
  std::vector<double> rows;
  for (const Found& found : all) {
    places.insert(places.end(), {found.batch, found.category, found.place});
    rows.insert(rows.end(), {static_cast<double>(found.batch), static_cast<double>(found.category), found.score});
  }
  const ElementType type = attributes.get_type("output_type");
  outputs[0] = Tensor(type, Shape{all.size(), 3});
  outputs[1] = Tensor(inputs[1].element_type(), Shape{all.size(), 3});
  if (!all.empty()) {
    store_elements(type, places.data(), places.size(), outputs[0].data());
    store_elements(outputs[1].element_type(), rows.data(), rows.size(), outputs[1].data());
  }
  const auto count = static_cast<std::int64_t>(all.size());
  store_elements(type, &count, 1, outputs[2].data());
}

void add_nms_rows(OperationTable& table) {
  const auto shared = [](OperationTable::Row row) {
    row.text("sort_result_type", "none", {"none", "classid", "score"})
        .flag("sort_result_across_batch", false)
        .type("output_type", ElementType::kI64);
    row.real("score_threshold", 0.0)
        .integer("nms_top_k", -1)
        .integer("keep_top_k", -1)
        .integer("background_class", -1)
        .flag("normalized", true);
    return row;
  };
  for (const unsigned opset : {8U, 9U})
    shared(table.add("MulticlassNms", opset, 2, opset == 8 ? 2 : 3, infer_multiclass, evaluate_multiclass,
                     "The best boxes of all classes, without overlapping ones."))
        .real("iou_threshold", 0.0)
        .real("nms_eta", 1.0);
  shared(table.add("MatrixNms", 8, 2, 2, infer_multiclass, evaluate_multiclass,
                   "The best boxes of all classes, scores lowered where they overlap."))
      .text("decay_function", "linear", {"gaussian", "linear"})
      .real("gaussian_sigma", 2.0)
      .real("post_threshold", 0.0);
  table
      .add("NMSRotated", 13, 5, 5, infer_rotated, evaluate_rotated,
           "The best of overlapping rotated boxes, per batch and class.")
      .flag("sort_result_descending", true)
      .type("output_type", ElementType::kI64)
      .flag("clockwise", true);
}

}  // namespace v1
}  // namespace tenon
