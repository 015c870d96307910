// SPDX-License-Identifier: Apache-2.0
// Reads weights of few bits out of the graph and lowers their products.
#include <tenon/engine/lower/matmul_conv/weight_only.hpp>

#include <algorithm>
#include <cstring>

#include <tenon/engine/kernels/attention/attention_pairs.hpp>
#include <tenon/engine/kernels/low_bit/weight_only_rounded.hpp>
#include <tenon/engine/lower/build/post_ops.hpp>
#include <tenon/engine/lower/build/quantization.hpp>
#include <tenon/graph/evaluate.hpp>
#include <tenon/graph/operation_table.hpp>
#include <tenon/graph/passes/pass.hpp>

namespace tenon::inline v1::engine {
namespace {

using kernels::WeightOnlyType;

std::optional<WeightOnlyType> weight_only_type(ElementType type) {
  switch (type) {
    case ElementType::kU4:
      return WeightOnlyType::kU4;
    case ElementType::kI4:
      return WeightOnlyType::kI4;
    case ElementType::kNf4:
      return WeightOnlyType::kNf4;
    case ElementType::kU8:
      return WeightOnlyType::kU8;
    case ElementType::kI8:
      return WeightOnlyType::kI8;
    default:
      return std::nullopt;
  }
}

/// The value of a small constant, also behind the few nodes that readers put after one; empty if it is none.
Tensor small_constant(const Node* node, int depth = 0) {
  constexpr int kMostNodes = 4;
  if (const auto* constant = as_type<op::v0::Constant>(node)) return constant->get_tensor();
  const bool known = is_op(node, "Convert") || is_op(node, "Reshape") || is_op(node, "Slice") ||
                     is_op(node, "Unsqueeze") || is_op(node, "Squeeze");
  if (!known || depth == kMostNodes || !node->operation().evaluate) return {};
  std::vector<Tensor> inputs;
  for (std::size_t i = 0; i < node->get_input_size(); ++i) {
    inputs.push_back(small_constant(node->get_input_node_ptr(i), depth + 1));
    if (!inputs.back()) return {};
  }
  return evaluate_node(*node, inputs).at(0);
}

/// Numbers as f32; empty if they are none.
Tensor as_f32(const Node* node) {
  const Tensor value = small_constant(node);
  if (!value || value.element_type() == ElementType::kF32) return value;
  const auto constant = std::make_shared<op::v0::Constant>(value);
  return evaluate_node(*make_node("Convert", 1, {constant}, {{"destination_type", element::f32}}), {value}).at(0);
}

/// Where the columns, groups and neighbours of a matrix lie among the axes of the stored numbers, or kNone.
struct Axes {
  static constexpr std::size_t kNone = static_cast<std::size_t>(-1);
  std::size_t column = kNone, group = kNone, neighbour = kNone;
};

/// One number per column and group, from a tensor that broadcasts over the stored numbers; empty if it varies among
/// neighbours.
Tensor by_group(const Tensor& values, const Shape& stored, const Axes& axes, std::size_t columns, std::size_t groups) {
  const Shape& shape = values.shape();
  if (values.element_type() != ElementType::kF32 || !values.is_contiguous() || shape.size() > stored.size()) return {};
  const std::size_t missing = stored.size() - shape.size();
  const auto extent = [&](std::size_t axis) { return axis < missing ? std::size_t{1} : shape[axis - missing]; };
  std::vector<std::size_t> strides(stored.size(), 0);
  std::size_t step = 1;
  for (std::size_t axis = stored.size(); axis-- > missing; step *= extent(axis)) {
    if (extent(axis) == 1) continue;
    if (axis == axes.neighbour || extent(axis) != stored[axis]) return {};
    strides[axis] = step;
  }
  const std::size_t by_column = strides[axes.column], by_group = axes.group == Axes::kNone ? 0 : strides[axes.group];
  if (by_column == groups && (by_group == 1 || groups == 1) && values.element_count() == columns * groups)
    return values;
  Tensor all(ElementType::kF32, Shape{columns, groups});
  for (std::size_t n = 0; n < columns; ++n)
    for (std::size_t g = 0; g < groups; ++g)
      all.data<float>()[n * groups + g] = values.data<float>()[n * by_column + g * by_group];
  return all;
}

/// Numbers stored as [depth, columns], as [columns, depth].
Tensor turned(const Tensor& numbers, std::size_t columns, std::size_t depth) {
  const bool four = bit_width(numbers.element_type()) == 4;
  Tensor made(numbers.element_type(), Shape{columns, depth});
  const auto* from = static_cast<const std::uint8_t*>(numbers.data());
  auto* to = static_cast<std::uint8_t*>(made.data());
  std::memset(to, 0, made.size_bytes());
  const auto read = [&](std::size_t at) -> unsigned { return four ? from[at / 2] >> (at % 2 * 4) & 15 : from[at]; };
  for (std::size_t n = 0; n < columns; ++n) {
    for (std::size_t k = 0; k < depth; ++k) {
      const std::size_t at = n * depth + k;
      to[four ? at / 2 : at] |= static_cast<std::uint8_t>(read(k * columns + n) << (four ? at % 2 * 4 : 0));
    }
  }
  return made;
}

}  // namespace

std::optional<WeightOnlyWeights> weight_only_weights(PlanBuilder& builder, const std::shared_ptr<Node>& matmul) {
  const bool is_grouped = is_op(matmul, "GroupedMatMul");
  if (is_grouped
          ? !is_grouped_product(*matmul)
          : !is_op(matmul, "MatMul") || matmul->get_attributes().get_bool("transpose_a", false) ||
                matmul->get_input_element_type(0) != element::f32 || matmul->get_input_element_type(1) != element::f32)
    return std::nullopt;
  const Shape left = matmul->get_input_shape(0);
  Shape right = matmul->get_input_shape(1);
  if (is_grouped) right = {right[0] * right[1], right[2]};  // All groups' matrices below each other.
  if (left.empty() || right.size() != 2 || element_count(left) == 0 || element_count(right) == 0) return std::nullopt;
  const bool by_columns = is_grouped || matmul->get_attributes().get_bool("transpose_b", false);

  WeightOnlyWeights found;
  Node* node = matmul->get_input_node_ptr(1);
  const auto step_into = [&](std::size_t input) {
    found.nodes.push_back(node->shared_from_this());
    node = node->get_input_node_ptr(input);
  };
  // Between real types only: others round.
  while (is_op(node, "Reshape") || (is_op(node, "Convert") && node->get_input_element_type(0).is_real())) step_into(0);
  if (!is_op(node, "Multiply")) return std::nullopt;
  const std::size_t scaled = as_type<op::v0::Constant>(node->get_input_node_ptr(0)) ? 1 : 0;
  const Node* const scale = node->get_input_node_ptr(1 - scaled);
  step_into(scaled);
  const Node* zero_point = nullptr;
  if (is_op(node, "Subtract")) {
    zero_point = node->get_input_node_ptr(1);
    step_into(0);
  }
  if (!is_op(node, "Convert")) return std::nullopt;
  step_into(0);
  const auto* constant = as_type<op::v0::Constant>(node);
  if (!constant) return std::nullopt;
  const Tensor numbers = constant->get_tensor();
  const auto type = weight_only_type(numbers.element_type());
  // 8-bit numbers on both sides have kernels that multiply them as they are.
  const bool is_8_bit_product =
      bit_width(numbers.element_type()) == 8 && is_quantized(builder, matmul->get_input_node_shared_ptr(0));
  if (!type || !numbers.is_contiguous() || is_8_bit_product) return std::nullopt;

  // [columns, depth], [columns, groups, neighbours], or with the depth first.
  const Shape& stored = numbers.shape();
  const std::size_t columns = right[by_columns ? 0 : 1], depth = right[by_columns ? 1 : 0];
  Axes axes;
  if (by_columns)
    axes = stored.size() == 2 ? Axes{0, Axes::kNone, 1} : Axes{0, 1, 2};
  else
    axes = stored.size() == 2 ? Axes{1, Axes::kNone, 0} : Axes{2, 0, 1};
  if (stored.size() < 2 || stored.size() > 3 || stored[axes.column] != columns) return std::nullopt;
  const std::size_t groups = stored.size() == 2 ? 1 : stored[axes.group];
  if (groups * stored[axes.neighbour] != depth) return std::nullopt;
  found.problem = {1, columns, depth, depth / groups, *type};
  if (!has_weight_only_kernel(found.problem)) return std::nullopt;

  const Tensor scales = as_f32(scale);
  if (!scales) return std::nullopt;
  found.scales = by_group(scales, stored, axes, columns, groups);
  if (!found.scales) return std::nullopt;
  if (zero_point) {
    const Tensor zeros = as_f32(zero_point);
    if (!zeros) return std::nullopt;
    if (zeros.element_count() == 1)
      found.zero_point = *zeros.data<float>();
    else if (found.zero_points = by_group(zeros, stored, axes, columns, groups); !found.zero_points)
      return std::nullopt;
  }
  const auto reader = pass::only_user(*matmul);
  const Shape made = matmul->get_output_shape(0);
  if (!is_grouped && reader && reader->get_output_shape(0) == made && !made.empty()) {
    found.bias = bias_of(builder, reader, matmul, made, made.size() - 1);
    if (found.bias && found.bias.element_count() == columns) found.bias_node = reader;
  }
  found.numbers =
      by_columns ? numbers : builder.derived(numbers, "columns first", [&] { return turned(numbers, columns, depth); });
  return found;
}

WeightOnlyProducts::WeightOnlyProducts(PlanBuilder& builder, const NodeVector& order) {
  for (const auto& node : order)
    if (auto weights = weight_only_weights(builder, node)) weights_.emplace(node.get(), std::move(*weights));
  std::unordered_set<const Node*> candidates;
  for (const auto& [product, weights] : weights_)
    for (const auto& node : weights.nodes) candidates.insert(node.get());
  // Readers come after what they read.
  for (auto node = order.rbegin(); node != order.rend() && !candidates.empty(); ++node) {
    if (!candidates.count(node->get())) continue;
    const auto readers = (*node)->get_output_target_inputs(0);
    if (std::all_of(readers.begin(), readers.end(), [&](const auto& input) {
          return absorbed_.count(input.get_node()) > 0 ||
                 (weights_.count(input.get_node()) > 0 && input.get_index() == 1);
        }))
      absorbed_.insert(node->get());
  }
}

const WeightOnlyWeights* WeightOnlyProducts::find(const Node* matmul) const {
  const auto found = weights_.find(matmul);
  return found == weights_.end() ? nullptr : &found->second;
}

namespace {

/// The weights as operands of a step, and how it reads them back.
struct Operands {
  std::vector<BufferSlice> places;
  float zero_point = 0;
  bool has_zero_points = false;
  BufferSlice bias;  ///< May be none. A step of the few rows' kernel reads it behind the others.
  kernels::WeightOnlyMatrix matrix(void* const* p) const {
    return {p[0], static_cast<const float*>(p[1]), has_zero_points ? static_cast<const float*>(p[2]) : nullptr,
            zero_point};
  }
};

/// In groups as large as asked for, or smaller ones, which are more exact. 0: they would have to be too small.
std::size_t rounding_of(std::size_t wanted, std::size_t depth) {
  constexpr std::size_t kLeast = 32;
  std::size_t rounding = std::min(wanted, depth) / kLeast * kLeast;
  while (rounding > kLeast && depth % rounding != 0) rounding -= kLeast;
  return rounding;
}

/// Blocks of columns are expanded, in the type of the computation, and multiplied by oneDNN.
bool lower_expanded(PlanBuilder& builder, const Chain& chain, const WeightOnlyWeights& weights,
                    const Operands& operands) {
  // A block stays in the caches of a few cores, and is large enough for all of them to share.
  constexpr std::size_t kBlockFloats = std::size_t{1} << 21;
  const kernels::WeightOnly& problem = weights.problem;
  const auto& matmul = chain.anchor();
  Value& left = builder.input(matmul, 0);
  Value& made = builder.value(chain.last()->output(0));
  const ElementType type = builder.compute_type();
  const auto rows = static_cast<std::int64_t>(element_count(left.shape) / problem.depth),
             depth = static_cast<std::int64_t>(problem.depth);
  const std::size_t block = std::clamp<std::size_t>(kBlockFloats / problem.depth, 16, problem.columns);
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  struct Part {
    std::size_t begin, end;
    md left, right, bias, result;
    std::shared_ptr<const MadeKernel> kernel;
  };
  std::vector<Part> parts;
  for (std::size_t begin = 0; begin < problem.columns; begin += block) {
    const std::size_t end = std::min(begin + block, problem.columns);
    const auto count = static_cast<std::int64_t>(end - begin);
    Part part{begin,
              end,
              md({rows, depth}, data_type(type), dnnl::memory::dims{depth, 1}),
              md({depth, count}, data_type(type), dnnl::memory::dims{1, depth}),
              operands.bias ? md({1, count}, data_type(ElementType::kF32), dnnl::memory::dims{count, 1}) : md(),
              md({rows, count}, data_type(ElementType::kF32), dnnl::memory::dims{count, 1}),
              nullptr};
    KernelKey key{PlanBuilder::key_of(dnnl::primitive::kind::matmul)};
    for (const md* desc : {&part.left, &part.right, &part.bias, &part.result}) append(key, *desc);
    part.kernel = builder.kernel(key, [&]() -> MadeKernel {
      const dnnl::matmul::primitive_desc pd(builder.engine(), part.left, part.right, part.bias, part.result, attributes,
                                            true);
      if (!pd) return {};
      return {dnnl::matmul(pd), pd.impl_info_str(), {pd.scratchpad_desc()}};
    });
    if (!*part.kernel || is_slow(part.kernel->name.c_str())) return false;
    parts.push_back(std::move(part));
  }
  const BufferSlice from = builder.in_layout(left, plain_desc(type, left.shape));
  // oneDNN's fast kernels write no part of a row: blocks of results are put side by side at the end.
  const bool is_whole = parts.size() == 1;
  const std::size_t row_count = static_cast<std::size_t>(rows);
  const BufferSlice blocks = is_whole ? BufferSlice{} : builder.scratch(row_count * problem.columns * sizeof(float));
  for (const Part& part : parts) {
    const BufferSlice expanded = builder.scratch((part.end - part.begin) * problem.depth * size_bytes(type));
    builder.add_kernel(matmul, "expand", operands.places, {expanded},
                       [problem, operands, part_begin = part.begin, part_end = part.end,
                        is_bf16 = type == ElementType::kBf16](std::span<void* const> p) {
                         const auto matrix = operands.matrix(p.data());
                         if (is_bf16)
                           expand_weight_only(problem, matrix, part_begin, part_end,
                                              static_cast<std::uint16_t*>(p.back()));
                         else
                           expand_weight_only(problem, matrix, part_begin, part_end, static_cast<float*>(p.back()));
                       });
    const BufferSlice to = is_whole
                               ? builder.define_plain(made)
                               : BufferSlice{blocks.buffer, blocks.offset + row_count * part.begin * sizeof(float)};
    auto& step = builder.add_primitive(matmul, part.kernel->primitive, part.kernel->name);
    builder.add_argument(step, DNNL_ARG_SRC, from, part.left);
    builder.add_argument(step, DNNL_ARG_WEIGHTS, expanded, part.right);
    if (operands.bias) {
      const BufferSlice bias{operands.bias.buffer, operands.bias.offset + part.begin * sizeof(float)};
      builder.add_argument(step, DNNL_ARG_BIAS, bias, part.bias);
    }
    builder.add_argument(step, DNNL_ARG_DST, to, part.result, true);
    builder.add_scratchpad(step, part.kernel->descs.front());
  }
  if (is_whole) return true;
  const BufferSlice to = builder.define_plain(made);
  builder.add_kernel(matmul, "side by side", {blocks}, {to},
                     [row_count, block, columns = problem.columns](std::span<void* const> p) {
                       const auto* read = static_cast<const float*>(p[0]);
                       for (std::size_t begin = 0; begin < columns; begin += block) {
                         const std::size_t width = std::min(block, columns - begin);
                         for (std::size_t row = 0; row < row_count; ++row, read += width)
                           std::memcpy(static_cast<float*>(p[1]) + row * columns + begin, read, width * sizeof(float));
                       }
                     });
  return true;
}

}  // namespace

void lower_weight_only(PlanBuilder& builder, const Chain& chain, const WeightOnlyWeights& weights) {
  const auto& matmul = chain.anchor();
  Value& left = builder.input(matmul, 0);
  kernels::WeightOnly problem = weights.problem;
  problem.rows = element_count(left.shape) / problem.depth;
  problem.rounding = rounding_of(builder.options().dynamic_quantization, problem.depth);
  if (is_op(matmul, "GroupedMatMul")) return lower_grouped_weight_only(builder, matmul, weights, problem);
  Operands operands{{builder.constant_place(weights.numbers), builder.constant_place(weights.scales)},
                    weights.zero_point,
                    static_cast<bool>(weights.zero_points),
                    {}};
  if (weights.zero_points) operands.places.push_back(builder.constant_place(weights.zero_points));
  if (chain.nodes.size() > 1) operands.bias = builder.constant_place(weights.bias);
  const ElementType type = builder.compute_type();
  const bool has_general = type == ElementType::kF32 || type == ElementType::kBf16;
  const bool has_tiles = type == ElementType::kBf16 && kernels::has_tile_products();
  if (problem.rows > most_weight_only_rows(problem, has_tiles) && has_general &&
      lower_expanded(builder, chain, weights, operands))
    return builder.note_fused(chain);
  std::vector<BufferSlice> from = operands.places;
  if (operands.bias) from.push_back(operands.bias);
  from.push_back(builder.plain(left));
  const BufferSlice scratch = builder.scratch(weight_only_scratch(problem) * sizeof(float));
  const BufferSlice to = builder.define_plain(builder.value(chain.last()->output(0)));
  const std::string name = problem.is_4_bit() ? "4-bit weights" : "8-bit weights";
  builder.add_kernel(matmul, rounds_rows(problem) ? name + ", rounded" : name, from, {scratch, to},
                     [problem, operands](std::span<void* const> p) {
                       kernels::WeightOnlyMatrix matrix = operands.matrix(p.data());
                       if (operands.bias) matrix.bias = static_cast<const float*>(p[operands.places.size()]);
                       multiply_weight_only(problem, matrix, static_cast<const float*>(p[p.size() - 3]),
                                            static_cast<float*>(p[p.size() - 2]), static_cast<float*>(p.back()));
                     });
  builder.note_fused(chain);
}

}  // namespace tenon::inline v1::engine
