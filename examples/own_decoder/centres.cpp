// SPDX-License-Identifier: Apache-2.0
// A decoder in one file: a model whose one output [1,n,4] has a row for each object, x y size score, all in parts of the input.
#include <memory>
#include <vector>

#include <tenon/vision/decoder_types.hpp>

namespace {

using namespace tenon;

class Centres final : public vision::ObjectDecoder {
 public:
  explicit Centres(float scale) : scale_(scale) {}

  // Boxes are in pixels of the model's input. Suppression, top_k, the place in the frame and labels follow by themselves.
  bool find(const vision::DecodeOptions& options, std::span<const Tensor> outputs,
            std::vector<vision::Candidate>& found) override {
    const auto w = static_cast<float>(options.input_width), h = static_cast<float>(options.input_height);
    const auto* row = outputs[0].data<float>();
    for (std::uint32_t i = 0; i < outputs[0].shape()[1]; ++i, row += 4) {
      if (!(row[3] >= options.confidence_threshold)) continue;  // NaN is never greater.
      const float x = row[0] * w, y = row[1] * h, half = row[2] * scale_ * w / 2;
      found.push_back({{x - half, y - half, x + half, y + half}, row[3], 0, i});
    }
    return false;  // Boxes that overlap are one object.
  }

 private:
  const float scale_;
};

std::vector<vision::DecoderType> decoders() {
  vision::DecoderType type;
  type.name = "Centres";
  type.expects = "[1,n,4]: x, y, size and score";
  type.parameters = {{"scale", "1", "factor for sizes"}};
  type.labels = {"thing"};
  type.fits = [](const vision::DecodeOptions&, std::span<const TensorInfo> outputs) {
    return outputs.size() == 1 && outputs[0].type == ElementType::kF32 && outputs[0].shape.size() == 3 &&
           outputs[0].shape[0] == 1 && outputs[0].shape[2] == 4;
  };
  type.make = [](const vision::DecodeOptions&, const vision::DecoderSettings& settings) {
    return std::make_unique<Centres>(static_cast<float>(settings.number("scale")));
  };
  return {type};
}

}  // namespace

TENON_DECODER_MODULE(decoders)
