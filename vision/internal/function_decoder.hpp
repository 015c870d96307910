// SPDX-License-Identifier: Apache-2.0
// Decoders that are one function, and small helpers for their rows of the table.
#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <tenon/vision/decoder_types.hpp>
#include <tenon/vision/internal/reading.hpp>

namespace tenon {
inline namespace v1 {
namespace vision {

class FunctionDecoder final : public ResultDecoder {
 public:
  using Function = std::function<bool(const DecodeOptions&, std::span<const Tensor>, const ResultTarget&)>;
  explicit FunctionDecoder(Function function) : function_(std::move(function)) {}
  bool read(const DecodeOptions& options, std::span<const Tensor> outputs, const ResultTarget& target) override {
    return function_(options, outputs, target);
  }

 private:
  Function function_;
};

/// A type without settings whose decoder is `function`.
inline DecoderType function_type(
    std::string name, std::vector<std::string> other_names, std::string expects,
    std::function<bool(const DecodeOptions& options, std::span<const TensorInfo> outputs)> fits,
    FunctionDecoder::Function function) {
  DecoderType type{std::move(name), std::move(other_names), std::move(expects), {}, true, {}, std::move(fits), {}};
  type.make = [function = std::move(function)](const DecodeOptions&, const DecoderSettings&) {
    return std::make_unique<FunctionDecoder>(function);
  };
  return type;
}

/// Whether an output of real numbers has that rank and a batch of 1.
inline bool is_real_of_rank(const TensorInfo& output, std::size_t rank) {
  return is_real(output.type) && output.shape.size() == rank && output.shape[0] == 1;
}

template <typename Fits>
bool any_output(std::span<const TensorInfo> outputs, Fits fits) {
  return std::any_of(outputs.begin(), outputs.end(), fits);
}

/// The first output that fits. @pre There is one, as DecoderType::fits() says. @param infos  Reused from picture to picture.
template <typename Fits>
const Tensor& first_output(std::span<const Tensor> outputs, std::vector<TensorInfo>& infos, Fits fits) {
  describe_outputs(outputs, infos);
  return outputs[static_cast<std::size_t>(std::find_if(infos.begin(), infos.end(), fits) - infos.begin())];
}

/// Adds the points of an object, f32 [points, x y and score].
inline void add_points(Tensor points, const ResultTarget& target, metadata::Id parent) {
  target.into.add(metadata::TensorOutput{std::move(points), "keypoints", target.model, "keypoints"}, parent);
}

/// Adds the outline of an object, f32 [corners, x y and score].
inline void add_polygon(Tensor corners, const ResultTarget& target, metadata::Id parent) {
  target.into.add(metadata::TensorOutput{std::move(corners), "corners", target.model, "polygon"}, parent);
}

}  // namespace vision
}  // namespace v1
}  // namespace tenon
