// SPDX-License-Identifier: Apache-2.0
// Reads a model's outputs into the metadata of a frame.
#include <tenon/vision/results.hpp>

#include <utility>

#include <tenon/vision/internal/choosing.hpp>

namespace tenon {
inline namespace v1 {
namespace vision {

std::string LeftOut::json() const {
  return "\"top_k\":" + std::to_string(top_k) + ",\"model\":" + metadata::json_string(model);
}

std::string ModelRemark::json() const {
  return "\"text\":" + metadata::json_string(text) + ",\"model\":" + metadata::json_string(model);
}

ResultReader::ResultReader(DecodeOptions options, std::string model, std::vector<std::string> names)
    : options_(std::move(options)), model_(std::move(model)) {
  if (options_.output_names.empty()) options_.output_names = std::move(names);
  if (!options_.model_type.empty()) chosen_ = std::make_unique<ChosenDecoder>(options_);
}
ResultReader::~ResultReader() = default;
ResultReader::ResultReader(ResultReader&&) noexcept = default;
ResultReader& ResultReader::operator=(ResultReader&&) noexcept = default;

bool ResultReader::keeps_tensors() const { return !chosen_ || chosen_->decoder().keeps_tensors(); }

void ResultReader::place(const FrameGeometry& geometry, std::size_t frame_width, std::size_t frame_height) {
  place_picture(options_, geometry, frame_width, frame_height);
}

void ResultReader::read(std::span<const Tensor> outputs, metadata::Collection& into, metadata::Id parent) {
  if (!chosen_) {
    const std::vector<std::string>& names = options_.output_names;
    for (std::size_t i = 0; i < outputs.size(); ++i)
      into.add(metadata::TensorOutput{outputs[i], i < names.size() ? names[i] : std::string(), model_, ""}, parent);
    return;
  }
  chosen_->check(options_, outputs);
  if (chosen_->decoder().read(options_, outputs, {into, parent, model_}))
    into.add(LeftOut{options_.top_k, model_}, parent);
}

}  // namespace vision
}  // namespace v1
}  // namespace tenon
