// SPDX-License-Identifier: Apache-2.0
// The sinks "gst_sink" and "display", which end a pipeline in GStreamer's elements.
#include <tenon/elements/gstreamer/elements.hpp>

#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include <tenon/core/error.hpp>
#include <tenon/elements/gstreamer/internal/launch_source.hpp>
#include <tenon/elements/gstreamer/internal/line_files.hpp>
#include <tenon/elements/parameters.hpp>
#include <tenon/elements/places.hpp>
#include <tenon/frameworks/gstreamer/gstreamer.hpp>
#include <tenon/frameworks/gstreamer/launch.hpp>

namespace tenon {
inline namespace v1 {
namespace elements {
namespace gstreamer {
namespace {

namespace gs = tenon::gstreamer;

std::string line_of_stream(std::string line, std::uint32_t stream) {
  constexpr std::string_view kPlace = "{stream}";
  for (std::size_t at = 0; (at = line.find(kPlace, at)) != std::string::npos;)
    line.replace(at, kPlace.size(), std::to_string(stream));
  return line;
}

/// Each stream has a line of its own, so that two in one file are found, too.
ElementFiles files_of_streams(const std::string& line, const Environment& environment) {
  ElementFiles all;
  for (const std::uint32_t stream : environment.streams) {
    const ElementFiles own = files_in(line_of_stream(line, stream));
    all.read.insert(all.read.end(), own.read.begin(), own.read.end());
    all.written.insert(all.written.end(), own.written.begin(), own.written.end());
  }
  return all;
}

class GstSink final : public Sink {
 public:
  /// @param shows  The line ends in a window, where pictures are to be upright.
  GstSink(std::string line, std::string remedy, bool shows, const Parameters& given, const Environment& environment)
      : line_(std::move(line)),
        remedy_(std::move(remedy)),
        shows_(shows),
        timeout_(given.integer("timeout_ms")),
        on_host_(environment.ledger) {}

  Requirements wanted(const StreamInfo&) const override {
    Requirements all;
    all.host_access = true;
    return all;
  }
  void open(std::uint32_t stream, const StreamInfo& info) override {
    stream_ = info;
    own_line_ = line_of_stream(line_, stream);
  }

  void write(std::uint32_t, const Frame& frame) override {
    with_remedy([&] {
      if (!launched_ || !(frame.info() == info_)) begin(frame.info());
      const Frame shown = on_host_.map(frame);
      launched_->push(gs::buffer_with_metadata(shown), Clock::now() + timeout_);
    });
  }

  void finish() override {
    with_remedy([&] {
      if (launched_) launched_->finish(Clock::now() + timeout_);
      launched_.reset();
    });
  }

  void interrupt() noexcept override { *cancelled_ = true; }
  void resume() override { *cancelled_ = false; }

 private:
  /// Starts the launch line for frames of this size. A line that ran for another size is finished first.
  void begin(const FrameInfo& info) {
    if (launched_) launched_->finish(Clock::now() + timeout_);
    launched_.reset();
    gs::VideoCaps caps;
    caps.info = info;
    if (stream_.frames_per_second > 0)
      gst_util_double_to_fraction(stream_.frames_per_second, &caps.rate_num, &caps.rate_den);
    caps.aspect_num = static_cast<int>(stream_.aspect_num), caps.aspect_den = static_cast<int>(stream_.aspect_den);
    gs::start();
    const std::string turns =
        shows_ && info.rotation != Rotation::kNone ? "videoconvert ! videoflip video-direction=auto ! " : "";
    launched_ = std::make_unique<gs::LaunchedSink>(turns + own_line_, gs::caps(caps).get(), cancelled_, info.rotation);
    info_ = info;
  }

  template <typename Body>
  void with_remedy(Body body) {
    try {
      body();
    } catch (const Error& error) {
      launched_.reset();
      if (remedy_.empty()) throw;
      throw Error(error.code(), std::string(error.what()) + remedy_, error.native_api(), error.native_code());
    }
  }

  const std::string line_, remedy_;
  const bool shows_;
  const std::chrono::milliseconds timeout_;
  const std::shared_ptr<std::atomic<bool>> cancelled_ = std::make_shared<std::atomic<bool>>(false);
  HostFrames on_host_;
  std::string own_line_;
  StreamInfo stream_;
  FrameInfo info_;
  std::unique_ptr<gs::LaunchedSink> launched_;
};

Parameter timeout() {
  return {"timeout_ms",
          "How long GStreamer's elements may take for a picture, in milliseconds",
          std::int64_t{10000},
          false,
          1,
          3600000};
}

KnownElement sink() {
  KnownElement made{
      {"gst_sink",
       "Passes pictures to a GStreamer launch line, with their metadata as GstMeta",
       Role::kSink,
       {{"line",
         "Launch line as for gst-launch-1.0; 'appsrc ! ' is put before it if it has no appsrc. {stream} becomes the "
         "stream's number",
         std::string("fakesink"), true},
        timeout()},
       false,
       true},
      [](const Parameters& given, const Environment& environment) -> AnyElement {
        return std::make_unique<GstSink>(given.text("line"), "", false, given, environment);
      }};
  made.description.files = [](const Parameters& given, const Environment& environment) {
    return files_of_streams(given.text("line"), environment);
  };
  return made;
}

std::string line_of_display(const Parameters& given) {
  return "videoconvert ! " + given.text("sink") + " sync=" + to_text(given.flag("sync"));
}

KnownElement display() {
  KnownElement made{{"display",
                     "Shows a stream in a window",
                     Role::kSink,
                     {{"sync", "Shows each picture at its timestamp, instead of as soon as it arrives", false},
                      {"sink", "GStreamer element that shows the pictures (waylandsink, xvimagesink, kmssink...)",
                       std::string("autovideosink")},
                      timeout()},
                     false,
                     true},
                    [](const Parameters& given, const Environment& environment) -> AnyElement {
                      return std::make_unique<GstSink>(
                          line_of_display(given),
                          "; a screen is needed (DISPLAY, WAYLAND_DISPLAY or a console), else write a file", true,
                          given, environment);
                    }};
  made.description.files = [](const Parameters& given, const Environment& environment) {
    return files_of_streams(line_of_display(given), environment);
  };
  return made;
}

}  // namespace

std::vector<KnownElement> elements() { return {launch_source(), sink(), display()}; }

}  // namespace gstreamer
}  // namespace elements
}  // namespace v1
}  // namespace tenon
