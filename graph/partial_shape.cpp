// SPDX-License-Identifier: Apache-2.0
// Interval arithmetic of dimensions, and shapes made of them.
#include <tenon/graph/partial_shape.hpp>

#include <algorithm>
#include <charconv>

#include <tenon/core/error.hpp>
#include <tenon/graph/internal/trimmed.hpp>

namespace tenon {
inline namespace v1 {

namespace {
using Value = Dimension::value_type;

Value saturating_add(Value a, Value b) {
  Value sum = 0;
  return a == Dimension::kUnbounded || b == Dimension::kUnbounded || __builtin_add_overflow(a, b, &sum)
             ? Dimension::kUnbounded
             : sum;
}
Value saturating_multiply(Value a, Value b) {
  if (a == 0 || b == 0) return 0;
  Value product = 0;
  return a == Dimension::kUnbounded || b == Dimension::kUnbounded || __builtin_mul_overflow(a, b, &product)
             ? Dimension::kUnbounded
             : product;
}

Value parse_bound(std::string_view text, std::string_view whole) {
  Value value = 0;
  const auto result = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || result.ec != std::errc{} || result.ptr != text.data() + text.size() || value < -1) {
    throw Error(Code::kInvalidArgument,
                "shape \"" + std::string(whole) + "\": \"" + std::string(text) +
                    "\" is not an extent; expected forms are 3, ?, -1, 1..8, 1.., ..8 and ... for any rank");
  }
  return value;
}

Dimension parse_dimension(std::string_view text, std::string_view whole) {
  text = trimmed(text);
  if (text == "?") return Dimension::dynamic();
  const auto dots = text.find("..");
  if (dots == text.npos) return Dimension(parse_bound(text, whole));
  const auto low = trimmed(text.substr(0, dots));
  const auto high = trimmed(text.substr(dots + 2));
  return Dimension(low.empty() ? 0 : parse_bound(low, whole), high.empty() ? -1 : parse_bound(high, whole));
}
}  // namespace

Dimension::Dimension(value_type length) : min_(length), max_(length) {
  if (length == -1)
    *this = Dimension();
  else if (length < 0)
    throw Error(Code::kInvalidArgument, "dimension " + std::to_string(length) + " is negative; -1 means dynamic");
}

Dimension::Dimension(value_type min, value_type max) : min_(min), max_(max == -1 ? kUnbounded : max) {
  if (min == -1) min_ = 0;
  if (min_ < 0 || max_ < min_) {
    throw Error(Code::kInvalidArgument, "dimension " + std::to_string(min) + ".." + std::to_string(max) +
                                            ": bounds must not be negative, and the lower must not exceed the upper");
  }
}

Dimension::value_type Dimension::get_length() const {
  if (is_dynamic())
    throw Error(Code::kFailedPrecondition, "dimension " + to_string() + " is dynamic and has no length");
  return min_;
}

bool Dimension::merge(Dimension& dst, const Dimension& a, const Dimension& b) {
  if (!a.compatible(b)) return false;
  dst = Dimension(std::max(a.min_, b.min_), std::min(a.max_, b.max_) == kUnbounded ? -1 : std::min(a.max_, b.max_));
  return true;
}

bool Dimension::broadcast_merge(Dimension& dst, const Dimension& a, const Dimension& b) {
  if (a == Dimension(1)) return dst = b, true;
  if (b == Dimension(1)) return dst = a, true;
  if (a.is_static() && b.is_static()) return a == b && (dst = a, true);
  // One is dynamic: it may be 1, or equal to the other, when known.
  if (a.is_static()) return b.compatible(a) || b.compatible(1) ? (dst = a, true) : false;
  if (b.is_static()) return a.compatible(b) || a.compatible(1) ? (dst = b, true) : false;
  dst = Dimension(a.compatible(1) || b.compatible(1) ? std::min(a.min_, b.min_) : std::max(a.min_, b.min_),
                  a.max_ == kUnbounded || b.max_ == kUnbounded ? -1 : std::max(a.max_, b.max_));
  return true;
}

Dimension Dimension::operator+(const Dimension& other) const {
  Dimension sum;
  sum.min_ = std::min(saturating_add(min_, other.min_), kUnbounded - 1);
  sum.max_ = saturating_add(max_, other.max_);
  return sum;
}
Dimension Dimension::operator-(const Dimension& other) const {
  Dimension difference;
  difference.min_ = other.max_ == kUnbounded ? 0 : std::max<value_type>(0, min_ - other.max_);
  difference.max_ = max_ == kUnbounded ? kUnbounded : std::max<value_type>(0, max_ - other.min_);
  return difference;
}
Dimension Dimension::operator*(const Dimension& other) const {
  Dimension product;
  product.min_ = std::min(saturating_multiply(min_, other.min_), kUnbounded - 1);
  product.max_ = saturating_multiply(max_, other.max_);
  return product;
}

std::string Dimension::to_string() const {
  if (is_static()) return std::to_string(min_);
  if (max_ == kUnbounded) return min_ == 0 ? "?" : std::to_string(min_) + "..";
  return (min_ == 0 ? "" : std::to_string(min_)) + ".." + std::to_string(max_);
}

PartialShape::PartialShape(const std::vector<Dimension::value_type>& dimensions)
    : dimensions_(dimensions.begin(), dimensions.end()) {}

PartialShape::PartialShape(const Shape& shape) {
  dimensions_.reserve(shape.size());
  for (std::size_t extent : shape) {
    if (extent > static_cast<std::size_t>(Dimension::kUnbounded - 1)) {
      throw Error(Code::kInvalidArgument, "shape " + tenon::to_string(shape) + ": an extent exceeds 63 bits");
    }
    dimensions_.emplace_back(static_cast<Value>(extent));
  }
}

PartialShape::PartialShape(std::string_view text) {
  const std::string_view whole = text;
  text = trimmed(text);
  if (!text.empty() && (text.front() == '[' || text.front() == '{')) {
    const char close = text.front() == '[' ? ']' : '}';
    if (text.back() != close) {
      throw Error(Code::kInvalidArgument, "shape \"" + std::string(whole) + "\": the closing bracket is missing");
    }
    text = trimmed(text.substr(1, text.size() - 2));
  }
  if (text == "...") {
    rank_is_static_ = false;
    return;
  }
  while (!text.empty()) {
    const auto comma = text.find(',');
    dimensions_.push_back(parse_dimension(text.substr(0, comma), whole));
    if (comma == text.npos) break;
    text = text.substr(comma + 1);
    if (trimmed(text).empty()) parse_bound({}, whole);
  }
}

PartialShape PartialShape::dynamic(Rank rank) {
  PartialShape shape;
  if (rank.is_static())
    shape.dimensions_.resize(static_cast<std::size_t>(rank.get_length()));
  else
    shape.rank_is_static_ = false;
  return shape;
}

bool PartialShape::is_static() const {
  return rank_is_static_ && std::all_of(begin(), end(), [](const Dimension& d) { return d.is_static(); });
}

std::size_t PartialShape::size() const {
  if (!rank_is_static_) throw Error(Code::kFailedPrecondition, "shape [...] has a dynamic rank");
  return dimensions_.size();
}

Shape PartialShape::to_shape() const {
  if (is_dynamic())
    throw Error(Code::kFailedPrecondition, "shape " + to_string() + " is dynamic; a static shape is needed here");
  Shape shape;
  for (const Dimension& dimension : dimensions_) shape.push_back(static_cast<std::size_t>(dimension.get_length()));
  return shape;
}

Shape PartialShape::get_min_shape() const {
  Shape shape;
  for (std::size_t axis = 0; axis < size(); ++axis)
    shape.push_back(static_cast<std::size_t>(dimensions_[axis].get_min_length()));
  return shape;
}

Shape PartialShape::get_max_shape() const {
  Shape shape;
  for (std::size_t axis = 0; axis < size(); ++axis) {
    // -1 (unbounded) becomes the largest size_t.
    shape.push_back(static_cast<std::size_t>(dimensions_[axis].get_max_length()));
  }
  return shape;
}

bool PartialShape::compatible(const PartialShape& other) const {
  if (!rank_is_static_ || !other.rank_is_static_) return true;
  return std::equal(begin(), end(), other.begin(), other.end(),
                    [](const Dimension& a, const Dimension& b) { return a.compatible(b); });
}

bool PartialShape::relaxes(const PartialShape& other) const {
  if (!rank_is_static_) return true;
  if (!other.rank_is_static_) return false;
  return std::equal(begin(), end(), other.begin(), other.end(),
                    [](const Dimension& a, const Dimension& b) { return a.relaxes(b); });
}

bool PartialShape::merge_into(PartialShape& dst, const PartialShape& src) {
  if (!src.rank_is_static_) return true;
  if (!dst.rank_is_static_) return dst = src, true;
  if (dst.size() != src.size()) return false;
  bool merged = true;
  for (std::size_t axis = 0; axis < dst.size(); ++axis) merged &= Dimension::merge(dst[axis], dst[axis], src[axis]);
  return merged;
}

bool PartialShape::broadcast_merge_into(PartialShape& dst, const PartialShape& src) {
  if (!dst.rank_is_static_ || !src.rank_is_static_) return dst = dynamic(), true;
  const std::size_t rank = std::max(dst.size(), src.size());
  PartialShape result = dynamic(static_cast<Value>(rank));
  for (std::size_t axis = 0; axis < rank; ++axis) {
    const Dimension a = axis + dst.size() < rank ? Dimension(1) : dst[axis + dst.size() - rank];
    const Dimension b = axis + src.size() < rank ? Dimension(1) : src[axis + src.size() - rank];
    if (!Dimension::broadcast_merge(result[axis], a, b)) return false;
  }
  dst = std::move(result);
  return true;
}

std::string PartialShape::to_string() const {
  if (!rank_is_static_) return "[...]";
  std::string text = "[";
  for (std::size_t axis = 0; axis < dimensions_.size(); ++axis)
    text += (axis ? "," : "") + dimensions_[axis].to_string();
  return text + "]";
}

}  // namespace v1
}  // namespace tenon
