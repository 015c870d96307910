// SPDX-License-Identifier: Apache-2.0
// ONNX: attention and rotary embeddings of the standard and of ONNX Runtime's own domain, expanded around
// ScaledDotProductAttention; writing into caches.
#include <limits>

#include <tenon/graph/readers/onnx/internal/attention.hpp>

namespace tenon {
inline namespace v1 {
namespace onnx_reader {

namespace {

std::int64_t heads_of(const NodeContext& node, const char* attribute) {
  const std::int64_t heads = node.get_int(attribute, 0);
  if (heads < 1)
    fail("attribute \"" + std::string(attribute) + "\" is " + std::to_string(heads) + ", expected 1 or more");
  return heads;
}

std::optional<double> scale_of(const NodeContext& node) {
  const double scale = node.get_float("scale", 0);
  return node.has("scale") && scale != 0 ? std::optional<double>(scale) : std::nullopt;
}

/// Lengthens the last axis to `extent` by `value`; a mask may be shorter than the keys.
Out lengthened(const Out& mask, const Out& extent, double value) {
  const auto rank = static_cast<std::size_t>(mask.get_partial_shape().rank().get_length());
  const Out missing = reshape(sub(extent, extent_of(mask, -1)), Ints{1});
  const Out none = ints(Ints(rank, 0));
  const Out after = rank > 1 ? concat({ints(Ints(rank - 1, 0)), missing}, 0) : missing;
  const ElementType type = mask.get_element_type();
  return op("Pad", 1, {mask, none, after, scalar(type, value)}, {{"pad_mode", "constant"}});
}

Out with_length(const NodeContext& node, std::size_t index, const Out& keys, double value) {
  const Out& mask = node.input(index);
  const Dimension have = dimension_of(mask, -1);
  const Dimension want = dimension_of(keys, 2);
  if (have.is_static() && want.is_static() && have == want) return mask;
  return lengthened(mask, extent_of(keys, 2), value);
}

// --- the standard's -------------------------------------------------------------------------------------------------

// Q, K, V [, mask, past_key, past_value, nonpad_kv_seqlen]; Y [, present_key, present_value, qk_matmul_output]
OutputVector attention(const NodeContext& node) {
  const bool is_flat = node.rank(0) == 3;
  const auto heads = [&](std::size_t index, const char* attribute) {
    const std::int64_t rank = node.rank(index);
    if (rank != 3 && rank != 4)
      fail("input " + std::to_string(index) + " has rank " + std::to_string(rank) + ", expected 3 or 4");
    return rank == 3 ? split_heads(node.input(index), heads_of(node, attribute)) : node.input(index);
  };
  const Out q = heads(0, "q_num_heads");
  Out k = heads(1, "kv_num_heads"), v = heads(2, "kv_num_heads");
  Out past = int_scalar(0);
  if (node.has_input(4) != node.has_input(5)) fail("has one of past_key and past_value without the other");
  if (node.has_input(4)) {
    past = extent_of(node.input(4), 2);
    k = concat({node.input(4), k}, 2);
    v = concat({node.input(5), v}, 2);
  }
  const ElementType type = q.get_element_type();
  const Out queries = extent_of(q, 2), keys = extent_of(k, 2);
  AttentionForm form;
  form.scale = scale_of(node);
  form.softcap = node.get_float("softcap", 0);
  form.causal = node.get_int("is_causal", 0) != 0;
  ScoreMask mask(type);
  if (node.has_input(3)) {
    const bool is_bool = node.type(3) == ElementType::kBool;
    mask.add(with_length(node, 3, k, is_bool ? 0 : -std::numeric_limits<double>::infinity()));
  }
  Out first = past;
  if (node.has_input(6)) {
    const Out count = convert(node.input(6), ElementType::kI64);
    first = reshape(sub(count, queries), Ints{-1, 1, 1, 1});
    mask.add_length(keys, count);
  }
  const std::int64_t left = node.get_int("left_window_size", -1), right = node.get_int("right_window_size", -1);
  if (form.causal && (node.has_input(3) || node.has_input(4) || node.has_input(6) || left >= 0 || right >= 0))
    mask.add_window(queries, keys, first, left, 0);
  else if (left >= 0 || right >= 0)
    mask.add_window(queries, keys, first, left, right);
  Out scores;
  if (node.wants_output(3)) {
    const std::int64_t mode = node.get_int("qk_matmul_output_mode", 0);
    if (mode < 0 || mode > 3) fail("qk_matmul_output_mode is " + std::to_string(mode) + ", expected 0 to 3");
    form.scores = &scores;
    form.scores_after = static_cast<AttentionForm::Stage>(mode);
  }
  const Out y = attend(q, k, v, mask.sum(), form);
  return {is_flat ? join_heads(y) : y, k, v, scores};
}

// Puts `update` into `cache` along `axis` from index first[b] on: one Gather over both, so that nothing is written in
// place.
Out written_into(const Out& cache, const Out& update, const Out& first, const Out& extent, std::int64_t axis,
                 bool is_circular) {
  const Out old = extent_of(cache, axis), fresh = extent_of(update, axis);
  const Out at = unsqueeze(steps(extent), {0});
  Out offset = sub(at, reshape(first, Ints{-1, 1}));
  if (is_circular) offset = op("FloorMod", 1, {offset, extent});
  const Out is_new =
      op("LogicalAnd", 1, {op("GreaterEqual", 1, {offset, int_scalar(0)}), op("Less", 1, {offset, fresh})});
  // Positions beyond both are not filled yet: any valid index will do.
  const Out kept = op("Minimum", 1, {at, sub(add(old, fresh), int_scalar(1))});
  const Out index = select(is_new, add(offset, old), kept);
  return op("Gather", 8, {concat({cache, update}, axis), index, int_scalar(axis)}, {{"batch_dims", 1}});
}

OutputVector tensor_scatter(const NodeContext& node) {
  const Out &cache = node.input(0), &update = node.input(1);
  const std::int64_t axis = normalized_axis(node.get_int("axis", -2), node.rank(0));
  if (axis == 0) fail("axis 0 holds the batch and cannot be written along");
  const std::string mode = node.get_string("mode", "linear");
  if (mode != "linear" && mode != "circular") fail("mode is \"" + mode + "\", expected linear or circular");
  const Out first = node.has_input(2) ? convert(node.input(2), ElementType::kI64)
                                      : broadcast_to(int_scalar(0), reshape(extent_of(cache, 0), Ints{1}));
  return {written_into(cache, update, first, extent_of(cache, axis), axis, mode == "circular")};
}

/// [.., positions, rotated / 2] of a table, for heads at axis 1.
Out waves_at(const Out& table, const Out& positions, ElementType type) {
  const Out rows = positions ? op("Gather", 8, {table, positions, int_scalar(0)}, {{"batch_dims", 0}}) : table;
  return convert(unsqueeze(rows, {1}), type);
}

/// How many numbers of a head a table of cosines turns, if its width is known.
std::optional<std::int64_t> rotated_by(const Out& table) {
  const Dimension width = dimension_of(table, -1);
  return width.is_static() ? std::optional(2 * width.get_length()) : std::nullopt;
}

OutputVector rotary(const NodeContext& node, const Out& cosine, const Out& sine, const Out& positions) {
  const Out& x = node.input(0);
  const std::int64_t rank = node.rank(0);
  if (rank != 3 && rank != 4) fail("input 0 has rank " + std::to_string(rank) + ", expected 3 or 4");
  auto rotated = rotated_by(cosine);
  const std::int64_t asked = node.get_int("rotary_embedding_dim", 0);
  if (asked > 0 && rotated && asked != *rotated)
    fail("rotary_embedding_dim is " + std::to_string(asked) + ", but the tables are for " + std::to_string(*rotated));
  // Without either, whole heads are turned.
  if (asked > 0) rotated = asked;
  std::int64_t heads = node.get_int("num_heads", 0);
  if (rank == 3 && heads == 0) {
    const Dimension width = dimension_of(x, 2);
    if (width.is_dynamic() || !rotated || *rotated < 1)
      fail("num_heads is missing, and the width of input 0 or of the tables is unknown");
    heads = width.get_length() / *rotated;
  }
  const Out split = rank == 3 ? split_heads(x, heads) : x;
  const ElementType type = x.get_element_type();
  const Out y = rotate(split, waves_at(cosine, positions, type), waves_at(sine, positions, type), rotated,
                       node.get_int("interleaved", 0) != 0);
  return {rank == 3 ? join_heads(y) : y};
}

// x, cos_cache, sin_cache [, position_ids]
OutputVector rotary_embedding(const NodeContext& node) {
  return rotary(node, node.input(1), node.input(2), node.has_input(3) ? node.input(3) : Out());
}

// --- ONNX Runtime's -------------------------------------------------------------------------------------------------

// x, position_ids, cos_cache, sin_cache
OutputVector microsoft_rotary(const NodeContext& node) {
  if (node.get_int("is_packed_batching", 0) != 0) unimplemented("is_packed_batching 1 is not written out");
  if (node.get_float("scale", 1) != 1) unimplemented("a scale other than 1 is not written out");
  const Out given = convert(node.input(1), ElementType::kI64);
  // A single value is the position of the first token; otherwise there is one per token.
  if (node.rank(1) > 1) return rotary(node, node.input(2), node.input(3), given);
  const Out count = extent_of(node.input(0), node.rank(0) == 3 ? 1 : 2);
  return rotary(node, node.input(2), node.input(3), unsqueeze(add(steps(count), given), {0}));
}

void refuse_quantized_cache(const NodeContext& node) {
  for (const char* name : {"k_quant_type", "v_quant_type"}) {
    if (node.get_string(name, "NONE") != "NONE")
      unimplemented(std::string(name) + " \"" + node.get_string(name, "") + "\": a quantised cache is not written out");
  }
  if (node.get_int("sliding_window_cache", 0) != 0) unimplemented("sliding_window_cache 1 is not written out");
}

Out rms_of(const Out& x, const Out& weight, double epsilon) {
  const Out mean = reduce("ReduceMean", mul(x, x), ints({-1}), true);
  return mul(div(x, unary("Sqrt", add(mean, scalar_like(x, epsilon)))), weight);
}

// query, key, value, past_key, past_value, seqlens_k, total_sequence_length, cos_cache, sin_cache, position_ids,
// attention_bias, head_sink, k_scale, v_scale, q_norm_weight, k_norm_weight; output, present_key, present_value, qk
OutputVector group_query_attention(const NodeContext& node) {
  refuse_quantized_cache(node);
  const std::int64_t q_heads = heads_of(node, "num_heads"), kv_heads = heads_of(node, "kv_num_heads");
  Out q, k, v;
  if (node.has_input(1)) {
    q = split_heads(node.input(0), q_heads);
    k = split_heads(node.input(1), kv_heads);
    v = split_heads(node.input(2), kv_heads);
  } else {
    // Queries, keys and values in one tensor, head by head.
    const OutputVector parts =
        ops("VariadicSplit", 1,
            {split_heads(node.input(0), q_heads + 2 * kv_heads), int_scalar(1), ints({q_heads, kv_heads, kv_heads})});
    q = parts[0], k = parts[1], v = parts[2];
  }
  const ElementType type = q.get_element_type();
  if (node.has_input(14) && node.has_input(15)) {
    const double epsilon = node.get_float("qk_norm_epsilon", 1e-6);
    q = rms_of(q, node.input(14), epsilon);
    k = rms_of(k, node.input(15), epsilon);
  }
  const Out queries = extent_of(q, 2), total = reshape(convert(node.input(6), ElementType::kI64), Ints{});
  // Number of earlier tokens per sequence; a prompt starts from zero, though some of its sequences may be shorter.
  const Out counts = add(convert(node.input(5), ElementType::kI64), int_scalar(1));
  const Out before = select(op("Equal", 1, {queries, total}), int_scalar(0), sub(counts, queries));
  if (node.get_int("do_rotary", 0) != 0) {
    const Out positions =
        node.has_input(9) ? node.input(9) : add(unsqueeze(steps(queries), {0}), reshape(before, Ints{-1, 1}));
    const auto rotated = rotated_by(node.input(7));
    if (!rotated)
      unimplemented("the width of the table of cosines is known only when the model runs; give it a static shape");
    const Out cosine = waves_at(node.input(7), positions, type), sine = waves_at(node.input(8), positions, type);
    const bool interleaved = node.get_int("rotary_interleaved", 0) != 0;
    q = rotate(q, cosine, sine, rotated, interleaved);
    k = rotate(k, cosine, sine, rotated, interleaved);
  }
  // The past may have exactly its length, or be a buffer with spare capacity.
  Out extent = total;
  if (node.has_input(3)) {
    extent = op("Maximum", 1, {extent_of(node.input(3), 2), total});
    k = written_into(node.input(3), k, before, extent, 2, false);
    v = written_into(node.input(4), v, before, extent, 2, false);
  }
  const bool causal = node.get_int("causal", 1) != 0;
  AttentionForm form;
  form.scale = scale_of(node);
  form.softcap = node.get_float("softcap", 0);
  ScoreMask mask(type);
  const Out keys = extent_of(k, 2);
  if (causal)
    mask.add_causal(queries, keys, reshape(before, Ints{-1, 1, 1, 1}), node.get_int("local_window_size", -1));
  else
    mask.add_length(keys, counts);
  if (node.has_input(10)) mask.add(with_length(node, 10, k, 0));
  if (node.has_input(11))
    form.sink = node.input(11);
  else if (node.get_int("smooth_softmax", 0) > 0)
    form.sink = reals(type, std::vector<double>(static_cast<std::size_t>(q_heads), 0));
  Out scores;
  if (node.wants_output(3)) {
    form.scores = &scores;
    form.scores_after = node.get_int("qk_output", 0) == 2 ? AttentionForm::kSoftmax : AttentionForm::kMask;
  }
  return {join_heads(attend(q, k, v, mask.sum(), form)), k, v, scores};
}

/// A mask of integers in one of ONNX Runtime's forms: lengths [batch]; ends and starts [2 * batch]; or 1 for keys that
/// count, [batch, keys], [batch, queries, keys] or [batch, 1, longest, longest]. A query none of whose keys count sees
/// them all, since each is less by the same number.
void add_padding(const NodeContext& node, std::size_t index, ScoreMask& mask, const Out& queries, const Out& keys,
                 const Out& batch) {
  const std::int64_t rank = node.rank(index);
  const Out& given = node.input(index);
  Out counts;
  if (rank == 1) {
    const Dimension count = dimension_of(given, 0), sequences = dimension_of(batch, 0);
    if (count.is_static() && sequences.is_static() && count != sequences && count != sequences * Dimension(2))
      unimplemented("input " + std::to_string(index) + " is a mask of shape " + given.get_partial_shape().to_string() +
                    " for a batch of " + sequences.to_string() +
                    "; written out are [batch], [2 * batch], and masks of rank 2 and more");
    // Without starts, a sequence starts at 0.
    const Out n = reshape(extent_of(batch, 0), Ints{1}), key = reshape(steps(keys), Ints{1, 1, 1, -1});
    const Out both = concat({convert(given, ElementType::kI64), broadcast_to(int_scalar(0), n)}, 0);
    const auto part = [&](const Out& from, const Out& to) {
      return reshape(op("Slice", 8, {both, from, to, ints({1})}), Ints{-1, 1, 1, 1});
    };
    counts = op("LogicalAnd", 1,
                {op("Less", 1, {key, part(ints({0}), n)}), op("GreaterEqual", 1, {key, part(n, add(n, n))})});
  } else {
    Out shaped = given;
    if (rank == 2)
      shaped = unsqueeze(given, {1, 2});
    else if (rank == 3)
      shaped = unsqueeze(given, {1});
    else if (rank == 4)  // The rows of these queries end with the last key.
      shaped = op("Slice", 8,
                  {given, concat({reshape(sub(keys, queries), Ints{1}), ints({0})}, 0),
                   concat({reshape(keys, Ints{1}), reshape(keys, Ints{1})}, 0), ints({1, 1}), ints({2, 3})});
    counts = op("Greater", 1, {shaped, scalar_like(shaped, 0)});
  }
  const double filter = node.get_float("mask_filter_value", -10000);
  const ElementType type = ElementType::kF32;
  mask.add(select(counts, scalar(type, 0), scalar(type, filter)));
}

/// Inputs that com.microsoft's attentions have at different indices.
struct AttentionInputs {
  std::size_t padding, past, bias = 5;
};

/// From the heads' queries, keys and values to the output. @param scores  Filled if given.
Out attend_as_microsoft(const NodeContext& node, const Out& q, const Out& k, const Out& v, const Out& past,
                        AttentionInputs at, Out* scores = nullptr) {
  AttentionForm form;
  form.scale = scale_of(node);
  form.causal = node.get_int("unidirectional", 0) != 0;
  const Out queries = extent_of(q, 2), keys = extent_of(k, 2);
  ScoreMask mask(q.get_element_type());
  if (node.has_input(at.padding)) add_padding(node, at.padding, mask, queries, keys, q);
  if (node.has_input(at.bias)) mask.add(node.input(at.bias));
  if (form.causal && (mask.sum() || node.has_input(at.past))) mask.add_causal(queries, keys, past);
  if (scores) {
    form.scores = scores;
    form.scores_after = AttentionForm::kSoftmax;
  }
  return join_heads(attend(q, k, v, mask.sum(), form));
}

// query, key, value, bias, key_padding_mask, attention_bias, past_key, past_value
OutputVector multi_head_attention(const NodeContext& node) {
  const std::int64_t heads = heads_of(node, "num_heads");
  Out q, k, v;
  const auto packed = [&](const Out& x, std::int64_t index) {
    return transpose(squeeze(slice(x, index, index + 1, 3), {3}), {0, 2, 1, 3});
  };
  Out biases[3];
  if (node.has_input(3)) {
    const Dimension all = dimension_of(node.input(3), 0);
    if (all.is_dynamic()) unimplemented("a bias whose width is known only when the model runs is not written out");
    const Dimension value_width = node.has_input(2) && node.rank(2) == 3 ? dimension_of(node.input(2), 2) : Dimension();
    const std::int64_t last = value_width.is_static() ? value_width.get_length() : all.get_length() / 3;
    const std::int64_t each = (all.get_length() - last) / 2;
    const OutputVector parts = ops("VariadicSplit", 1, {node.input(3), int_scalar(0), ints({each, each, last})});
    for (std::size_t i = 0; i < 3; ++i)
      biases[i] = unsqueeze(op("Reshape", 1, {parts[i], ints({heads, 1, -1})}, {{"special_zero", false}}), {0});
  }
  const auto with_bias = [&](const Out& x, std::size_t part) { return biases[part] ? add(x, biases[part]) : x; };
  const std::int64_t rank = node.rank(0);
  bool is_ready = false;  // Keys of another sequence that are already split into heads and have their bias.
  if (rank == 5) {
    q = packed(node.input(0), 0), k = packed(node.input(0), 1), v = packed(node.input(0), 2);
  } else {
    q = split_heads(node.input(0), heads);
    const std::int64_t key_rank = node.rank(1);
    if (key_rank == 5) {
      k = packed(node.input(1), 0), v = packed(node.input(1), 1);
    } else if (key_rank == 4) {
      k = node.input(1), v = node.input(2);
      is_ready = true;
    } else {
      k = split_heads(node.input(1), heads), v = split_heads(node.input(2), heads);
    }
  }
  q = with_bias(q, 0);
  if (!is_ready) k = with_bias(k, 1), v = with_bias(v, 2);
  if (node.has_input(8) || node.has_input(9))
    unimplemented("caches that are shared between past and present are not written out");
  Out past = int_scalar(0);
  if (node.has_input(6)) {
    past = extent_of(node.input(6), 2);
    k = concat({node.input(6), k}, 2);
    v = concat({node.input(7), v}, 2);
  }
  Out scores;
  const Out y =
      attend_as_microsoft(node, q, k, v, past, {.padding = 4, .past = 6}, node.wants_output(3) ? &scores : nullptr);
  return {y, k, v, scores};
}

/// From the product with the weights of queries, keys and values, side by side, to output and present [2, batch, heads,
/// keys, size].
OutputVector attend_to_product(const NodeContext& node, const Out& all, AttentionInputs at) {
  if (node.get_int("do_rotary", 0) != 0) unimplemented("do_rotary 1 is not written out: use RotaryEmbedding before it");
  if (node.get_int("past_present_share_buffer", 0) != 0)
    unimplemented("past_present_share_buffer 1 is not written out");
  const std::int64_t heads = heads_of(node, "num_heads");
  Ints widths = node.get_ints("qkv_hidden_sizes", Ints{});
  if (widths.empty()) {
    const Dimension width = dimension_of(node.input(1), 1);
    if (width.is_dynamic() || width.get_length() % 3 != 0)
      fail("weights of shape " + node.input(1).get_partial_shape().to_string() + " do not divide into three parts");
    widths = Ints(3, width.get_length() / 3);
  }
  if (widths.size() != 3) fail("qkv_hidden_sizes has " + std::to_string(widths.size()) + " values, expected 3");
  const OutputVector parts = ops("VariadicSplit", 1, {all, int_scalar(2), ints(widths)});
  const Out q = split_heads(parts[0], heads);
  Out k = split_heads(parts[1], heads), v = split_heads(parts[2], heads), past = int_scalar(0);
  if (node.has_input(at.past)) {
    const Out& state = node.input(at.past);
    const auto half = [&](std::int64_t index) { return squeeze(slice(state, index, index + 1, 0), {0}); };
    past = extent_of(state, 3);
    k = concat({half(0), k}, 2);
    v = concat({half(1), v}, 2);
  }
  const Out y = attend_as_microsoft(node, q, k, v, past, at);
  if (!node.wants_output(1)) return {y};
  return {y, concat({unsqueeze(k, {0}), unsqueeze(v, {0})}, 0)};
}

// input, weights, bias, mask_index, past, attention_bias
OutputVector microsoft_attention(const NodeContext& node) {
  const Out all = matmul(node.input(0), node.input(1));
  return attend_to_product(node, node.has_input(2) ? add(all, node.input(2)) : all, {.padding = 3, .past = 4});
}

// input and weights of 8 bits, bias, input_scale, weight_scale, mask_index, input_zero, weight_zero, past
OutputVector quantized_attention(const NodeContext& node) {
  const auto centred = [&](std::size_t index, std::size_t zero) {
    const Out x = convert(node.input(index), ElementType::kF32);
    return node.has_input(zero) ? sub(x, convert(node.input(zero), ElementType::kF32)) : x;
  };
  const ElementType type = node.type(3);
  const Out scale = convert(mul(node.input(3), node.input(4)), ElementType::kF32);
  const Out all = convert(mul(matmul(centred(0, 6), centred(1, 7)), scale), type);
  return attend_to_product(node, add(all, node.input(2)), {.padding = 5, .past = 8, .bias = 9});
}

}  // namespace

void add_attention(ConverterTable& table) {
  table[":Attention"] = attention;
  table[":RotaryEmbedding"] = rotary_embedding;
  table[":TensorScatter"] = tensor_scatter;
  table["com.microsoft:RotaryEmbedding"] = microsoft_rotary;
  table["com.microsoft:GroupQueryAttention"] = group_query_attention;
  table["com.microsoft:MultiHeadAttention"] = multi_head_attention;
  table["com.microsoft:Attention"] = microsoft_attention;
  table["com.microsoft:QAttention"] = quantized_attention;
}

}  // namespace onnx_reader
}  // namespace v1
}  // namespace tenon
