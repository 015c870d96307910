// SPDX-License-Identifier: Apache-2.0
// The transform "analytics": counts the objects of one stream in zones, at lines and in directions.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <tenon/core/stream_time.hpp>
#include <tenon/elements/description.hpp>
#include <tenon/elements/element.hpp>
#include <tenon/elements/parameters.hpp>
#include <tenon/vision/zones.hpp>

namespace tenon {
inline namespace v1 {
namespace elements {
namespace analysis {

/// The rules that parameters and their file give. @errors kInvalidArgument: the message names the place in the text; kNotFound: the file
std::vector<vision::ZoneRule> rules_of(const Parameters& given);

class Analytics final : public TransformInplace {
 public:
  explicit Analytics(const Parameters& given);
  StreamInfo open(std::uint32_t stream, const StreamInfo& in) override;
  void process(std::uint32_t stream, Frame& frame) override;

  static KnownElement element();

 private:
  void fit(const FrameInfo& info);

  const std::string owner_;
  const bool are_fractions_;
  vision::ZoneWatch watch_;
  std::uint32_t width_px_ = 1, height_px_ = 1;  ///< The picture that the rules are for.
  bool has_fitted_ = false;
  StreamTime time_;
  std::int64_t step_ns_ = 0;
  std::vector<vision::ZoneWatch::Object> objects_;
};

}  // namespace analysis
}  // namespace elements
}  // namespace v1
}  // namespace tenon
