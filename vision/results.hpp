// SPDX-License-Identifier: Apache-2.0
// Turns a model's outputs into metadata of a frame: objects, classes, masks, points, texts, tensors.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <tenon/core/export.hpp>
#include <tenon/core/metadata.hpp>
#include <tenon/core/tensor.hpp>
#include <tenon/vision/decode.hpp>

namespace tenon {
inline namespace v1 {
namespace vision {

/// Says that DecodeOptions::top_k left out results of a model.
struct TENON_API LeftOut {
  static constexpr metadata::Kind kKind{"left_out"};
  std::size_t top_k = 0;
  std::string model;
  std::string json() const;
};

/// Says once what is contradictory in what is known of a model (ModelInfo::remarks).
struct TENON_API ModelRemark {
  static constexpr metadata::Kind kKind{"model_remark"};
  std::string text;
  std::string model;
  std::string json() const;
};

/// Reads the outputs of one model, picture after picture.
/// @thread one at a time.
class TENON_API ResultReader {
 public:
  /// @param options  With an empty model_type each output becomes a metadata::TensorOutput.
  /// @param model    The model's name in the metadata that are added.
  /// @param names    The names of the outputs, where options.output_names has none.
  /// @errors as Decoder.
  ResultReader(DecodeOptions options, std::string model, std::vector<std::string> names = {});
  ~ResultReader();
  ResultReader(ResultReader&&) noexcept;
  ResultReader& operator=(ResultReader&&) noexcept;

  /// Whether read() keeps the tensors that it is given.
  bool keeps_tensors() const;
  /// Does the same as Decoder::place().
  void place(const FrameGeometry& geometry, std::size_t frame_width, std::size_t frame_height);
  /// Adds the results of one picture to the metadata, with `parent` as their parent, and LeftOut if there are more. @param outputs  As Decoder::decode().
  /// @errors kInvalidArgument: no output fits the model type.
  void read(std::span<const Tensor> outputs, metadata::Collection& into, metadata::Id parent = metadata::kFrame);

 private:
  DecodeOptions options_;
  std::string model_;
  std::unique_ptr<ChosenDecoder> chosen_;  ///< Null: outputs become tensors.
};

}  // namespace vision
}  // namespace v1
}  // namespace tenon
