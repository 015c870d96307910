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
#include <tenon/core/metadata.hpp>
#include <tenon/core/pixel_format.hpp>
#include <tenon/graph/model.hpp>
#include <tenon/runtime/infer_request.hpp>
#include <tenon/vision/decode.hpp>
#include <tenon/vision/ground_truth.hpp>
#include <tenon/vision/results.hpp>

#include <tenon/tools/tenon/commands/run_options.hpp>

namespace tenon::tool {

/// Reads the outputs of requests by any type that a model may have.
class OutputReader {
 public:
  /// @errors as vision::ResultReader
  OutputReader(const vision::DecodeOptions& options, const std::string& model);
  /// The objects and classes of one picture; valid until the next call.
  const std::vector<vision::Detection>& read(InferRequest& request);
  /// Results of types that have masks, points or texts beside objects; null for the others.
  const std::shared_ptr<metadata::Collection>& all() const { return all_; }
  /// Whether the last picture had more results than are given.
  bool left_out() const { return left_out_; }

 private:
  std::optional<vision::Decoder> decoder_;  ///< For the types that it knows; it allocates nothing.
  std::optional<vision::ResultReader> reader_;
  std::shared_ptr<metadata::Collection> all_;
  std::vector<vision::Detection> found_;
  float width_ = 0, height_ = 0;
  bool left_out_ = false;
};

/// Results of each frame, for drawing and for measuring. @thread one at a time.
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
  /// As OutputReader::all(), of the last frame.
  std::shared_ptr<metadata::Collection> all() const { return shown_ ? shown_->all() : nullptr; }
  std::uint64_t total() const { return total_; }
  /// Frames in which there was more than the largest number of results, and that number.
  std::uint64_t cut() const { return cut_; }
  std::size_t top_k() const { return top_k_; }
  std::optional<vision::MeanPrecision> precision() const;
  /// A summary, for example "7 detections: circle 3, star 2".
  std::string note() const;

 private:
  const RunOptions& options_;
  std::shared_ptr<const Model> model_;
  std::optional<vision::GroundTruth> truth_;
  std::map<int, int> label_ids_;
  FrameInfo info_;
  std::optional<OutputReader> shown_, measured_;
  vision::PrecisionMeter meter_;
  std::vector<vision::Detection> found_;
  std::size_t index_ = 0, top_k_ = 0;
  std::uint64_t total_ = 0, cut_ = 0;
};

}  // namespace tenon::tool
