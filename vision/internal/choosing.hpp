// SPDX-License-Identifier: Apache-2.0
// The place where a decoder is chosen, and its outputs are checked.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <tenon/core/tensor.hpp>
#include <tenon/vision/decode_options.hpp>
#include <tenon/vision/decoder_types.hpp>

namespace tenon {
inline namespace v1 {
namespace vision {

/// The decoder that options.model_type names.
class ChosenDecoder {
 public:
  /// @errors kInvalidArgument: there is none (lists the known), or options that it cannot work with.
  /// @param options  Get the type's own labels if they have none.
  explicit ChosenDecoder(DecodeOptions& options);
  /// Null if its results are neither objects nor classes.
  ObjectDecoder* objects() const { return dynamic_cast<ObjectDecoder*>(decoder_.get()); }
  ResultDecoder& decoder() const { return *decoder_; }
  /// @errors kInvalidArgument: the outputs do not fit (says what is expected, and what there is).
  void check(const DecodeOptions& options, std::span<const Tensor> outputs);

 private:
  const DecoderType* type_;
  std::unique_ptr<ResultDecoder> decoder_;
  std::vector<TensorInfo> infos_;
};

/// @errors kInvalidArgument: the picture has no place in the input.
void place_picture(DecodeOptions& options, const FrameGeometry& geometry, std::size_t frame_width,
                   std::size_t frame_height);

}  // namespace vision
}  // namespace v1
}  // namespace tenon
