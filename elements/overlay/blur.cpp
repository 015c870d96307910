// SPDX-License-Identifier: Apache-2.0
// The transform "blur": makes objects unrecognisable.
#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <tenon/core/frame_layout.hpp>
#include <tenon/core/metadata.hpp>
#include <tenon/elements/internal/text.hpp>
#include <tenon/elements/overlay/known.hpp>
#include <tenon/elements/overlay/writable.hpp>
#include <tenon/vision/hide.hpp>

namespace tenon {
inline namespace v1 {
namespace elements {
namespace overlay {
namespace {

EdgeId hidden_edge() {
  static const EdgeId edge = register_edge("frame->hidden");
  return edge;
}

class Blur final : public TransformInplace {
 public:
  Blur(const Parameters& given, const Environment& environment)
      : labels_(split(given.text("labels"), ',')),
        grow_(static_cast<float>(given.number("grow"))),
        hold_(static_cast<std::uint32_t>(given.integer("hold"))),
        hider_(
            {static_cast<int>(given.integer("cells")), given.text("how") == "blur", given.text("shape") == "ellipse"}),
        writable_(environment.ledger, hidden_edge()) {}

  StreamInfo open(std::uint32_t, const StreamInfo& in) override {
    places_.clear();
    return in;
  }

  void process(std::uint32_t, Frame& frame) override {
    std::erase_if(places_, [](Place& place) { return place.frames_left-- == 0; });
    if (const auto known = metadata::find(frame)) {
      for (const auto& object : known->all<metadata::Detection>())
        if (is_meant(object->label)) places_.push_back({object->box, hold_});
    }
    if (places_.empty()) return;
    frame = writable_.of(frame);
    for (const Place& place : places_) {
      const auto near = [](float value) { return std::clamp(value, -1e6f, 1e6f); };
      const metadata::Box box{near(place.box.x1), near(place.box.y1), near(place.box.x2), near(place.box.y2)};
      const float wide = (box.x2 - box.x1) * grow_, high = (box.y2 - box.y1) * grow_;
      hider_.hide(frame, {box.x1 - wide, box.y1 - high, box.x2 + wide, box.y2 + high});
    }
  }
  void interrupt() noexcept override { writable_.interrupt(); }

 private:
  struct Place {
    metadata::Box box;
    std::uint32_t frames_left = 0;
  };

  bool is_meant(const std::string& label) const {
    return labels_.empty() || std::find(labels_.begin(), labels_.end(), label) != labels_.end();
  }

  const std::vector<std::string> labels_;
  const float grow_;
  const std::uint32_t hold_;
  vision::Hider hider_;
  WritableFrames writable_;
  std::vector<Place> places_;  ///< Where objects are, and where they were in the last frames.
};

}  // namespace

KnownElement blur() {
  Description made;
  made.name = "blur";
  made.about = "Makes objects unrecognisable in the frame, or in a copy if others use the frame";
  made.role = Role::kTransformInplace;
  made.formats = readable_formats();
  made.parameters = {
      {"labels", "Hides only objects with these labels, separated by commas; empty: all", std::string()},
      choice("how", "blur: a smooth picture of means; pixelate: squares of one colour", "blur", {"blur", "pixelate"}),
      choice("shape", "Hides the box of the object, or the ellipse in it", "box", {"box", "ellipse"}),
      {"cells", "Means that are left along the longer side of an object", std::int64_t{8}, false, 1, 256},
      {"grow", "Part of its size by which the object's box grows on each side", 0.1, false, 0, 10},
      {"hold", "Frames for which the place of an object stays hidden after it, in case that a model misses the object",
       std::int64_t{2}, false, 0, 10000}};
  return {made, [](const Parameters& given, const Environment& environment) -> AnyElement {
            return std::make_unique<Blur>(given, environment);
          }};
}

}  // namespace overlay
}  // namespace elements
}  // namespace v1
}  // namespace tenon
