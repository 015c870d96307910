// SPDX-License-Identifier: Apache-2.0
// The transform "track": gives the objects of one stream the ids of a tracker.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include <tenon/elements/element.hpp>
#include <tenon/elements/parameters.hpp>
#include <tenon/vision/tracker.hpp>

namespace tenon {
inline namespace v1 {
namespace elements {
namespace analysis {

class Track final : public TransformInplace {
 public:
  explicit Track(const Parameters& given);
  StreamInfo open(std::uint32_t stream, const StreamInfo& in) override;
  void process(std::uint32_t stream, Frame& frame) override;

 private:
  void add_expected(Frame& frame);

  vision::Tracker tracker_;
  std::vector<vision::Detection> objects_;
  std::map<std::int64_t, std::string> labels_;  ///< By id, in the last frame that a model looked at.
};

}  // namespace analysis
}  // namespace elements
}  // namespace v1
}  // namespace tenon
