// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include <tenon/engine/lower/build/post_ops.hpp>
#include <tenon/engine/lower/build/quantization.hpp>
#include <tenon/engine/lower/build/table.hpp>
#include <tenon/graph/operation_table.hpp>

namespace tenon::inline v1::engine {

bool is_batch_norm(PlanBuilder& builder, const std::shared_ptr<Node>& node) {
  if (std::string_view(node->get_type_name()) != "BatchNormInference" || node->get_input_size() != 5) return false;
  const std::size_t data = std::string_view(node->operation().version) == "opset1" ? 2 : 0;
  for (std::size_t i = 0; i < 5; ++i) {
    if (i == data) continue;
    const Tensor tensor = builder.constant_input(node, i);
    if (!tensor || tensor.element_type() != ElementType::kF32 || !tensor.is_contiguous()) return false;
  }
  return true;
}

std::size_t other_operand(const std::shared_ptr<Node>& node, const std::shared_ptr<Node>& previous) {
  return node->get_input_node_ptr(0) == previous.get() ? 1 : 0;
}

std::optional<std::vector<float>> axis_constant(PlanBuilder& builder, const std::shared_ptr<Node>& node,
                                                const std::shared_ptr<Node>& previous, const Shape& shape,
                                                std::size_t axis) {
  if (node->get_input_size() != 2) return std::nullopt;
  const Tensor tensor = builder.constant_input(node, other_operand(node, previous));
  if (!tensor || tensor.element_type() != ElementType::kF32 || !tensor.is_contiguous()) return std::nullopt;
  const float* data = tensor.data<float>();
  if (tensor.element_count() == 1) return std::vector<float>(shape[axis], *data);
  const Shape& extents = tensor.shape();
  if (extents.size() > shape.size() || tensor.element_count() != shape[axis]) return std::nullopt;
  const std::size_t missing = shape.size() - extents.size();
  if (axis < missing || extents[axis - missing] != shape[axis]) return std::nullopt;
  return std::vector<float>(data, data + shape[axis]);
}

namespace {
Tensor flat(const std::vector<float>& values) {
  Tensor tensor(ElementType::kF32, Shape{values.size()});
  std::copy(values.begin(), values.end(), tensor.data<float>());
  return tensor;
}
}  // namespace

Tensor axis_tensor(PlanBuilder& builder, const std::shared_ptr<Node>& node, const std::shared_ptr<Node>& previous,
                   const Shape& shape, std::size_t axis) {
  const auto values = axis_constant(builder, node, previous, shape, axis);
  return values ? flat(*values) : Tensor();
}

Tensor bias_of(PlanBuilder& builder, const std::shared_ptr<Node>& node, const std::shared_ptr<Node>& previous,
               const Shape& shape, std::size_t axis) {
  if (std::string_view(node->get_type_name()) != "Add") return {};
  return axis_tensor(builder, node, previous, shape, axis);
}

ChannelAffine channel_affine(PlanBuilder& builder, const Chain& chain, const Shape& shape, bool with_scales) {
  const std::size_t channels = shape[1];
  ChannelAffine affine{std::vector<float>(channels, 1), std::vector<float>(channels, 0)};
  for (; affine.end < chain.nodes.size(); ++affine.end) {
    const auto& node = chain.nodes[affine.end];
    std::vector<float> scale(channels, 1), shift(channels, 0);
    const std::string_view type = node->get_type_name();
    if (!with_scales && type != "Add" && type != "Subtract") return affine;
    if (is_batch_norm(builder, node)) {
      const bool old = std::string_view(node->operation().version) == "opset1";  // gamma, beta, data, mean, variance
      const auto values = [&](std::size_t index) { return builder.constant_input(node, index).data<float>(); };
      const float *gamma = values(old ? 0 : 1), *beta = values(old ? 1 : 2), *mean = values(3), *variance = values(4);
      const double epsilon = node->get_attributes().get_double("epsilon");
      for (std::size_t i = 0; i < channels; ++i) {
        scale[i] = static_cast<float>(gamma[i] / std::sqrt(variance[i] + epsilon));
        shift[i] = beta[i] - mean[i] * scale[i];
      }
      affine.has_scale = affine.has_shift = true;
    } else {
      const auto values = axis_constant(builder, node, chain.nodes[affine.end - 1], shape, 1);
      if (!values || !binary_of(node)) return affine;
      for (std::size_t i = 0; i < channels; ++i) {
        const float c = (*values)[i];
        if (type == "Add")
          shift[i] = c;
        else if (type == "Subtract")
          shift[i] = -c;
        else if (type == "Multiply")
          scale[i] = c;
        else if (type == "Divide")
          scale[i] = 1 / c;
        else
          return affine;
        if (!std::isfinite(scale[i])) return affine;
      }
      (type == "Add" || type == "Subtract" ? affine.has_shift : affine.has_scale) = true;
    }
    for (std::size_t i = 0; i < channels; ++i) {
      affine.scale[i] *= scale[i];
      affine.shift[i] = affine.shift[i] * scale[i] + shift[i];
    }
  }
  return affine;
}

// -- Post-ops

bool PostOps::describe(const Shape& shape, const md& desc, dnnl::primitive_attr& attributes) {
  dnnl::post_ops ops;
  words_.clear();
  const auto append_eltwise = [&](dnnl::algorithm algorithm, float alpha, float beta) {
    ops.append_eltwise(algorithm, alpha, beta);
    words_.push_back(static_cast<std::uint64_t>(algorithm));
    append(words_, alpha);
    append(words_, beta);
  };
  const auto append_sum = [&](float scale, std::int32_t zero_point, dnnl::memory::data_type type) {
    ops.append_sum(scale, zero_point, type);
    words_.push_back(static_cast<std::uint64_t>(dnnl::primitive::kind::sum) << 32 | static_cast<std::uint64_t>(type));
    append(words_, scale);
    words_.push_back(static_cast<std::uint64_t>(zero_point));
  };
  const auto append_binary = [&](dnnl::algorithm algorithm, const md& with) {
    ops.append_binary(algorithm, with);
    words_.push_back(static_cast<std::uint64_t>(algorithm));
    append(words_, with);
  };
  binaries_.clear();
  sum_ = nullptr;
  name_.clear();
  const auto kernel_dims = desc.get_dims();
  for (std::size_t i = begin_; i < chain_.nodes.size(); ++i) {
    const auto& node = chain_.nodes[i];
    const auto& previous = chain_.nodes[i - 1];
    name_ += "+" + std::string(node->get_type_name());
    if (const auto activation = activation_of(builder_, node)) {
      append_eltwise(activation->algorithm, activation->alpha, activation->beta);
      continue;
    }
    if (const auto rounded = quantization_of(builder_, node)) {
      const bool is_signed = rounded->type == ElementType::kI8;
      const auto zero = static_cast<float>(rounded->zero_point);
      // Last, the kernel rounds and saturates what it stores; before that, the numbers are made real again. This does
      // not use scale and zero point of the result: fewer kernels have these.
      if (i + 1 == chain_.nodes.size() && is_8_bit(element_type(desc))) {
        append_eltwise(dnnl::algorithm::eltwise_linear, 1 / rounded->scale, zero);
        continue;
      }
      append_eltwise(dnnl::algorithm::eltwise_linear, 1 / rounded->scale, 0);
      append_eltwise(dnnl::algorithm::eltwise_round, 0, 0);
      append_eltwise(dnnl::algorithm::eltwise_clip, (is_signed ? -128.f : 0.f) - zero,
                     (is_signed ? 127.f : 255.f) - zero);
      append_eltwise(dnnl::algorithm::eltwise_linear, rounded->scale, 0);
      continue;
    }
    const auto algorithm = *binary_of(node);
    Value& other = builder_.input(node, other_operand(node, previous));
    if (other.constant && other.constant.element_count() == 1) {
      const float c = *other.constant.data<float>();
      constexpr auto kLinear = dnnl::algorithm::eltwise_linear;
      switch (algorithm) {
        case dnnl::algorithm::binary_add:
          append_eltwise(kLinear, 1, c);
          continue;
        case dnnl::algorithm::binary_sub:
          append_eltwise(kLinear, 1, -c);
          continue;
        case dnnl::algorithm::binary_mul:
          append_eltwise(kLinear, c, 0);
          continue;
        case dnnl::algorithm::binary_div:
          // A division costs several times a product, and the last bit that it would preserve is within rounding.
          if (!std::isnormal(1 / c)) break;
          append_eltwise(kLinear, 1 / c, 0);
          continue;
        default:
          break;
      }
    }
    // The padding of blocks is 0 and must stay so; kernels for AVX2 divide it, too.
    if (algorithm == dnnl::algorithm::binary_div && !is_dense(desc)) return false;
    Binary binary;
    binary.value = &other;
    // 8-bit numbers are added unconverted, between a division by their scale and a product with it.
    const Quantization* numbers = nullptr;
    if (other.shape == shape) {
      // The whole tensor: in the result's own layout, so that both are read in the same order.
      const bool same_dims = to_dims(shape) == kernel_dims;
      if (!same_dims && !is_packed(desc, Shape(kernel_dims.begin(), kernel_dims.end()))) return false;
      const ElementType lies_in = element_type(builder_.native(other).desc);
      if (is_8_bit(lies_in) && other.quantization && algorithm == dnnl::algorithm::binary_add)
        numbers = &*other.quantization;
      const ElementType read = numbers                        ? lies_in
                               : is_8_bit(element_type(desc)) ? builder_.compute_type()
                                                              : element_type(desc);
      binary.desc = read == element_type(desc) ? desc : retyped(desc, read);
      if (binary.desc.get_ndims() == 0) return false;
      binary.value_desc = same_dims ? binary.desc : plain_desc(read, shape);
      if (algorithm == dnnl::algorithm::binary_add && !sum_ && !other.constant) {
        const auto& variant = builder_.native(other);
        const bool same_layout = variant.desc == binary.value_desc ||
                                 (variant.packed && variant.desc.get_data_type() == binary.desc.get_data_type() &&
                                  is_packed(binary.value_desc, shape));
        if (same_layout && size_bytes(read) == size_bytes(element_type(desc)) && may_sum(other, i)) {
          if (numbers)
            append_sum(numbers->scale, numbers->zero_point, data_type(read));
          else
            append_sum(1.f, 0, dnnl::memory::data_type::undef);
          sum_ = &other;
          name_ += "(in place)";
          continue;
        }
      }
    } else {
      // Broadcast: with the result's rank and packed.
      if (to_dims(shape) != kernel_dims) {
        // A folded product [M, N]: only operands that vary along N alone can be folded too.
        for (std::size_t axis = 0; axis + 1 < other.shape.size(); ++axis)
          if (other.shape[axis] != 1) return false;
        dnnl::memory::dims dims(kernel_dims.size(), 1);
        if (!other.shape.empty()) dims.back() = static_cast<std::int64_t>(other.shape.back());
        binary.desc = plain_desc(ElementType::kF32, Shape(dims.begin(), dims.end()));
      } else {
        Shape padded(kernel_dims.size(), 1);
        for (std::size_t axis = 0; axis < other.shape.size(); ++axis)
          padded[padded.size() - other.shape.size() + axis] = other.shape[axis];
        binary.desc = plain_desc(ElementType::kF32, padded);
      }
      binary.value_desc = plain_desc(ElementType::kF32, other.shape);
    }
    constexpr auto kLinear = dnnl::algorithm::eltwise_linear;
    if (numbers) append_eltwise(kLinear, 1 / numbers->scale, -static_cast<float>(numbers->zero_point));
    binary.argument = DNNL_ARG_ATTR_MULTIPLE_POST_OP(ops.len()) | DNNL_ARG_SRC_1;
    append_binary(algorithm, binary.desc);
    if (numbers) append_eltwise(kLinear, numbers->scale, 0);
    binaries_.push_back(std::move(binary));
  }
  attributes.set_post_ops(ops);
  return true;
}

std::optional<Quantization> PostOps::quantization() const {
  return chain_.nodes.size() > begin_ ? quantization_of(builder_, chain_.last()) : std::nullopt;
}

bool PostOps::may_sum(Value& other, std::size_t at) {
  // The kernel still reads its own inputs, and other operands, while it writes over this one.
  std::vector<planning::Read> others;
  const auto reads = [&](const Value& value) {
    for (const planning::Read& read : builder_.reads_of(value)) others.push_back(read);
  };
  for (const auto& source : chain_.anchor()->input_values()) reads(builder_.value(source));
  for (std::size_t i = begin_; i < chain_.nodes.size(); ++i) {
    if (i == at || activation_of(builder_, chain_.nodes[i]) || quantization_of(builder_, chain_.nodes[i])) continue;
    reads(builder_.input(chain_.nodes[i], other_operand(chain_.nodes[i], chain_.nodes[i - 1])));
  }
  const auto& variant = builder_.native(other);
  return builder_.may_overwrite({variant.place, variant.desc.get_size()}, others);
}

BufferSlice PostOps::define_result(const md& desc) {
  for (Binary& binary : binaries_) binary.place = builder_.in_layout(*binary.value, binary.value_desc);
  Value& result = builder_.value(chain_.last()->output(0));
  // The graph's dims may differ from the kernel's; then the layout is packed.
  const md mine = to_dims(result.shape) == desc.get_dims() ? desc : plain_desc(element_type(desc), result.shape);
  if (is_8_bit(element_type(desc))) result.quantization = quantization();
  if (!sum_) return builder_.define(result, mine);
  const BufferSlice place = builder_.native(*sum_).place;
  builder_.define_at(result, mine, place);
  return place;
}

void PostOps::add_arguments(PrimitiveStep& step) {
  for (const Binary& binary : binaries_) builder_.add_argument(step, binary.argument, binary.place, binary.desc);
}

}  // namespace tenon::inline v1::engine
