// SPDX-License-Identifier: Apache-2.0
// Decodes a model's output tensors to detections, by the model's metadata.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <tenon/core/export.hpp>
#include <tenon/core/tensor.hpp>
#include <tenon/graph/input_stage/geometry.hpp>
#include <tenon/vision/decode_options.hpp>
#include <tenon/vision/detection.hpp>
#include <tenon/vision/nms.hpp>

namespace tenon {
inline namespace v1 {
class InferRequest;
class Model;
struct FrameInfo;
namespace vision {

class ChosenDecoder;

/// Names of all decoders, as docs/guide/decoders.md describes them; <tenon/vision/decoder_types.hpp> has the table. Class scores and
/// objectness of heads are probabilities, or logits where an export left out the sigmoid: values below -0.5 or above 1.5 tell.
TENON_API std::vector<std::string> model_types();

/// Reads what the model says of itself (ModelInfo): model_type, labels (separated by blanks), confidence_threshold, iou_threshold, topk,
/// multilabel; the input's size from its shape, or size and geometry from the input stage where the model has one.
/// @errors kInvalidArgument: a value that cannot be read (names the key).
TENON_API DecodeOptions decode_options(const Model& model);
/// The same for frames of `info` that are fed to the model's first input: boxes are in the frame's pixels.
/// @param facts  What the user states, by the keys of fact_keys(); it precedes the model. @errors as options_from() of the input stage.
TENON_API DecodeOptions decode_options(const Model& model, const FrameInfo& info,
                                       const std::map<std::string, std::string>& facts = {});

/// Names of the decoders that could read outputs of this model's shapes, the more specific first, for models that do not say what their
/// outputs mean; empty if more than the batch is open.
TENON_API std::vector<std::string> fitting_decoders(const Model& model);

/// Decodes frame after frame without allocating once its vectors have grown (labels longer than 15 bytes excepted).
/// @thread one thread at a time.
class TENON_API Decoder {
 public:
  /// @errors kInvalidArgument: an unknown model type (lists the known) or one without objects and classes, thresholds that are NaN, a
  /// size of 0 where the type needs one.
  explicit Decoder(DecodeOptions options);
  ~Decoder();
  Decoder(Decoder&&) noexcept;
  Decoder& operator=(Decoder&&) noexcept;
  const DecodeOptions& options() const { return options_; }
  /// For pictures that lie elsewhere in the input, of another size, or parts of frames: boxes are in pixels of the frame.
  /// @errors kInvalidArgument: the picture has no place in the input.
  void place(const FrameGeometry& geometry, std::size_t frame_width, std::size_t frame_height);

  /// The detections of one picture, best first; valid until the next call. Values that are not finite are dropped.
  /// @param outputs  The model's, in any order unless the decoder says otherwise, f32 or f16, packed, on the host.
  /// @errors kInvalidArgument: none fits (names each shape and what is expected); finished objects whose scores are no
  /// probabilities.
  const std::vector<Detection>& decode(std::span<const Tensor> outputs);
  /// Whether top_k left out results of the last picture.
  bool left_out() const { return left_out_; }

 private:
  DecodeOptions options_;
  std::unique_ptr<ChosenDecoder> chosen_;
  bool left_out_ = false;
  std::vector<Candidate> candidates_;
  std::vector<Detection> found_;
};

/// The same for a single picture. @cost allocates; use a Decoder for a stream.
TENON_API std::vector<Detection> detections(std::span<const Tensor> outputs, const DecodeOptions& options);
TENON_API std::vector<Detection> detections(const Tensor& output, const DecodeOptions& options);
/// Decodes the outputs of a finished request. @errors as decode(); Busy while it runs.
TENON_API const std::vector<Detection>& detections(InferRequest& request, Decoder& decoder);
TENON_API std::vector<Detection> detections(InferRequest& request, const DecodeOptions& options);

}  // namespace vision
}  // namespace v1
}  // namespace tenon
