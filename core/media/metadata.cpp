// SPDX-License-Identifier: Apache-2.0
// Collections of metadata, their JSON, and crops that they follow.
#include <tenon/core/metadata.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <mutex>

#include <tenon/core/any.hpp>
#include <tenon/core/error.hpp>
#include <tenon/core/orientation.hpp>
#include <tenon/core/pixel_format.hpp>

namespace tenon {
inline namespace v1 {
namespace metadata {
namespace detail {

/// Key of a frame's AnyMap.
inline constexpr const char* kKey = "tenon.metadata";
using Held = std::shared_ptr<Collection>;

/// Prints a number; JSON has neither infinities nor NaN.
TENON_INLINE std::string json_number(double value) {
  if (!std::isfinite(value)) return "null";
  std::array<char, 32> text{};
  const auto end = std::to_chars(text.data(), text.data() + text.size(), static_cast<float>(value)).ptr;
  return std::string(text.data(), end);
}

TENON_INLINE std::string json_box(const Box& box) {
  return "[" + json_number(box.x1) + "," + json_number(box.y1) + "," + json_number(box.x2) + "," + json_number(box.y2) +
         "]";
}

TENON_INLINE std::string json_tensor(const Tensor& tensor) {
  if (!tensor) return "null";
  std::string text = "{\"type\":" + json_string(name(tensor.element_type())) + ",\"shape\":[";
  for (std::size_t axis = 0; axis < tensor.shape().size(); ++axis)
    text += (axis ? "," : "") + std::to_string(tensor.shape()[axis]);
  return text + "]}";
}

/// Length of the UTF-8 sequence at the beginning of `text`; 0 where there is no valid one.
TENON_INLINE std::size_t utf8_length(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(0);
  if (first < 0x80) return 1;
  const std::size_t length = first >= 0xc2 && first < 0xe0   ? 2
                             : first >= 0xe0 && first < 0xf0 ? 3
                             : first >= 0xf0 && first < 0xf5 ? 4
                                                             : 0;
  if (length == 0 || text.size() < length) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return 0;
  }
  // Rejects overlong forms, surrogates, and code points past U+10FFFF.
  if ((first == 0xe0 && byte(1) < 0xa0) || (first == 0xed && byte(1) >= 0xa0) || (first == 0xf0 && byte(1) < 0x90) ||
      (first == 0xf4 && byte(1) >= 0x90))
    return 0;
  return length;
}

/// Whether two tensors are the same memory, seen in the same way.
TENON_INLINE bool is_same_memory(const Tensor& one, const Tensor& other) {
  if (!one || !other) return !one && !other;
  return one.memory() == other.memory() && one.offset() == other.offset() && one.shape() == other.shape() &&
         one.element_type() == other.element_type();
}

TENON_INLINE bool is_near(const Box& one, const Box& other, float most) {
  const auto is_near = [most](float a, float b) { return std::abs(a - b) <= most; };
  return is_near(one.x1, other.x1) && is_near(one.y1, other.y1) && is_near(one.x2, other.x2) &&
         is_near(one.y2, other.y2);
}

/// Moves `box` into `region`; false if they do not intersect.
TENON_INLINE bool crop_box(Box& box, const Box& region) {
  const Box cut{std::max(box.x1, region.x1), std::max(box.y1, region.y1), std::min(box.x2, region.x2),
                std::min(box.y2, region.y2)};
  if (!(cut.x2 > cut.x1) || !(cut.y2 > cut.y1)) return false;
  box = {cut.x1 - region.x1, cut.y1 - region.y1, cut.x2 - region.x1, cut.y2 - region.y1};
  return true;
}

}  // namespace detail

TENON_INLINE std::string json_string(std::string_view text) {
  std::string out = "\"";
  while (!text.empty()) {
    const std::size_t length = detail::utf8_length(text);
    const auto first = static_cast<unsigned char>(text[0]);
    if (length == 0) {
      out += "\\ufffd";
    } else if (first == '"' || first == '\\') {
      out += '\\', out += text[0];
    } else if (first < 0x20) {
      constexpr char kDigits[] = "0123456789abcdef";
      out += "\\u00", out += kDigits[first >> 4], out += kDigits[first & 15];
    } else {
      out += text.substr(0, length);
    }
    text.remove_prefix(std::max<std::size_t>(length, 1));
  }
  return out + "\"";
}

TENON_INLINE std::string Detection::json() const {
  std::string text = "\"box\":" + detail::json_box(box) + ",\"label\":" + json_string(label) +
                     ",\"label_id\":" + std::to_string(label_id) + ",\"score\":" + detail::json_number(score);
  if (track_id >= 0) text += ",\"track_id\":" + std::to_string(track_id);
  return text;
}
TENON_INLINE bool Detection::cropped(const Box& region) { return detail::crop_box(box, region); }
TENON_INLINE bool Detection::same_as(const Detection& other) const {
  return label == other.label && label_id == other.label_id && score == other.score &&
         detail::is_near(box, other.box, kSamePx) && (track_id == other.track_id || track_id < 0 || other.track_id < 0);
}
TENON_INLINE bool Detection::join(const Detection& other) {
  if (track_id >= 0 || other.track_id < 0) return false;
  track_id = other.track_id;
  return true;
}

TENON_INLINE std::string Classification::json() const {
  return "\"label\":" + json_string(label) + ",\"label_id\":" + std::to_string(label_id) +
         ",\"score\":" + detail::json_number(score) + ",\"model\":" + json_string(model);
}

TENON_INLINE bool TensorOutput::has_points() const {
  return (format == "keypoints" || format == "polygon") && tensor && tensor.is_host_addressable() &&
         tensor.is_contiguous() && tensor.element_type() == ElementType::kF32 && tensor.shape().size() == 2 &&
         tensor.shape()[1] >= 2;
}

TENON_INLINE TensorOutput TensorOutput::moved(const std::function<void(float& x, float& y)>& move) const {
  TensorOutput made = *this;
  made.tensor = Tensor(tensor.element_type(), tensor.shape());
  tensor.copy_to(made.tensor);
  auto* point = made.tensor.data<float>();
  for (std::size_t i = 0; i < tensor.shape()[0]; ++i, point += tensor.shape()[1]) move(point[0], point[1]);
  return made;
}

TENON_INLINE std::string TensorOutput::json() const {
  std::string text = "\"name\":" + json_string(name) + ",\"model\":" + json_string(model) +
                     ",\"format\":" + json_string(format) + ",\"tensor\":" + detail::json_tensor(tensor);
  if (!has_points()) return text;
  text += ",\"points\":[";
  const auto* number = tensor.data<float>();
  for (std::size_t i = 0; i < tensor.shape()[0]; ++i) {
    text += i ? ",[" : "[";
    for (std::size_t k = 0; k < tensor.shape()[1]; ++k) text += (k ? "," : "") + detail::json_number(*number++);
    text += "]";
  }
  return text + "]";
}

TENON_INLINE bool TensorOutput::cropped(const Box& region) {
  if (has_points()) *this = moved([&](float& x, float& y) { x -= region.x1, y -= region.y1; });
  return true;
}

TENON_INLINE bool TensorOutput::same_as(const TensorOutput& other) const {
  if (name != other.name || model != other.model || format != other.format) return false;
  if (detail::is_same_memory(tensor, other.tensor)) return true;
  if (!has_points() || !other.has_points() || tensor.shape() != other.tensor.shape()) return false;
  const std::size_t count = tensor.shape()[0] * tensor.shape()[1];
  const auto is_near = [](float a, float b) { return a == b || std::abs(a - b) <= Detection::kSamePx; };
  return std::equal(tensor.data<float>(), tensor.data<float>() + count, other.tensor.data<float>(), is_near);
}

TENON_INLINE std::string Segmentation::json() const {
  std::string text = "\"box\":" + detail::json_box(box) + ",\"mask\":" + detail::json_tensor(mask) + ",\"labels\":[";
  for (std::size_t i = 0; i < labels.size(); ++i) text += (i ? "," : "") + json_string(labels[i]);
  return text + "]";
}

TENON_INLINE bool Segmentation::cropped(const Box& region) {
  const Box whole = box;
  if (!detail::crop_box(box, region)) return false;
  if (!mask || mask.shape().size() != 2) return true;
  // Takes the whole cells of the mask that the crop touches; the box covers these cells.
  const double cell_x = (static_cast<double>(whole.x2) - whole.x1) / static_cast<double>(mask.shape()[1]);
  const double cell_y = (static_cast<double>(whole.y2) - whole.y1) / static_cast<double>(mask.shape()[0]);
  const auto cells = [](double from, double to, double cell, std::size_t count) {
    const auto begin = static_cast<std::size_t>(std::max(0.0, std::floor(from / cell + 1e-4)));
    const auto end = std::min(count, static_cast<std::size_t>(std::ceil(to / cell - 1e-4)));
    return std::pair(std::min(begin, end), end);
  };
  const double left = region.x1 - static_cast<double>(whole.x1), top = region.y1 - static_cast<double>(whole.y1);
  const auto [x1, x2] = cells(box.x1 + left, box.x2 + left, cell_x, mask.shape()[1]);
  const auto [y1, y2] = cells(box.y1 + top, box.y2 + top, cell_y, mask.shape()[0]);
  mask = mask.slice({y1, x1}, {y2, x2});
  box = {static_cast<float>(static_cast<double>(x1) * cell_x - left),
         static_cast<float>(static_cast<double>(y1) * cell_y - top),
         static_cast<float>(static_cast<double>(x2) * cell_x - left),
         static_cast<float>(static_cast<double>(y2) * cell_y - top)};
  return true;
}

TENON_INLINE bool Segmentation::same_as(const Segmentation& other) const {
  return labels == other.labels && detail::is_near(box, other.box, Detection::kSamePx) &&
         detail::is_same_memory(mask, other.mask);
}

TENON_INLINE std::string AudioEvent::json() const {
  return "\"label\":" + json_string(label) + ",\"label_id\":" + std::to_string(label_id) +
         ",\"score\":" + detail::json_number(score) + ",\"begin_ns\":" + std::to_string(begin_ns) +
         ",\"end_ns\":" + std::to_string(end_ns);
}

TENON_INLINE std::string Json::json() const { return "\"text\":" + json_string(text); }

TENON_INLINE std::string ReferenceTime::json() const {
  std::string line = "\"clock\":" + json_string(clock) + ",\"time_ns\":" + std::to_string(time_ns);
  if (duration_ns >= 0) line += ",\"duration_ns\":" + std::to_string(duration_ns);
  return line;
}

TENON_INLINE std::string Source::json() const {
  return "\"uri\":" + json_string(uri) + ",\"stream\":" + std::to_string(stream) +
         ",\"sequence\":" + std::to_string(sequence);
}

TENON_INLINE std::string Record::json() const {
  return "\"name\":" + json_string(name) + ",\"text\":" + json_string(text);
}

TENON_INLINE Id Collection::insert(Item item, Id parent) {
  std::unique_lock lock(mutex_);
  if (parent != kFrame && !std::ranges::binary_search(items_, parent, {}, &Item::id))  // Ids ascend.
    throw Error(Code::kInvalidArgument, "metadata " + std::string(item.kind.name()) + ": there is no entry " +
                                            std::to_string(parent) + " that it could belong to");
  item.id = ++last_;
  item.parent = parent;
  items_.push_back(std::move(item));
  return last_;
}

TENON_INLINE bool Collection::exchange(Id id, Item item) {
  std::unique_lock lock(mutex_);
  for (Item& old : items_) {
    if (old.id != id || !(old.kind == item.kind)) continue;
    std::swap(old.value, item.value);
    return true;
  }
  return false;
}

TENON_INLINE bool Collection::remove(Id id) {
  std::vector<Item> gone;  // Destroyed without the lock.
  std::unique_lock lock(mutex_);
  std::vector<Id> doomed{id};
  // Children come after their parents.
  for (auto at = items_.begin(); at != items_.end();) {
    const bool goes = at->id == id || std::find(doomed.begin(), doomed.end(), at->parent) != doomed.end();
    if (!goes || id == kFrame) {
      ++at;
      continue;
    }
    doomed.push_back(at->id);
    gone.push_back(std::move(*at));
    at = items_.erase(at);
  }
  lock.unlock();
  return !gone.empty();
}

TENON_INLINE void Collection::clear() {
  std::vector<Item> gone;
  std::unique_lock lock(mutex_);
  gone.swap(items_);
  lock.unlock();
}

TENON_INLINE std::size_t Collection::size() const {
  std::shared_lock lock(mutex_);
  return items_.size();
}

TENON_INLINE std::string Collection::json() const {
  std::string text = "[";
  std::shared_lock lock(mutex_);
  for (const Item& item : items_) {
    const std::string fields = item.methods->json(item.value.get());
    if (fields.empty()) continue;
    text += (text.size() > 1 ? ",{\"id\":" : "{\"id\":") + std::to_string(item.id);
    if (item.parent != kFrame) text += ",\"parent\":" + std::to_string(item.parent);
    text += ",\"kind\":" + json_string(item.kind.name()) + "," + fields + "}";
  }
  return text + "]";
}

template <typename Change>
std::shared_ptr<Collection> Collection::derived(Change change) const {
  auto made = std::make_shared<Collection>();
  std::shared_lock lock(mutex_);
  made->last_ = last_;
  for (const Item& item : items_) {
    if (item.parent != kFrame && !std::ranges::binary_search(made->items_, item.parent, {}, &Item::id)) continue;
    Item changed = item;
    changed.value = change(item);
    if (changed.value) made->items_.push_back(std::move(changed));
  }
  return made;
}

TENON_INLINE std::shared_ptr<Collection> Collection::cropped(const Box& region) const {
  return derived([&](const Item& item) { return item.methods->crop(item.value, region); });
}

TENON_INLINE std::shared_ptr<Collection> Collection::copy() const {
  return derived([](const Item& item) { return item.value; });
}

TENON_INLINE void Collection::merge(const Collection& other) {
  if (&other == this) return;
  std::shared_lock theirs(other.mutex_);
  const std::vector<Item> all = other.items_;
  theirs.unlock();
  std::vector<Item> replaced;  // Destroyed without the lock.
  std::unique_lock lock(mutex_);
  const std::size_t own = items_.size();
  std::vector<bool> is_taken(own, false);
  std::vector<std::pair<Id, Id>> renamed;  // The other's ids, and those here.
  for (const Item& item : all) {
    const auto parent =
        std::find_if(renamed.begin(), renamed.end(), [&](const auto& one) { return one.first == item.parent; });
    const Id here = item.parent == kFrame ? kFrame : parent == renamed.end() ? kFrame : parent->second;
    const auto is_it = [&](std::size_t i) {
      const Item& known = items_[i];
      return !is_taken[i] && known.parent == here && known.kind == item.kind &&
             item.methods->is_same(known.value.get(), item.value.get());
    };
    // Both went on from one collection, so what they share mostly has one id.
    std::size_t at = 0;
    while (at < own && items_[at].id < item.id) ++at;
    if (at == own || items_[at].id != item.id || !is_it(at)) {
      at = 0;
      while (at < own && !is_it(at)) ++at;
    }
    if (at == own) {
      renamed.emplace_back(item.id, ++last_);
      Item added = item;
      added.id = last_;
      added.parent = here;
      items_.push_back(std::move(added));
      continue;
    }
    is_taken[at] = true;
    renamed.emplace_back(item.id, items_[at].id);
    if (auto more = item.methods->join(items_[at].value.get(), item.value.get())) {
      replaced.push_back(items_[at]);
      items_[at].value = std::move(more);
    }
  }
}

TENON_INLINE Collection& of(Frame& frame) {
  Any& place = frame.metadata()[detail::kKey];
  if (place.empty()) place = std::make_shared<Collection>();
  return *place.as<detail::Held>();
}

TENON_INLINE std::shared_ptr<const Collection> find(const Frame& frame) {
  const AnyMap& map = frame.metadata();
  const auto found = map.find(detail::kKey);
  return found == map.end() || found->second.empty() ? nullptr : found->second.as<detail::Held>();
}

TENON_INLINE void set(Frame& frame, std::shared_ptr<Collection> collection) {
  frame.metadata()[detail::kKey] = std::move(collection);
}

TENON_INLINE std::string json_line(const Frame& frame) {
  std::string text = "{";
  const auto field = [&](std::string_view name, const std::string& value) {
    text += (text.size() > 1 ? "," : "") + json_string(name) + ":" + value;
  };
  if (frame.timestamp_ns() != kNoTimestamp) field("timestamp_ns", std::to_string(frame.timestamp_ns()));
  if (frame.plane_count() != 0) {
    field("format", json_string(to_string(frame.info().format)));
    const FrameInfo& info = frame.info();
    field("width", std::to_string(info.upright_width_px()));
    field("height", std::to_string(info.upright_height_px()));
    if (const unsigned turn = degrees(info.rotation); turn != 0) field("rotation", std::to_string(turn));
    if (is_mirrored(info.rotation)) field("mirrored", "true");
  }
  if (!frame.batch().empty()) {
    std::string frames = "[";
    for (const Frame& each : frame.batch()) frames += (frames.size() > 1 ? "," : "") + json_line(each);
    field("frames", frames + "]");
  }
  const std::shared_ptr<const Collection> known = find(frame);
  field("metadata", known ? known->json() : "[]");
  return text + "}";
}

}  // namespace metadata

TENON_INLINE Frame crop(const Frame& frame, std::uint32_t x, std::uint32_t y, std::uint32_t width,
                        std::uint32_t height) {
  const FrameInfo& info = frame.info();
  const std::string what = "crop of " + std::to_string(width) + "x" + std::to_string(height) + " at " +
                           std::to_string(x) + "," + std::to_string(y) + " px";
  if (frame.plane_count() == 0)
    throw Error(Code::kInvalidArgument, what + ": an empty frame, or a batch; crop its frames one by one");
  if (info.format.modifier != kModifierLinear)
    throw Error(Code::kInvalidArgument, what + " of " + to_string(info.format) + ": its pixels are tiled");
  if (width == 0 || height == 0) throw Error(Code::kInvalidArgument, what + ": it is empty");
  if (std::uint64_t{x} + width > info.width_px || std::uint64_t{y} + height > info.height_px)
    throw Error(Code::kOutOfRange, what + " leaves the picture of " + std::to_string(info.width_px) + "x" +
                                       std::to_string(info.height_px) + " px");
  const PixelFormatInfo& format = format_info(info.format);
  const bool pairs = info.format.fourcc == kYuy2.fourcc || info.format.fourcc == kUyvy.fourcc;
  FrameInfo part = info;
  part.width_px = width;
  part.height_px = height;
  if (format.model == ColourModel::kYuv) {  // Where they are not stated they follow from the size of the whole picture.
    part.colour_space = resolved_colour_space(info);
    part.colour_range = resolved_colour_range(info);
  }
  std::array<Tensor, 4> planes;
  for (std::size_t p = 0; p < format.plane_count; ++p) {
    const std::uint32_t step_x = pairs ? 2 : 1u << format.planes[p].width_shift;
    const std::uint32_t step_y = 1u << format.planes[p].height_shift;
    if (x % step_x != 0 || y % step_y != 0)
      throw Error(Code::kInvalidArgument, what + " of " + to_string(info.format) +
                                              ": its corner lies between two chroma samples; x must be a multiple of " +
                                              std::to_string(step_x) + ", y of " + std::to_string(step_y));
    const PlaneExtent extent = plane_extent(part, p);
    const std::size_t left = pairs ? x : x / step_x, top = y / step_y;
    Shape begin{top, left}, end{top + extent.height_px, left + extent.width_px};
    if (extent.channels != 1) begin.push_back(0), end.push_back(extent.channels);
    planes[p] = frame.plane(p).slice(begin, end);
  }
  Frame made(part, std::vector<Tensor>(planes.begin(), planes.begin() + format.plane_count), frame.timestamp_ns());
  if (!frame.metadata().empty()) {
    made.metadata() = frame.metadata();
    const auto at = [](std::uint32_t value) { return static_cast<float>(value); };
    const Area<float> seen = upright_area<float>({at(x), at(y), at(width), at(height)}, info.rotation,
                                                 at(info.width_px), at(info.height_px));
    if (const auto known = metadata::find(frame))
      metadata::set(made, known->cropped({seen.x, seen.y, seen.x + seen.width, seen.y + seen.height}));
  }
  return made;
}

}  // namespace v1
}  // namespace tenon
