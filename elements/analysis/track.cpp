// SPDX-License-Identifier: Apache-2.0
// Passes detections from the metadata to the tracker, and its ids back.
#include <tenon/elements/analysis/track.hpp>

#include <algorithm>

#include <tenon/core/metadata.hpp>

namespace tenon {
inline namespace v1 {
namespace elements {
namespace analysis {
namespace {

vision::TrackerOptions options_from(const Parameters& given) {
  vision::TrackerOptions options;
  options.iou_threshold = static_cast<float>(given.number("iou"));
  options.confidence_threshold = static_cast<float>(given.number("confidence"));
  options.keep_pictures = static_cast<std::uint32_t>(given.integer("keep"));
  options.confirm_pictures = static_cast<std::uint32_t>(given.integer("confirm"));
  options.across_labels = given.flag("across_labels");
  return options;
}

}  // namespace

Track::Track(const Parameters& given) : tracker_(options_from(given)) {}

StreamInfo Track::open(std::uint32_t, const StreamInfo& in) {
  tracker_.reset();
  labels_.clear();
  return in;
}

/// Objects at the places where they are expected, as far as these lie in the picture.
void Track::add_expected(Frame& frame) {
  const auto width = static_cast<float>(frame.info().upright_width_px());
  const auto height = static_cast<float>(frame.info().upright_height_px());
  for (const vision::Tracker::Expected& object : tracker_.skip()) {
    const metadata::Box box{std::clamp(object.box.x1, 0.0f, width), std::clamp(object.box.y1, 0.0f, height),
                            std::clamp(object.box.x2, 0.0f, width), std::clamp(object.box.y2, 0.0f, height)};
    if (!(box.x2 > box.x1) || !(box.y2 > box.y1)) continue;
    metadata::of(frame).add(metadata::Detection{box, labels_[object.id], object.label_id, object.score, object.id});
  }
}

void Track::process(std::uint32_t, Frame& frame) {
  const auto known = metadata::find(frame);
  if (!known) {
    tracker_.update({});
    return;
  }
  const auto entries = known->all<metadata::Detection>();
  if (entries.empty() && known->first<metadata::NotLookedAt>()) return add_expected(frame);
  objects_.resize(entries.size());
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const metadata::Box& box = entries[i]->box;
    objects_[i].box = {box.x1, box.y1, box.x2, box.y2};
    objects_[i].label_id = entries[i]->label_id;
    objects_[i].score = entries[i]->score;
  }
  const auto ids = tracker_.update(objects_);
  metadata::Collection& results = metadata::of(frame);
  labels_.clear();
  for (std::size_t i = 0; i < entries.size(); ++i) {
    if (ids[i] < 0) continue;
    labels_[ids[i]] = entries[i]->label;
    metadata::Detection found = *entries[i].value;
    found.track_id = ids[i];
    results.replace(entries[i].id, std::move(found));
  }
}

}  // namespace analysis
}  // namespace elements
}  // namespace v1
}  // namespace tenon
