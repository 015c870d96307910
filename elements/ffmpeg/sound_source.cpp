// SPDX-License-Identifier: Apache-2.0
// The source "sound": decodes audio by FFmpeg, and cuts it into windows for a model if that is asked for.
#include <atomic>
#include <cmath>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <tenon/core/audio.hpp>
#include <tenon/core/error.hpp>
#include <tenon/elements/ffmpeg/elements.hpp>
#include <tenon/elements/ffmpeg/options.hpp>
#include <tenon/elements/read_files.hpp>
#include <tenon/frameworks/ffmpeg/audio.hpp>

namespace tenon {
inline namespace v1 {
namespace elements {
namespace ffmpeg {
namespace {

namespace av = tenon::ffmpeg;

class SoundSource final : public Source {
 public:
  SoundSource(const Parameters& given, const Environment& environment)
      : path_(given.text("path")),
        window_s_(given.number("window")),
        hop_s_(given.number("hop") > 0 ? given.number("hop") : given.number("window")),
        ledger_(environment.ledger),
        cancelled_(std::make_shared<std::atomic<bool>>(false)) {
    if (hop_s_ > window_s_)
      throw Error(Code::kInvalidArgument, given.owner() + ": a hop of " + std::to_string(hop_s_) +
                                              " s leaves out samples between windows of " + std::to_string(window_s_) +
                                              " s; give a smaller one");
    options_.rate_hz = static_cast<std::uint32_t>(given.integer("rate"));
    options_.channels = static_cast<std::uint32_t>(given.integer("channels"));
    options_.input.ledger = environment.ledger;
    options_.input.input = pairs_of(given, "options");
    options_.input.format = given.text("device");
    options_.input.cancelled = cancelled_;
  }

  StreamInfo open(Deadline deadline) override {
    windows_.reset();
    audio_.emplace(path_, options_);
    has_ended_ = false;
    first_ = audio_->read(deadline);  // It tells rate and channels, which the container may not know.
    if (!first_) throw Error(Code::kDataLoss, "audio \"" + path_ + "\": there are no samples in it");
    StreamInfo info;
    info.audio = first_->info();
    if (window_s_ > 0) {
      const std::uint32_t rate = info.audio.rate_hz;
      const auto samples = [rate](double seconds) {
        return static_cast<std::size_t>(std::max(1.0, std::round(seconds * rate)));
      };
      windows_.emplace(info.audio.channels, rate, samples(window_s_), samples(hop_s_));
      info.audio.sample = ElementType::kF32;
      info.audio.planar = info.audio.channels > 1;
      info.frames_per_second = 1 / hop_s_;
    }
    info_ = info.audio;
    return info;
  }

  std::optional<AudioFrame> read_audio(Deadline deadline) override {
    if (!windows_) return decoded(deadline);
    for (;;) {
      if (auto window = windows_->next()) return frame_of(*window);
      if (has_ended_) {
        auto rest = windows_->flush();
        return rest ? std::optional(frame_of(*rest)) : std::nullopt;
      }
      if (const auto audio = decoded(deadline))
        windows_->push(*audio, ledger_);
      else
        has_ended_ = true;
    }
  }

  void interrupt() noexcept override { *cancelled_ = true; }

 private:
  std::optional<AudioFrame> decoded(Deadline deadline) {
    if (first_) return std::exchange(first_, std::nullopt);
    return audio_->read(deadline);
  }

  /// Turns a window [channels, samples] into a frame with one plane for each channel.
  AudioFrame frame_of(const AudioWindows::Window& window) const {
    const std::size_t count = window.samples.shape()[1];
    std::vector<Tensor> planes;
    for (std::size_t c = 0; c < info_.channels; ++c)
      planes.push_back(window.samples.slice({c, 0}, {c + 1, count})
                           .reshaped(info_.planar ? Shape{count} : Shape{count, std::size_t{1}}));
    return AudioFrame(info_, std::move(planes), window.timestamp_ns);
  }

  const std::string path_;
  const double window_s_, hop_s_;
  Ledger* const ledger_;
  const std::shared_ptr<std::atomic<bool>> cancelled_;
  av::AudioOptions options_;
  std::optional<av::Audio> audio_;
  std::optional<AudioFrame> first_;
  std::optional<AudioWindows> windows_;
  AudioInfo info_;
  bool has_ended_ = false;
};

}  // namespace

KnownElement sound_source() {
  KnownElement made{
      {"sound",
       "Reads sound from files, network streams and microphones, decoded by FFmpeg; as decoded, or in windows for a "
       "model",
       Role::kSource,
       {{"path", "A file, a URL, or the name of the capture device (default, hw:0)", std::string("speech.wav"), true},
        {"device", "FFmpeg's capture device (alsa, pulse); empty: path is a file or URL", std::string()},
        {"rate", "Samples per second of the result; 0: as in the stream, without resampling", std::int64_t{0}, false, 0,
         768000},
        {"channels", "Number of channels; 1: a mix of all; 0: as in the stream", std::int64_t{0}, false, 0, 64},
        {"window", "Seconds of sound in each frame; 0: frames as the decoder delivers them", 0.0, false, 0, 3600},
        {"hop", "Seconds from the begin of one window to that of the next; 0: windows do not overlap", 0.0, false, 0,
         3600},
        {"options", "More options of FFmpeg's demuxer or protocol: name=value:name=value", std::string()}},
       false,
       false,
       Takes::kAudio},
      [](const Parameters& given, const Environment& environment) -> AnyElement {
        return std::make_unique<SoundSource>(given, environment);
      }};
  made.description.files = [](const Parameters& given, const Environment&) {
    return given.text("device").empty() ? ElementFiles{files_read_for(given.text("path"))} : ElementFiles();
  };
  return made;
}

}  // namespace ffmpeg
}  // namespace elements
}  // namespace v1
}  // namespace tenon
