// SPDX-License-Identifier: Apache-2.0
// Chooses elements for inputs, and collects what a run reports of them.
#include <tenon/tools/tenon/shared/frame_source.hpp>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <map>
#include <utility>
#include <variant>

#include <fmt/core.h>

#include <tenon/core/error.hpp>
#include <tenon/core/host.hpp>
#include <tenon/elements/registry.hpp>
#include <tenon/frameworks/dmabuf/context.hpp>
#include <tenon/runtime/properties.hpp>

#ifdef TENON_HAS_CAMERAS
#include <tenon/frameworks/v4l2/device.hpp>
#endif

#include <tenon/tools/tenon/shared/packet_log.hpp>

namespace tenon::tool {
namespace {

using Given = std::map<std::string, std::string>;
using Kind = FrameSource::Kind;

constexpr std::chrono::seconds kPatience{15};
constexpr std::size_t kMostKnown = 64;          ///< A source with more buffers than this does not use a pool.
constexpr std::size_t kMostCameraBuffers = 32;  ///< The limit of V4L2.
constexpr std::size_t kWithDriver = 4;          ///< Buffers that a camera has while all others are in use.

bool is_launch_line(const std::string& input) {
  std::error_code none;
  return input.find('!') != std::string::npos && !std::filesystem::exists(input, none);
}

/// "ipc:frames.sock": the socket of a process that serves frames.
bool is_socket(const std::string& input) {
  std::error_code none;
  return input.starts_with("ipc:") && !std::filesystem::exists(input, none);
}

/// "pipewire:camera": a video node of PipeWire.
bool is_node(const std::string& input) {
  std::error_code none;
  return input.starts_with("pipewire:") && !std::filesystem::exists(input, none);
}

Kind kind_of(const std::string& input) {
  if (is_socket(input)) return Kind::kProcess;
  if (is_node(input)) return Kind::kNode;
  if (is_launch_line(input)) return Kind::kLaunchLine;
#ifdef TENON_HAS_CAMERAS
  if (v4l2::gives_pictures(input)) return Kind::kCamera;
#endif
  return Kind::kFile;
}

/// @errors kInvalidArgument: settings of cameras for an input that cannot have them.
void check_settings(const SourceOptions& options, Kind kind) {
  if (!options.asks_a_camera() || kind == Kind::kCamera) return;
  if (kind == Kind::kLaunchLine)
    throw Error(Code::kInvalidArgument, "\"" + options.input +
                                            "\": --size, --fps and --format are for cameras; a launch line sets them "
                                            "itself (video/x-raw,width=1280,height=720)");
  const bool is_camera = options.input.starts_with("/dev/video");
  if (options.format.fourcc || !is_camera)
    throw Error(
        Code::kInvalidArgument,
        fmt::format("\"{}\": --size, --fps and --format are for cameras that give uncompressed pictures{}",
                    options.input, is_camera ? "; this one gives compressed ones" : ", and this is not a camera"));
}

/// The options of a camera that only FFmpeg can read, by the names of FFmpeg's demuxer.
std::string demuxer_settings(const SourceOptions& options) {
  std::string text;
  if (options.width_px) text = fmt::format("video_size={}x{}", options.width_px, options.height_px);
  if (options.fps != 0) text += fmt::format("{}framerate={}", text.empty() ? "" : ":", options.fps);
  return text;
}

Given file_settings(const SourceOptions& options) {
  Given given{{"path", options.input},
              {"transport", options.transport},
              {"zero_copy", Any(options.policy).as<std::string>()},
              {"options", demuxer_settings(options)}};
  if (options.va_node.empty()) return given;
  given["decode"] = "va";
  given["node"] = options.va_node;
  given["surfaces"] = std::to_string(std::max<std::size_t>(16, options.in_flight + 4));
  return given;
}

Given camera_settings(const SourceOptions& options, std::size_t buffers) {
  return {{"device", options.input},
          {"format", options.format.fourcc ? to_string(options.format) : ""},
          {"width", std::to_string(options.width_px)},
          {"height", std::to_string(options.height_px)},
          {"fps", fmt::format("{}", options.fps)},
          {"buffers", std::to_string(buffers)}};
}

/// @errors kUnavailable: the message says what is missing.
void check_module(const char* element, const std::string& module, const std::string& what,
                  const std::string& packages) {
  try {
    elements::find_element(element);
  } catch (const Error&) {
    std::string why = "this build has no libtenon_elements_" + module + ".so";
    for (const elements::AbsentElements& absent : elements::absent_elements())
      if (absent.module == module) why = absent.reason;
    throw Error(Code::kUnavailable, what + ": " + why + "; Debian has it in " + packages);
  }
}
void check_gstreamer() {
  check_module("gst_source", "gstreamer", "GStreamer launch lines: the tool runs without GStreamer",
               "libgstreamer1.0-0, gstreamer1.0-plugins-base and gstreamer1.0-plugins-good");
}
void check_pipewire() {
  check_module("pipewire", "pipewire", "PipeWire's video nodes: the tool runs without PipeWire", "libpipewire-0.3-0");
}

elements::NodeSpec node_of(const SourceOptions& options, Kind kind, std::size_t camera_buffers) {
  switch (kind) {
    case Kind::kLaunchLine:
      check_gstreamer();
      return {"gst_source", "", {{"line", options.input}, {"decode", options.va_node.empty() ? "auto" : "va"}}};
    case Kind::kCamera:
      return {"camera", "", camera_settings(options, camera_buffers)};
    case Kind::kProcess:
      return {"ipc", "", {{"socket", options.input}}};
    case Kind::kNode:
      check_pipewire();
      return {"pipewire", "", {{"node", options.input}}};
    case Kind::kFile:
      break;
  }
  return {"file", "", file_settings(options)};
}

elements::AnyElement make(const SourceOptions& options, Kind kind, std::size_t camera_buffers) {
  elements::Environment environment;
  environment.ledger = options.ledger;
  const elements::NodeSpec node = node_of(options, kind, camera_buffers);
  return elements::make_element(node.element, node.parameters, environment);
}

/// The joined requirements of all readers; if they exclude each other, those of the first. Frames are then converted for the
/// others.
Requirements joined(std::span<const Party> readers) {
  Requirements all;
  for (const Party& reader : readers) {
    const auto both = all.join(reader.requirements);
    if (const auto* agreed = std::get_if<Requirements>(&both)) all = *agreed;
  }
  return all;
}

}  // namespace

elements::NodeSpec source_node(const SourceOptions& options) {
  const Kind kind = kind_of(options.input);
  check_settings(options, kind);
  return node_of(options, kind, std::min(options.in_flight + 2 * kWithDriver, kMostCameraBuffers));
}

FrameSource::FrameSource(SourceOptions options)
    : options_(std::move(options)),
      kind_(kind_of(options_.input)),
      camera_buffers_(std::min(options_.in_flight + 2 * kWithDriver, kMostCameraBuffers)) {
  check_settings(options_, kind_);
  router_.add(dmabuf::context());
  router_.add(host_context());
  open();
}

void FrameSource::open() {
  source_.reset();  // A camera can only be open once.
  source_ = std::get<std::unique_ptr<elements::Source>>(make(options_, kind_, camera_buffers_));
  opened_ = source_->open(Clock::now() + kPatience);
  info_ = opened_.frame;
}

elements::SourceReport FrameSource::report() const {
  elements::SourceReport report = source_->report();
  if (kind_ == Kind::kFile) report.lost += packets_missed(options_.input);
  if (report.arrives_as.empty()) report.arrives_as = to_string(info_.format);
  return report;
}

std::size_t FrameSource::buffers() const { return seen_.size() < kMostKnown ? seen_.size() : frames_; }

void FrameSource::use_pool(std::span<const Party> readers, std::size_t in_flight) {
  readers_.assign(readers.begin(), readers.end());
  if (kind_ == Kind::kCamera && in_flight + kWithDriver > camera_buffers_) {
    if (in_flight + kWithDriver > kMostCameraBuffers)
      throw Error(
          Code::kInvalidArgument,
          fmt::format("{}: {} frames in flight, and a camera has at most {} buffers; give --requests at most {}",
                      options_.input, in_flight, kMostCameraBuffers, kMostCameraBuffers - kWithDriver));
    camera_buffers_ = in_flight + kWithDriver;
    open();
  }
  source_->allocate(joined(readers_), readers_);
}

void FrameSource::restart() {
  open();
  source_->allocate(joined(readers_), readers_);
}

void FrameSource::note(const Frame& frame) {
  const FrameInfo& now = frame.info();
  const bool is_other = now.width_px != info_.width_px || now.height_px != info_.height_px ||
                        !(now.format == info_.format) || now.rotation != info_.rotation;
  if (is_other && frames_ != 0) ++size_changes_;
  info_ = now;
  ++frames_;
  const MemoryIdentity identity = frame.plane(0).memory()->identity();
  if (seen_.size() < kMostKnown && std::find(seen_.begin(), seen_.end(), identity) == seen_.end())
    seen_.push_back(identity);
}

std::optional<Frame> FrameSource::read(Deadline deadline) {
  std::optional<Frame> frame = source_->read(deadline);
  if (!frame) return frame;
  note(*frame);
  const bool is_surface = kind_ == Kind::kFile && decodes_by_va();
  if (!is_surface && kind_ != Kind::kLaunchLine && kind_ != Kind::kProcess && kind_ != Kind::kNode) return frame;
  if (is_surface) surface_ = *frame;
  router_.add(frame->plane(0).context());
  MapOptions map;
  map.policy = is_surface ? ZeroCopy::kRequire : options_.policy;
  map.ledger = options_.ledger;
  map.access = frame->plane(0).is_writable() ? Access::kReadWrite : Access::kRead;
  return router_.map(*frame, host_context(), map);
}

}  // namespace tenon::tool
