// SPDX-License-Identifier: Apache-2.0
// The last layers of detectors that decode boxes, too: DetectionOutput, and proposals around anchors.
#include <algorithm>
#include <string>
#include <utility>

#include <tenon/devices/gpu/kernels.hpp>
#include <tenon/devices/gpu/lower/build/each.hpp>
#include <tenon/devices/gpu/lower/build/table.hpp>
#include <tenon/devices/gpu/lower/nms/suppression.hpp>
#include <tenon/devices/gpu/lower/reductions/sorting.hpp>

namespace tenon::inline v1::gpu_device {
namespace {

std::int64_t number_of(std::size_t value) { return static_cast<std::int64_t>(value); }

/// Four numbers of a macro NAME(i) from element `first` on.
std::string four(const std::string& name, const std::string& first) {
  std::string text = "(float4)(";
  for (int i = 0; i < 4; ++i) text += (i ? ", " : "") + name + "(" + first + " + " + std::to_string(i) + ")";
  return text + ")";
}

// --- DetectionOutput: deltas [n, priors * locations * 4], scores [n, priors * classes], priors [1 or n, 1 or 2, numbers] ---

struct Detection {
  Suppression what;
  std::size_t locations = 1;  ///< Boxes of a prior: one, or one for each class.
  View decoded;               ///< [n, priors, locations, 4]
  std::int64_t keep = -1;     ///< Boxes of a picture; negative: all.
};

void decode(Builder& builder, const Node& node, const Detection& all, std::size_t prior_size) {
  const auto& attributes = node.get_attributes();
  const View priors = builder.packed(node.input_value(2));
  Kernel kernel = builder.kernel("detection_boxes");
  kernel.reads("DELTA", builder.packed(node.input_value(0))).reads("PRIOR", priors).writes("DECODED", all.decoded);
  kernel.number("BOXES", number_of(all.what.count)).number("LOCATIONS", number_of(all.locations));
  kernel.number("PRIOR_PICTURES", number_of(priors.shape[0])).number("PRIOR_ROW", number_of(priors.shape[2]));
  kernel.define("PRIOR_SIZE", number_of(prior_size))
      .define("HAS_VARIANCES", attributes.get_bool("variance_encoded_in_target") ? 0 : 1)
      .define("IS_CORNER", attributes.get_string("code_type") == "caffe.PriorBoxParameter.CORNER" ? 1 : 0)
      .define("CLIPS", attributes.get_bool("clip_before_nms") ? 1 : 0);
  const std::string size =
      std::to_string(attributes.get_int("input_width")) + ", " + std::to_string(attributes.get_int("input_height"));
  kernel.define("SCALE", attributes.get_bool("normalized") ? "(float4)(1)" : "(float4)(" + size + ", " + size + ")");
  const std::size_t count = element_count(all.decoded.shape) / 4;
  kernel.number("COUNT", number_of(count)).text(kernels::detection_boxes).over({count});
  builder.launch(std::move(kernel), node);
}

std::string decoded_at(const Detection& all) {
  const std::string box = "((class) / IN_PICTURE * BOXES + (box))";
  return all.locations == 1 ? box : "(" + box + " * IN_PICTURE + (class) % IN_PICTURE)";
}

Kept suppress(Builder& builder, const Node& node, const Detection& all) {
  const auto& attributes = node.get_attributes();
  const Suppression& what = all.what;
  Kernel kernel = begin_plain(builder, what);
  kernel.reads("CONFIDENCE", what.scores).reads("DECODED", all.decoded);
  // Scores lie prior by prior.
  kernel.define(
      "SCORE(i)",
      "CONFIDENCE(((i) / (BOXES * IN_PICTURE) * BOXES + (i) % BOXES) * IN_PICTURE + (i) / BOXES % IN_PICTURE)");
  const std::int64_t top = attributes.get_int("top_k");
  kernel.define("HAS_TOP", limit_from(top, what.count) < what.count ? 1 : 0);
  kernel.number("TOP", number_of(limit_from(top, what.count))).define("WANTED", "TOP").define("NEXT_LIMIT(x)", "(x)");
  kernel.define("IS_LEFT_OUT(class)",
                "((class) % IN_PICTURE == " + std::to_string(attributes.get_int("background_label_id")) + ")");
  kernel.define("IS_CANDIDATE(score)", "((score) > " + real_text(node, "confidence_threshold") + ")")
      .define("LIMIT", real_text(node, "nms_threshold"));
  kernel.define("DECODED_AT(class, box)", decoded_at(all));
  const auto box = [](const char* name) { return four("DECODED", std::string("4 * DECODED_AT(class, ") + name + ")"); };
  kernel.define("OVERLAP(class, i, j)", "pixel_overlap(" + box("i") + ", " + box("j") + ", 0.0f, 0.0f)");
  const Kept kept = add_kept(builder, kernel, what);
  launch_groups(builder, node, kernel, what, kernels::suppress);
  return kept;
}

void lower_detection_output(Builder& builder, const Node& node) {
  const auto& attributes = node.get_attributes();
  Detection all;
  Suppression& what = all.what;
  const std::size_t prior_size = attributes.get_bool("normalized") ? 4 : 5;
  what.scores = builder.packed(node.input_value(1));
  what.pictures = what.scores.shape[0];
  what.count = node.get_input_shape(2)[2] / prior_size;
  what.in_picture = what.scores.shape[1] / what.count;
  what.most = std::max<std::size_t>(limit_from(attributes.get_int("top_k"), what.count), 1);
  if (!attributes.get_bool("share_location")) all.locations = what.in_picture;
  if (const auto& keep = attributes.get_ints("keep_top_k"); !keep.empty()) all.keep = keep[0];
  all.decoded = builder.scratch(ElementType::kF32, {what.pictures, what.count, all.locations, 4});
  decode(builder, node, all, prior_size);
  const Kept kept = suppress(builder, node, all);
  const View in_class = count_kept(builder, node, what, kept, limit_from(all.keep, what.in_picture * what.most));
  const View rows = builder.make(node, 0);
  Kernel kernel = builder.kernel("detection_rows");
  kernel.reads("KEPT", kept.boxes).reads("KEPT_SCORE", kept.scores).reads("IN_CLASS", in_class);
  kernel.reads("DECODED", all.decoded).writes("ROWS", rows);
  add_numbers(kernel, what);
  kernel.number("ROW_COUNT", number_of(rows.shape[2]));
  kernel.define("DECODED_AT(class, box)", decoded_at(all))
      .define("CLIPS", attributes.get_bool("clip_after_nms") ? 1 : 0);
  kernel.text(kernels::detection_rows).over({std::max(what.places(), rows.shape[2])});
  builder.launch(std::move(kernel), node);
}

// --- GenerateProposals: info [n, 3 or 4], anchors [h, w, kinds, 4], deltas [n, 4 kinds, h, w], scores [n, kinds, h, w] ------

std::size_t selected_of(const Node& node) {
  const Shape& scores = node.get_input_shape(3);
  return std::min(scores[1] * scores[2] * scores[3], limit_from(node.get_attributes().get_int("pre_nms_count"), ~0u));
}
std::size_t kept_of(const Node& node) {
  return std::min(selected_of(node), limit_from(node.get_attributes().get_int("post_nms_count"), ~0u));
}
std::size_t most_proposals(const Node& node) { return node.get_input_shape(3)[0] * kept_of(node); }

/// The best scores of each picture, and which anchors they are of, kind by kind of each place.
void select(Builder& builder, const Node& node, const View& values, const View& indices) {
  View scores = builder.view(node.input_value(3));
  const std::size_t pictures = scores.shape[0], all = element_count(scores.shape) / std::max<std::size_t>(pictures, 1);
  std::rotate(scores.shape.begin() + 1, scores.shape.begin() + 2, scores.shape.end());
  std::rotate(scores.strides.begin() + 1, scores.strides.begin() + 2, scores.strides.end());
  const View lines = builder.scratch(ElementType::kF32, {pictures, all});
  builder.copy(scores, View{lines.place, lines.type, scores.shape, packed_strides(scores.shape)}, node);
  select_greatest(builder, node, lines, values, indices);
}

void lower_generate_proposals(Builder& builder, const Node& node) {
  const auto& attributes = node.get_attributes();
  const Shape& shape = node.get_input_shape(3);
  Suppression what;
  what.pictures = shape[0];
  what.in_picture = 1;
  what.count = selected_of(node);
  what.most = std::max<std::size_t>(kept_of(node), 1);
  const std::string more = attributes.get_bool("normalized") ? "0.0f" : "1.0f";
  const Shape selected{what.pictures, what.count};
  const View values = builder.scratch(ElementType::kF32, selected),
             indices = builder.scratch(ElementType::kI32, selected);
  if (what.count > 0) select(builder, node, values, indices);

  what.boxes = builder.scratch(ElementType::kF32, {what.pictures, what.count, 4});
  what.scores = builder.scratch(ElementType::kF32, selected);
  Kernel boxes = builder.kernel("proposed_boxes");
  boxes.reads("INFO", builder.packed(node.input_value(0))).reads("ANCHOR", builder.packed(node.input_value(1)));
  boxes.reads("DELTA", builder.packed(node.input_value(2))).reads("VALUE", values).reads("WHERE", indices);
  boxes.writes("PROPOSED", what.boxes).writes("PROPOSED_SCORE", what.scores);
  boxes.number("BOXES", number_of(what.count)).number("KINDS", number_of(shape[1]));
  boxes.number("PLANE", number_of(shape[2] * shape[3])).number("COUNT", number_of(element_count(selected)));
  boxes.define("INFO_SIZE", number_of(node.get_input_shape(0)[1])).define("MORE", more);
  // log(1000 / 16): no box grows further.
  boxes.define("MOST_LOG", "4.135166556742356f").define("LEAST", real_text(node, "min_size"));
  boxes.text(kernels::proposed_boxes).over({element_count(selected)});
  builder.launch(std::move(boxes), node);

  Kernel kernel = begin_plain(builder, what);
  kernel.reads("PROPOSED", what.boxes).reads("SCORE", what.scores);
  kernel.define("HAS_TOP", 0).define("TOP", 0).define("IS_LEFT_OUT(class)", "0");
  kernel.number("WANTED", number_of(kept_of(node))).define("LIMIT", real_text(node, "nms_threshold"));
  const double eta = attributes.get_double("nms_eta");
  kernel.define("NEXT_LIMIT(x)", eta < 1 ? "((x) > 0.5f ? (x) * " + real_text(node, "nms_eta") + " : (x))" : "(x)");
  kernel.define("IS_CANDIDATE(score)", "((score) > -INFINITY)");
  const auto box = [](const char* name) {
    return four("PROPOSED", std::string("4 * ((class) * BOXES + (") + name + "))");
  };
  kernel.define("OVERLAP(class, i, j)", "region_overlap(" + box("i") + ", " + box("j") + ", " + more + ")");
  const Kept kept = add_kept(builder, kernel, what);
  launch_groups(builder, node, kernel, what, kernels::suppress);

  const std::size_t most = most_proposals(node);
  Kernel rows = builder.kernel("proposed_rows");
  rows.text(kernels::boxes).reads("KEPT", kept.boxes).reads("KEPT_SCORE", kept.scores).reads("PROPOSED", what.boxes);
  rows.writes("ROIS", builder.make(node, 0, {most, 4})).writes("SCORES", builder.make(node, 1, {most}));
  rows.writes("NUMBERS", builder.make(node, 2)).writes("TOTAL", builder.make_count(node));
  add_numbers(rows, what);
  rows.text(kernels::proposed_rows).over({std::max<std::size_t>(what.places(), 1)});
  builder.launch(std::move(rows), node);
}

}  // namespace

void register_detection(LoweringTable& table) {
  table["DetectionOutput"] = {lower_detection_output, refuses_f64};
  table["GenerateProposals"] = {lower_generate_proposals, refuses_f64, most_proposals};
}

}  // namespace tenon::inline v1::gpu_device
