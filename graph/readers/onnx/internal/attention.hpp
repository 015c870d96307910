// SPDX-License-Identifier: Apache-2.0
// Parts of attention that the standard's and ONNX Runtime's operations share. Values are [batch, heads, positions, size]
// unless said otherwise.
#pragma once

#include <cstdint>
#include <optional>

#include <tenon/core/element_type.hpp>
#include <tenon/graph/readers/onnx/internal/onnx.hpp>

namespace tenon {
inline namespace v1 {
namespace onnx_reader {

/// [batch, positions, heads * size] to [batch, heads, positions, size], and back.
Out split_heads(const Out& x, std::int64_t heads);
Out join_heads(const Out& x);

/// Repeats each head `times` times in a row, as exporters write it: Unsqueeze, Broadcast, Reshape.
Out repeat_heads(const Out& x, std::int64_t times);

/// Values added to the scores, broadcastable to [batch, heads, queries, keys]: 0, or -inf for masked keys.
class ScoreMask {
 public:
  explicit ScoreMask(ElementType type) : type_(type) {}
  /// Adds a mask of numbers, or of booleans, where false means masked.
  void add(const Out& mask);
  /// Restricts a query at position `first` + i to keys up to its own position; and, if `window` is positive, to the last
  /// `window` of these.
  /// @param first  i64, scalar or [batch, 1, 1, 1].
  void add_causal(const Out& queries, const Out& keys, const Out& first, std::int64_t window = 0);
  /// Restricts a query at position `first` + i to keys from `left` places before it to `right` behind it; a negative
  /// number sets no limit.
  void add_window(const Out& queries, const Out& keys, const Out& first, std::int64_t left, std::int64_t right);
  /// Restricts all queries to keys before `count`, i64 [batch].
  void add_length(const Out& keys, const Out& count);
  /// Nothing if there was no mask.
  const Out& sum() const { return sum_; }

 private:
  ElementType type_;
  Out sum_;
};

struct AttentionForm {
  std::optional<double> scale;  ///< Otherwise 1 / sqrt(size).
  double softcap = 0;           ///< scores become softcap * tanh(scores / softcap); 0: they stay.
  bool causal = false;          ///< Without a mask and without a past: the operation's own causal form.
  Out sink;                     ///< A score per head, [heads], that only enters the softmax's denominator.
  Out* scores = nullptr;        ///< Where to put scores; see scores_after.
  enum Stage { kProduct, kSoftcap, kMask, kSoftmax } scores_after = kProduct;
};

/// softmax(q k^T * scale + mask) v. Becomes ScaledDotProductAttention, unless the form needs the scores themselves.
/// Heads of k and v are repeated to those of q.
Out attend(const Out& q, const Out& k, const Out& v, const Out& mask, const AttentionForm& form);

/// Rotates pairs of the last axis. Halves in the form of today's exporters: x * cos + rotate_half(x) * sin.
/// @param cosine, sine  [..., rotated / 2], broadcastable to x; elements beyond `rotated` are unchanged.
/// @param rotated  Without it, all elements are turned.
Out rotate(const Out& x, const Out& cosine, const Out& sine, std::optional<std::int64_t> rotated, bool interleaved);

/// i64 [0, 1, ... count).
Out steps(const Out& count);

}  // namespace onnx_reader
}  // namespace v1
}  // namespace tenon
