// SPDX-License-Identifier: Apache-2.0
// The transform "motion": adds the regions in which something moves.
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include <tenon/core/frame_layout.hpp>
#include <tenon/core/metadata.hpp>
#include <tenon/elements/analysis/known.hpp>
#include <tenon/elements/places.hpp>
#include <tenon/vision/motion.hpp>

namespace tenon {
inline namespace v1 {
namespace elements {
namespace analysis {
namespace {

vision::MotionOptions motion_options(const Parameters& given) {
  const auto share = [&](const char* name) { return static_cast<float>(given.number(name)); };
  const auto count = [&](const char* name) { return static_cast<std::uint32_t>(given.integer(name)); };
  vision::MotionOptions options;
  options.width_px = count("width");
  options.block_px = count("block_size");
  options.block_share = share("motion_threshold");
  options.pixel_difference = share("pixel_diff_threshold");
  options.learning = share("learning");
  options.confirm_pictures = count("confirm_frames");
  options.min_persistence = count("min_persistence");
  options.max_missing = count("max_miss");
  options.iou_threshold = share("iou_threshold");
  options.smoothing = share("smooth_alpha");
  options.min_area = share("min_rel_area");
  return options;
}

class Motion final : public TransformInplace {
 public:
  Motion(const Parameters& given, const Environment& environment)
      : label_(given.text("label")), detector_(motion_options(given)), host_(environment.ledger) {}

  Requirements wanted(const StreamInfo&) const override {
    Requirements host;
    host.host_access = true;
    return host;
  }
  StreamInfo open(std::uint32_t, const StreamInfo& in) override {
    detector_.reset();
    return in;
  }
  void process(std::uint32_t, Frame& frame) override {
    for (const vision::Box& box : detector_.update(host_.map(frame)))
      metadata::of(frame).add(metadata::Detection{{box.x1, box.y1, box.x2, box.y2}, label_, -1, 1, -1});
  }

 private:
  const std::string label_;
  vision::MotionDetector detector_;
  HostFrames host_;
};

}  // namespace

KnownElement motion() {
  const vision::MotionOptions usual;
  const auto share = [](float value) { return std::stod(std::to_string(value)); };
  Description made;
  made.name = "motion";
  made.about =
      "Adds the regions in which something moves as objects, by the luma of a small picture and its background";
  made.role = Role::kTransformInplace;
  made.formats = readable_formats();
  made.parameters = {
      {"block_size", "Side of a square block in pixels", std::int64_t{usual.block_px}, false, 2, 4096},
      {"motion_threshold", "Share of a block's pixels that must have changed", share(usual.block_share), false, 0, 1},
      {"pixel_diff_threshold", "Levels (of 255) by which a pixel must differ from the background to have changed",
       share(usual.pixel_difference), false, 0, 255},
      {"learning", "How much of a new picture goes into the background; 1: the background is the picture before",
       share(usual.learning), false, 0, 1},
      {"confirm_frames", "Consecutive frames in which a block must have changed", std::int64_t{usual.confirm_pictures},
       false, 1, 10000},
      {"min_persistence", "Frames in which a region must have been found before it is added",
       std::int64_t{usual.min_persistence}, false, 1, 10000},
      {"max_miss", "Frames for which a region is still added after it was found last", std::int64_t{usual.max_missing},
       false, 0, 10000},
      {"iou_threshold", "Minimum overlap (IoU) with the same region in the frame before", share(usual.iou_threshold),
       false, 0, 1},
      {"smooth_alpha", "How much of a region's new box goes into the one that is added", share(usual.smoothing), false,
       0, 1},
      {"min_rel_area", "Minimum share of the picture's area that a region covers", share(usual.min_area), false, 0, 1},
      {"width", "Maximum width of the small picture in pixels", std::int64_t{usual.width_px}, false, 16, 4096},
      {"label", "Label of the objects", std::string("motion")}};
  return {made, [](const Parameters& given, const Environment& environment) -> AnyElement {
            return std::make_unique<Motion>(given, environment);
          }};
}

}  // namespace analysis
}  // namespace elements
}  // namespace v1
}  // namespace tenon
