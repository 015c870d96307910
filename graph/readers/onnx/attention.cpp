// SPDX-License-Identifier: Apache-2.0
// Parts of attention that the standard's and ONNX Runtime's operations share.
#include <cmath>
#include <limits>

#include <tenon/graph/readers/onnx/internal/attention.hpp>

namespace tenon {
inline namespace v1 {
namespace onnx_reader {

namespace {
/// A static extent, or nothing.
std::optional<std::int64_t> known_extent(const Out& x, std::size_t axis) {
  const PartialShape& shape = x.get_partial_shape();
  if (shape.rank().is_dynamic() || axis >= shape.size() || shape[axis].is_dynamic()) return std::nullopt;
  return shape[axis].get_length();
}

Out as_axis(const Out& x, const Ints& shape) { return reshape(x, shape); }
}  // namespace

Out steps(const Out& count) { return range(int_scalar(0), count, int_scalar(1), ElementType::kI64); }

Out split_heads(const Out& x, std::int64_t heads) {
  const auto width = known_extent(x, 2);
  if (heads < 1 || (width && *width % heads != 0))
    fail("an input of shape " + x.get_partial_shape().to_string() + " does not divide into " + std::to_string(heads) +
         " heads");
  return transpose(reshape_like(x, {0, 0, heads, -1}), {0, 2, 1, 3});
}

Out join_heads(const Out& x) { return reshape_like(transpose(x, {0, 2, 1, 3}), {0, 0, -1}); }

namespace {
/// @param times  i64 [1].
Out heads_repeated(const Out& x, const Out& times) {
  const auto heads = known_extent(x, 1), size = known_extent(x, 3);
  const auto known = known_ints(times);
  const Out target = known ? ints({1, 1, (*known)[0], 1, 1}) : concat({ints({1, 1}), times, ints({1, 1})}, 0);
  const Out repeated = op("Broadcast", 3, {unsqueeze(x, {2}), target}, {{"mode", "bidirectional"}});
  const Out shape = shape_of(x);
  const Out all_heads = heads && known ? ints({*heads * (*known)[0]}) : mul(slice(shape, 1, 2, 0), times);
  const Out last = size ? ints({*size}) : slice(shape, 3, 4, 0);
  return reshape(repeated, concat({slice(shape, 0, 1, 0), all_heads, ints({-1}), last}, 0));
}
}  // namespace

Out repeat_heads(const Out& x, std::int64_t times) { return times == 1 ? x : heads_repeated(x, ints({times})); }

void ScoreMask::add(const Out& mask) {
  const double masked = -std::numeric_limits<double>::infinity();
  const Out numbers = mask.get_element_type() == ElementType::kBool
                          ? select(mask, scalar(type_, 0), scalar(type_, masked))
                          : convert(mask, type_);
  sum_ = sum_ ? onnx_reader::add(sum_, numbers) : numbers;
}

void ScoreMask::add_window(const Out& queries, const Out& keys, const Out& first, std::int64_t left,
                           std::int64_t right) {
  const Out at = onnx_reader::add(as_axis(steps(queries), {-1, 1}), first), key = as_axis(steps(keys), {1, -1});
  if (right >= 0) add(op("LessEqual", 1, {key, right == 0 ? at : onnx_reader::add(at, int_scalar(right))}));
  if (left >= 0) add(op("GreaterEqual", 1, {key, sub(at, int_scalar(left))}));
}

void ScoreMask::add_causal(const Out& queries, const Out& keys, const Out& first, std::int64_t window) {
  add_window(queries, keys, first, window > 0 ? window - 1 : -1, 0);
}

void ScoreMask::add_length(const Out& keys, const Out& count) {
  add(op("Less", 1, {as_axis(steps(keys), {1, 1, 1, -1}), as_axis(count, {-1, 1, 1, 1})}));
}

Out attend(const Out& q, const Out& keys, const Out& values, const Out& mask, const AttentionForm& form) {
  const ElementType type = q.get_element_type();
  const auto q_heads = known_extent(q, 1), k_heads = known_extent(keys, 1);
  Out k = keys, v = values;
  if (q_heads && k_heads && *q_heads != *k_heads) {
    if (*k_heads < 1 || *q_heads % *k_heads != 0)
      fail("has " + std::to_string(*q_heads) + " heads of queries, which is no multiple of its " +
           std::to_string(*k_heads) + " heads of keys");
    k = repeat_heads(k, *q_heads / *k_heads);
    v = repeat_heads(v, *q_heads / *k_heads);
  } else if (!q_heads || !k_heads) {
    const auto heads_of = [](const Out& x) { return slice(shape_of(x), 1, 2, 0); };
    const Out times = div(heads_of(q), heads_of(k));
    k = heads_repeated(k, times);
    v = heads_repeated(v, times);
  }
  Out scale;
  if (form.scale)
    scale = scalar(type, *form.scale);
  else if (const auto size = known_extent(q, 3))
    scale = scalar(type, 1 / std::sqrt(static_cast<double>(*size)));
  else
    scale = div(scalar(type, 1), unary("Sqrt", convert(extent_of(q, 3), type)));
  const bool is_plain = form.softcap == 0 && !form.scores;
  if (is_plain) {
    OutputVector inputs{q, k, v};
    if (mask || form.scale || form.sink) inputs.push_back(mask ? mask : scalar(type, 0));
    if (form.scale || form.sink) inputs.push_back(scale);
    if (form.sink) inputs.push_back(reshape(convert(form.sink, type), Ints{1, -1, 1, 1}));
    return op("ScaledDotProductAttention", 13, inputs, {{"causal", form.causal && !mask}});
  }
  const auto keep = [&](AttentionForm::Stage stage, const Out& value) {
    if (form.scores && form.scores_after == stage) *form.scores = value;
  };
  Out scores = mul(matmul(q, k, false, true), scale);
  keep(AttentionForm::kProduct, scores);
  if (form.softcap != 0) {
    const Out cap = scalar(type, form.softcap);
    scores = mul(unary("Tanh", div(scores, cap)), cap);
  }
  keep(AttentionForm::kSoftcap, scores);
  if (mask) {
    scores = add(scores, mask);
  } else if (form.causal) {
    ScoreMask causal(type);
    causal.add_causal(extent_of(q, 2), extent_of(k, 2), int_scalar(0));
    scores = add(scores, causal.sum());
  }
  keep(AttentionForm::kMask, scores);
  if (form.sink) {
    // One more key per head, whose value is not used.
    const Out extents = concat({slice(shape_of(scores), 0, 3, 0), ints({1})}, 0);
    const Out sinks = broadcast_to(reshape(convert(form.sink, type), Ints{1, -1, 1, 1}), extents);
    const Out all = op("Softmax", 8, {concat({scores, sinks}, 3)}, {{"axis", -1}});
    scores = slice(all, 0, -1, 3);
  } else {
    scores = op("Softmax", 8, {scores}, {{"axis", -1}});
    if (mask && mask.get_partial_shape().rank() != Rank(0)) {
      // A query that may see no key gives zeros; its softmax is 0 / 0.
      const Out most = reduce("ReduceMax", mask, ints({-1}), true);
      const Out none = op("Equal", 1, {most, scalar(type, -std::numeric_limits<double>::infinity())});
      scores = select(none, scalar(type, 0), scores);
    }
  }
  keep(AttentionForm::kSoftmax, scores);
  return matmul(scores, v);
}

Out rotate(const Out& x, const Out& cosine, const Out& sine, std::optional<std::int64_t> rotated, bool interleaved) {
  const std::int64_t last = x.get_partial_shape().rank().get_length() - 1;
  const auto size = known_extent(x, static_cast<std::size_t>(last));
  if (rotated && (*rotated % 2 != 0 || *rotated < 0 || (size && *rotated > *size)))
    fail("rotates " + std::to_string(*rotated) + " numbers of heads of " +
         (size ? std::to_string(*size) : std::string("unknown size")) + ": expected an even number, at most that");
  const bool is_partial = rotated && *rotated > 0 && !(size && *size == *rotated);
  const Out part = is_partial ? slice(x, 0, *rotated, last) : x;
  Out turned;
  if (interleaved) {
    Ints pairs(static_cast<std::size_t>(last), 0);
    pairs.insert(pairs.end(), {-1, 2});
    const Out split = op("Reshape", 1, {part, ints(pairs)}, {{"special_zero", true}});
    const Out first = squeeze(slice(split, 0, 1, last + 1), {last + 1});
    const Out second = squeeze(slice(split, 1, 2, last + 1), {last + 1});
    const Out real = sub(mul(first, cosine), mul(second, sine));
    const Out imaginary = add(mul(first, sine), mul(second, cosine));
    const Out joined = concat({unsqueeze(real, {last + 1}), unsqueeze(imaginary, {last + 1})}, last + 1);
    Ints flat(static_cast<std::size_t>(last), 0);
    flat.push_back(-1);
    turned = op("Reshape", 1, {joined, ints(flat)}, {{"special_zero", true}});
  } else {
    const OutputVector halves = ops("Split", 1, {part, int_scalar(last)}, {{"num_splits", std::int64_t{2}}});
    const Out half_turn = concat({unary("Negative", halves[1]), halves[0]}, last);
    turned = add(mul(part, concat({cosine, cosine}, -1)), mul(half_turn, concat({sine, sine}, -1)));
  }
  if (!is_partial) return turned;
  return concat({turned, slice(x, *rotated, std::numeric_limits<std::int64_t>::max(), last)}, last);
}

}  // namespace onnx_reader
}  // namespace v1
}  // namespace tenon
