// SPDX-License-Identifier: Apache-2.0
// Compares the features of new tracks with those of known objects.
#include <tenon/vision/gallery.hpp>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>

#include <tenon/core/error.hpp>

namespace tenon {
inline namespace v1 {
namespace vision {
namespace {

template <typename Cameras>
auto& camera_of(Cameras& all, std::uint32_t number) {
  const auto found = all.find(number);
  if (found == all.end())
    throw Error(Code::kNotFound,
                "gallery: there is no camera " + std::to_string(number) + "; add_camera() gives the numbers");
  return found->second;
}

}  // namespace

Gallery::Gallery(const GalleryOptions& options) : options_(options) {
  const auto check = [](float value, const char* name) {
    if (!(value >= 0 && value <= 1))
      throw Error(Code::kInvalidArgument,
                  std::string("gallery: ") + name + " is " + std::to_string(value) + "; expected 0 to 1");
  };
  check(options.threshold, "threshold");
  check(options.momentum, "momentum");
  if (options.most == 0) throw Error(Code::kInvalidArgument, "gallery: it has no room for an object");
}

std::uint32_t Gallery::add_camera() {
  const std::lock_guard lock(mutex_);
  cameras_.emplace(++last_camera_, Camera());
  return last_camera_;
}

void Gallery::remove_camera(std::uint32_t camera) {
  const std::lock_guard lock(mutex_);
  cameras_.erase(camera);
}

Gallery::Object* Gallery::object(std::int64_t id) {
  const auto found = std::find_if(objects_.begin(), objects_.end(), [id](const Object& one) { return one.id == id; });
  return found == objects_.end() ? nullptr : &*found;
}

template <typename IsGone>
void Gallery::forget(IsGone is_gone) {
  if (std::erase_if(objects_, is_gone) == 0) return;
  for (auto& [number, camera] : cameras_)
    std::erase_if(camera, [this](const auto& known) { return !object(known.second); });
}

/// Reads features to row_. @return Whether they say something.
bool Gallery::read(std::span<const float> features) {
  const float square = std::inner_product(features.begin(), features.end(), features.begin(), 0.0f);
  if (!(square > 0) || !std::isfinite(square)) return false;
  if (!objects_.empty() && row_.size() != features.size())
    throw Error(Code::kInvalidArgument, "gallery: features of " + std::to_string(features.size()) +
                                            " numbers, and those of its objects have " + std::to_string(row_.size()) +
                                            "; cameras that share a gallery need the same model");
  row_.assign(features.begin(), features.end());
  for (float& value : row_) value /= std::sqrt(square);
  return true;
}

void Gallery::learn(Object& object, Clock::time_point now) {
  object.seen = std::max(object.seen, now);
  float square = 0;
  for (std::size_t i = 0; i < row_.size(); ++i) {
    float& value = object.features[i];
    value = options_.momentum * value + (1 - options_.momentum) * row_[i];
    square += value * value;
  }
  if (!(square > 0)) return;
  for (float& value : object.features) value /= std::sqrt(square);
}

/// Adds an object for row_.
void Gallery::add(const Seen& one, Clock::time_point now, std::int64_t id) {
  if (objects_.size() == options_.most) {
    const auto oldest = std::min_element(objects_.begin(), objects_.end(),
                                         [](const Object& a, const Object& b) { return a.seen < b.seen; });
    forget([gone = oldest->id](const Object& known) { return known.id == gone; });
  }
  objects_.push_back({id, one.label_id, now, row_});
}

/// Gives the tracks that have no id the nearest objects that the picture does not show, the nearest pair first, or new ones.
void Gallery::know_new(Camera& camera, Clock::time_point now, std::span<const Seen> seen,
                       std::vector<std::int64_t>& ids) {
  const auto is_shown = [&](std::int64_t id) { return std::find(ids.begin(), ids.end(), id) != ids.end(); };
  pairs_.clear();
  for (std::size_t i = 0; i < seen.size(); ++i) {
    if (ids[i] >= 0 || !read(seen[i].features)) continue;
    for (const Object& one : objects_) {
      if (one.label_id != seen[i].label_id || is_shown(one.id)) continue;
      const float distance = (1 - std::inner_product(row_.begin(), row_.end(), one.features.begin(), 0.0f)) / 2;
      if (distance <= options_.threshold) pairs_.push_back({distance, i, one.id});
    }
  }
  std::sort(pairs_.begin(), pairs_.end(), [](const Pair& a, const Pair& b) { return a.distance < b.distance; });
  for (const Pair& pair : pairs_)
    if (ids[pair.track] < 0 && !is_shown(pair.id)) ids[pair.track] = pair.id;
  for (std::size_t i = 0; i < seen.size(); ++i) {
    if (camera.contains(seen[i].track) || !read(seen[i].features)) continue;
    if (Object* const known = ids[i] < 0 ? nullptr : object(ids[i]))
      learn(*known, now);
    else
      add(seen[i], now, ids[i] = ++last_id_);
    // A track of this camera that had the id and is missing is compared again when it comes back.
    std::erase_if(camera, [id = ids[i]](const auto& one) { return one.second == id; });
    camera[seen[i].track] = ids[i];
  }
}

void Gallery::find(std::uint32_t camera, Clock::time_point now, std::span<const Seen> seen,
                   std::vector<std::int64_t>& ids) {
  const std::lock_guard lock(mutex_);
  Camera& own = camera_of(cameras_, camera);
  forget([&](const Object& one) { return now - one.seen > options_.keep; });
  ids.assign(seen.size(), -1);
  for (std::size_t i = 0; i < seen.size(); ++i) {
    const bool says = read(seen[i].features);
    const auto known = own.find(seen[i].track);
    if (known == own.end()) continue;
    ids[i] = known->second;
    Object& one = *object(ids[i]);
    one.seen = std::max(one.seen, now);
    if (says) learn(one, now);
  }
  know_new(own, now, seen, ids);
}

std::int64_t Gallery::id_of(std::uint32_t camera, std::int64_t track) const {
  const std::lock_guard lock(mutex_);
  const Camera& ids = camera_of(cameras_, camera);
  const auto found = ids.find(track);
  return found == ids.end() ? -1 : found->second;
}

std::size_t Gallery::size() const {
  const std::lock_guard lock(mutex_);
  return objects_.size();
}

}  // namespace vision
}  // namespace v1
}  // namespace tenon
