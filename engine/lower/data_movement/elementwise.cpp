// SPDX-License-Identifier: Apache-2.0
// Element-wise operations that stand alone: activations and same-layout binaries on oneDNN, others by our loops.
#include <array>
#include <cstdint>
#include <string_view>
#include <type_traits>

#include <tenon/engine/kernels/simd/broadcast.hpp>
#include <tenon/engine/lower/build/8_bit.hpp>
#include <tenon/engine/lower/build/post_ops.hpp>
#include <tenon/engine/lower/build/precision.hpp>
#include <tenon/engine/lower/build/table.hpp>
#include <tenon/engine/lower/data_movement/fused_loop.hpp>

namespace tenon::inline v1::engine {
namespace {

using dnnl::algorithm;

/// Our kernel for oneDNN's algorithm, if there is one.
std::optional<kernels::Elementwise> small_kernel(algorithm algo) {
  using kernels::Elementwise;
  switch (algo) {
    case algorithm::eltwise_relu:
      return Elementwise::kRelu;
    case algorithm::eltwise_logistic:
      return Elementwise::kSigmoid;
    case algorithm::eltwise_tanh:
      return Elementwise::kTanh;
    case algorithm::eltwise_clip:
      return Elementwise::kClip;
    case algorithm::eltwise_elu:
      return Elementwise::kElu;
    case algorithm::eltwise_abs:
      return Elementwise::kAbs;
    case algorithm::eltwise_sqrt:
      return Elementwise::kSqrt;
    case algorithm::eltwise_exp:
      return Elementwise::kExp;
    case algorithm::eltwise_linear:  // Which only Negative is.
      return Elementwise::kNegative;
    case algorithm::eltwise_hardsigmoid:
      return Elementwise::kHardSigmoid;
    case algorithm::eltwise_hardswish:
      return Elementwise::kHardSwish;
    case algorithm::eltwise_swish:
      return Elementwise::kSwish;
    case algorithm::binary_add:
      return Elementwise::kAdd;
    case algorithm::binary_sub:
      return Elementwise::kSubtract;
    case algorithm::binary_mul:
      return Elementwise::kMultiply;
    case algorithm::binary_div:
      return Elementwise::kDivide;
    case algorithm::binary_max:
      return Elementwise::kMaximum;
    case algorithm::binary_min:
      return Elementwise::kMinimum;
    default:
      return std::nullopt;
  }
}

/// For tensors in one layout with so few elements that calling oneDNN costs more than computing. They must lie without
/// padding: these kernels would not leave it zero.
std::optional<kernels::Elementwise> small_kernel(algorithm algo, const Shape& shape, const md& layout) {
  if (element_count(shape) > kernels::kSmallElements || element_type(layout) != ElementType::kF32 || !is_dense(layout))
    return std::nullopt;
  return small_kernel(algo);
}

void add_small(PlanBuilder& builder, const std::shared_ptr<Node>& node, kernels::Elementwise what,
               const std::vector<BufferSlice>& from, BufferSlice to, float alpha = 0, float beta = 0) {
  auto step = std::make_unique<ElementwiseStep>();
  step->function = kernels::elementwise(what);
  step->count = element_count(node->get_output_shape(0));
  step->alpha = alpha;
  step->beta = beta;
  for (const BufferSlice place : from) step->operands.push_back({place, false, true});
  step->operands.push_back({to, true});
  builder.add_step(node, std::move(step), "small");
}

/// Whether oneDNN's kernel is taken for a function that stands alone. The other functions have a kernel of ours: oneDNN's limits and
/// exponentials make a number of NaN, its softplus of -20 is below zero, its gelu of infinity NaN, its -(0) is 0 instead of -0; and on
/// AVX2 its tanh and gelu's tanh form take 7 times as long, its sigmoid and swish 1.5 times. Behind a product, whose step computes them in
/// passing, oneDNN's are taken nevertheless.
bool is_best(algorithm algo) {
  return algo == algorithm::eltwise_elu || algo == algorithm::eltwise_abs || algo == algorithm::eltwise_sqrt ||
         algo == algorithm::eltwise_mish;
}

bool lower_activation(PlanBuilder& builder, const Chain& chain) {
  const auto& node = chain.anchor();
  if (element_count(node->get_output_shape(0)) == 0) return false;
  if (lower_8_bit_activation(builder, chain)) return true;
  if (chain.nodes.size() > 1) return false;
  const auto activation = activation_of(builder, node);
  if (!activation) return lower_fused_loop(builder, chain);
  Value& source = builder.input(node, 0);
  const auto variant = builder.real(source);
  const ElementType lies_in = element_type(variant.desc);
  if (lies_in != ElementType::kF32 && lies_in != builder.compute_type()) return false;
  if (const auto what = small_kernel(activation->algorithm, source.shape, variant.desc)) {
    const BufferSlice to =
        builder.define_over(builder.value(node->output(0)), variant.desc, {variant.place, variant.desc.get_size()});
    add_small(builder, node, *what, {variant.place}, to, activation->alpha, activation->beta);
    return true;
  }
  if (!is_best(activation->algorithm) && is_dense(variant.desc) && lower_fused_loop(builder, chain)) return true;
  KernelKey key{PlanBuilder::key_of(dnnl::primitive::kind::eltwise), static_cast<std::uint64_t>(activation->algorithm)};
  append(key, activation->alpha);
  append(key, activation->beta);
  append(key, variant.desc);
  const auto kernel = builder.kernel(key, [&]() -> MadeKernel {
    dnnl::primitive_attr attributes;
    attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
    const dnnl::eltwise_forward::primitive_desc pd(builder.engine(), dnnl::prop_kind::forward_inference,
                                                   activation->algorithm, variant.desc, variant.desc, activation->alpha,
                                                   activation->beta, attributes, true);
    if (!pd) return {};
    return {dnnl::eltwise_forward(pd), pd.impl_info_str(), {pd.scratchpad_desc()}};
  });
  if (!*kernel) return false;
  Value& made = builder.value(node->output(0));
  const BufferSlice to = builder.define_over(made, variant.desc, {variant.place, variant.desc.get_size()});
  auto& step = builder.add_primitive(node, kernel->primitive, kernel->name);
  builder.add_argument(step, DNNL_ARG_SRC, variant.place, variant.desc);
  builder.add_argument(step, DNNL_ARG_DST, to, variant.desc, true);
  builder.add_scratchpad(step, kernel->descs[0]);
  return true;
}

// -- Binary

/// Both operands of the output's shape, in one layout.
bool lower_same_shape(PlanBuilder& builder, const std::shared_ptr<Node>& node, algorithm algo) {
  Value& x = builder.input(node, 0);
  Value& y = builder.input(node, 1);
  // The layout of the non-constant or blocked operand wins: a constant can be reordered for nothing, a blocked one is
  // likely read blocked next.
  md layout = builder.real(x).desc;
  if (x.constant || (builder.native(x).packed && !y.constant && !builder.native(y).packed))
    layout = builder.real(y).desc;
  if (feeds_softmax(*node)) layout = retyped(layout, ElementType::kF32);
  const ElementType lies_in = element_type(layout);
  if (lies_in != ElementType::kF32 && lies_in != builder.compute_type()) return false;
  if (layout.get_ndims() == 0) return false;
  // The padding of blocks is 0 and must stay so, since the next kernel multiplies it: 0 / 0 would be NaN.
  if (algo == algorithm::binary_div && !is_dense(layout)) layout = plain_desc(lies_in, x.shape);
  if (const auto what = small_kernel(algo, x.shape, layout)) {
    const BufferSlice a = builder.in_layout(x, layout), b = builder.in_layout(y, layout);
    const std::size_t bytes = layout.get_size();
    add_small(builder, node, *what, {a, b},
              builder.define_over(builder.value(node->output(0)), layout, {a, bytes}, {{b, bytes, true}}));
    return true;
  }
  // oneDNN's maximum and minimum of a number and a NaN are the number.
  if (algo == algorithm::binary_max || algo == algorithm::binary_min) return false;
  KernelKey key{PlanBuilder::key_of(dnnl::primitive::kind::binary), static_cast<std::uint64_t>(algo)};
  append(key, layout);
  const auto kernel = builder.kernel(key, [&]() -> MadeKernel {
    dnnl::primitive_attr attributes;
    attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
    const dnnl::binary::primitive_desc pd(builder.engine(), algo, layout, layout, layout, attributes, true);
    if (!pd || is_slow(pd.impl_info_str())) return {};
    return {dnnl::binary(pd), pd.impl_info_str(), {pd.scratchpad_desc()}};
  });
  if (!*kernel) return false;
  const BufferSlice a = builder.in_layout(x, layout), b = builder.in_layout(y, layout);
  Value& made = builder.value(node->output(0));
  const std::size_t bytes = layout.get_size();
  const BufferSlice to = builder.define_over(made, layout, {a, bytes}, {{b, bytes, true}});
  auto& step = builder.add_primitive(node, kernel->primitive, kernel->name);
  builder.add_argument(step, DNNL_ARG_SRC_0, a, layout);
  builder.add_argument(step, DNNL_ARG_SRC_1, b, layout);
  builder.add_argument(step, DNNL_ARG_DST, to, layout, true);
  builder.add_scratchpad(step, kernel->descs[0]);
  return true;
}

// -- Integers, in loops of their own: f32, in which fused loops compute, does not hold them all.

/// R is what the function makes: T, or std::uint8_t for a test's boolean.
template <typename T, typename R, typename Function>
KernelStep::Kernel binary_kernel(kernels::Walk<3> walk, Function function) {
  return [walk = std::move(walk), function](std::span<void* const> p) {
    R* out = static_cast<R*>(p[2]);
    const T* x = static_cast<const T*>(p[0]);
    const T* y = static_cast<const T*>(p[1]);
    const std::size_t inner = walk.inner();
    const auto dx = walk.inner_stride(1), dy = walk.inner_stride(2);
    const std::size_t bytes = walk.rows() * inner * (2 * sizeof(T) + sizeof(R));
    kernels::parallel(walk.rows(), bytes, [&](std::size_t begin, std::size_t end) {
      for (std::size_t row = begin; row < end; ++row) {
        const auto at = walk.offsets(row);
        R* o = out + at[0];
        const T *a = x + at[1], *b = y + at[2];
        if (dx == 1 && dy == 1) {
          for (std::size_t i = 0; i < inner; ++i) o[i] = static_cast<R>(function(a[i], b[i]));
        } else if (dx == 1 && dy == 0) {
          const T c = *b;
          for (std::size_t i = 0; i < inner; ++i) o[i] = static_cast<R>(function(a[i], c));
        } else if (dx == 0 && dy == 1) {
          const T c = *a;
          for (std::size_t i = 0; i < inner; ++i) o[i] = static_cast<R>(function(c, b[i]));
        } else {
          for (std::size_t i = 0; i < inner; ++i) {
            const auto n = static_cast<std::ptrdiff_t>(i);
            o[i] = static_cast<R>(function(a[n * dx], b[n * dy]));
          }
        }
      }
    });
  };
}

template <typename T>
KernelStep::Kernel kernel_of(std::string_view type, const kernels::Walk<3>& walk) {
  // Integers wrap as two's complement, which C++ does not guarantee for signed arithmetic.
  using U = std::make_unsigned_t<T>;
  using Bool = std::uint8_t;
  if (type == "Add") return binary_kernel<T, T>(walk, [](T a, T b) { return static_cast<U>(a) + static_cast<U>(b); });
  if (type == "Subtract")
    return binary_kernel<T, T>(walk, [](T a, T b) { return static_cast<U>(a) - static_cast<U>(b); });
  if (type == "Multiply")
    return binary_kernel<T, T>(walk, [](T a, T b) { return static_cast<U>(a) * static_cast<U>(b); });
  if (type == "Maximum") return binary_kernel<T, T>(walk, [](T a, T b) { return a < b ? b : a; });
  if (type == "Minimum") return binary_kernel<T, T>(walk, [](T a, T b) { return b < a ? b : a; });
  if (type == "Equal") return binary_kernel<T, Bool>(walk, [](T a, T b) { return a == b; });
  if (type == "NotEqual") return binary_kernel<T, Bool>(walk, [](T a, T b) { return a != b; });
  if (type == "Less") return binary_kernel<T, Bool>(walk, [](T a, T b) { return a < b; });
  if (type == "LessEqual") return binary_kernel<T, Bool>(walk, [](T a, T b) { return a <= b; });
  if (type == "Greater") return binary_kernel<T, Bool>(walk, [](T a, T b) { return a > b; });
  if (type == "GreaterEqual") return binary_kernel<T, Bool>(walk, [](T a, T b) { return a >= b; });
  return {};
}

bool lower_integers(PlanBuilder& builder, const std::shared_ptr<Node>& node) {
  const ElementType type = node->get_input_element_type(0);
  if (node->get_input_element_type(1) != type) return false;
  const Shape shape = node->get_output_shape(0);
  Value &x = builder.input(node, 0), &y = builder.input(node, 1);
  const auto walk = kernels::make_walk<3>(
      shape, {kernels::broadcast_strides(shape, shape), kernels::broadcast_strides(x.shape, shape),
              kernels::broadcast_strides(y.shape, shape)});
  KernelStep::Kernel kernel;
  if (type == ElementType::kI32) kernel = kernel_of<std::int32_t>(node->get_type_name(), walk);
  if (type == ElementType::kI64) kernel = kernel_of<std::int64_t>(node->get_type_name(), walk);
  if (!kernel) return false;
  const BufferSlice a = builder.plain(x), b = builder.plain(y);
  const BufferSlice to = builder.define_plain(builder.value(node->output(0)));
  auto& step = builder.add_kernel(node, "loop", {a, b}, {to}, std::move(kernel));
  const bool same_size = size_bytes(type) == size_bytes(node->get_output_element_type(0));
  step.operands[0].in_step = same_size && element_count(x.shape) == element_count(shape);
  step.operands[1].in_step = same_size && element_count(y.shape) == element_count(shape);
  return true;
}

/// Where elements are only chosen, their type is so many bytes.
template <typename T>
KernelStep::Kernel select_kernel(kernels::Walk<4> walk) {
  return [walk = std::move(walk)](std::span<void* const> p) {
    T* out = static_cast<T*>(p[3]);
    const auto* condition = static_cast<const std::uint8_t*>(p[0]);
    const T *x = static_cast<const T*>(p[1]), *y = static_cast<const T*>(p[2]);
    const std::size_t inner = walk.inner();
    const auto dc = walk.inner_stride(1), dx = walk.inner_stride(2), dy = walk.inner_stride(3);
    kernels::parallel(walk.rows(), walk.rows() * inner * 3 * sizeof(T), [&](std::size_t begin, std::size_t end) {
      for (std::size_t row = begin; row < end; ++row) {
        const auto at = walk.offsets(row);
        for (std::size_t i = 0; i < inner; ++i) {
          const auto n = static_cast<std::ptrdiff_t>(i);
          out[at[0] + n] = condition[at[1] + n * dc] ? x[at[2] + n * dx] : y[at[3] + n * dy];
        }
      }
    });
  };
}

bool lower_select(PlanBuilder& builder, const Chain& chain) {
  if (lower_fused_loop(builder, chain)) return true;
  const auto& node = chain.anchor();
  const std::string& rule = node->get_attributes().get_string("auto_broadcast");
  const ElementType type = node->get_output_element_type(0);
  const Shape shape = node->get_output_shape(0);
  if ((rule != "numpy" && rule != "none") || node->get_input_element_type(0) != ElementType::kBool ||
      node->get_input_element_type(1) != type || node->get_input_element_type(2) != type || element_count(shape) == 0)
    return false;
  std::array<Value*, 3> values{};
  std::array<std::vector<std::ptrdiff_t>, 4> strides{kernels::broadcast_strides(shape, shape)};
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = &builder.input(node, i);
    strides[i + 1] = kernels::broadcast_strides(values[i]->shape, shape);
  }
  const auto walk = kernels::make_walk<4>(shape, strides);
  KernelStep::Kernel kernel;
  if (type == ElementType::kBool || type == ElementType::kU8 || type == ElementType::kI8)
    kernel = select_kernel<std::uint8_t>(walk);
  else if (type == ElementType::kI32)
    kernel = select_kernel<std::uint32_t>(walk);
  else if (type == ElementType::kI64)
    kernel = select_kernel<std::uint64_t>(walk);
  else
    return false;
  std::vector<BufferSlice> from;
  for (Value* value : values) from.push_back(builder.plain(*value));
  const BufferSlice to = builder.define_plain(builder.value(node->output(0)));
  builder.add_kernel(node, "loop", from, {to}, std::move(kernel));
  return true;
}

bool lower_binary(PlanBuilder& builder, const Chain& chain) {
  if (chain.nodes.size() > 1) return lower_8_bit_binary(builder, chain);
  const auto& node = chain.anchor();
  const Shape shape = node->get_output_shape(0);
  if (element_count(shape) == 0) return false;
  const auto algo = binary_of(node);
  if (algo && node->get_output_element_type(0) == ElementType::kF32 && node->get_input_shape(0) == shape &&
      node->get_input_shape(1) == shape && lower_same_shape(builder, node, *algo))
    return true;
  return lower_fused_loop(builder, chain) || lower_integers(builder, node);
}

}  // namespace

void register_elementwise(LoweringTable& table) {
  for (const char* type : {"Relu", "Sigmoid", "Tanh", "Clamp", "Elu", "Abs", "Sqrt", "Exp", "Negative", "HSwish",
                           "HSigmoid", "Mish", "SoftPlus", "Gelu", "Swish", "PRelu"})
    table[type] = {lower_activation, true};
  for (const char* type : {"Add", "Subtract", "Multiply", "Divide", "Maximum", "Minimum"})
    table[type] = {lower_binary, true};
  for (const char* type : {"Equal", "NotEqual", "Less", "LessEqual", "Greater", "GreaterEqual"})
    table[type] = {lower_binary, false};
  for (const char* type : {"Log",
                           "Erf",
                           "Sin",
                           "Cos",
                           "Tan",
                           "Asin",
                           "Acos",
                           "Atan",
                           "Sinh",
                           "Cosh",
                           "Asinh",
                           "Acosh",
                           "Atanh",
                           "Floor",
                           "Ceiling",
                           "Round",
                           "Sign",
                           "SoftSign",
                           "Selu",
                           "HardSigmoid",
                           "LogicalNot",
                           "Power",
                           "SquaredDifference",
                           "Mod",
                           "FloorMod",
                           "LogicalAnd",
                           "LogicalOr",
                           "LogicalXor"})
    table[type] = {lower_fused_loop, false};
  table["Select"] = {lower_select, false};
}

}  // namespace tenon::inline v1::engine
