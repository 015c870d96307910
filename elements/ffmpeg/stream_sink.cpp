// SPDX-License-Identifier: Apache-2.0
// The sink "stream": encodes a stream and sends it to a server.
#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include <tenon/core/error.hpp>
#include <tenon/elements/ffmpeg/elements.hpp>
#include <tenon/elements/ffmpeg/options.hpp>
#include <tenon/elements/places.hpp>
#include <tenon/frameworks/ffmpeg/ffmpeg.hpp>
#include <tenon/frameworks/ffmpeg/stream_writer.hpp>

namespace tenon {
inline namespace v1 {
namespace elements {
namespace ffmpeg {
namespace {

namespace av = tenon::ffmpeg;

class StreamSink final : public Sink {
 public:
  StreamSink(const Parameters& given, const Environment& environment)
      : url_(given.text("url")),
        retries_(given.integer("retries")),
        delay_(given.integer("retry_delay_ms")),
        on_host_(environment.ledger) {
    options_.encoder.codec = given.text("codec");
    options_.encoder.quality = static_cast<int>(given.integer("quality"));
    options_.encoder.preset = given.text("preset");
    options_.encoder.low_delay = true;
    options_.encoder.device = given.text("device");
    options_.encoder.ledger = environment.ledger;
    options_.encoder.encoder = pairs_of(given, "encoder_options");
    options_.output = pairs_of(given, "options");
    options_.timeout = std::chrono::milliseconds(given.integer("timeout_ms"));
    options_.cancelled = cancelled_;
    if (url_.starts_with("rtsp")) options_.output.try_emplace("rtsp_transport", given.text("transport"));
  }

  Requirements wanted(const StreamInfo&) const override {
    Requirements all = av::context()->requirements();
    all.host_access = true;
    return all;
  }
  void open(std::uint32_t, const StreamInfo& info) override {
    options_.encoder.aspect_num = info.aspect_num, options_.encoder.aspect_den = info.aspect_den;
    if (info.frames_per_second > 0) options_.encoder.fps = info.frames_per_second;
  }

  void write(std::uint32_t, const Frame& frame) override {
    if (server_ && !(frame.info() == info_)) server_.reset();  // A new size needs a new stream.
    if (!server_ && Clock::now() < next_try_) {
      ++unsent_;
      return;
    }
    try {
      if (!server_) server_ = std::make_unique<av::StreamWriter>(url_, frame.info(), options_);
      info_ = frame.info();
      server_->write(on_host_.map(frame));
      failures_ = 0;
      has_sent_ = true;
    } catch (const Error& error) {
      ++unsent_;
      failure_ = error.what();
      server_.reset();
      if (is_final(error.code()) || ++failures_ > retries_) throw;
      next_try_ = Clock::now() + delay_;
    }
  }

  void finish() override {
    if (server_) server_->finish();
    server_.reset();
    if (!has_sent_ && failures_ != 0)
      throw Error(Code::kUnavailable, "none of " + std::to_string(unsent_) + " frames was sent: " + failure_ +
                                          "; retry_delay_ms says how soon the server is asked again");
  }

  void interrupt() noexcept override { *cancelled_ = true; }
  void resume() override { *cancelled_ = false; }

 private:
  /// Whether a retry cannot help.
  static bool is_final(Code code) {
    return code == Code::kInvalidArgument || code == Code::kUnimplemented || code == Code::kCancelled;
  }

  const std::string url_;
  const std::int64_t retries_;
  const std::chrono::milliseconds delay_;
  const std::shared_ptr<std::atomic<bool>> cancelled_ = std::make_shared<std::atomic<bool>>(false);
  HostFrames on_host_;
  av::StreamWriter::Options options_;
  std::unique_ptr<av::StreamWriter> server_;
  FrameInfo info_;
  std::int64_t failures_ = 0;  ///< Attempts that failed since a frame was sent.
  bool has_sent_ = false;
  std::uint64_t unsent_ = 0;  ///< Frames that came while the server was away.
  std::string failure_;       ///< What the last attempt failed with.
  Clock::time_point next_try_{};
};

}  // namespace

KnownElement stream_sink() {
  return {
      {"stream",
       "Encodes a stream and sends it to a server. While the server is away, frames are dropped",
       Role::kSink,
       {{"url", "rtsp:// (the server must accept RECORD), rtmp://, srt://, udp://, tcp://, rtp://",
         std::string("rtsp://localhost:8554/out"), true},
        choice("transport", "Transport of RTSP", "tcp", {"tcp", "udp"}),
        {"retries", "Attempts to reconnect to the server before the stream fails", std::int64_t{10}, false, 0, 1e9},
        {"retry_delay_ms", "Time between two such attempts, in milliseconds", std::int64_t{1000}, false, 0, 3600000},
        {"timeout_ms", "How long the server may take for a frame, or to answer, in milliseconds", std::int64_t{5000},
         false, 1, 3600000},
        {"codec", "Encoder of FFmpeg; empty: libx264 if FFmpeg has it, else mpeg4", std::string()},
        {"quality", "Quality of libx264 as its crf: lower is better", std::int64_t{23}, false, 0, 51},
        {"preset", "Preset of libx264", std::string("ultrafast")},
        {"options", "More options of FFmpeg's muxer or protocol: name=value:name=value", std::string()},
        {"encoder_options", "More options of FFmpeg's encoder: name=value:name=value", std::string()},
        encoder_device()},
       false,
       true},
      [](const Parameters& given, const Environment& environment) -> AnyElement {
        return std::make_unique<StreamSink>(given, environment);
      }};
}

}  // namespace ffmpeg
}  // namespace elements
}  // namespace v1
}  // namespace tenon
