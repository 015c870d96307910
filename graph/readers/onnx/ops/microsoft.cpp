// SPDX-License-Identifier: Apache-2.0
// ONNX Runtime's own domain, com.microsoft: fused layers, embeddings of few bits, arithmetic of 8-bit tensors. Attention is
// in attention.cpp; layers that are no fusion of others in microsoft_layers.cpp, weights of few bits in
// weight_only.cpp and experts.cpp.
#include <tenon/graph/readers/onnx/internal/onnx.hpp>

namespace tenon {
inline namespace v1 {
namespace onnx_reader {

namespace {

OutputVector by_standard(const NodeContext& node, const char* type) { return converters().at(type)(node); }

Out gelu_of(const Out& x, const char* form) { return op("Gelu", 7, {x}, {{"approximation_mode", form}}); }

Out biased(const NodeContext& node, std::size_t input, std::size_t bias) {
  return node.has_input(bias) ? add(node.input(input), node.input(bias)) : node.input(input);
}

// --- activations and normalisation ----------------------------------------------------------------------------------

OutputVector erf_gelu(const NodeContext& node) { return {gelu_of(node.input(0), "ERF")}; }
OutputVector bias_gelu(const NodeContext& node) { return {gelu_of(biased(node, 0, 1), "ERF")}; }
OutputVector fast_gelu(const NodeContext& node) { return {gelu_of(biased(node, 0, 1), "TANH")}; }
OutputVector quick_gelu(const NodeContext& node) {
  const Out& x = node.input(0);
  return {op("Swish", 4, {x, scalar_like(x, node.get_float("alpha", 1.702))})};
}

Out layer_norm(const Out& x, const Out& gamma, const Out& beta, double epsilon) {
  Out y = op("MVN", 6, {x, ints({-1})}, {{"normalize_variance", true}, {"eps", epsilon}, {"eps_mode", "INSIDE_SQRT"}});
  y = mul(y, gamma);
  return beta ? add(y, beta) : y;
}

Out rms_norm(const Out& x, const Out& gamma, double epsilon) {
  const Out mean = reduce("ReduceMean", mul(x, x), ints({-1}), true);
  return mul(div(x, unary("Sqrt", add(mean, scalar_like(x, epsilon)))), gamma);
}

// input, skip, gamma, beta, bias; the sum is output 3.
OutputVector skip_layer_normalization(const NodeContext& node) {
  if (node.wants_output(1) || node.wants_output(2))
    unimplemented("its outputs 1 and 2 are for training; only 0 and 3 are written out");
  Out sum = add(node.input(0), node.input(1));
  if (node.has_input(4)) sum = add(sum, node.input(4));
  const Out beta = node.has_input(3) ? node.input(3) : Out();
  return {layer_norm(sum, node.input(2), beta, node.get_float("epsilon", 1e-12)), Out(), Out(), sum};
}

// input, skip, gamma, bias
OutputVector skip_simplified_layer_normalization(const NodeContext& node) {
  if (node.wants_output(1) || node.wants_output(2))
    unimplemented("its outputs 1 and 2 are for training; only 0 and 3 are written out");
  Out sum = add(node.input(0), node.input(1));
  if (node.has_input(3)) sum = add(sum, node.input(3));
  return {rms_norm(sum, node.input(2), node.get_float("epsilon", 1e-12)), Out(), Out(), sum};
}

/// i32 [batch]: how many words of each sequence the mask keeps; 0 without a mask.
Out mask_index_of(const NodeContext& node) {
  if (!node.has_input(7))
    return broadcast_to(scalar(ElementType::kI32, 0), reshape(extent_of(node.input(0), 0), Ints{1}));
  const Out kept = op("Equal", 1, {node.input(7), scalar_like(node.input(7), 1)});
  return reduce("ReduceSum", convert(kept, ElementType::kI32), ints({1}), false);
}

// input_ids, segment_ids, words, positions, segments, gamma, beta [, mask, position_ids]; y, mask_index, sum
OutputVector embed_layer_normalization(const NodeContext& node) {
  const auto rows = [](const Out& table, const Out& ids) {
    return op("Gather", 8, {table, ids, int_scalar(0)}, {{"batch_dims", 0}});
  };
  const Out& ids = node.input(0);
  const Out places = node.has_input(8)
                         ? node.input(8)
                         : unsqueeze(range(int_scalar(0), extent_of(ids, 1), int_scalar(1), ElementType::kI64), {0});
  Out sum = add(rows(node.input(2), ids), rows(node.input(3), places));
  if (node.has_input(1)) sum = add(sum, rows(node.input(4), node.input(1)));
  return {layer_norm(sum, node.input(5), node.input(6), node.get_float("epsilon", 1e-12)), mask_index_of(node), sum};
}

// --- products with something behind them -----------------------------------------------------------------------------

Out activated(const NodeContext& node, const Out& x) {
  const std::string name = node.get_string("activation", "");
  const std::vector<double> given = node.get_floats("activation_params");
  // FusedConv lists them, FusedGemm names them.
  const auto parameter = [&](std::size_t index, double fallback) {
    static constexpr const char* kNames[] = {"activation_alpha", "activation_beta"};
    return index < given.size() ? given[index] : node.get_float(kNames[index], fallback);
  };
  if (name.empty()) return x;
  if (name == "Relu" || name == "Tanh" || name == "Sigmoid") return unary(name, x);
  if (name == "LeakyRelu") return op("PRelu", 1, {x, reals(x.get_element_type(), {parameter(0, 0.01)})});
  if (name == "Clip") return op("Clamp", 1, {x}, {{"min", parameter(0, 0)}, {"max", parameter(1, 6)}});
  if (name == "HardSigmoid")
    return op("HardSigmoid", 1, {x, scalar_like(x, parameter(0, 0.2)), scalar_like(x, parameter(1, 0.5))});
  if (name == "HardSwish") return op("HSwish", 4, {x});
  unimplemented("activation \"" + name +
                "\"; written out are Relu, Tanh, Sigmoid, LeakyRelu, Clip, HardSigmoid and HardSwish");
}

// x, w, bias, and a tensor added before the activation
OutputVector fused_conv(const NodeContext& node) {
  const Out y = by_standard(node, ":Conv")[0];
  return {activated(node, node.has_input(3) ? add(y, node.input(3)) : y)};
}

/// An operation whose pictures have their channels at the end, by the one with channels at axis 1.
OutputVector with_channels_last(const NodeContext& node, Converter converter,
                                const std::vector<std::size_t>& pictures) {
  const std::int64_t rank = node.rank(0);
  if (rank < 3) fail("input 0 has rank " + std::to_string(rank) + ", expected 3 or more");
  OutputVector inputs;
  for (std::size_t i = 0; i < node.input_count(); ++i) inputs.push_back(node.has_input(i) ? node.input(i) : Out());
  for (const std::size_t i : pictures)
    if (node.has_input(i)) inputs[i] = transpose(inputs[i], channels_first(rank));
  return {transpose(converter(node.with(std::move(inputs), node.opset()))[0], channels_last(rank))};
}

OutputVector nhwc_fused_conv(const NodeContext& node) { return with_channels_last(node, fused_conv, {0, 3}); }

// The standard's, with an attribute more.
OutputVector microsoft_qlinear_conv(const NodeContext& node) {
  const Converter converter = converters().at(":QLinearConv");
  return node.get_int("channels_last", 0) != 0 ? with_channels_last(node, converter, {0}) : converter(node);
}

OutputVector fused_gemm(const NodeContext& node) { return {activated(node, by_standard(node, ":Gemm")[0])}; }

// The first axis before the rows: [rows, batch..., columns] to [batch..., rows, columns].
Out with_rows_inside(const NodeContext& node, std::size_t index, const char* attribute) {
  if (node.get_int(attribute, 0) == 0) return node.input(index);
  Ints order;
  const std::int64_t rank = node.rank(index);
  for (std::int64_t axis = 1; axis + 1 < rank; ++axis) order.push_back(axis);
  order.push_back(0);
  order.push_back(rank - 1);
  return transpose(node.input(index), order);
}

OutputVector fused_matmul(const NodeContext& node) {
  const Out a = with_rows_inside(node, 0, "transBatchA"), b = with_rows_inside(node, 1, "transBatchB");
  const Out y = matmul(a, b, node.get_int("transA", 0) != 0, node.get_int("transB", 0) != 0);
  const double alpha = node.get_float("alpha", 1);
  return {alpha == 1 ? y : mul(y, scalar_like(y, alpha))};
}

// --- embeddings of few bits --------------------------------------------------------------------------------------------

/// Converts 4-bit values, packed in bytes along the last axis with the low one first, to reals.
Out unpacked(const Out& bytes, std::int64_t rank, bool is_signed, ElementType type) {
  const auto byte = [](std::int64_t value) { return scalar(ElementType::kU8, static_cast<double>(value)); };
  const Out low = op("BitwiseAnd", 13, {bytes, byte(15)}), high = op("BitwiseRightShift", 15, {bytes, byte(4)});
  Ints flat(static_cast<std::size_t>(rank - 1), 0);
  flat.push_back(-1);
  const Out both = concat({unsqueeze(low, {rank}), unsqueeze(high, {rank})}, rank);
  const Out codes = convert(op("Reshape", 1, {both, ints(flat)}, {{"special_zero", true}}), type);
  if (!is_signed) return codes;
  return select(op("Greater", 1, {codes, scalar(type, 7)}), sub(codes, scalar(type, 16)), codes);
}

// data, indices, scales, zero_points: rows are taken first, so that only these are expanded.
OutputVector gather_block_quantized(const NodeContext& node) {
  const ElementType stored = node.type(0), type = node.type(2);
  const std::int64_t bits =
      stored == ElementType::kU8 ? node.get_int("bits", 4) : static_cast<std::int64_t>(bit_width(stored));
  const std::int64_t rank = node.rank(0), block = node.get_int("block_size", 128);
  if (stored != ElementType::kU8 && stored != ElementType::kU4 && stored != ElementType::kI4)
    unimplemented("data of " + std::string(name(stored)) + "; u8, u4 and i4 are written out");
  if (bits != 4 && bits != 8) unimplemented("bits is " + std::to_string(bits) + "; 4 and 8 are written out");
  if (normalized_axis(node.get_int("gather_axis", 0), rank) != 0 ||
      normalized_axis(node.get_int("quantize_axis", 1), rank) != rank - 1)
    unimplemented("gather_axis and quantize_axis other than the first and the last are not written out");
  const bool is_packed = stored != ElementType::kU8, is_signed = stored == ElementType::kI4;
  const auto rows = [&](std::size_t index) -> Out {
    const PartialShape& own = node.input(index).get_partial_shape();
    Out table = node.input(index);
    if (is_packed) {
      Shape bytes = own.to_shape();
      if (bytes.empty() || bytes.back() % 2 != 0)
        unimplemented("rows of " + own.to_string() + " numbers of 4 bits do not end with a byte");
      bytes.back() /= 2;
      table = reinterpreted(node, index, ElementType::kU8, bytes);
    }
    const Out taken = op("Gather", 8, {table, node.input(1), int_scalar(0)}, {{"batch_dims", 0}});
    const std::int64_t taken_rank = rank + node.rank(1) - 1;
    return bits == 8 ? convert(taken, type) : unpacked(taken, taken_rank, is_signed, type);
  };
  const std::int64_t made = rank + node.rank(1) - 1;
  const Dimension blocks = dimension_of(node.input(2), -1);
  if (blocks.is_dynamic()) unimplemented("scales whose shape is known only when the model runs are not written out");
  const Out codes = rows(0);
  const Dimension width = dimension_of(codes, -1);
  if (width.is_dynamic() || block < 1 || width.get_length() != blocks.get_length() * block)
    unimplemented("rows of " + width.to_string() + " numbers in " + blocks.to_string() + " blocks of " +
                  std::to_string(block) + "; written out are whole blocks");
  Ints split(static_cast<std::size_t>(made - 1), 0);
  split.insert(split.end(), {blocks.get_length(), block});
  Out centred = op("Reshape", 1, {codes, ints(split)}, {{"special_zero", true}});
  if (node.has_input(3)) {
    // Zero points fill whole bytes too.
    const Out zeros = slice(rows(3), 0, blocks.get_length(), made - 1);
    centred = sub(centred, unsqueeze(zeros, {made}));
  } else if (!is_packed) {
    centred = sub(centred, scalar(type, bits == 4 ? 8 : 128));
  }
  const Out scale = op("Gather", 8, {node.input(2), node.input(1), int_scalar(0)}, {{"batch_dims", 0}});
  Ints flat(static_cast<std::size_t>(made - 1), 0);
  flat.push_back(width.get_length());
  return {op("Reshape", 1, {mul(centred, unsqueeze(scale, {made})), ints(flat)}, {{"special_zero", true}})};
}

// --- 8-bit tensors ----------------------------------------------------------------------------------------------------

Out as_real(const Out& x) { return convert(x, ElementType::kF32); }

/// Input `index`, with its scale and zero point after it.
Out dequantized(const NodeContext& node, std::size_t index, std::size_t scale, std::size_t zero) {
  Out x = as_real(node.input(index));
  if (node.has_input(zero)) x = sub(x, as_real(node.input(zero)));
  return mul(x, node.input(scale));
}

Out quantized(const Out& x, const Out& scale, const Out& zero, ElementType type) {
  Out y = op("Round", 5, {div(x, scale)}, {{"mode", "half_to_even"}});
  if (zero) y = add(y, as_real(zero));
  const bool is_signed = type == ElementType::kI8;
  if (!is_signed && type != ElementType::kU8)
    unimplemented("quantises to " + std::string(name(type)) + "; i8 and u8 are written out");
  return convert(op("Clamp", 1, {y}, {{"min", is_signed ? -128.0 : 0.0}, {"max", is_signed ? 127.0 : 255.0}}), type);
}

Out quantized_by(const NodeContext& node, const Out& x, std::size_t scale, std::size_t zero, std::size_t like = 0) {
  return quantized(x, node.input(scale), node.has_input(zero) ? node.input(zero) : Out(), node.type(like));
}

// a, a_scale, a_zero, b, b_scale, b_zero, y_scale, y_zero
OutputVector qlinear_binary(const NodeContext& node) {
  const Out a = dequantized(node, 0, 1, 2), b = dequantized(node, 3, 4, 5);
  return {quantized_by(node, node.op_type() == "QLinearAdd" ? add(a, b) : mul(a, b), 6, 7)};
}

// x, x_scale, x_zero, y_scale, y_zero
OutputVector qlinear_unary(const NodeContext& node) {
  const Out x = dequantized(node, 0, 1, 2);
  const Out y = node.op_type() == "QLinearSigmoid"
                    ? unary("Sigmoid", x)
                    : op("PRelu", 1, {x, reals(ElementType::kF32, {node.get_float("alpha", 0.01)})});
  return {quantized_by(node, y, 3, 4)};
}

OutputVector qlinear_softmax(const NodeContext& node) {
  const std::int64_t rank = node.rank(0), axis = normalized_axis(node.get_int("axis", -1), rank);
  if (node.get_int("opset", 13) < 13 && axis != rank - 1)
    unimplemented("opset below 13 with an axis other than the last is not written out");
  return {quantized_by(node, op("Softmax", 8, {dequantized(node, 0, 1, 2)}, {{"axis", axis}}), 3, 4)};
}

OutputVector qlinear_global_average_pool(const NodeContext& node) {
  const std::int64_t rank = node.rank(0);
  const bool is_last = node.get_int("channels_last", 0) != 0;
  Ints axes;
  for (std::int64_t axis = is_last ? 1 : 2; axis < (is_last ? rank - 1 : rank); ++axis) axes.push_back(axis);
  return {quantized_by(node, reduce("ReduceMean", dequantized(node, 0, 1, 2), ints(axes), true), 3, 4)};
}

// x, x_scale, x_zero, y_scale, y_zero
OutputVector qlinear_average_pool(const NodeContext& node) {
  const std::int64_t rank = node.rank(0);
  Out x = dequantized(node, 0, 1, 2);
  const bool is_last = node.get_int("channels_last", 0) != 0;
  if (is_last) x = transpose(x, channels_first(rank));
  // Before set 19 of the standard it had no dilations, as here.
  const Out y = converters().at(":AveragePool")(node.with({x}, 11))[0];
  return {quantized_by(node, is_last ? transpose(y, channels_last(rank)) : y, 3, 4)};
}

// data, data_scale, data_zero, reduced_scale, reduced_zero
OutputVector qlinear_reduce_mean(const NodeContext& node) {
  const Out x = dequantized(node, 0, 1, 2);
  const Ints axes = node.get_ints("axes", Ints{});
  const Out mean = reduce("ReduceMean", x, axes.empty() ? all_axes(x) : ints(axes), node.get_int("keepdims", 1) != 0);
  return {quantized_by(node, mean, 3, 4)};
}

// condition, x, x_scale, x_zero, y, y_scale, y_zero, z_scale, z_zero
OutputVector qlinear_where(const NodeContext& node) {
  const Out z = select(node.input(0), dequantized(node, 1, 2, 3), dequantized(node, 4, 5, 6));
  return {quantized_by(node, z, 7, 8, 1)};
}

// y_scale, y_zero, then a tensor with scale and zero point, any number of times
OutputVector qlinear_concat(const NodeContext& node) {
  if (node.input_count() < 5 || (node.input_count() - 2) % 3 != 0)
    fail("has " + std::to_string(node.input_count()) + " inputs, expected 2 and three for each tensor");
  OutputVector parts;
  for (std::size_t i = 2; i < node.input_count(); i += 3) parts.push_back(dequantized(node, i, i + 1, i + 2));
  return {quantized(concat(parts, node.get_int("axis")), node.input(0), node.input(1), node.type(1))};
}

Out centred(const NodeContext& node, std::size_t index, std::size_t zero) {
  const Out x = as_real(node.input(index));
  return node.has_input(zero) ? sub(x, as_real(node.input(zero))) : x;
}

/// Weights of a recurrent layer, [directions, inputs, gates * hidden] of 8 bits, as the standard's [directions, gates *
/// hidden, inputs]. One scale and zero point for a direction, or for each of its columns.
Out recurrent_weights(const NodeContext& node, std::size_t index, std::size_t scale, std::size_t zero) {
  const auto spread = [&](std::size_t input) {
    const Out& values = node.input(input);
    return unsqueeze(values, node.rank(input) == 1 ? Ints{1, 2} : Ints{1});
  };
  Out weights = as_real(node.input(index));
  if (node.has_input(zero)) weights = sub(weights, as_real(spread(zero)));
  return transpose(mul(weights, spread(scale)), {0, 2, 1});
}

// x, w, r, b, sequence_lens, initial_h, initial_c, p, and scale and zero point of w and r. Only weights are of 8 bits here:
// what ONNX Runtime rounds at each step, the input and the state, stays f32, which is more exact.
OutputVector dynamic_quantize_lstm(const NodeContext& node) {
  OutputVector inputs{node.input(0), recurrent_weights(node, 1, 8, 9), recurrent_weights(node, 2, 10, 11)};
  for (std::size_t i = 3; i < 8; ++i) inputs.push_back(node.has_input(i) ? node.input(i) : Out());
  return converters().at(":LSTM")(node.with(std::move(inputs), 14));
}

// a in f32, quantised by its own range; b, b_scale, b_zero, bias
OutputVector dynamic_quantize_matmul(const NodeContext& node) {
  const OutputVector a = by_standard(node, ":DynamicQuantizeLinear");
  const Out product = matmul(sub(as_real(a[0]), as_real(a[2])), centred(node, 1, 3));
  const Out y = mul(product, mul(a[1], node.input(2)));
  return {node.has_input(4) ? add(y, node.input(4)) : y};
}

// a, b, a_scale, b_scale, a_zero, b_zero, bias
OutputVector matmul_integer_to_float(const NodeContext& node) {
  const Out y = mul(matmul(centred(node, 0, 4), centred(node, 1, 5)), mul(node.input(2), node.input(3)));
  return {node.has_input(6) ? add(y, node.input(6)) : y};
}

// a, a_scale, a_zero, b, b_scale, b_zero, c, y_scale, y_zero; without a scale the result stays f32.
OutputVector q_gemm(const NodeContext& node) {
  const Out scale = mul(node.input(1), node.input(4));
  const bool transposes = node.get_int("transB", 0) != 0;
  Out weights = as_real(node.input(3));
  // A zero point of each column, which a transposed matrix has as a row.
  if (node.has_input(5)) {
    const Out zero = as_real(node.input(5));
    weights = sub(weights, transposes && node.rank(5) == 1 ? unsqueeze(zero, {1}) : zero);
  }
  Out product = matmul(centred(node, 0, 2), weights, node.get_int("transA", 0) != 0, transposes);
  // The scale of the bias is that of the result: alpha times those of the matrices.
  if (node.has_input(6)) product = add(product, as_real(node.input(6)));
  if (const double alpha = node.get_float("alpha", 1); alpha != 1) product = mul(product, scalar_like(product, alpha));
  const Out y = mul(product, scale);
  return {node.has_input(7) ? quantized_by(node, y, 7, 8) : y};
}

}  // namespace

void add_microsoft(ConverterTable& table) {
  const auto microsoft = [&](const char* name) -> Converter& { return table[std::string("com.microsoft:") + name]; };
  microsoft("Gelu") = erf_gelu;
  microsoft("BiasGelu") = bias_gelu;
  microsoft("FastGelu") = fast_gelu;
  microsoft("QuickGelu") = quick_gelu;
  microsoft("SkipLayerNormalization") = skip_layer_normalization;
  microsoft("SkipSimplifiedLayerNormalization") = skip_simplified_layer_normalization;
  microsoft("EmbedLayerNormalization") = embed_layer_normalization;
  microsoft("FusedConv") = fused_conv;
  microsoft("NhwcConv") = nhwc_fused_conv;
  microsoft("NhwcFusedConv") = nhwc_fused_conv;
  microsoft("QLinearConv") = microsoft_qlinear_conv;
  microsoft("FusedGemm") = fused_gemm;
  microsoft("FusedMatMul") = fused_matmul;
  microsoft("TransposeMatMul") = fused_matmul;
  microsoft("QLinearAdd") = qlinear_binary;
  microsoft("QLinearMul") = qlinear_binary;
  microsoft("QLinearSigmoid") = qlinear_unary;
  microsoft("QLinearLeakyRelu") = qlinear_unary;
  microsoft("QLinearSoftmax") = qlinear_softmax;
  microsoft("QLinearGlobalAveragePool") = qlinear_global_average_pool;
  microsoft("GatherBlockQuantized") = gather_block_quantized;
  microsoft("QLinearConcat") = qlinear_concat;
  microsoft("QLinearAveragePool") = qlinear_average_pool;
  microsoft("QLinearReduceMean") = qlinear_reduce_mean;
  microsoft("QLinearWhere") = qlinear_where;
  microsoft("DynamicQuantizeLSTM") = dynamic_quantize_lstm;
  microsoft("DynamicQuantizeMatMul") = dynamic_quantize_matmul;
  microsoft("MatMulIntegerToFloat") = matmul_integer_to_float;
  microsoft("QGemm") = q_gemm;
}

}  // namespace onnx_reader
}  // namespace v1
}  // namespace tenon
