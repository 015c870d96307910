// SPDX-License-Identifier: Apache-2.0
// The transform "turn": turns and mirrors pictures, and all that metadata say of places in them.
#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <tenon/core/error.hpp>
#include <tenon/core/metadata.hpp>
#include <tenon/core/orientation.hpp>
#include <tenon/core/upright.hpp>
#include <tenon/core/zones.hpp>
#include <tenon/elements/internal/turned_frames.hpp>
#include <tenon/elements/moved_places.hpp>
#include <tenon/elements/overlay/known.hpp>
#include <tenon/elements/picture_change.hpp>
#include <tenon/elements/places.hpp>

namespace tenon {
inline namespace v1 {
namespace elements {
namespace overlay {
namespace {

Rotation change_from(const Parameters& given) {
  const std::string& flip = given.text("flip");
  const Rotation flipped = flip == "none"         ? Rotation::kNone
                           : flip == "horizontal" ? Rotation::kMirrored
                                                  : Rotation::kMirrored180;  // Upside down, seen in a mirror.
  const std::int64_t degrees = given.integer("degrees");
  if (degrees % 90 != 0)
    throw Error(Code::kInvalidArgument, given.owner() + ": parameter 'degrees' is " + std::to_string(degrees) +
                                            "; it must be 0, 90, 180 or 270");
  return then(flipped, static_cast<Rotation>(degrees / 90));
}

/// The formats of which a picture can be turned by pixels.
std::vector<PixelFormat> turned_formats() {
  std::vector<PixelFormat> all = convertible_formats();
  std::erase_if(all, [](PixelFormat format) { return !turns_into_itself(format); });
  return all;
}

/// The same planes as a picture that is stored upright.
Frame said_to_be_upright(const Frame& frame) {
  FrameInfo info = frame.info();
  info.rotation = Rotation::kNone;
  Frame upright(info, std::vector<Tensor>(frame.planes().begin(), frame.planes().end()));
  upright.set_timestamp_ns(frame.timestamp_ns());
  if (!frame.metadata().empty()) upright.metadata() = frame.metadata();
  return upright;
}

class Turn final : public Transform {
 public:
  Turn(const Parameters& given, const Environment& environment)
      : change_(change_from(given)), results_(given.owner(), *environment.ledger) {}

  Requirements wanted(const StreamInfo&) const override {
    Requirements host;
    host.host_access = true;
    return host;
  }
  StreamInfo open(std::uint32_t, const StreamInfo& in) override {
    StreamInfo changed = in;
    changed.frame.rotation = then(in.frame.rotation, change_);
    return results_.upright(changed);
  }
  void allocate(std::uint32_t, const Requirements& wanted, std::span<const Party> readers) override {
    results_.allocate(wanted, readers);
  }

  void process(Item item, Output& output) override {
    const Rotation all = then(item.frame.info().rotation, change_);
    if (all == Rotation::kNone && change_ == Rotation::kNone) return output.emit(std::move(item));
    const Frame& before = item.frame;
    Frame to = all == Rotation::kNone ? said_to_be_upright(before) : results_.copied(before, all);
    if (const auto known = metadata::find(before); known && change_ != Rotation::kNone)
      metadata::set(to, moved(*known, before.info()));
    output.emit({item.stream, std::move(to), {}, item.born});
  }
  void interrupt() noexcept override { results_.interrupt(); }

 private:
  /// Places refer to the upright picture, so only the change that was asked for moves them.
  std::shared_ptr<metadata::Collection> moved(const metadata::Collection& known, const FrameInfo& before) const {
    const auto width = static_cast<float>(before.upright_width_px()),
               height = static_cast<float>(before.upright_height_px());
    std::shared_ptr<metadata::Collection> all = known.copy();
    keep_placement(*all, before);
    move_places(*all, [&](float& x, float& y) {
      const Area<float> to = upright_area<float>({x, y, 0, 0}, change_, width, height);
      x = to.x, y = to.y;
    });
    turn_contents(*all, change_);
    return all;
  }

  const Rotation change_;
  TurnedFrames results_;
};

}  // namespace

KnownElement turn() {
  Description made;
  made.name = "turn";
  made.about =
      "Turns and mirrors pictures with all objects in them; pictures that are stored sideways are stored upright, also "
      "without any parameter";
  made.role = Role::kTransform;
  made.formats = turned_formats();
  made.parameters = {{"degrees", "By how much the upright picture is turned clockwise: 0, 90, 180 or 270",
                      std::int64_t{0}, false, 0, 270},
                     choice("flip", "Mirrors the upright picture before it is turned: left to right, or upside down",
                            "none", {"none", "horizontal", "vertical"})};
  return {made, [](const Parameters& given, const Environment& environment) -> AnyElement {
            return std::make_unique<Turn>(given, environment);
          }};
}

}  // namespace overlay
}  // namespace elements
}  // namespace v1
}  // namespace tenon
