// SPDX-License-Identifier: Apache-2.0
// Layouts as strides, and the layouts that transpositions want.
#include <tenon/engine/lower/build/strides.hpp>

#include <tenon/graph/passes/pass.hpp>

namespace tenon::inline v1::engine {

bool strides_of(const md& desc, std::size_t rank, std::vector<std::size_t>& strides) {
  if (desc.get_ndims() != static_cast<int>(rank) || desc.get_format_kind() != dnnl::memory::format_kind::blocked ||
      desc.get_inner_nblks() != 0)
    return false;
  const auto found = desc.get_strides();
  strides.assign(found.begin(), found.end());
  return true;
}

std::vector<std::size_t> packed_strides(const Shape& shape) {
  std::vector<std::size_t> strides(shape.size());
  std::size_t step = 1;
  for (std::size_t i = shape.size(); i-- > 0; step *= shape[i]) strides[i] = step;
  return strides;
}

bool transpose_order(PlanBuilder& builder, const std::shared_ptr<Node>& node, std::vector<std::size_t>& order) {
  std::vector<std::int64_t> given;
  if (!builder.constant_ints(node, 1, given)) return false;
  const auto rank = static_cast<std::int64_t>(node->get_output_shape(0).size());
  order.clear();
  for (const auto axis : given) order.push_back(static_cast<std::size_t>(axis < 0 ? axis + rank : axis));
  // None given: all reversed.
  for (std::int64_t i = rank; given.empty() && i-- > 0;) order.push_back(static_cast<std::size_t>(i));
  return true;
}

md transposed_result(PlanBuilder& builder, const std::shared_ptr<Node>& node, ElementType type) {
  const auto reader = pass::only_user(*node);
  std::vector<std::size_t> order;
  if (!reader || !is_op(reader, "Transpose") || !transpose_order(builder, reader, order)) return {};
  return plain_desc(type, reader->get_output_shape(0)).permute_axes(std::vector<int>(order.begin(), order.end()));
}

}  // namespace tenon::inline v1::engine
