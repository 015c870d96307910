// SPDX-License-Identifier: Apache-2.0
// Boxes that overlap better ones are left out, or their scores decay. How many are left is counted on the device.
#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include <tenon/devices/gpu/kernels.hpp>
#include <tenon/devices/gpu/lower/build/each.hpp>
#include <tenon/devices/gpu/lower/build/table.hpp>
#include <tenon/devices/gpu/lower/nms/suppression.hpp>
#include <tenon/graph/model_ops.hpp>

namespace tenon::inline v1::gpu_device {

Kept add_kept(Builder& builder, Kernel& kernel, const Suppression& what) {
  const Shape shape{what.classes(), what.most};
  const Kept kept{builder.scratch(ElementType::kI32, shape), builder.scratch(ElementType::kF32, shape)};
  kernel.writes("KEPT", kept.boxes).writes("KEPT_SCORE", kept.scores);
  return kept;
}

void add_numbers(Kernel& kernel, const Suppression& what) {
  kernel.number("CLASSES", static_cast<std::int64_t>(what.classes()))
      .number("IN_PICTURE", static_cast<std::int64_t>(what.in_picture))
      .number("MOST", static_cast<std::int64_t>(what.most))
      .number("BOXES", static_cast<std::int64_t>(what.count));
}

Kernel begin_plain(Builder& builder, const Suppression& what) {
  const Shape shape{what.classes(), what.count};
  Kernel kernel = builder.kernel("suppress");
  kernel.text(kernels::boxes).uses("HIGHEST", builder.scratch(ElementType::kF32, shape));
  kernel.uses("LIVE", builder.scratch(ElementType::kF32, shape));
  add_numbers(kernel, what);
  return kernel.define("IS_SOFT", 0).define("SIGMA", "1");
}

void launch_groups(Builder& builder, const Node& node, Kernel& kernel, const Suppression& what, const char* text) {
  const std::size_t lanes = std::min<std::size_t>(builder.target().max_group, builder.target().is_cpu ? 16 : 256);
  kernel.in_single_file()
      .define("LANES", static_cast<std::int64_t>(lanes))
      .text(text)
      .over({what.classes() * lanes}, {lanes});
  builder.launch(std::move(kernel), node);
}

View count_kept(Builder& builder, const Node& node, const Suppression& what, const Kept& kept, std::size_t keep) {
  const View in_class = builder.scratch(ElementType::kI32, {what.classes()});
  Kernel counts = builder.kernel("suppressed_counts");
  counts.text(kernels::boxes).reads("KEPT_SCORE", kept.scores).writes("IN_CLASS", in_class);
  add_numbers(counts, what);
  counts.number("KEEP", static_cast<std::int64_t>(keep));
  counts.text(kernels::suppressed_counts).over({what.classes()});
  builder.launch(std::move(counts), node);
  return in_class;
}

std::string refuses_f64(const Node& node) {
  return node.get_input_element_type(0) == element::f64 ? "its kernels compute in f32, not f64" : "";
}

std::string real_text(const Node& node, const char* attribute) {
  return literal_text(ElementType::kF32, node.get_attributes().get_double(attribute));
}

namespace {

Suppression suppression_of(Builder& builder, const Node& node, std::size_t most) {
  Suppression what;
  what.boxes = builder.packed(node.input_value(0));
  what.scores = builder.packed(node.input_value(1));
  what.pictures = what.scores.shape[0];
  what.in_picture = what.scores.shape[1];
  what.count = what.scores.shape[2];
  what.most = std::max<std::size_t>(most, 1);
  return what;
}

/// Boxes of each class that can be kept: input 2 says, if it is known.
std::size_t most_of_class(const Node& node) {
  const std::size_t boxes = node.get_input_shape(1)[2];
  if (node.get_input_size() < 3) return 0;
  const auto known = node.get_input_tensor(2).value();
  if (!known) return boxes;
  const std::int64_t limit = op::v0::Constant(*known).to_integers().at(0);
  return std::min(boxes, static_cast<std::size_t>(std::max<std::int64_t>(limit, 0)));
}
std::size_t most_rows(const Node& node) {
  const Shape& scores = node.get_input_shape(1);
  return scores[0] * scores[1] * most_of_class(node);
}

/// Whether pictures share the boxes: [classes, boxes, 4] and scores [classes, boxes], and input 2 says how many are each one's.
bool shares_boxes(const Node& node) { return is_op(&node, "MulticlassNms") && node.get_input_size() > 2; }

Suppression shared_suppression_of(Builder& builder, const Node& node, std::size_t most) {
  Suppression what;
  what.boxes = builder.packed(node.input_value(0));
  what.scores = builder.packed(node.input_value(1));
  what.pictures = node.get_input_shape(2)[0];
  what.in_picture = what.scores.shape[0];
  what.count = what.scores.shape[1];
  what.most = std::max<std::size_t>(most, 1);
  return what;
}

/// i32 [pictures + 1]: the first box of each picture. Numbers that say more than there are end at the last box.
View first_boxes(Builder& builder, const Node& node, const Suppression& what) {
  const View firsts = builder.scratch(ElementType::kI32, {what.pictures + 1});
  Kernel kernel = builder.kernel("first_boxes");
  kernel.reads("IN_PICTURE_AT", builder.packed(node.input_value(2))).writes("FIRST", firsts);
  kernel.number("BOXES", static_cast<std::int64_t>(what.count));
  launch_each(builder, node, kernel, what.pictures + 1,
              "  long first = 0;\n"
              "  for (int i = 0; i < at; ++i) first = min(first + clamp((long)IN_PICTURE_AT(i), 0L, (long)BOXES), "
              "(long)BOXES);\n"
              "  FIRST_SET(at, (int)first);\n");
  return firsts;
}

/// Scores, boxes, and memory of each class for what becomes of the scores.
/// @param firsts  Where each picture's boxes begin, if pictures share one list of boxes.
Kernel begin_kernel(Builder& builder, const char* kind, const Suppression& what, std::size_t in_class,
                    const std::optional<View>& firsts = std::nullopt) {
  Kernel kernel = builder.kernel(kind);
  kernel.text(kernels::boxes).reads("BOX", what.boxes).reads(firsts ? "CLASS_SCORE" : "SCORE", what.scores);
  if (firsts) {
    kernel.reads("FIRST", *firsts);
    kernel.define("IS_IN(picture, box)", "((box) >= FIRST(picture) && (box) < FIRST((picture) + 1))");
    kernel.define(
        "SCORE(i)",
        "(IS_IN((i) / (BOXES * IN_PICTURE), (i) % BOXES) ? CLASS_SCORE((i) % (BOXES * IN_PICTURE)) : -INFINITY)");
  }
  add_numbers(kernel, what);
  kernel.uses("HIGHEST", builder.scratch(ElementType::kF32, {what.classes(), in_class}));
  return kernel;
}

/// The rule without the extras of some operations.
void define_plain(Kernel& kernel) {
  kernel.define("HAS_TOP", 0).define("TOP", 0).define("IS_LEFT_OUT(class)", "0").define("NEXT_LIMIT(x)", "(x)");
}

/// @param from  A scalar input, or 0 without one.
std::string scalar(Builder& builder, Kernel& kernel, const Node& node, std::size_t input, const std::string& name) {
  if (node.get_input_size() <= input) return "0";
  kernel.reads(name, builder.packed(node.input_value(input)));
  return "((float)" + name + "(0))";
}

/// Rows [n, 3] of picture, class and box; their scores, and how many there are, where the node puts them out.
void put_out_boxes(Builder& builder, const Node& node, const Suppression& what, const Kept& kept) {
  Kernel kernel = builder.kernel("suppressed_boxes");
  kernel.text(kernels::boxes).reads("KEPT", kept.boxes).reads("KEPT_SCORE", kept.scores);
  const Shape rows{most_rows(node), 3};
  kernel.writes("INDICES", builder.make(node, 0, rows)).writes("TOTAL", builder.make_count(node));
  const bool has_scores = node.get_output_size() > 1;
  if (has_scores) kernel.writes("SCORES", builder.make(node, 1, rows)).writes("VALID", builder.make(node, 2));
  add_numbers(kernel, what);
  kernel.define("HAS_SCORES", has_scores ? 1 : 0)
      .define("SORTS", node.get_attributes().get_bool("sort_result_descending") ? 1 : 0)
      .define("PUT_COUNT(n)", has_scores ? "TOTAL_SET(0, n); VALID_SET(0, n)" : "TOTAL_SET(0, n)");
  kernel.text(kernels::suppressed_boxes).over({std::max<std::size_t>(what.places(), 1)});
  builder.launch(std::move(kernel), node);
}

/// @param overlap  The expression for the overlap of boxes i and j of a class. @param is_soft  Scores decay by SIGMA.
void lower_with(Builder& builder, const Node& node, const std::string& overlap, bool is_soft) {
  const Suppression what = suppression_of(builder, node, most_of_class(node));
  Kernel kernel = begin_kernel(builder, "suppress", what, what.count);
  kernel.uses("LIVE", builder.scratch(ElementType::kF32, what.scores.shape));
  const Kept kept = add_kept(builder, kernel, what);
  define_plain(kernel);
  const std::string wanted = scalar(builder, kernel, node, 2, "WANTED_AT");
  kernel.define("WANTED", node.get_input_size() > 2 ? "min(MOST, (int)WANTED_AT(0))" : wanted);
  kernel.define("LIMIT", scalar(builder, kernel, node, 3, "LIMIT_AT"))
      .define("IS_CANDIDATE(score)", "((score) > " + scalar(builder, kernel, node, 4, "LEAST_AT") + ")")
      .define("IS_SOFT", is_soft ? 1 : 0)
      .define("SIGMA", is_soft ? scalar(builder, kernel, node, 5, "SIGMA_AT") : "1")
      .define("OVERLAP(class, i, j)", overlap);
  launch_groups(builder, node, kernel, what, kernels::suppress);
  put_out_boxes(builder, node, what, kept);
}

/// The four numbers of a box of a class. @param is_shared  By pictures, and each class has its own.
std::string box_text(const std::string& box, bool is_shared = false) {
  const std::string first =
      std::string("4 * ((class) ") + (is_shared ? "%" : "/") + " IN_PICTURE * BOXES + (" + box + "))";
  std::string text = "(float4)(";
  for (int i = 0; i < 4; ++i) text += (i ? ", BOX(" : "BOX(") + first + " + " + std::to_string(i) + ")";
  return text + ")";
}

void lower_suppression(Builder& builder, const Node& node) {
  const auto sigma = node.get_input_size() > 5 ? builder.reals(node.input_value(5)) : std::nullopt;
  const std::string is_centre = node.get_attributes().get_string("box_encoding") == "center" ? "true" : "false";
  const auto corners = [&](const char* box) { return "corners_of(" + box_text(box) + ", " + is_centre + ")"; };
  lower_with(builder, node, "overlap_of(" + corners("i") + ", " + corners("j") + ")", sigma && sigma->at(0) > 0);
}

void lower_rotated(Builder& builder, const Node& node) {
  const auto box = [](const char* which) {
    const std::string first = "5 * ((class) / IN_PICTURE * BOXES + (" + std::string(which) + "))";
    std::string text = "(float8)(";
    for (int i = 0; i < 5; ++i) text += (i ? ", BOX(" : "BOX(") + first + " + " + std::to_string(i) + ")";
    return text + ", 0, 0, 0)";
  };
  const std::string turn = node.get_attributes().get_bool("clockwise") ? "1.0f" : "-1.0f";
  lower_with(builder, node, "rotated_overlap(" + box("i") + ", " + box("j") + ", " + turn + ")", false);
}

// --- MulticlassNms and MatrixNms: rows of class, score and box, and how many each picture has -------------------------

std::size_t limit_of(const Node& node, const char* attribute, std::size_t all) {
  return limit_from(node.get_attributes().get_int(attribute), all);
}
std::size_t most_class_rows(const Node& node) {
  const Shape& scores = node.get_input_shape(1);
  const bool is_shared = shares_boxes(node);
  const std::size_t pictures = is_shared ? node.get_input_shape(2)[0] : scores[0], classes = scores[is_shared ? 0 : 1],
                    boxes = scores[is_shared ? 1 : 2];
  const std::size_t most = pictures * limit_of(node, "keep_top_k", classes * limit_of(node, "nms_top_k", boxes));
  return is_shared ? std::min(most, classes * boxes) : most;
}

void put_out_rows(Builder& builder, const Node& node, const Suppression& what, const Kept& kept) {
  const auto& attributes = node.get_attributes();
  const View in_class =
      count_kept(builder, node, what, kept, limit_of(node, "keep_top_k", what.in_picture * what.most));
  Kernel rows = builder.kernel("suppressed_rows");
  rows.text(kernels::boxes).reads("BOX", what.boxes).reads("KEPT", kept.boxes).reads("KEPT_SCORE", kept.scores);
  rows.reads("IN_CLASS", in_class);
  const std::size_t most = most_class_rows(node);
  rows.writes("ROWS", builder.make(node, 0, {most, 6})).writes("PLACES", builder.make(node, 1, {most, 1}));
  rows.writes("NUMBERS", builder.make(node, 2)).writes("TOTAL", builder.make_count(node));
  add_numbers(rows, what);
  const std::string& sort = attributes.get_string("sort_result_type");
  const bool is_across = attributes.get_bool("sort_result_across_batch") && sort != "none";
  const bool is_matrix = is_op(&node, "MatrixNms");
  rows.number("PICTURES", static_cast<std::int64_t>(what.pictures))
      .define("ACROSS", is_across ? 1 : 0)
      .define("BY_CLASS", sort == "classid" && (is_across || !is_matrix) ? 1 : 0)
      .define("PUT_COUNT(n)", "TOTAL_SET(0, n)");
  const bool is_shared = shares_boxes(node);
  rows.define("BOX_OF(picture, category, box)",
              is_shared ? "((category) * BOXES + (box))" : "((picture) * BOXES + (box))")
      .define("PLACE_OF(picture, category, box)",
              is_shared ? "((box) * IN_PICTURE + (category))" : "BOX_OF(picture, category, box)");
  rows.text(kernels::suppressed_rows).over({std::max({what.places(), what.pictures, std::size_t{1}})});
  builder.launch(std::move(rows), node);
}

void lower_classes(Builder& builder, const Node& node) {
  const auto& attributes = node.get_attributes();
  const bool is_matrix = is_op(&node, "MatrixNms");
  const bool is_shared = shares_boxes(node);
  const std::size_t boxes = node.get_input_shape(1).back(), top = limit_of(node, "nms_top_k", boxes);
  const Suppression what = is_shared ? shared_suppression_of(builder, node, top) : suppression_of(builder, node, top);
  const auto firsts = is_shared ? std::optional(first_boxes(builder, node, what)) : std::nullopt;
  Kernel kernel = begin_kernel(builder, is_matrix ? "suppress_matrix" : "suppress", what,
                               is_matrix ? what.most : what.count, firsts);
  const Kept kept = add_kept(builder, kernel, what);
  kernel.define("IS_LEFT_OUT(class)",
                "((class) % IN_PICTURE == " + std::to_string(attributes.get_int("background_class")) + ")");
  const auto corners = [&](const char* box) { return box_text(box, is_shared); };
  const std::string more = attributes.get_bool("normalized") ? "0.0f" : "1.0f";
  kernel.define("OVERLAP(class, i, j)", "pixel_overlap(" + corners("i") + ", " + corners("j") + ", " + more + ", " +
                                            (is_matrix ? more : "0.0f") + ")");
  kernel.define("IS_CANDIDATE(score)",
                "((score) " + std::string(is_matrix ? ">" : ">=") + " " + real_text(node, "score_threshold") + ")");
  kernel.number("TOP", static_cast<std::int64_t>(top));
  if (is_matrix) {
    const Shape shape{what.classes(), what.most};
    kernel.uses("ORDER", builder.scratch(ElementType::kI32, shape))
        .uses("DECAYED", builder.scratch(ElementType::kF32, shape));
    kernel.define("IS_GAUSSIAN", attributes.get_string("decay_function") == "gaussian" ? 1 : 0)
        .define("SIGMA", real_text(node, "gaussian_sigma"))
        .define("POST", real_text(node, "post_threshold"));
    launch_groups(builder, node, kernel, what, kernels::suppress_matrix);
  } else {
    kernel.uses("LIVE", builder.scratch(ElementType::kF32, {what.classes(), what.count}));
    const double eta = attributes.get_double("nms_eta");
    kernel.define("HAS_TOP", top < boxes ? 1 : 0)
        .define("WANTED", "TOP")
        .define("LIMIT", real_text(node, "iou_threshold"));
    kernel.define("NEXT_LIMIT(x)", eta < 1 ? "((x) > 0.5f ? (x) * " + real_text(node, "nms_eta") + " : (x))" : "(x)");
    kernel.define("IS_SOFT", 0).define("SIGMA", "1");
    launch_groups(builder, node, kernel, what, kernels::suppress);
  }
  put_out_rows(builder, node, what, kept);
}

/// Boxes of many classes that lie together.
std::string refuses_classes(const Node& node) {
  if (node.get_input_element_type(0) != element::f32) return "its kernel takes f32";
  return {};
}
std::string refuses_suppression(const Node& node) {
  if (const std::string why = wants_constant(node, 5); !why.empty()) return why;
  return refuses_f64(node);
}

}  // namespace

void register_suppression(LoweringTable& table) {
  table["NonMaxSuppression"] = {lower_suppression, refuses_suppression, most_rows};
  table["NMSRotated"] = {lower_rotated, refuses_f64, most_rows};
  table["MulticlassNms"] = {lower_classes, refuses_classes, most_class_rows};
  table["MatrixNms"] = {lower_classes, refuses_classes, most_class_rows};
}

}  // namespace tenon::inline v1::gpu_device
