// SPDX-License-Identifier: Apache-2.0
// A second source with the same headers in another order, names that are declared ahead, and calls that find their functions by their arguments.
namespace ov {
class Model;
}
float twice_of(const ov::Model& model);

#include <openvino/pass/pattern/op/wrap_type.hpp>

#include <openvino/core/preprocess/pre_post_process.hpp>
#include <openvino/op/ops.hpp>
#include <openvino/opsets/opset13.hpp>

#include <openvino/frontend/manager.hpp>
#include <openvino/runtime/core.hpp>

#include <openvino/openvino.hpp>

namespace ov {
/// The namespace may be opened again.
inline std::size_t count_inputs(const Model& model) { return model.inputs().size(); }
}  // namespace ov

float twice(const std::shared_ptr<ov::Model>& model) { return twice_of(*model); }
float twice_of(const ov::Model& model) {
  const std::shared_ptr<ov::Model> copy = model.clone();
  copy->get_parameters().at(0)->set_layout("NC");
  set_batch(copy, 2);
  return static_cast<float>(get_batch(copy).get_length()) * static_cast<float>(count_inputs(*copy)) *
         (shape_size(copy->input().get_shape()) == 8 ? 1.0F : 0.0F);
}
