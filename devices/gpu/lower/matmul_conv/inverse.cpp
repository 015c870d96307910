// SPDX-License-Identifier: Apache-2.0
// Inverse matrices.
#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

#include <tenon/devices/gpu/kernels.hpp>
#include <tenon/devices/gpu/lower/build/table.hpp>

namespace tenon::inline v1::gpu_device {
namespace {

void lower_inverse(Builder& builder, const Node& node) {
  const View data = builder.packed(node.input_value(0));
  const std::size_t rank = data.shape.size(), rows = data.shape[rank - 1], count = element_count(data.shape);
  const ElementType type = builder.target().has_f64 ? ElementType::kF64 : ElementType::kF32;
  const View left = builder.scratch(type, data.shape);
  View inverse = builder.scratch(type, data.shape);
  if (count > 0) {
    const std::size_t group = std::min<std::size_t>({builder.target().max_group, 64, std::max<std::size_t>(rows, 1)});
    Kernel kernel = builder.kernel("inverse");
    kernel.reads("X", data).uses("LEFT", left).writes("RIGHT", inverse);
    kernel.number("N", static_cast<std::int64_t>(rows));
    kernel.define("REAL", compute_name(type)).define("GROUP", static_cast<std::int64_t>(group));
    kernel.text(kernels::inverse).over({count / (rows * rows) * group}, {group});
    builder.launch(std::move(kernel), node);
  }
  if (node.get_attributes().get_bool("adjoint")) {
    std::vector<std::size_t> order(rank);
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::swap(order[rank - 1], order[rank - 2]);
    inverse = transposed(inverse, order);
  }
  builder.set(node, 0, convert(Expression::load(inverse), node.get_output_element_type(0)));
}

}  // namespace

void register_inverse(LoweringTable& table) { table["Inverse"] = {lower_inverse}; }

}  // namespace tenon::inline v1::gpu_device
