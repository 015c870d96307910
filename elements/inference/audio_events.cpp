// SPDX-License-Identifier: Apache-2.0
// The transform "audio_events": from samples to scores and events.
#include <tenon/elements/inference/audio_events.hpp>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <system_error>

#include <tenon/core/error.hpp>
#include <tenon/elements/inference/texts.hpp>
#include <tenon/graph/model.hpp>

namespace tenon {
inline namespace v1 {
namespace elements {
namespace inference {
namespace {

constexpr std::int64_t kMillisecond = 1'000'000;

vision::AudioEventOptions options_from(const Parameters& given) {
  vision::AudioEventOptions options;
  options.labels = lines_of(given.text("labels_file"), given.owner());
  if (options.labels.empty()) options.labels = split(given.text("labels"), ',');
  options.merge_gap_ns = given.integer("merge_gap_ms") * kMillisecond;
  for (const std::string& text : split(given.text("threshold"), ',')) {
    float value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size())
      throw Error(Code::kInvalidArgument, given.owner() + ": threshold \"" + text + "\" is not a number");
    options.thresholds.push_back(value);
  }
  if (options.thresholds.size() == 1) {
    options.threshold = options.thresholds.front();
    options.thresholds.clear();
  }
  return options;
}

void apply_softmax(std::vector<float>& scores) {
  const float top = *std::max_element(scores.begin(), scores.end());
  float sum = 0;
  for (float& score : scores) sum += score = std::exp(score - top);
  for (float& score : scores) score /= sum;
}

}  // namespace

AudioEventsElement::AudioEventsElement(const Parameters& given, const Environment& environment)
    : owner_(given.owner()),
      overlap_(given.number("overlap")),
      scale_(given.number("scale")),
      rate_hz_(static_cast<std::uint32_t>(given.integer("rate"))),
      activation_(given.text("activation") == "softmax"   ? Activation::kSoftmax
                  : given.text("activation") == "sigmoid" ? Activation::kSigmoid
                                                          : Activation::kNone),
      options_(options_from(given)),
      files_(environment.files),
      ledger_(environment.ledger ? *environment.ledger : Ledger::process()) {
  settings_.model = given.text("model");
  settings_.device = given.text("device");
  settings_.shape = given.text("shape");
  settings_.properties = given.text("properties");
  settings_.takes_frames = false;
  check_model_file(settings_.model, owner_);
}

StreamInfo AudioEventsElement::open(std::uint32_t, const StreamInfo& in) {
  try {
    if (!model_) model_ = share_model(settings_, std::nullopt, files_.get());
  } catch (const Error& error) {
    throw Error(error.code(), owner_ + ": " + error.what());
  }
  request_ = CompiledModel(model_->compiled).create_infer_request();
  const Tensor input = request_.get_input_tensor(0);
  window_ = input.element_count();
  const bool is_mono = !input.shape().empty() && input.shape().back() == window_;
  if (!is_mono || input.element_type() != ElementType::kF32 || !input.is_host_addressable())
    throw Error(Code::kInvalidArgument, owner_ + ": the input of \"" + settings_.model + "\" is " + to_string(input) +
                                            "; sound feeds f32 of [1,samples] or [1,1,samples], one channel");
  const auto hop = static_cast<std::size_t>(std::lround(static_cast<double>(window_) * (1 - overlap_)));
  windows_.emplace(1, rate_hz_, window_, std::max<std::size_t>(hop, 1));
  events_.emplace(options_);
  held_.reset();
  return in;
}

void AudioEventsElement::process(Item item, Output& output) {
  if (held_) output.emit(std::move(*held_));
  held_ = std::move(item);
  windows_->push(held_->audio, &ledger_);
  while (const auto window = windows_->next()) add(*window);
}

void AudioEventsElement::add(const AudioWindows::Window& window) {
  const Tensor input = request_.get_input_tensor(0);
  const auto* samples = static_cast<const float*>(window.samples.data());
  auto* target = static_cast<float*>(input.data());
  for (std::size_t i = 0; i < window_; ++i) target[i] = samples[i] * static_cast<float>(scale_);
  request_.infer();
  const Tensor output = request_.get_output_tensor(0);
  if (output.element_type() != ElementType::kF32 || output.element_count() != options_.labels.size())
    throw Error(Code::kInvalidArgument, owner_ + ": output " + to_string(output) + " for " +
                                            std::to_string(options_.labels.size()) +
                                            " labels; labels or labels_file must name each score");
  scores_.assign(static_cast<const float*>(output.data()),
                 static_cast<const float*>(output.data()) + output.element_count());
  if (activation_ == Activation::kSoftmax) apply_softmax(scores_);
  if (activation_ == Activation::kSigmoid) {
    for (float& score : scores_) score = 1 / (1 + std::exp(-score));
  }
  const std::int64_t begin = window.timestamp_ns == kNoTimestamp ? 0 : window.timestamp_ns;
  const auto length = static_cast<std::int64_t>(window_) * 1'000'000'000 / rate_hz_;
  tell(events_->add(scores_, begin, begin + length));
}

void AudioEventsElement::tell(const std::vector<metadata::AudioEvent>& events) {
  for (const metadata::AudioEvent& event : events) held_->audio.metadata().add(event);
}

void AudioEventsElement::end(std::uint32_t, Output& output) {
  if (!held_) return;
  if (const auto window = windows_->flush()) add(*window);
  tell(events_->finish());
  output.emit(std::move(*held_));
  held_.reset();
}

}  // namespace inference
}  // namespace elements
}  // namespace v1
}  // namespace tenon
