// SPDX-License-Identifier: Apache-2.0
// Operations of detection models.
#include <algorithm>

#include <tenon/graph/ops/box_nms.hpp>
#include <tenon/graph/ops/internal/kernel.hpp>
#include <tenon/graph/ops/internal/table_rows.hpp>

namespace tenon {
inline namespace v1 {

namespace {
// boxes [N, B, 4], scores [N, C, B]; then optional: most per class, IoU threshold, score threshold, soft-NMS sigma.
void infer_nms(Node& node) {
  require_real(node, 0);
  require_real(node, 1);
  require_rank(node, 0, 3, 3);
  require_rank(node, 1, 3, 3);
  const PartialShape &boxes = node.get_input_partial_shape(0), &scores = node.get_input_partial_shape(1);
  const ElementType type = node.get_attributes().get_type("output_type");
  if (type != ElementType::kI32 && type != ElementType::kI64)
    fail("attribute 'output_type': expected i32 or i64, found " + std::string(name(type)));
  Dimension most;
  if (boxes.rank().is_static() && scores.rank().is_static()) {
    if (!boxes[2].compatible(4)) fail("boxes " + boxes.to_string() + " do not have four coordinates");
    if (!boxes[0].compatible(scores[0]) || !boxes[1].compatible(scores[2]))
      fail("boxes " + boxes.to_string() + " and scores " + scores.to_string() + " do not belong together");
    Dimension per_class = boxes[1];
    if (node.get_input_size() > 2) {
      const auto limit = known_ints(node, 2);
      if (limit && per_class.get_max_length() >= 0)
        per_class = Dimension(0, std::min(std::max<std::int64_t>(limit->at(0), 0), per_class.get_max_length()));
    } else {
      per_class = Dimension(0);
    }
    most = Dimension(0, (per_class * scores[0] * scores[1]).get_max_length());
  }
  node.set_output_type(0, type, PartialShape{most, 3});
  node.set_output_type(1, node.get_input_element_type(1), PartialShape{most, 3});
  node.set_output_type(2, type, PartialShape{1});
}

struct Candidate {
  float score;
  std::int64_t batch, category, box;
};

float scalar(std::span<const Tensor> inputs, std::size_t index, float fallback) {
  return index < inputs.size() ? to_vector<float>(inputs[index]).at(0) : fallback;
}

void evaluate_nms(const Node& node, std::span<const Tensor> inputs, std::span<Tensor> outputs) {
  const Shape &bs = inputs[0].shape(), &ss = inputs[1].shape();
  const Read<float> boxes(inputs[0]), scores(inputs[1]);
  Nms rule;
  if (inputs.size() > 2)
    rule.most = static_cast<std::size_t>(std::max<std::int64_t>(to_vector<std::int64_t>(inputs[2]).at(0), 0));
  rule.overlap = scalar(inputs, 3, 0);
  rule.score = scalar(inputs, 4, 0);
  rule.sigma = scalar(inputs, 5, 0);
  rule.is_centre = node.get_attributes().get_string("box_encoding") == "center";
  std::vector<Candidate> kept;
  for (std::size_t batch = 0; batch < ss[0]; ++batch) {
    for (std::size_t category = 0; category < ss[1]; ++category) {
      for (const ChosenBox& chosen : suppress_boxes(rule, boxes.data() + batch * bs[1] * 4,
                                                    scores.data() + (batch * ss[1] + category) * ss[2], ss[2]))
        kept.push_back(
            {chosen.score, static_cast<std::int64_t>(batch), static_cast<std::int64_t>(category), chosen.box});
    }
  }
  if (node.get_attributes().get_bool("sort_result_descending")) {
    std::stable_sort(kept.begin(), kept.end(),
                     [](const Candidate& a, const Candidate& b) { return a.score > b.score; });
  }
  const ElementType type = node.get_output_element_type(0);
  outputs[0] = Tensor(type, Shape{kept.size(), 3});
  outputs[1] = Tensor(inputs[1].element_type(), Shape{kept.size(), 3});
  std::vector<std::int64_t> indices;
  std::vector<float> values;
  for (const Candidate& c : kept) {
    indices.insert(indices.end(), {c.batch, c.category, c.box});
    values.insert(values.end(), {static_cast<float>(c.batch), static_cast<float>(c.category), c.score});
  }
  if (!kept.empty()) {
    store_elements(type, indices.data(), indices.size(), outputs[0].data());
    store_elements(outputs[1].element_type(), values.data(), values.size(), outputs[1].data());
  }
  const auto count = static_cast<std::int64_t>(kept.size());
  store_elements(type, &count, 1, outputs[2].data());
}

// Before set 5 only the boxes' indices are put out.
void infer_indices(Node& node) {
  require_rank(node, 0, 3, 3);
  require_rank(node, 1, 3, 3);
  const bool has_type = node.get_attributes().has("output_type");
  const ElementType type = has_type ? node.get_attributes().get_type("output_type") : ElementType::kI64;
  if (type != ElementType::kI32 && type != ElementType::kI64)
    fail("attribute 'output_type': expected i32 or i64, found " + std::string(name(type)));
  const PartialShape &boxes = node.get_input_partial_shape(0), &scores = node.get_input_partial_shape(1);
  if (boxes.rank().is_static() && scores.rank().is_static() &&
      !(boxes[0].compatible(scores[0]) && boxes[1].compatible(scores[2]) && boxes[2].compatible(4)))
    fail("boxes " + boxes.to_string() + " and scores " + scores.to_string() + " do not belong together");
  node.set_output_type(0, type, {Dimension::dynamic(), 3});
}
void evaluate_indices(const Node& node, std::span<const Tensor> inputs, std::span<Tensor> outputs) {
  const ElementType type = node.get_output_element_type(0);
  std::vector<Tensor> all{Tensor(), Tensor(), Tensor(type, Shape{1})};
  evaluate_nms(node, inputs, all);
  outputs[0] = all[0];
}
}  // namespace

void add_detection_rows(OperationTable& table) {
  for (unsigned opset : {1u, 3u, 4u}) {
    auto row = table.add("NonMaxSuppression", opset, 2, 5, infer_indices, evaluate_indices,
                         "The best of overlapping boxes, per batch and class: their indices.");
    row.text("box_encoding", "corner", {"corner", "center"}).flag("sort_result_descending", true);
    if (opset > 1) row.type("output_type", ElementType::kI64);
  }
  for (unsigned opset : {5u, 9u}) {
    table
        .add("NonMaxSuppression", opset, 2, 6, infer_nms, evaluate_nms,
             "The best of overlapping boxes, per batch and class.")
        .text("box_encoding", "corner", {"corner", "center"})
        .flag("sort_result_descending", true)
        .type("output_type", ElementType::kI64);
  }
}

}  // namespace v1
}  // namespace tenon
