// SPDX-License-Identifier: Apache-2.0
// The transform "audio_events": runs windows of sound through a model and joins their scores to events.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <tenon/core/audio.hpp>
#include <tenon/elements/element.hpp>
#include <tenon/elements/inference/shared_model.hpp>
#include <tenon/elements/parameters.hpp>
#include <tenon/vision/audio_events.hpp>

namespace tenon {
inline namespace v1 {
namespace elements {
namespace inference {

/// An event is added to the metadata of the frame in which its end was noticed. The last frame is held back, so that events
/// that end with the stream can be added to it.
class AudioEventsElement final : public Transform {
 public:
  AudioEventsElement(const Parameters& given, const Environment& environment);
  StreamInfo open(std::uint32_t stream, const StreamInfo& in) override;
  void process(Item item, Output& output) override;
  void end(std::uint32_t stream, Output& output) override;

 private:
  enum class Activation : std::uint8_t { kNone, kSoftmax, kSigmoid };
  void add(const AudioWindows::Window& window);
  void tell(const std::vector<metadata::AudioEvent>& events);

  const std::string owner_;
  const double overlap_, scale_;
  const std::uint32_t rate_hz_;
  const Activation activation_;
  ModelSettings settings_;
  vision::AudioEventOptions options_;
  const std::shared_ptr<UsedFiles> files_;
  Ledger& ledger_;
  std::shared_ptr<const SharedModel> model_;
  InferRequest request_;
  std::size_t window_ = 0;  ///< Samples.
  std::optional<AudioWindows> windows_;
  std::optional<vision::AudioEvents> events_;
  std::optional<Item> held_;
  std::vector<float> scores_;
};

}  // namespace inference
}  // namespace elements
}  // namespace v1
}  // namespace tenon
