// SPDX-License-Identifier: Apache-2.0
// The detections that a model finds in the frames of one input.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <tenon/core/frame.hpp>
#include <tenon/core/pixel_format.hpp>
#include <tenon/graph/model.hpp>
#include <tenon/runtime/infer_request.hpp>
#include <tenon/vision/decode.hpp>
#include <tenon/vision/ground_truth.hpp>

#include <tenon/tools/tenon/commands/run_options.hpp>

namespace tenon::tool {

/// Detections of each frame, for drawing and for measuring. @thread one at a time.
class Results {
 public:
  /// @errors as read_ground_truth()
  Results(const RunOptions& options, std::shared_ptr<const Model> model);

  /// @errors kInvalidArgument: the ground truth belongs to another video; errors of decode_options().
  void prepare(const FrameInfo& info);
  /// Whether the model says what its outputs mean.
  bool decodes() const { return shown_.has_value(); }
  void collect(const Frame& frame, InferRequest& request);

  const std::vector<vision::Detection>& found() const { return found_; }
  std::uint64_t total() const { return total_; }
  std::optional<vision::MeanPrecision> precision() const;
  /// A summary, for example "7 detections: circle 3, star 2".
  std::string note() const;

 private:
  const RunOptions& options_;
  std::shared_ptr<const Model> model_;
  std::optional<vision::GroundTruth> truth_;
  std::map<int, int> label_ids_;
  FrameInfo info_;
  std::optional<vision::Decoder> shown_, measured_;
  vision::PrecisionMeter meter_;
  std::vector<vision::Detection> found_;
  std::size_t index_ = 0;
  std::uint64_t total_ = 0;
};

}  // namespace tenon::tool
