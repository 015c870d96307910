// SPDX-License-Identifier: Apache-2.0
// From candidates to the objects of a frame.
#include <cmath>
#include <string>
#include <utility>

#include <tenon/vision/internal/finish.hpp>
#include <tenon/vision/internal/reading.hpp>
#include <tenon/vision/internal/scores.hpp>
#include <tenon/vision/internal/suppression.hpp>

namespace tenon {
inline namespace v1 {
namespace vision {
namespace {

bool is_sound(const Candidate& candidate, bool has_box) {
  const Box& b = candidate.box;
  if (candidate.label_id < 0 || !std::isfinite(candidate.score)) return false;
  return !has_box || (std::isfinite(b.x1 + b.y1 + b.x2 + b.y2) && b.width() > 0 && b.height() > 0);
}

}  // namespace

bool find_objects(ObjectDecoder& decoder, const DecodeOptions& options, std::span<const Tensor> outputs,
                  std::vector<Candidate>& found) {
  found.clear();
  const bool is_suppressed = decoder.find(options, outputs, found);
  const bool has_boxes = decoder.has_boxes();
  std::erase_if(found, [&](const Candidate& candidate) { return !is_sound(candidate, has_boxes); });
  check_scores(options.model_type, found);
  return decoder.keep(options, is_suppressed, found);
}

Box place_of(const ObjectDecoder& decoder, const DecodeOptions& options, const Candidate& candidate) {
  if (decoder.has_boxes()) return clipped(options, to_frame(options, candidate.box));
  if (options.frame_width == 0) return candidate.box;
  return {0, 0, static_cast<float>(options.frame_width), static_cast<float>(options.frame_height)};
}

bool ObjectDecoder::keep(const DecodeOptions& options, bool is_suppressed, std::vector<Candidate>& found) {
  if (!has_boxes()) return keep_best(found, options.top_k, never_suppresses, always_counts);
  // Whole boxes suppress each other, as in the models' own programs. Those outside of the picture do not count among the best.
  const auto is_visible = [&](const Candidate& candidate) {
    const Box box = clipped(options, to_frame(options, candidate.box));
    return box.width() > 0 && box.height() > 0;
  };
  return is_suppressed ? keep_best(found, options.top_k, never_suppresses, is_visible)
                       : keep_best(found, options.top_k, overlaps_more_than(options.iou_threshold), is_visible);
}

void ObjectDecoder::describe(const DecodeOptions&, const Candidate&, const ResultTarget&, metadata::Id) {}

bool ObjectDecoder::read(const DecodeOptions& options, std::span<const Tensor> outputs, const ResultTarget& target) {
  const bool is_cut = find_objects(*this, options, outputs, found_);
  for (const Candidate& candidate : found_) {
    std::string label = label_of(options, static_cast<std::size_t>(candidate.label_id));
    if (!has_boxes()) {
      target.into.add(metadata::Classification{std::move(label), candidate.label_id, candidate.score, target.model},
                      target.parent);
      continue;
    }
    const Box box = place_of(*this, options, candidate);
    const metadata::Id object = target.into.add(
        metadata::Detection{
            {box.x1, box.y1, box.x2, box.y2}, std::move(label), candidate.label_id, candidate.score, -1},
        target.parent);
    describe(options, candidate, target, object);
  }
  // Labels that exclude each other are ranked, and only the first ones are asked for.
  return is_cut && (has_boxes() || options.multi_label);
}

}  // namespace vision
}  // namespace v1
}  // namespace tenon
