// SPDX-License-Identifier: Apache-2.0
// The transform "regions": adds objects to frames that no model found, fixed ones or those of a file by time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include <tenon/core/metadata.hpp>
#include <tenon/elements/description.hpp>
#include <tenon/elements/element.hpp>
#include <tenon/elements/parameters.hpp>

namespace tenon {
inline namespace v1 {
namespace elements {
namespace analysis {

class Regions final : public TransformInplace {
 public:
  explicit Regions(const Parameters& given);
  StreamInfo open(std::uint32_t stream, const StreamInfo& in) override;
  void process(std::uint32_t stream, Frame& frame) override;

  static KnownElement element();

 private:
  struct Region {
    metadata::Detection object;
    double from_s = 0, to_s = std::numeric_limits<double>::infinity();
  };
  /// The objects of one line of the file, and the size of the picture that they lie in; 0: not said.
  struct Line {
    std::int64_t time_ns = kNoTimestamp;
    double width = 0, height = 0;
    std::vector<metadata::Detection> objects;
  };

  void read_boxes(const std::string& text);
  void read_lines(const std::string& path);
  const Line* line_for(std::int64_t time_ns);
  static void add(Frame& frame, const metadata::Detection& object, double by_x, double by_y);

  const std::string owner_;
  const bool are_fractions_, by_order_, loops_;
  const double within_s_;
  std::vector<Region> regions_;
  std::vector<Line> lines_;  ///< In order of their times; with by_order_, as in the file.
  std::size_t next_ = 0;     ///< With by_order_: the line for the next frame.
};

}  // namespace analysis
}  // namespace elements
}  // namespace v1
}  // namespace tenon
