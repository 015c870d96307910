// SPDX-License-Identifier: Apache-2.0
// Element-wise operations and joins between 8-bit numbers, if the graph rounds the result to 8 bits.
#include <algorithm>
#include <cmath>
#include <cstring>

#include <tenon/engine/kernels/low_bit/byte_table.hpp>
#include <tenon/engine/kernels/low_bit/quantize.hpp>
#include <tenon/engine/kernels/simd/broadcast.hpp>
#include <tenon/engine/lower/build/8_bit.hpp>
#include <tenon/engine/lower/build/post_ops.hpp>
#include <tenon/engine/lower/build/quantization.hpp>

namespace tenon::inline v1::engine {
namespace {

/// The meaning of the result of a chain of an operation and its rounding, or of `most` nodes that end in one.
std::optional<Quantization> rounding_of(PlanBuilder& builder, const Chain& chain, std::size_t most = 2) {
  const std::size_t count = chain.nodes.size();
  return count >= 2 && count <= most ? quantization_of(builder, chain.last()) : std::nullopt;
}

bool lies_in_8_bits(PlanBuilder& builder, Value& value) {
  return !value.constant && value.quantization && is_8_bit(element_type(builder.native(value).desc));
}

float lowest(const Quantization& q) { return q.type == ElementType::kI8 ? -128.f : 0.f; }
float highest(const Quantization& q) { return q.type == ElementType::kI8 ? 127.f : 255.f; }

using Numbers = std::array<float, 256>;

/// The real numbers for all bit patterns of 8 bits with that meaning, in the patterns' order.
Numbers numbers_of(const Quantization& q) {
  Numbers values{};
  for (std::size_t i = 0; i < 256; ++i) {
    const auto number =
        q.type == ElementType::kI8 ? static_cast<float>(static_cast<std::int8_t>(i)) : static_cast<float>(i);
    values[i] = q.scale * (number - static_cast<float>(q.zero_point));
  }
  return values;
}

float rounded_to(const Quantization& q, float value) {
  return std::clamp(std::nearbyint(value / q.scale) + static_cast<float>(q.zero_point), lowest(q), highest(q));
}

void activate(const dnnl::engine& engine, const Activation& activation, Numbers& values) {
  const md desc({256}, dnnl::memory::data_type::f32, dnnl::memory::format_tag::a);
  const dnnl::eltwise_forward::primitive_desc pd(engine, dnnl::prop_kind::forward_inference, activation.algorithm, desc,
                                                 desc, activation.alpha, activation.beta);
  dnnl::stream stream(engine);
  dnnl::memory memory(desc, engine, values.data());
  dnnl::eltwise_forward(pd).execute(stream, {{DNNL_ARG_SRC, memory}, {DNNL_ARG_DST, memory}});
  stream.wait();
}

float combined(dnnl::algorithm algorithm, float a, float b) {
  switch (algorithm) {
    case dnnl::algorithm::binary_add:
      return a + b;
    case dnnl::algorithm::binary_sub:
      return a - b;
    case dnnl::algorithm::binary_mul:
      return a * b;
    case dnnl::algorithm::binary_div:
      return a / b;
    case dnnl::algorithm::binary_max:
      return std::max(a, b);
    default:
      return std::min(a, b);
  }
}

/// The results of the chain for all 256 numbers of its source.
Numbers results_of(PlanBuilder& builder, const Chain& chain, const Quantization& in) {
  const Numbers source = numbers_of(in);
  Numbers values = source;
  for (std::size_t i = 0; i < chain.nodes.size(); ++i) {
    const auto& node = chain.nodes[i];
    if (const auto activation = activation_of(builder, node)) {
      activate(builder.engine(), *activation, values);
    } else if (const auto q = quantization_of(builder, node)) {
      for (float& value : values) value = q->scale * (rounded_to(*q, value) - static_cast<float>(q->zero_point));
    } else {
      const bool source_first = other_operand(node, chain.nodes[i - 1]) == 0;
      for (std::size_t k = 0; k < 256; ++k)
        values[k] = source_first ? combined(*binary_of(node), source[k], values[k])
                                 : combined(*binary_of(node), values[k], source[k]);
    }
  }
  return values;
}

std::array<std::uint8_t, 256> rounded_to(const Quantization& q, const Numbers& values) {
  std::array<std::uint8_t, 256> table{};
  for (std::size_t i = 0; i < 256; ++i)
    table[i] = static_cast<std::uint8_t>(static_cast<int>(rounded_to(q, values[i])) & 0xff);
  return table;
}

}  // namespace

bool lower_8_bit_activation(PlanBuilder& builder, const Chain& chain) {
  const auto& node = chain.anchor();
  Value& source = builder.input(node, 0);
  if (!lies_in_8_bits(builder, source)) return false;
  const auto rounded = quantization_of(builder, chain.last());
  // oneDNN's softplus of numbers about -20 is negative, and a logarithm may follow.
  const auto activation = activation_of(builder, node);
  if (!rounded && (!activation || activation->algorithm == dnnl::algorithm::eltwise_soft_relu)) return false;
  const auto from = builder.native(source);
  const md desc = retyped(from.desc, rounded ? rounded->type : ElementType::kF32);
  if (!is_dense(from.desc) || desc.get_ndims() == 0) return false;
  const Numbers results = results_of(builder, chain, *source.quantization);
  Value& made = builder.value(chain.last()->output(0));
  const std::size_t count = element_count(made.shape);
  const auto add = [&](BufferSlice to, const auto& table) {
    using Result = typename std::decay_t<decltype(table)>::value_type;
    builder.add_kernel(node, "table", {from.place}, {to}, [table, count](std::span<void* const> p) {
      kernels::look_up(table, static_cast<const std::uint8_t*>(p[0]), static_cast<Result*>(p[1]), count);
    });
  };
  if (rounded) {
    made.quantization = rounded;
    add(builder.define_over(made, desc, {from.place, desc.get_size()}), rounded_to(*rounded, results));
  } else {
    add(builder.define(made, desc), results);
  }
  builder.note_fused(chain);
  return true;
}

bool lower_8_bit_binary(PlanBuilder& builder, const Chain& chain) {
  const auto& node = chain.anchor();
  const auto rounded = rounding_of(builder, chain, 3);
  const auto algorithm = binary_of(node);
  if (!rounded || !algorithm || node->get_input_size() != 2) return false;
  Value &x = builder.input(node, 0), &y = builder.input(node, 1);
  Value& made = builder.value(chain.last()->output(0));
  if (!lies_in_8_bits(builder, x) || !lies_in_8_bits(builder, y)) return false;
  if (x.shape != made.shape || y.shape != made.shape) return false;
  const bool product = *algorithm == dnnl::algorithm::binary_mul,
             difference = *algorithm == dnnl::algorithm::binary_sub;
  if (!product && !difference && *algorithm != dnnl::algorithm::binary_add) return false;
  const auto left = builder.native(x);
  const md y_desc = retyped(left.desc, y.quantization->type), desc = retyped(left.desc, rounded->type);
  if (!is_dense(left.desc) || y_desc.get_ndims() == 0) return false;
  const BufferSlice right = builder.in_layout(y, y_desc);
  kernels::Combine what;
  what.product = product;
  what.x_signed = x.quantization->type == ElementType::kI8;
  what.y_signed = y.quantization->type == ElementType::kI8;
  what.z_signed = rounded->type == ElementType::kI8;
  what.x_scale = x.quantization->scale / rounded->scale;
  what.x_shift = -what.x_scale * static_cast<float>(x.quantization->zero_point);
  what.y_scale = product ? y.quantization->scale : y.quantization->scale / rounded->scale;
  if (difference) what.y_scale = -what.y_scale;
  what.y_shift = -what.y_scale * static_cast<float>(y.quantization->zero_point);
  what.z_shift = static_cast<float>(rounded->zero_point);
  // A Relu before the rounding leaves nothing below the number that stands for zero.
  const bool is_clipped = chain.nodes.size() == 3;
  what.low = is_clipped ? std::max(what.z_shift, lowest(*rounded)) : lowest(*rounded);
  what.high = highest(*rounded);
  made.quantization = rounded;
  const std::size_t bytes = desc.get_size();
  const BufferSlice to = builder.define_over(made, desc, {left.place, bytes}, {{right, bytes, true}});
  const std::size_t count = element_count(made.shape);
  builder.add_kernel(node, "combine", {left.place, right}, {to}, [what, count](std::span<void* const> p) {
    kernels::combine(what, static_cast<const std::uint8_t*>(p[0]), static_cast<const std::uint8_t*>(p[1]),
                     static_cast<std::uint8_t*>(p[2]), count);
  });
  builder.note_fused(chain);
  return true;
}

bool lower_8_bit_concat(PlanBuilder& builder, const Chain& chain) {
  const auto& node = chain.anchor();
  const auto rounded = rounding_of(builder, chain);
  Value& made = builder.value(chain.last()->output(0));
  const std::size_t rank = made.shape.size();
  if (!rounded || element_count(made.shape) == 0) return false;
  const std::int64_t given = node->get_attributes().get_int("axis");
  const auto axis = static_cast<std::size_t>(given < 0 ? given + static_cast<std::int64_t>(rank) : given);
  bool images = axis == 1 && rank >= 3 && rank <= 5;
  for (std::size_t i = 0; i < node->get_input_size(); ++i) {
    Value& part = builder.input(node, i);
    if (!lies_in_8_bits(builder, part) || element_count(part.shape) == 0) return false;
    images = images && builder.native(part).desc == channels_last(part.quantization->type, part.shape);
  }
  struct Part {
    kernels::Affine what;
    bool same;
    std::size_t columns, offset;
  };
  std::vector<Part> parts;
  std::vector<BufferSlice> places;
  std::size_t rows = 1, row = 0;
  for (std::size_t i = 0; i < rank; ++i)
    if (images ? i != axis : i < axis) rows *= made.shape[i];
  for (std::size_t i = 0; i < node->get_input_size(); ++i) {
    Value& part = builder.input(node, i);
    const ElementType type = part.quantization->type;
    const std::size_t columns = element_count(part.shape) / rows;
    places.push_back(builder.in_layout(part, images ? channels_last(type, part.shape) : plain_desc(type, part.shape)));
    parts.push_back(
        {affine_of(part.quantization, type, rounded, rounded->type), *part.quantization == *rounded, columns, row});
    row += columns;
  }
  made.quantization = rounded;
  const BufferSlice to =
      builder.define(made, images ? channels_last(rounded->type, made.shape) : plain_desc(rounded->type, made.shape));
  builder.add_kernel(node, "join", places, {to}, [parts, rows, row](std::span<void* const> p) {
    auto* out = static_cast<std::uint8_t*>(p[parts.size()]);
    for (std::size_t i = 0; i < parts.size(); ++i) {
      const Part& part = parts[i];
      if (!part.same) {
        kernels::affine_rows(part.what, p[i], out + part.offset, rows, part.columns, part.columns, row);
        continue;
      }
      const auto* from = static_cast<const std::uint8_t*>(p[i]);
      kernels::parallel(rows, 2 * rows * part.columns, [&](std::size_t begin, std::size_t end) {
        for (std::size_t r = begin; r < end; ++r)
          std::memcpy(out + r * row + part.offset, from + r * part.columns, part.columns);
      });
    }
  });
  builder.note_fused(chain);
  return true;
}

}  // namespace tenon::inline v1::engine
