// SPDX-License-Identifier: Apache-2.0
// JSON of zones and of what happens in them.
#include <tenon/core/zones.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

namespace tenon {
inline namespace v1 {
namespace metadata {
namespace detail {

TENON_INLINE std::string zone_number(double value) {
  if (!std::isfinite(value)) return "null";
  std::array<char, 32> text{};
  const auto end = std::to_chars(text.data(), text.data() + text.size(), static_cast<float>(value)).ptr;
  return std::string(text.data(), end);
}

TENON_INLINE std::string json_counts(const Zone::Count& counts, Zone::Shape shape) {
  std::string text;
  if (shape != Zone::Shape::kLine) text = "\"inside\":" + std::to_string(counts.inside) + ",";
  return text + "\"entered\":" + std::to_string(counts.entered) + ",\"left\":" + std::to_string(counts.left);
}

}  // namespace detail

TENON_INLINE std::string_view name(ZoneEvent::What what) {
  constexpr std::string_view kNames[] = {"inside",     "entered",     "left", "stays_long",
                                         "crossed_in", "crossed_out", "moves"};
  return kNames[static_cast<std::size_t>(what)];
}

TENON_INLINE std::string_view name(Zone::Shape shape) {
  constexpr std::string_view kNames[] = {"zone", "line", "direction"};
  return kNames[static_cast<std::size_t>(shape)];
}

TENON_INLINE Zone::Count Zone::total() const {
  Count sum;
  for (const Count& one : counts) sum.inside += one.inside, sum.entered += one.entered, sum.left += one.left;
  return sum;
}

TENON_INLINE std::string Zone::json() const {
  std::string text = "\"name\":" + json_string(name) + ",\"shape\":" + json_string(metadata::name(shape));
  if (!points.empty()) {
    text += ",\"points\":[";
    for (const Point& point : points)
      text += (&point == points.data() ? "[" : ",[") + detail::zone_number(static_cast<double>(point.x)) + "," +
              detail::zone_number(static_cast<double>(point.y)) + "]";
    text += "]";
  }
  text += "," + detail::json_counts(total(), shape);
  if (is_crowded) text += ",\"crowded\":true";
  text += ",\"by_label\":{";
  for (const Count& one : counts)
    text += (&one == counts.data() ? "" : ",") + json_string(one.label) + ":{" + detail::json_counts(one, shape) + "}";
  return text + "}";
}

TENON_INLINE bool Zone::cropped(const Box& region) {
  for (Point& point : points) point.x -= region.x1, point.y -= region.y1;
  return true;
}

TENON_INLINE bool Zone::same_as(const Zone& other) const {
  const auto is_near = [](const Point& a, const Point& b) {
    return std::abs(a.x - b.x) <= Detection::kSamePx && std::abs(a.y - b.y) <= Detection::kSamePx;
  };
  return name == other.name && shape == other.shape && counts == other.counts && is_crowded == other.is_crowded &&
         std::equal(points.begin(), points.end(), other.points.begin(), other.points.end(), is_near);
}

TENON_INLINE std::string ZoneEvent::json() const {
  std::string text = "\"zone\":" + json_string(zone) + ",\"what\":" + json_string(name(what));
  if (what <= What::kStaysLong) text += ",\"seconds\":" + detail::zone_number(seconds);
  if (track_id >= 0) text += ",\"track_id\":" + std::to_string(track_id);
  return text;
}

}  // namespace metadata
}  // namespace v1
}  // namespace tenon
