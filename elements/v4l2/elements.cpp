// SPDX-License-Identifier: Apache-2.0
// The source "camera": the driver writes into the memory from which the readers read.
#include <tenon/elements/v4l2/elements.hpp>

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include <tenon/core/error.hpp>
#include <tenon/elements/parameters.hpp>
#include <tenon/elements/places.hpp>
#include <tenon/frameworks/v4l2/v4l2.hpp>

namespace tenon {
inline namespace v1 {
namespace elements {
namespace v4l2 {
namespace {

namespace cameras = tenon::v4l2;

class CameraSource final : public Source {
 public:
  CameraSource(const Parameters& given, const Environment& environment) : path_(given.text("device")) {
    options_.ledger = environment.ledger;
    options_.buffers = static_cast<std::uint32_t>(given.integer("buffers"));
    options_.format.width_px = static_cast<std::uint32_t>(given.integer("width"));
    options_.format.height_px = static_cast<std::uint32_t>(given.integer("height"));
    options_.format.fps = given.number("fps");
    if (given.integer("input") >= 0) options_.input = static_cast<std::uint32_t>(given.integer("input"));
    if (const std::string& name = given.text("format"); !name.empty()) {
      const auto format = format_from_name(name);
      if (!format)
        throw Error(Code::kInvalidArgument, given.owner() + ": there is no format '" + name +
                                                "'; nv12, yuy2, i420, rgb, bgr and gray8 are usual ones");
      options_.format.format = *format;
    }
  }

  StreamInfo open(Deadline) override {
    camera_.reset();  // A device can only be open once.
    camera_.emplace(path_, options_);
    return {camera_->info(), camera_->fps(), true};
  }

  void allocate(const Requirements& wanted, std::span<const Party> readers) override {
    if (readers.empty()) return;
    const Context driver = cameras::context(path_);
    try {
      camera_->use_pool(plan_frames(driver, camera_->info(), Wanted(wanted, readers)));
    } catch (const Error& error) {
      if (error.code() != Code::kFailedPrecondition && error.code() != Code::kUnimplemented) throw;
      // The driver only takes memory of its own. Other frameworks read that in place if the driver exports its buffers.
      camera_->use_pool({}, driver);
    }
  }

  std::optional<Frame> read(Deadline deadline) override { return camera_->read(deadline); }

  SourceReport report() const override {
    SourceReport told;
    if (!camera_) return told;
    const std::string path = camera_->path();  // "YUYV -> v4l2(mmap)"
    const std::size_t arrow = path.find(" -> ");
    told.arrives_as = path.substr(0, arrow);
    told.lies_in = path.substr(arrow + 4);
    told.lost = camera_->lost_frames();
    told.damaged = camera_->damaged_frames();
    return told;
  }

 private:
  const std::string path_;
  cameras::Options options_;
  std::optional<cameras::Camera> camera_;
};

}  // namespace

std::vector<KnownElement> elements() {
  return {
      {{"camera",
        "Captures pictures from a camera or capture card, into memory that the driver and all readers share. Use "
        "'file' for a device that sends compressed pictures",
        Role::kSource,
        {{"device", "Device node; v4l2-ctl --list-devices lists them", std::string("/dev/video0")},
         {"format", "Pixel format (nv12, yuy2...); empty: the driver's present one", std::string()},
         {"width", "Width in pixels; 0: the driver's present one", std::int64_t{0}, false, 0, 65535},
         {"height", "Height in pixels; 0: the driver's present one", std::int64_t{0}, false, 0, 65535},
         {"fps", "Pictures per second; 0: the driver's present rate", 0.0, false, 0, 10000},
         {"input", "Input connector of a capture card; -1: the driver's present one", std::int64_t{-1}, false, -1,
          1000},
         {"buffers", "Pictures in flight, at the driver and in the pipeline together", std::int64_t{8}, false, 2, 32}}},
       [](const Parameters& given, const Environment& environment) -> AnyElement {
         return std::make_unique<CameraSource>(given, environment);
       }}};
}

}  // namespace v4l2
}  // namespace elements
}  // namespace v1
}  // namespace tenon
