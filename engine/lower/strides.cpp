// SPDX-License-Identifier: Apache-2.0
// Layouts as strides, and the layouts that transpositions want.
#include <tenon/engine/lower/strides.hpp>

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

md reshaped(const md& desc, const Shape& shape) {
  if (desc.get_ndims() == 0 || desc.get_inner_nblks() != 0 || !is_dense(desc)) return {};
  // Without extents of 1, whose strides mean nothing.
  std::vector<std::int64_t> extents, strides;
  const auto dims = desc.get_dims(), steps = desc.get_strides();
  for (std::size_t i = 0; i < dims.size(); ++i)
    if (dims[i] != 1) extents.push_back(dims[i]), strides.push_back(steps[i]);
  dnnl::memory::dims made(shape.size());
  std::size_t from = 0;
  for (std::size_t to = 0; to < shape.size();) {
    if (shape[to] == 1) {
      ++to;
      continue;
    }
    // The fewest axes of both that hold the same elements.
    std::size_t from_end = from, to_end = to;
    std::int64_t held = 1, wanted = 1;
    do {
      if (held <= wanted && from_end < extents.size())
        held *= extents[from_end++];
      else if (to_end < shape.size())
        wanted *= static_cast<std::int64_t>(shape[to_end++]);
      else
        return {};
    } while (held != wanted);
    for (std::size_t i = from; i + 1 < from_end; ++i)
      if (strides[i] != strides[i + 1] * extents[i + 1]) return {};
    std::int64_t step = strides[from_end - 1];
    for (std::size_t i = to_end; i-- > to; step *= static_cast<std::int64_t>(shape[i])) made[i] = step;
    from = from_end;
    to = to_end;
  }
  if (from != extents.size()) return {};
  // An extent of 1 steps over all that lies behind it, as oneDNN's own layouts say it.
  for (std::size_t i = shape.size(); i-- > 0;)
    if (shape[i] == 1) made[i] = i + 1 < shape.size() ? made[i + 1] * static_cast<std::int64_t>(shape[i + 1]) : 1;
  const ElementType type = element_type(desc);
  const md last = channels_last(type, shape);
  if (last.get_ndims() != 0) {
    const auto known = last.get_strides();
    bool same = true;
    for (std::size_t i = 0; i < shape.size(); ++i) same &= shape[i] == 1 || known[i] == made[i];
    if (same) return last;
  }
  return md(to_dims(shape), data_type(type), made);
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
