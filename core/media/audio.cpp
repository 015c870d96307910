// SPDX-License-Identifier: Apache-2.0
// Audio frames, waveforms, windows.
#include <tenon/core/audio.hpp>

#include <algorithm>
#include <limits>
#include <string>
#include <type_traits>
#include <utility>

#include <tenon/core/element_type.hpp>
#include <tenon/core/error.hpp>

namespace tenon {
inline namespace v1 {
namespace detail {

inline constexpr std::int64_t kSecondNs = 1'000'000'000;

/// Does not overflow for any count that fits in memory.
TENON_INLINE std::int64_t samples_to_ns(std::size_t samples, std::uint32_t rate_hz) {
  const std::size_t seconds = samples / rate_hz, rest = samples % rate_hz;
  return static_cast<std::int64_t>(seconds) * kSecondNs +
         static_cast<std::int64_t>(rest * static_cast<std::size_t>(kSecondNs) / rate_hz);
}

TENON_INLINE std::string describe(const AudioInfo& info) {
  return "audio " + std::string(name(info.sample)) + " of " + std::to_string(info.channels) + " channels at " +
         std::to_string(info.rate_hz) + " Hz" + (info.planar ? ", planar" : "");
}

/// Full scale at 1: signed integers by their lowest value, unsigned ones around their middle.
template <typename T>
void add_samples(const Tensor& channel, float weight, float* out) {
  const auto* at = static_cast<const std::byte*>(channel.data());
  const std::ptrdiff_t stride = channel.byte_strides()[0];
  const std::size_t count = channel.shape()[0];
  for (std::size_t i = 0; i < count; ++i, at += stride) {
    const T sample = *reinterpret_cast<const T*>(at);
    double value = static_cast<double>(sample);
    if constexpr (std::is_integral_v<T>) {
      constexpr double kScale = -static_cast<double>(std::numeric_limits<std::make_signed_t<T>>::min());
      value = (std::is_unsigned_v<T> ? value - kScale : value) / kScale;
    }
    out[i] += weight * static_cast<float>(value);
  }
}

TENON_INLINE void add_channel(const Tensor& channel, float weight, float* out) {
  switch (channel.element_type()) {
    case ElementType::kU8:
      return add_samples<std::uint8_t>(channel, weight, out);
    case ElementType::kI8:
      return add_samples<std::int8_t>(channel, weight, out);
    case ElementType::kU16:
      return add_samples<std::uint16_t>(channel, weight, out);
    case ElementType::kI16:
      return add_samples<std::int16_t>(channel, weight, out);
    case ElementType::kU32:
      return add_samples<std::uint32_t>(channel, weight, out);
    case ElementType::kI32:
      return add_samples<std::int32_t>(channel, weight, out);
    case ElementType::kI64:
      return add_samples<std::int64_t>(channel, weight, out);
    case ElementType::kF32:
      return add_samples<float>(channel, weight, out);
    case ElementType::kF64:
      return add_samples<double>(channel, weight, out);
    default:
      throw Error(Code::kUnimplemented, "audio: samples of type " + std::string(name(channel.element_type())) +
                                            "; known are u8 i8 u16 i16 u32 i32 i64 f32 f64");
  }
}

}  // namespace detail

TENON_INLINE AudioFrame::AudioFrame(const AudioInfo& info, std::vector<Tensor> planes, std::int64_t timestamp_ns)
    : info_(info), planes_(std::move(planes)), timestamp_ns_(timestamp_ns) {
  const auto refuse = [&](const std::string& what) {
    throw Error(Code::kInvalidArgument, detail::describe(info) + ": " + what);
  };
  if (info.channels == 0 || info.rate_hz == 0) refuse("channels and a rate are needed");
  const std::size_t wanted = info.planar ? info.channels : 1;
  if (planes_.size() != wanted)
    refuse("got " + std::to_string(planes_.size()) + " planes, expected " + std::to_string(wanted));
  for (const Tensor& plane : planes_) {
    const Shape& shape = plane.shape();
    const bool fits = info.planar ? shape.size() == 1 : shape.size() == 2 && shape[1] == info.channels;
    if (!plane || plane.element_type() != info.sample || !fits || shape[0] != planes_.front().shape()[0])
      refuse("a plane is " + to_string(plane) + ", expected " + std::string(name(info.sample)) +
             (info.planar ? " [samples], equally many in all" : " [samples, channels]"));
  }
}

TENON_INLINE Tensor AudioFrame::channel(std::size_t index) const {
  if (index >= info_.channels || planes_.empty())
    throw Error(Code::kOutOfRange, detail::describe(info_) + ": channel " + std::to_string(index) + " was asked for");
  if (info_.planar) return planes_[index];
  const Tensor& plane = planes_.front();
  TensorInfo info{plane.element_type(), {plane.shape()[0]}, {}};
  info.strides.push_back(plane.byte_strides()[0]);
  const auto skip = static_cast<std::size_t>(plane.byte_strides()[1]) * index;
  return Tensor(std::move(info), plane.memory(), plane.offset() + skip, plane.lease(), plane.view());
}

TENON_INLINE std::int64_t AudioFrame::duration_ns() const {
  return info_.rate_hz == 0 ? 0 : detail::samples_to_ns(sample_count(), info_.rate_hz);
}

TENON_INLINE metadata::Collection& AudioFrame::metadata() {
  if (!metadata_) metadata_ = std::make_shared<metadata::Collection>();
  return *metadata_;
}

TENON_INLINE Tensor waveform(const AudioFrame& audio, std::size_t channels, Ledger* ledger, Deadline deadline) {
  const std::size_t given = audio.info().channels;
  if (!audio || channels == 0 || (channels != given && channels != 1 && given != 1))
    throw Error(Code::kUnimplemented, "waveform of " + detail::describe(audio.info()) + ": " +
                                          std::to_string(channels) +
                                          " channels were requested; only 1 and the present number are possible");
  for (const Tensor& plane : audio.planes()) {
    if (!plane.is_host_addressable() && plane.element_count() != 0)
      throw Error(Code::kFailedPrecondition,
                  "waveform of " + to_string(plane) + ": the CPU cannot reach it; map it to the CPU first");
    plane.memory()->wait_for(Access::kRead, deadline, ledger);
  }
  const std::size_t count = audio.sample_count();
  Tensor out(ElementType::kF32, {channels, count});
  auto* const samples = static_cast<float*>(out.data());
  std::fill_n(samples, channels * count, 0.0f);
  const float weight = channels == 1 ? 1.0f / static_cast<float>(given) : 1.0f;
  std::size_t bytes = 0;
  for (std::size_t c = 0; c < std::max(channels, given); ++c) {
    const Tensor source = audio.channel(given == 1 ? 0 : c);
    if (count != 0) detail::add_channel(source, weight, samples + (channels == 1 ? 0 : c) * count);
    bytes += source.size_bytes();
  }
  static const EdgeId edge = register_edge("audio.waveform");
  Ledger& booked = ledger ? *ledger : Ledger::process();
  booked.book_map(edge, false);
  booked.book_converted(edge, bytes);
  return out;
}

TENON_INLINE AudioWindows::AudioWindows(std::size_t channels, std::uint32_t rate_hz, std::size_t window,
                                        std::size_t hop)
    : channels_(channels), window_(window), hop_(hop), rate_hz_(rate_hz), samples_(channels) {
  if (channels == 0 || rate_hz == 0 || window == 0 || hop == 0 || hop > window)
    throw Error(Code::kInvalidArgument, "audio windows of " + std::to_string(window) + " samples every " +
                                            std::to_string(hop) + " at " + std::to_string(rate_hz) +
                                            " Hz: all must be above 0, and the hop at most the window");
}

TENON_INLINE std::int64_t AudioWindows::time_at(std::size_t sample) const {
  return begin_ns_ == kNoTimestamp ? kNoTimestamp : begin_ns_ + detail::samples_to_ns(sample, rate_hz_);
}

TENON_INLINE void AudioWindows::push(const AudioFrame& audio, Ledger* ledger) {
  if (audio.info().rate_hz != rate_hz_)
    throw Error(Code::kInvalidArgument, "audio windows: " + detail::describe(audio.info()) + ", the model wants " +
                                            std::to_string(rate_hz_) +
                                            " Hz; resample it before (audioresample, libswresample's aresample)");
  const Tensor converted = waveform(audio, channels_, ledger);
  const std::int64_t expected = time_at(samples_[0].size());
  // Clocks of streams round: a gap is more than a hundredth of a second.
  const bool known = expected != kNoTimestamp && audio.timestamp_ns() != kNoTimestamp;
  if (known &&
      std::max(expected, audio.timestamp_ns()) - std::min(expected, audio.timestamp_ns()) > detail::kSecondNs / 100)
    clear();
  if (samples_[0].empty()) begin_ns_ = audio.timestamp_ns();
  const std::size_t count = converted.shape()[1];
  for (std::size_t c = 0; c < channels_; ++c) {
    const auto* from = static_cast<const float*>(converted.data()) + c * count;
    samples_[c].insert(samples_[c].end(), from, from + count);
  }
}

TENON_INLINE AudioWindows::Window AudioWindows::cut(std::size_t filled) {
  Window window{Tensor(ElementType::kF32, {channels_, window_}), time_at(position_)};
  auto* out = static_cast<float*>(window.samples.data());
  for (std::vector<float>& channel : samples_) {
    out = std::copy_n(channel.begin() + static_cast<std::ptrdiff_t>(position_), filled, out);
    out = std::fill_n(out, window_ - filled, 0.0f);
  }
  fresh_ = position_ + filled;
  position_ = std::min(position_ + hop_, samples_[0].size());
  // Samples that are no longer needed are dropped now and then, not for each window.
  if (position_ >= window_ * 4) {
    for (std::vector<float>& channel : samples_)
      channel.erase(channel.begin(), channel.begin() + static_cast<std::ptrdiff_t>(position_));
    begin_ns_ = time_at(position_);
    fresh_ -= position_;
    position_ = 0;
  }
  return window;
}

TENON_INLINE std::optional<AudioWindows::Window> AudioWindows::next() {
  if (samples_[0].size() - position_ < window_) return std::nullopt;
  return cut(window_);
}

TENON_INLINE std::optional<AudioWindows::Window> AudioWindows::flush() {
  if (auto whole = next()) return whole;
  if (fresh_ >= samples_[0].size()) return std::nullopt;
  return cut(samples_[0].size() - position_);
}

TENON_INLINE void AudioWindows::clear() {
  for (std::vector<float>& channel : samples_) channel.clear();
  position_ = fresh_ = 0;
  begin_ns_ = kNoTimestamp;
}

}  // namespace v1
}  // namespace tenon
