// SPDX-License-Identifier: Apache-2.0
// The suppressions of boxes and NonZero, and TopK of a number that is computed.
#include <tenon/engine/cut_kernels.hpp>

#include <algorithm>
#include <cstdint>
#include <optional>

#include <tenon/core/error.hpp>
#include <tenon/engine/kernels/data_movement/non_zero.hpp>
#include <tenon/engine/kernels/nms/multiclass_nms.hpp>
#include <tenon/engine/kernels/nms/nms.hpp>
#include <tenon/engine/kernels/reductions/top_k.hpp>
#include <tenon/engine/kernels/simd/broadcast.hpp>
#include <tenon/graph/operation_table.hpp>

namespace tenon::inline v1::engine {
namespace {

/// The one number of input `index`; `fallback` if there is no such input, nothing for other types.
template <typename T>
std::optional<T> number_of(const std::vector<Tensor>& inputs, std::size_t index, T fallback) {
  if (index >= inputs.size()) return fallback;
  const Tensor& tensor = inputs[index];
  if (tensor.element_count() != 1) return std::nullopt;
  switch (tensor.element_type()) {
    case ElementType::kI64:
      return static_cast<T>(*tensor.data<std::int64_t>());
    case ElementType::kI32:
      return static_cast<T>(*tensor.data<std::int32_t>());
    case ElementType::kF32:
      if constexpr (std::is_same_v<T, float>) return *tensor.data<float>();
      return std::nullopt;
    default:
      return std::nullopt;
  }
}

struct KeptBox {
  float score;
  std::int64_t batch, category, box;
};

/// The outputs of NonMaxSuppression: indices, and since opset 5 scores and how many there are.
template <typename Index>
void put_rows(const std::vector<KeptBox>& rows, ElementType type, std::vector<Tensor>& outputs) {
  outputs[0] = Tensor(type, Shape{rows.size(), 3});
  auto* indices = rows.empty() ? nullptr : static_cast<Index*>(outputs[0].data());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    indices[3 * i] = static_cast<Index>(rows[i].batch);
    indices[3 * i + 1] = static_cast<Index>(rows[i].category);
    indices[3 * i + 2] = static_cast<Index>(rows[i].box);
  }
  if (outputs.size() == 1) return;
  outputs[1] = Tensor(ElementType::kF32, Shape{rows.size(), 3});
  float* scores = rows.empty() ? nullptr : outputs[1].data<float>();
  for (std::size_t i = 0; i < rows.size(); ++i) {
    scores[3 * i] = static_cast<float>(rows[i].batch);
    scores[3 * i + 1] = static_cast<float>(rows[i].category);
    scores[3 * i + 2] = rows[i].score;
  }
  outputs[2] = Tensor(type, Shape{1});
  *static_cast<Index*>(outputs[2].data()) = static_cast<Index>(rows.size());
}

const char* run_suppression(const Node& node, const std::vector<Tensor>& inputs, std::vector<Tensor>& outputs) {
  if (inputs[0].element_type() != ElementType::kF32 || inputs[1].element_type() != ElementType::kF32) return nullptr;
  const auto most = number_of<std::int64_t>(inputs, 2, 0);
  const auto overlap = number_of<float>(inputs, 3, 0), score = number_of<float>(inputs, 4, 0),
             sigma = number_of<float>(inputs, 5, 0);
  if (!most || !overlap || !score || !sigma) return nullptr;
  Nms rule;
  rule.most = static_cast<std::size_t>(std::max<std::int64_t>(*most, 0));
  rule.overlap = *overlap;
  rule.score = *score;
  rule.sigma = *sigma;
  rule.is_centre = node.get_attributes().get_string("box_encoding") == "center";
  const Shape& shape = inputs[1].shape();
  std::vector<KeptBox> rows;
  if (element_count(shape) > 0) {
    const auto chosen = kernels::suppress_boxes_of_classes(rule, inputs[0].data<float>(), inputs[1].data<float>(),
                                                           shape[0], shape[1], shape[2]);
    for (std::size_t i = 0; i < chosen.size(); ++i)
      for (const ChosenBox& one : chosen[i])
        rows.push_back(
            {one.score, static_cast<std::int64_t>(i / shape[1]), static_cast<std::int64_t>(i % shape[1]), one.box});
  }
  if (node.get_attributes().get_bool("sort_result_descending"))
    std::stable_sort(rows.begin(), rows.end(), [](const KeptBox& a, const KeptBox& b) { return a.score > b.score; });
  const ElementType type = node.get_output_element_type(0);
  outputs.resize(node.get_output_size());
  if (type == ElementType::kI64)
    put_rows<std::int64_t>(rows, type, outputs);
  else
    put_rows<std::int32_t>(rows, type, outputs);
  return "suppression";
}

const char* run_rotated_suppression(const Node& node, const std::vector<Tensor>& inputs, std::vector<Tensor>& outputs) {
  const std::size_t classes = inputs[1].shape()[0] * inputs[1].shape()[1];
  outputs.resize(2);
  outputs.emplace_back(node.get_output_element_type(2), Shape{1});
  suppress_rotated(node, inputs, outputs, [&](std::size_t count, const auto& body) {
    kernels::parallel(count, classes * inputs[1].shape()[2] * 256, body);
  });
  return "suppression";
}

const char* run_multiclass_nms(const Node& node, const std::vector<Tensor>& inputs, std::vector<Tensor>& outputs) {
  outputs.resize(node.get_output_size());
  suppress_classes(node, inputs, outputs, kernels::suppress_within_classes);
  return "suppression";
}

const char* run_non_zero(const Node& node, const std::vector<Tensor>& inputs, std::vector<Tensor>& outputs) {
  const Tensor& data = inputs[0];
  if (!kernels::has_non_zero(data.element_type()) || data.element_count() == 0 || data.shape().empty()) return nullptr;
  const auto begins = kernels::count_non_zero(data.element_type(), data.data(), data.element_count());
  const ElementType type = node.get_output_element_type(0);
  outputs.assign(1, Tensor(type, Shape{data.shape().size(), begins.back()}));
  if (begins.back() > 0)
    kernels::find_non_zero(data.element_type(), data.data(), data.shape(), begins, type == ElementType::kI64,
                           outputs[0].data());
  return "non zero";
}

const char* run_top_k(const Node& node, const std::vector<Tensor>& inputs, std::vector<Tensor>& outputs) {
  const Tensor& data = inputs[0];
  const auto k = number_of<std::int64_t>(inputs, 1, 0);
  const auto& attributes = node.get_attributes();
  const auto rank = static_cast<std::int64_t>(data.shape().size());
  std::int64_t axis = attributes.get_int("axis");
  if (axis < 0) axis += rank;
  // What is wrong is for the reference kernel to say.
  if (!kernels::has_top_k(data.element_type()) || data.element_count() == 0 || !k || axis < 0 || axis >= rank ||
      *k < 0 || static_cast<std::size_t>(*k) > data.shape()[static_cast<std::size_t>(axis)])
    return nullptr;
  kernels::TopK what;
  what.type = data.element_type();
  what.index_type = node.get_output_element_type(1);
  what.k = static_cast<std::size_t>(*k);
  what.greatest = attributes.get_string("mode") == "max";
  what.by_index = attributes.get_string("sort") == "index";
  Shape shape = data.shape();
  for (std::size_t i = 0; i < shape.size(); ++i)
    (i < static_cast<std::size_t>(axis)   ? what.outer
     : i > static_cast<std::size_t>(axis) ? what.inner
                                          : what.extent) *= shape[i];
  shape[static_cast<std::size_t>(axis)] = what.k;
  outputs.assign(1, Tensor(what.type, shape));
  outputs.emplace_back(what.index_type, shape);
  kernels::top_k(what, data.data(), outputs[0].data(), outputs[1].data());
  return "top k";
}

}  // namespace

const char* run_cut_kernel(const Node& node, const std::vector<Tensor>& inputs, std::vector<Tensor>& outputs) {
  for (const Tensor& input : inputs)
    if (!input || !input.is_contiguous()) return nullptr;
  const std::string_view type = node.get_type_name();
  if (type == "NonMaxSuppression") return run_suppression(node, inputs, outputs);
  if (type == "MulticlassNms" || type == "MatrixNms") return run_multiclass_nms(node, inputs, outputs);
  if (type == "NMSRotated") return run_rotated_suppression(node, inputs, outputs);
  if (type == "NonZero") return run_non_zero(node, inputs, outputs);
  if (type == "TopK") return run_top_k(node, inputs, outputs);
  return nullptr;
}

}  // namespace tenon::inline v1::engine
