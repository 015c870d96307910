// SPDX-License-Identifier: Apache-2.0
// The transform "track": gives the objects of one stream the ids of a tracker.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <tenon/core/metadata.hpp>
#include <tenon/elements/element.hpp>
#include <tenon/elements/parameters.hpp>
#include <tenon/elements/places.hpp>
#include <tenon/vision/camera_motion.hpp>
#include <tenon/vision/gallery.hpp>
#include <tenon/vision/tracker.hpp>

namespace tenon {
inline namespace v1 {
namespace elements {
namespace analysis {

class Track final : public TransformInplace {
 public:
  Track(const Parameters& given, const Environment& environment);
  ~Track() override;
  Requirements wanted(const StreamInfo& in) const override;
  StreamInfo open(std::uint32_t stream, const StreamInfo& in) override;
  void process(std::uint32_t stream, Frame& frame) override;

 private:
  void add_expected(Frame& frame);
  /// The ids over cameras of the objects, -1 for those that have none yet. @param ids  Those of this camera alone.
  std::span<const std::int64_t> over_cameras(std::span<const std::int64_t> ids, const vision::Appearance& looks);
  void leave_gallery();
  vision::Appearance looks_of(Frame& frame, const metadata::Collection& known,
                              const std::vector<metadata::Entry<metadata::Detection>>& objects);

  const std::string owner_;
  const std::vector<std::string> wanted_labels_;  ///< Empty: all.
  const bool has_appearance_, takes_raw_, follows_camera_;
  vision::Tracker tracker_;
  vision::CameraMotion camera_;
  HostFrames host_;
  std::vector<float> looks_;
  int unlike_ = 0;  ///< Frames with objects in which none had an embedding, up to the first one that had.
  std::vector<vision::Detection> objects_;
  const std::shared_ptr<vision::Gallery> gallery_;  ///< Null: ids are those of the camera.
  std::uint32_t camera_number_ = 0;                 ///< In the gallery; 0: none.
  std::vector<vision::Gallery::Seen> seen_;
  std::vector<std::int64_t> known_, over_cameras_;
  std::map<std::int64_t, std::string> labels_;  ///< By id, in the last frame that a model looked at.
};

}  // namespace analysis
}  // namespace elements
}  // namespace v1
}  // namespace tenon
