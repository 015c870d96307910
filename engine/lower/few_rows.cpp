// SPDX-License-Identifier: Apache-2.0
// Says which products a kernel for few rows takes.
#include <tenon/engine/lower/few_rows.hpp>

#include <cmath>

#include <tenon/engine/kernels/few_rows.hpp>
#include <tenon/engine/lower/strides.hpp>

namespace tenon::inline v1::engine {
namespace {

constexpr std::size_t kMostRows = 4;

/// Where each matrix of a batch begins in an operand of `shape`, which may be broadcast.
std::vector<std::size_t> begins(const Shape& batch, const Shape& shape, const std::vector<std::size_t>& strides) {
  std::vector<std::size_t> all(element_count(batch), 0);
  for (std::size_t i = 0; i < all.size(); ++i) {
    std::size_t rest = i;
    for (std::size_t axis = batch.size(); axis-- > 0; rest /= batch[axis]) {
      // Aligned at the last axes of the batch; two more follow in the operand.
      const std::size_t missing = batch.size() + 2 - shape.size();
      if (axis < missing || shape[axis - missing] == 1) continue;
      all[i] += rest % batch[axis] * strides[axis - missing];
    }
  }
  return all;
}

/// Factors, then at most one sum. @return false for any other tail.
bool read_tail(PlanBuilder& builder, const Chain& chain, const Shape& shape, float& scale, Value*& added) {
  for (std::size_t i = 1; i < chain.nodes.size(); ++i) {
    const auto& node = chain.nodes[i];
    const auto algorithm = binary_of(node);
    if (!algorithm || added || node->get_output_shape(0) != shape) return false;
    Value& other = builder.input(node, other_operand(node, chain.nodes[i - 1]));
    if (other.type != ElementType::kF32 || other.shape.size() > shape.size()) return false;
    const bool is_number = other.constant && other.constant.element_count() == 1;
    if (is_number && *algorithm == dnnl::algorithm::binary_mul)
      scale *= *other.constant.data<float>();
    else if (is_number && *algorithm == dnnl::algorithm::binary_div &&
             node->input_value(1).get_node() != chain.nodes[i - 1].get())
      scale /= *other.constant.data<float>();
    else if (*algorithm == dnnl::algorithm::binary_add)
      added = &other;
    else
      return false;
  }
  return std::isfinite(scale);
}

}  // namespace

bool lower_few_rows(PlanBuilder& builder, const Chain& chain) {
  const auto& node = chain.anchor();
  Value& left = builder.input(node, 0);
  Value& right = builder.input(node, 1);
  const Shape shape = node->get_output_shape(0);
  const std::size_t rank = shape.size();
  if (!builder.options().fuse || rank < 3 || left.shape.size() < 2 || right.shape.size() < 2 ||
      left.shape.size() > rank || right.shape.size() > rank || element_count(shape) == 0 || right.constant ||
      node->get_attributes().get_bool("transpose_a", false))
    return false;
  const auto& variant = builder.native(right);
  std::vector<std::size_t> strides;
  const std::size_t inner = right.shape.size() - 1;
  if (element_type(variant.desc) != ElementType::kF32 || !strides_of(variant.desc, right.shape.size(), strides))
    return false;
  const bool is_flipped = node->get_attributes().get_bool("transpose_b", false);
  const std::size_t along_depth = strides[is_flipped ? inner : inner - 1],
                    along_columns = strides[is_flipped ? inner - 1 : inner];
  kernels::FewRows problem;
  problem.rows = shape[rank - 2];
  problem.columns = shape[rank - 1];
  problem.depth = left.shape.back();
  // What lies packed oneDNN's kernels read as fast, once there is more than one row to use it for.
  if (problem.rows > (variant.packed ? 1 : kMostRows) || problem.depth == 0) return false;
  if (along_depth == 1)
    problem.is_transposed = true;
  else if (along_columns != 1 && problem.columns != 1)
    return false;
  problem.b_row = problem.is_transposed ? along_columns : along_depth;
  Value* added = nullptr;
  if (!read_tail(builder, chain, shape, problem.scale, added)) return false;
  const Shape batch(shape.begin(), shape.end() - 2);
  problem.a = begins(batch, left.shape, packed_strides(left.shape));
  problem.a_row = left.shape.back();
  problem.b = begins(batch, right.shape, strides);
  if (added) {
    Shape all(rank - added->shape.size(), 1);
    for (const std::size_t extent : added->shape) all.push_back(extent);
    const auto steps = packed_strides(all);
    problem.added = begins(batch, all, steps);
    problem.added_row = all[rank - 2] == 1 ? 0 : steps[rank - 2];
    problem.added_column = all[rank - 1] == 1 ? 0 : 1;
  }
  std::vector<Place> from{builder.plain(left), builder.native(right).place};
  if (added) from.push_back(builder.plain(*added));
  const Place to = builder.define_plain(builder.value(chain.last()->output(0)));
  builder.add_kernel(node, "few rows", from, {to}, [problem](std::span<void* const> p) {
    kernels::few_rows(problem, static_cast<const float*>(p[0]), static_cast<const float*>(p[1]),
                      p.size() > 3 ? static_cast<const float*>(p[2]) : nullptr, static_cast<float*>(p.back()));
  });
  builder.note_fused(chain);
  return true;
}

}  // namespace tenon::inline v1::engine
