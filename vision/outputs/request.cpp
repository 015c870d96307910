// SPDX-License-Identifier: Apache-2.0
// Decodes the detections of a request.
#include <array>
#include <span>
#include <vector>

#include <tenon/runtime/compiled_model.hpp>
#include <tenon/runtime/infer_request.hpp>
#include <tenon/vision/decode.hpp>

namespace tenon {
inline namespace v1 {
namespace vision {

const std::vector<Detection>& detections(InferRequest& request, Decoder& decoder) {
  // Models of up to eight outputs cost no allocation.
  std::array<Tensor, 8> few;
  std::vector<Tensor> many;
  const std::size_t count = request.get_compiled_model().outputs().size();
  if (count > few.size()) many.resize(count);
  const std::span<Tensor> outputs = count > few.size() ? std::span<Tensor>(many) : std::span<Tensor>(few).first(count);
  for (std::size_t i = 0; i < count; ++i) outputs[i] = request.get_output_tensor(i);
  return decoder.decode(outputs);
}

std::vector<Detection> detections(InferRequest& request, const DecodeOptions& options) {
  Decoder decoder(options);
  return detections(request, decoder);
}

}  // namespace vision
}  // namespace v1
}  // namespace tenon
