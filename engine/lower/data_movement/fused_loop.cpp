// SPDX-License-Identifier: Apache-2.0
// Which nodes a fused loop computes, by which functions, and how it reads its operands.
#include <tenon/engine/lower/data_movement/fused_loop.hpp>

#include <algorithm>
#include <map>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include <tenon/engine/kernels/simd/fused_loop.hpp>
#include <tenon/engine/lower/build/activation.hpp>
#include <tenon/engine/lower/build/precision.hpp>
#include <tenon/engine/plan/descriptions.hpp>

namespace tenon::inline v1::engine {
namespace {

using kernels::Elementwise;

/// What a node computes: a function of so many of its inputs, in order.
struct LoopFunction {
  Elementwise what;
  std::size_t reads = 1;
  float alpha = 0, beta = 0;
};

std::optional<float> constant_number(PlanBuilder& builder, const std::shared_ptr<Node>& node, std::size_t index) {
  const Tensor tensor = builder.constant_input(node, index);
  if (!tensor || tensor.element_type() != ElementType::kF32 || tensor.element_count() != 1) return std::nullopt;
  return *tensor.data<float>();
}

bool reads_f32(const std::shared_ptr<Node>& node, std::size_t from, std::size_t end) {
  for (std::size_t i = from; i < end; ++i)
    if (node->get_input_element_type(i) != element::f32) return false;
  return true;
}
bool reads_bool(const std::shared_ptr<Node>& node, std::size_t end) {
  for (std::size_t i = 0; i < end; ++i)
    if (node->get_input_element_type(i) != element::boolean) return false;
  return true;
}

/// oneDNN's activations that have a form of their own here.
std::optional<Elementwise> of_activation(dnnl::algorithm algorithm) {
  static const std::map<dnnl::algorithm, Elementwise> known = {
      {dnnl::algorithm::eltwise_relu, Elementwise::kRelu},
      {dnnl::algorithm::eltwise_logistic, Elementwise::kSigmoid},
      {dnnl::algorithm::eltwise_tanh, Elementwise::kTanh},
      {dnnl::algorithm::eltwise_clip, Elementwise::kClip},
      {dnnl::algorithm::eltwise_elu, Elementwise::kElu},
      {dnnl::algorithm::eltwise_abs, Elementwise::kAbs},
      {dnnl::algorithm::eltwise_sqrt, Elementwise::kSqrt},
      {dnnl::algorithm::eltwise_exp, Elementwise::kExp},
      {dnnl::algorithm::eltwise_linear, Elementwise::kLinear},
      {dnnl::algorithm::eltwise_hardsigmoid, Elementwise::kHardSigmoid},
      {dnnl::algorithm::eltwise_hardswish, Elementwise::kHardSwish},
      {dnnl::algorithm::eltwise_swish, Elementwise::kSwish},
      {dnnl::algorithm::eltwise_gelu_erf, Elementwise::kGelu},
      {dnnl::algorithm::eltwise_gelu_tanh, Elementwise::kGeluTanh},
      {dnnl::algorithm::eltwise_soft_relu, Elementwise::kSoftPlus},
      {dnnl::algorithm::eltwise_mish, Elementwise::kMish}};
  const auto found = known.find(algorithm);
  return found == known.end() ? std::nullopt : std::optional(found->second);
}

std::optional<LoopFunction> unary_function(PlanBuilder& builder, const std::shared_ptr<Node>& node) {
  static const std::map<std::string_view, Elementwise> known = {
      {"Log", Elementwise::kLog},     {"Erf", Elementwise::kErf},           {"Sin", Elementwise::kSin},
      {"Cos", Elementwise::kCos},     {"Tan", Elementwise::kTan},           {"Asin", Elementwise::kAsin},
      {"Acos", Elementwise::kAcos},   {"Atan", Elementwise::kAtan},         {"Sinh", Elementwise::kSinh},
      {"Cosh", Elementwise::kCosh},   {"Asinh", Elementwise::kAsinh},       {"Acosh", Elementwise::kAcosh},
      {"Atanh", Elementwise::kAtanh}, {"Floor", Elementwise::kFloor},       {"Ceiling", Elementwise::kCeiling},
      {"Sign", Elementwise::kSign},   {"Negative", Elementwise::kNegative}, {"SoftSign", Elementwise::kSoftSign}};
  const std::string_view type = node->get_type_name();
  if (type == "LogicalNot") return reads_bool(node, 1) ? std::optional(LoopFunction{Elementwise::kNot}) : std::nullopt;
  if (type == "Convert") {
    const element::Type from = node->get_input_element_type(0), to = node->get_output_element_type(0);
    if (to == element::boolean && from == element::f32) return LoopFunction{Elementwise::kIsTrue};
    const bool known_type = from == element::f32 || from == element::boolean || from == element::u8 ||
                            from == element::i8 || from == element::i32 || from == element::i64;
    return to == element::f32 && known_type ? std::optional(LoopFunction{Elementwise::kCopy}) : std::nullopt;
  }
  if (!reads_f32(node, 0, 1)) return std::nullopt;
  if (const auto found = known.find(type); found != known.end()) return LoopFunction{found->second};
  if (const auto activation = activation_of(builder, node)) {
    const auto what = of_activation(activation->algorithm);
    return what ? std::optional(LoopFunction{*what, 1, activation->alpha, activation->beta}) : std::nullopt;
  }
  if (type == "Round") {
    const bool even = node->get_attributes().get_string("mode") == "half_to_even";
    return LoopFunction{even ? Elementwise::kRoundEven : Elementwise::kRoundAway};
  }
  if (type == "HardSigmoid" || type == "Selu") {
    const auto alpha = constant_number(builder, node, 1), beta = constant_number(builder, node, 2);
    if (!alpha || !beta) return std::nullopt;
    return LoopFunction{type == "Selu" ? Elementwise::kSelu : Elementwise::kHardSigmoid, 1, *alpha, *beta};
  }
  return std::nullopt;
}

std::optional<Elementwise> binary_what(std::string_view type) {
  static const std::map<std::string_view, Elementwise> known = {{"Add", Elementwise::kAdd},
                                                                {"Subtract", Elementwise::kSubtract},
                                                                {"Multiply", Elementwise::kMultiply},
                                                                {"Divide", Elementwise::kDivide},
                                                                {"Maximum", Elementwise::kMaximum},
                                                                {"Minimum", Elementwise::kMinimum},
                                                                {"SquaredDifference", Elementwise::kSquaredDifference},
                                                                {"Power", Elementwise::kPower},
                                                                {"Mod", Elementwise::kMod},
                                                                {"FloorMod", Elementwise::kFloorMod},
                                                                {"PRelu", Elementwise::kPRelu},
                                                                {"Equal", Elementwise::kEqual},
                                                                {"NotEqual", Elementwise::kNotEqual},
                                                                {"Less", Elementwise::kLess},
                                                                {"LessEqual", Elementwise::kLessEqual},
                                                                {"Greater", Elementwise::kGreater},
                                                                {"GreaterEqual", Elementwise::kGreaterEqual},
                                                                {"LogicalAnd", Elementwise::kAnd},
                                                                {"LogicalOr", Elementwise::kOr},
                                                                {"LogicalXor", Elementwise::kXor}};
  const auto found = known.find(type);
  return found == known.end() ? std::nullopt : std::optional(found->second);
}

bool is_logical(Elementwise what) {
  return what == Elementwise::kAnd || what == Elementwise::kOr || what == Elementwise::kXor;
}

/// A number in place of the second tensor, where the function has that form.
std::optional<LoopFunction> with_scalar(Elementwise what, float number) {
  switch (what) {
    case Elementwise::kAdd:
      return LoopFunction{Elementwise::kPlusAlpha, 1, number};
    case Elementwise::kSubtract:
      return LoopFunction{Elementwise::kPlusAlpha, 1, -number};
    case Elementwise::kMultiply:
      return LoopFunction{Elementwise::kTimesAlpha, 1, number};
    case Elementwise::kDivide:
      return LoopFunction{Elementwise::kOverAlpha, 1, number};
    case Elementwise::kPower:
      return number == 2 ? LoopFunction{Elementwise::kSquare} : LoopFunction{Elementwise::kToTheAlpha, 1, number};
    default:
      return std::nullopt;
  }
}

std::optional<LoopFunction> binary_function(PlanBuilder& builder, const std::shared_ptr<Node>& node) {
  const auto what = binary_what(node->get_type_name());
  if (!what || node->get_input_size() != 2) return std::nullopt;
  if (is_logical(*what) ? !reads_bool(node, 2) : !reads_f32(node, 0, 2)) return std::nullopt;
  if (*what != Elementwise::kPRelu && node->get_attributes().has("auto_broadcast")) {
    const std::string& rule = node->get_attributes().get_string("auto_broadcast");
    if (rule != "numpy" && rule != "none") return std::nullopt;
  }
  const auto number = constant_number(builder, node, 1);
  // The result has the first tensor's shape only if the number's rank is not the larger one.
  if (number && node->get_input_shape(0) == node->get_output_shape(0))
    if (const auto simpler = with_scalar(*what, *number)) return simpler;
  return LoopFunction{*what, 2};
}

std::optional<LoopFunction> function_of(PlanBuilder& builder, const std::shared_ptr<Node>& node) {
  if (node->get_output_size() != 1 || node->get_input_size() == 0) return std::nullopt;
  const element::Type type = node->get_output_element_type(0);
  if (type != element::f32 && type != element::boolean) return std::nullopt;
  if (is_op(node, "Select")) {
    const bool known = node->get_input_element_type(0) == element::boolean && reads_f32(node, 1, 3);
    const std::string& rule = node->get_attributes().get_string("auto_broadcast");
    if (!known || (rule != "numpy" && rule != "none")) return std::nullopt;
    return LoopFunction{Elementwise::kSelect, 3};
  }
  if (const auto found = unary_function(builder, node)) return found;
  return binary_function(builder, node);
}

/// The shape that input `index` is broadcast from.
Shape shape_of(const std::shared_ptr<Node>& node, std::size_t index) {
  const Shape shape = node->get_input_shape(index), result = node->get_output_shape(0);
  // One slope for each channel of axis 1.
  if (!is_op(node, "PRelu") || index != 1 || shape.size() != 1 || shape[0] == 1 || result.size() < 2 ||
      shape[0] != result[1])
    return shape;
  Shape slopes(result.size() - 1, 1);
  slopes[0] = shape[0];
  return slopes;
}

// -- Layouts

/// An axis of memory: `unit` neighbours along axis `dim` of the tensor lie `stride` elements apart.
struct MemoryAxis {
  std::size_t dim, unit, extent;
  std::ptrdiff_t stride;
};

/// A tensor's axes in memory, the widest stride first. One without description lies row-major.
std::vector<MemoryAxis> axes_of(const Shape& shape, const md& desc) {
  std::vector<MemoryAxis> axes;
  if (desc.get_ndims() == 0 || shape.empty()) {
    std::ptrdiff_t stride = 1;
    for (std::size_t dim = shape.size(); dim-- > 0; stride *= static_cast<std::ptrdiff_t>(shape[dim]))
      axes.insert(axes.begin(), {dim, 1, shape[dim], stride});
    return axes;
  }
  std::vector<std::size_t> unit(shape.size(), 1);
  std::ptrdiff_t stride = 1;
  const auto blocks = desc.get_inner_blks(), dims = desc.get_inner_idxs();
  for (std::size_t i = blocks.size(); i-- > 0;) {
    const auto dim = static_cast<std::size_t>(dims[i]), extent = static_cast<std::size_t>(blocks[i]);
    axes.push_back({dim, unit[dim], extent, stride});
    unit[dim] *= extent;
    stride *= static_cast<std::ptrdiff_t>(extent);
  }
  const auto strides = desc.get_strides(), padded = desc.get_padded_dims();
  for (std::size_t dim = 0; dim < shape.size(); ++dim)
    axes.push_back({dim, unit[dim], static_cast<std::size_t>(padded[dim]) / unit[dim], strides[dim]});
  std::stable_sort(axes.begin(), axes.end(), [](const MemoryAxis& a, const MemoryAxis& b) {
    // Axes of one element may stand in any order; axes with equal strides are such.
    return a.stride != b.stride ? a.stride > b.stride : a.extent < b.extent;
  });
  return axes;
}

/// How a tensor of `shape` in layout `desc` is read along the axes of a result of `result_shape`; nothing where their
/// blocks differ.
std::optional<kernels::LoopTensor> beside(const std::vector<MemoryAxis>& result, const Shape& result_shape,
                                          const Shape& shape, const md& desc) {
  kernels::LoopTensor tensor;
  const std::size_t missing = result_shape.size() - shape.size();
  const auto own = axes_of(shape, desc);
  for (const MemoryAxis& axis : result) {
    if (axis.extent == 1) continue;
    if (axis.dim < missing || shape[axis.dim - missing] == 1) {
      tensor.add_axis(axis.extent, 0);
      continue;
    }
    std::size_t parts = 0;
    const MemoryAxis *same = nullptr, *whole = nullptr;
    for (const MemoryAxis& each : own) {
      if (each.dim != axis.dim - missing) continue;
      ++parts;
      if (each.unit == axis.unit && each.extent == axis.extent) same = &each;
      whole = &each;
    }
    if (same)
      tensor.add_axis(axis.extent, same->stride);
    else if (parts == 1)
      tensor.add_axis(axis.extent, whole->stride * static_cast<std::ptrdiff_t>(axis.unit));
    else
      return std::nullopt;
  }
  return tensor;
}

bool has_fast_rows(const kernels::LoopTensor& tensor) {
  return tensor.strides.empty() || tensor.strides.back() == 0 || tensor.strides.back() == 1;
}

struct LoopOperand {
  Value* value = nullptr;
  Shape shape;  ///< That it is broadcast from.
  bool is_whole = false;
  BufferSlice place;
  std::size_t size_bytes = 0;
  kernels::LoopTensor tensor;
};

/// The group's operands and operations, before layouts are chosen.
struct LoopGroup {
  std::vector<LoopOperand> operands;
  std::vector<kernels::LoopOperation> operations;
};

/// In numbers of operations, which begin behind those of operands, which are known at the end.
constexpr std::uint8_t kMade = 0x80;

/// A product that one sum alone reads becomes part of it: a scale and a shift are one pass over the tile.
void join_products(LoopGroup& group) {
  const auto product = kernels::elementwise(Elementwise::kMultiply), sum = kernels::elementwise(Elementwise::kAdd);
  auto& operations = group.operations;
  for (std::size_t i = 1; i < operations.size(); ++i) {
    if (operations[i].function != sum) continue;
    for (const std::size_t side : {0, 1}) {
      const std::uint8_t read = operations[i].reads[side], other = operations[i].reads[1 - side];
      // The one right before it, so that no number changes but those behind.
      if (read != (kMade | (i - 1)) || other == read || operations[i - 1].function != product) continue;
      const auto reads_it = [&](const auto& each) {
        return std::find(each.reads.begin(), each.reads.end(), read) != each.reads.end();
      };
      if (std::count_if(operations.begin(), operations.end(), reads_it) != 1) continue;
      const auto factors = operations[i - 1].reads;
      operations[i] = {kernels::elementwise(Elementwise::kMultiplyAdd), {factors[0], factors[1], other}};
      operations.erase(operations.begin() + static_cast<std::ptrdiff_t>(--i));
      for (auto& each : operations)
        for (auto& number : each.reads)
          if ((number & kMade) && (number & ~kMade) > static_cast<int>(i)) --number;
      break;
    }
  }
}

std::optional<LoopGroup> group_of(PlanBuilder& builder, const Chain& chain) {
  LoopGroup group;
  const Shape shape = chain.last()->get_output_shape(0);
  std::unordered_map<const Node*, std::size_t> made;
  for (const auto& node : chain.nodes) {
    const auto function = function_of(builder, node);
    if (!function) return std::nullopt;
    kernels::LoopOperation operation{kernels::elementwise(function->what), {}, function->alpha, function->beta};
    for (std::size_t i = 0; i < function->reads; ++i) {
      const auto source = node->input_value(i);
      if (const auto found = made.find(source.get_node()); found != made.end()) {
        operation.reads[i] = static_cast<std::uint8_t>(kMade | found->second);
        continue;
      }
      Value& value = builder.value(source);
      const Shape from = shape_of(node, i);
      const auto known = std::find_if(group.operands.begin(), group.operands.end(), [&](const LoopOperand& operand) {
        return operand.value == &value && operand.shape == from;
      });
      operation.reads[i] = static_cast<std::uint8_t>(known - group.operands.begin());
      if (known == group.operands.end()) group.operands.push_back({&value, from, from == shape, {}, 0, {}});
    }
    for (std::size_t i = function->reads; i < operation.reads.size(); ++i) operation.reads[i] = operation.reads[0];
    made[node.get()] = group.operations.size();
    group.operations.push_back(operation);
  }
  if (group.operands.size() > kernels::FusedLoop::kMostOperands) return std::nullopt;
  join_products(group);
  for (auto& operation : group.operations)
    for (auto& read : operation.reads)
      if (read & kMade) read = static_cast<std::uint8_t>((read & ~kMade) + group.operands.size());
  return group;
}

bool is_real(const Value& value) { return value.type == ElementType::kF32; }

/// The result's layout: that of the first tensor of its shape, blocks before others, since what comes next likely wants
/// them too.
md result_layout(PlanBuilder& builder, const Chain& chain, LoopGroup& group) {
  const Value& made = builder.value(chain.last()->output(0));
  const md plain = plain_desc(ElementType::kF32, made.shape);
  md chosen;
  for (LoopOperand& operand : group.operands) {
    if (!operand.is_whole) continue;
    // Neither booleans nor integers lie in blocks.
    if (!is_real(*operand.value)) return plain;
    if (operand.value->constant) continue;
    const auto variant = builder.real(*operand.value);
    const ElementType type = element_type(variant.desc);
    if (!is_dense(variant.desc) || (type != ElementType::kF32 && type != ElementType::kBf16)) continue;
    if (chosen.get_ndims() == 0 || (is_packed(chosen, made.shape) && !variant.packed)) chosen = variant.desc;
  }
  if (chosen.get_ndims() == 0 || made.type != ElementType::kF32) return plain;
  const bool wide = builder.compute_type() == ElementType::kF32 || feeds_softmax(*chain.last());
  return wide ? retyped(chosen, ElementType::kF32) : chosen;
}

/// Finds how the operand is read, with a reorder before the loop where it lies too differently.
void place_operand(PlanBuilder& builder, LoopOperand& operand, const std::vector<MemoryAxis>& axes, const Shape& shape,
                   const md& layout) {
  const auto take = [&](const Value::Variant& variant, kernels::LoopTensor tensor) {
    operand.place = variant.place;
    operand.tensor = std::move(tensor);
    operand.tensor.type = variant.desc.get_ndims() == 0 ? operand.value->type : element_type(variant.desc);
    if (operand.value->type == ElementType::kBool) operand.tensor.type = ElementType::kBool;
    operand.size_bytes = variant.desc.get_ndims() == 0 ? *checked_size_bytes(operand.value->type, operand.value->shape)
                                                       : variant.desc.get_size();
  };
  const Value::Variant variant =
      is_real(*operand.value) ? builder.real(*operand.value) : builder.packed(*operand.value);
  // A slope of PRelu has another shape than its tensor, which is packed.
  const bool renamed = operand.shape != operand.value->shape;
  const auto tensor = beside(axes, shape, operand.shape, renamed ? md() : variant.desc);
  if (tensor && (!renamed || variant.packed) && (has_fast_rows(*tensor) || !operand.is_whole))
    return take(variant, *tensor);
  const ElementType type = is_real(*operand.value) ? element_type(variant.desc) : operand.value->type;
  const bool in_blocks = operand.is_whole && is_real(*operand.value);
  const md wanted = in_blocks ? retyped(layout, type) : plain_desc(type, operand.value->shape);
  const BufferSlice place = builder.in_layout(*operand.value, wanted);
  take({place, wanted}, *beside(axes, shape, operand.shape, renamed ? md() : wanted));
}

NodeVector sources_of(const Node& node) {
  NodeVector sources;
  for (const auto& source : node.input_values()) sources.push_back(source.get_node_shared_ptr());
  return sources;
}

}  // namespace

bool is_loop_operation(PlanBuilder& builder, const std::shared_ptr<Node>& node) {
  return function_of(builder, node).has_value();
}

NodeVector match_fused_loop(PlanBuilder& builder, const std::shared_ptr<Node>& last,
                            const std::function<bool(const std::shared_ptr<Node>&)>& is_free) {
  const Shape shape = last->get_output_shape(0);
  // Precise nodes keep f32 to themselves.
  const bool precise = is_precise(*last);
  NodeVector found;
  std::unordered_set<const Node*> members;
  std::unordered_map<const Node*, std::size_t> read_within;
  const auto joins = [&](const std::shared_ptr<Node>& node) {
    return is_free(node) && node->get_output_size() == 1 &&
           read_within.at(node.get()) == node->count_output_readers(0) && node->get_output_shape(0) == shape &&
           is_precise(*node) == precise && is_loop_operation(builder, node);
  };
  const auto take = [&](const std::shared_ptr<Node>& node) {
    found.push_back(node);
    members.insert(node.get());
    for (const auto& source : node->input_values()) ++read_within[source.get_node()];
  };
  take(last);
  // A node that several read is looked at with each of them, and joins with the last.
  for (std::size_t i = 0; i < found.size(); ++i)
    for (const auto& source : sources_of(*found[i]))
      if (found.size() < kernels::FusedLoop::kMostOperands && !members.count(source.get()) && joins(source))
        take(source);
  // Each behind those that it reads: a node goes before all of its readers.
  NodeVector ordered;
  std::unordered_set<const Node*> placed;
  const std::function<void(const std::shared_ptr<Node>&)> place = [&](const std::shared_ptr<Node>& node) {
    if (!members.count(node.get()) || !placed.insert(node.get()).second) return;
    for (const auto& source : node->input_values()) place(source.get_node_shared_ptr());
    ordered.push_back(node);
  };
  place(last);
  return ordered;
}

bool lower_fused_loop(PlanBuilder& builder, const Chain& chain) {
  const auto& last = chain.last();
  const Shape shape = last->get_output_shape(0);
  if (element_count(shape) == 0) return false;
  auto group = group_of(builder, chain);
  if (!group) return false;
  const md layout = result_layout(builder, chain, *group);
  if (layout.get_ndims() == 0) return false;
  Value& made = builder.value(last->output(0));
  const auto axes = axes_of(shape, layout);
  for (LoopOperand& operand : group->operands) place_operand(builder, operand, axes, shape, layout);
  const ElementType result = made.type == ElementType::kBool ? made.type : element_type(layout);

  std::vector<BufferSlice> from;
  std::vector<kernels::LoopTensor> tensors;
  std::vector<planning::Read> reads;
  for (const LoopOperand& operand : group->operands) {
    from.push_back(operand.place);
    tensors.push_back(operand.tensor);
    const bool in_step = operand.tensor.is_whole() && size_bytes(operand.tensor.type) == size_bytes(result);
    reads.push_back({operand.place, operand.size_bytes, in_step});
  }
  // In place of an operand that lies as the result does.
  std::size_t over = 0;
  while (over < tensors.size() && !(tensors[over].is_whole() && tensors[over].type == result)) ++over;
  BufferSlice to;
  if (result == ElementType::kBool) {
    to = builder.define_plain(made);
  } else if (over < reads.size()) {
    const planning::Read read = reads[over];
    auto others = reads;
    others.erase(others.begin() + static_cast<std::ptrdiff_t>(over));
    to = builder.define_over(made, layout, read, others);
  } else {
    to = builder.define(made, layout);
  }
  kernels::FusedLoop loop(element_count(shape), std::move(tensors), std::move(group->operations), result);
  auto& step = builder.add_kernel(last, chain.nodes.size() > 1 ? "fused loop" : "loop", from, {to}, std::move(loop));
  for (std::size_t i = 0; i < reads.size(); ++i) step.operands[i].in_step = reads[i].in_step;
  builder.note_joined(chain);
  return true;
}

}  // namespace tenon::inline v1::engine
