// SPDX-License-Identifier: Apache-2.0
// Chooses a decoder by name, and says what it expected where outputs do not fit.
#include <cmath>
#include <string>

#include <tenon/core/error.hpp>
#include <tenon/vision/internal/choosing.hpp>
#include <tenon/vision/internal/families.hpp>
#include <tenon/vision/internal/reading.hpp>

namespace tenon {
inline namespace v1 {
namespace vision {
namespace {

void check_place(const DecodeOptions& options) {
  if (options.geometry && (options.geometry->placed.width == 0 || options.geometry->placed.height == 0))
    throw Error(Code::kInvalidArgument,
                "decoding " + options.model_type + ": the frame has no place in the model's input");
}

const DecoderType& known_type(const std::string& model_type) {
  if (const DecoderType* type = find_decoder(model_type)) return *type;
  std::string known;
  for (const DecoderType* type : decoder_types()) known += (known.empty() ? "" : ", ") + type->name;
  throw Error(Code::kInvalidArgument, (model_type.empty() ? "the model says no model_type (rt_info model_info)"
                                                          : "no decoder for the model type \"" + model_type + "\"") +
                                          "; known are " + known + absent_decoders());
}

}  // namespace

ChosenDecoder::ChosenDecoder(DecodeOptions& options) : type_(&known_type(options.model_type)) {
  if (!std::isfinite(options.confidence_threshold) || !std::isfinite(options.iou_threshold))
    throw Error(Code::kInvalidArgument,
                "decoding " + options.model_type + ": confidence and IoU thresholds must be finite numbers");
  if (type_->needs_input_size && (options.input_width == 0 || options.input_height == 0))
    throw Error(Code::kInvalidArgument,
                "decoding " + options.model_type +
                    ": the size of the model's input is not known; set input_width and input_height");
  check_place(options);
  if (options.labels.empty()) options.labels = type_->labels;
  decoder_ = type_->make(options, DecoderSettings(*type_, options));
}

void ChosenDecoder::check(const DecodeOptions& options, std::span<const Tensor> outputs) {
  describe_outputs(outputs, infos_);
  if (type_->fits(options, infos_)) return;
  std::string others;
  DecodeOptions any = options;
  any.labels.clear();
  for (const std::string& name : decoders_that_fit(any, infos_)) others += (others.empty() ? "" : ", ") + name;
  throw Error(Code::kInvalidArgument,
              "decoding " + type_->name + ": no outputs are " + type_->expects + " of f32 or f16" +
                  (options.labels.empty() ? "" : " with " + std::to_string(options.labels.size()) + " labels") +
                  " for an input of " + std::to_string(options.input_width) + "x" +
                  std::to_string(options.input_height) + "; there are:" + list_of(outputs) +
                  (others.empty() ? "" : "; their shapes would fit " + others));
}

void place_picture(DecodeOptions& options, const FrameGeometry& geometry, std::size_t frame_width,
                   std::size_t frame_height) {
  options.geometry = geometry;
  options.frame_width = frame_width;
  options.frame_height = frame_height;
  check_place(options);
}

}  // namespace vision
}  // namespace v1
}  // namespace tenon
