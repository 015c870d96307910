// SPDX-License-Identifier: Apache-2.0
// Converts constants to f16, each followed by a Convert.
#include <tenon/graph/passes/compress.hpp>

#include <algorithm>
#include <cmath>

#include <tenon/core/tensor.hpp>
#include <tenon/graph/evaluate.hpp>

namespace tenon {
inline namespace v1 {
namespace pass {
namespace {

constexpr float kLargestHalf = 65504.f;
constexpr float kSmallestNormalHalf = 6.103515625e-05f;

bool fits(const Tensor& values) {
  const float* data = values.data<float>();
  for (std::size_t i = 0; i < values.element_count(); ++i)
    if (std::isfinite(data[i]) && std::fabs(data[i]) > kLargestHalf) return false;
  return true;
}

double largest_error(const Tensor& before, const Tensor& after) {
  const float *a = before.data<float>(), *b = after.data<float>();
  double largest = 0;
  for (std::size_t i = 0; i < before.element_count(); ++i) {
    const double size = std::fabs(a[i]);
    if (std::isfinite(a[i]) && size >= kSmallestNormalHalf)
      largest = std::max(largest, std::fabs(static_cast<double>(a[i]) - b[i]) / size);
  }
  return largest;
}

/// Converts a value with one node that is not part of a model.
Tensor converted(const Node& convert, const Tensor& value) { return evaluate_node(convert, {value}).at(0); }

}  // namespace

Compressed compress_to_f16(Model& model, const CompressOptions& options) {
  Compressed done;
  for (const auto& node : model.get_ordered_ops()) {
    const auto constant = as_type_ptr<op::v0::Constant>(node);
    if (!constant || constant->get_output_element_type(0) != ElementType::kF32) continue;
    const Tensor& before = constant->get_tensor();
    if (before.element_count() < options.min_elements || !constant->has_readers()) continue;
    if (!fits(before)) {
      ++done.kept;
      continue;
    }
    const auto readers = constant->get_output_target_inputs(0);
    const auto narrow = make_node("Convert", 1, {constant}, {{"destination_type", element::f16}});
    const Tensor halves = converted(*narrow, before);
    const auto stored = std::make_shared<op::v0::Constant>(halves);
    stored->set_friendly_name(constant->get_friendly_name() + "_compressed");
    const auto wide = make_node("Convert", 1, {stored}, {{"destination_type", element::f32}});
    wide->set_friendly_name(constant->get_friendly_name());
    wide->get_rt_info()["decompression"] = true;
    wide->output(0).add_names(constant->output(0).get_names());
    for (const auto& reader : readers) reader.replace_source_output(wide->output(0));
    ++done.constants;
    done.bytes_before += before.size_bytes();
    done.bytes_after += halves.size_bytes();
    done.largest_error = std::max(done.largest_error, largest_error(before, converted(*wide, halves)));
  }
  model.validate_nodes_and_infer_types();
  return done;
}

}  // namespace pass
}  // namespace v1
}  // namespace tenon
