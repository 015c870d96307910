// SPDX-License-Identifier: Apache-2.0
// The source "pipewire" and the sink "pipewire_sink": pictures of PipeWire's video nodes, and a node that offers pictures, where they lie.
#include <tenon/elements/pipewire/elements.hpp>

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>

#include <tenon/core/error.hpp>
#include <tenon/elements/parameters.hpp>
#include <tenon/frameworks/pipewire/context.hpp>
#include <tenon/frameworks/pipewire/input.hpp>
#include <tenon/frameworks/pipewire/output.hpp>

namespace tenon {
inline namespace v1 {
namespace elements {
namespace pipewire {
namespace {

namespace nodes = tenon::pipewire;
using std::chrono::milliseconds;

/// "camera" of "pipewire:camera": both forms are taken.
std::string node_of(const std::string& given) { return given.starts_with("pipewire:") ? given.substr(9) : given; }

class NodeSource final : public Source {
 public:
  NodeSource(const Parameters& given, const Environment&) : node_(node_of(given.text("node"))) {
    options_.remote = given.text("remote");
    options_.name = given.text("name");
    options_.buffers = static_cast<std::uint32_t>(given.integer("buffers"));
    options_.takes_unsealed = given.flag("unsealed");
    options_.format.width_px = static_cast<std::uint32_t>(given.integer("width"));
    options_.format.height_px = static_cast<std::uint32_t>(given.integer("height"));
    options_.format.fps = given.number("fps");
    options_.stop = stop_.get_token();
    if (const std::string& name = given.text("format"); !name.empty()) {
      const auto format = format_from_name(name);
      if (!format)
        throw Error(Code::kInvalidArgument, given.owner() + ": there is no format '" + name +
                                                "'; nv12, yuy2, i420, rgb, bgra and gray8 are usual ones");
      options_.format.formats = {*format};
    }
  }

  StreamInfo open(Deadline deadline) override {
    input_.reset();
    input_.emplace(node_, options_, deadline);
    const nodes::Format format = input_->format();
    return {format.info, format.fps, true};
  }

  std::optional<Frame> read(Deadline deadline) override { return input_->read(deadline); }

  void interrupt() noexcept override { stop_.request_stop(); }

  SourceReport report() const override {
    SourceReport told;
    if (!input_) return told;
    const nodes::InputReport report = input_->report();
    told.lies_in = "pipewire(" + report.lies_in + ")";
    told.lost = report.lost;
    told.damaged = report.damaged;
    return told;
  }

 private:
  const std::string node_;
  std::stop_source stop_;
  nodes::InputOptions options_;
  std::optional<nodes::Input> input_;
};

class NodeSink final : public Sink {
 public:
  NodeSink(const Parameters& given, const Environment& environment)
      : name_(node_of(given.text("name"))),
        when_slow_(given.text("when_slow")),
        waits_first_(given.flag("wait_for_reader")) {
    options_.remote = given.text("remote");
    options_.buffers = static_cast<std::uint32_t>(given.integer("buffers"));
    options_.patience = milliseconds(given.integer("patience_ms"));
    options_.writable = given.flag("writable");
    options_.policy = given.text("zero_copy") == "require" ? ZeroCopy::kRequire : ZeroCopy::kPrefer;
    options_.ledger = environment.ledger;
    options_.stop = stop_.get_token();
  }

  Requirements wanted(const StreamInfo&) const override { return nodes::Output::wanted(); }
  Context used_in(const StreamInfo&) const override { return nodes::context(); }

  void open(std::uint32_t, const StreamInfo& info) override {
    if (output_) return;  // The stream begins again: its readers stay.
    options_.fps = info.frames_per_second;
    options_.waits = when_slow_ == "wait" || (when_slow_ == "auto" && !info.is_live);
    output_.emplace(name_, options_, default_deadline());
    if (info.frame.width_px != 0 && info.frame.format.fourcc != 0) output_->open(info.frame);
  }

  void write(std::uint32_t, const Frame& frame) override {
    if (waits_first_) {
      output_->open(frame.info());
      (void)output_->wait_for_reader(Deadline::max());
    }
    waits_first_ = false;
    output_->publish(frame);
  }

  void finish() override {
    if (output_ && !stop_.stop_requested())
      (void)output_->end(Clock::now() + std::chrono::duration_cast<Clock::duration>(options_.patience));
    output_.reset();
  }

  void interrupt() noexcept override { stop_.request_stop(); }
  void resume() override {
    if (!stop_.stop_requested()) return;
    output_.reset();  // It has the stop; open() makes another.
    stop_ = std::stop_source();
    options_.stop = stop_.get_token();
  }

 private:
  const std::string name_, when_slow_;
  bool waits_first_;
  std::stop_source stop_;
  nodes::OutputOptions options_;
  std::optional<nodes::Output> output_;
};

Parameter remote() {
  return {"remote",
          "The daemon's name or socket; empty: as PipeWire's environment says (PIPEWIRE_REMOTE, XDG_RUNTIME_DIR)",
          std::string()};
}

KnownElement node_source() {
  const nodes::InputOptions usual;
  return {
      {"pipewire",
       "Takes pictures of a PipeWire video node (a camera, a screen, another program) where its producer wrote them",
       Role::kSource,
       {{"node",
         "The node's name, id or serial number; pw-cli list-objects Node lists them. Empty: the session manager's "
         "choice",
         std::string()},
        {"format", "Pixel format (nv12, yuy2...); empty: what the producer prefers", std::string()},
        {"width", "Width in pixels, with a height; 0: the producer's", std::int64_t{0}, false, 0, 65535},
        {"height", "Height in pixels, with a width; 0: the producer's", std::int64_t{0}, false, 0, 65535},
        {"fps", "Pictures per second; 0: the producer's rate", 0.0, false, 0, 1000},
        {"buffers",
         "Pictures in flight, at the producer and in the pipeline together, where the producer lets readers choose",
         static_cast<std::int64_t>(usual.buffers), false, 2, 64},
        {"name", "The name of the node that this makes", usual.name},
        {"unsealed",
         "Also takes memory that the producer can shrink, for producers that are trusted: one that does so ends this "
         "process",
         false},
        remote()}},
      [](const Parameters& given, const Environment& environment) -> AnyElement {
        return std::make_unique<NodeSource>(given, environment);
      }};
}

KnownElement node_sink() {
  const nodes::OutputOptions usual;
  KnownElement made{
      {"pipewire_sink",
       "Offers a PipeWire video node, from which other programs read the pictures without a copy where their memory "
       "has a "
       "descriptor",
       Role::kSink,
       {{"name", "The node's name", std::string("tenon")},
        choice("when_slow",
               "Where a program has not come to the picture before, or holds all buffers: wait for it; skip: leave the "
               "picture out; auto: "
               "wait, unless the stream is live",
               "auto", {"auto", "wait", "skip"}),
        {"wait_for_reader",
         "Waits for a program that reads before the first picture; else pictures are dropped until one does", false},
        {"buffers", "Buffers of the node; the daemon may allow fewer", static_cast<std::int64_t>(usual.buffers), false,
         5, 64},
        {"patience_ms",
         "How long a program may hold a picture, in milliseconds; then it is released, and the buffers are made anew",
         std::int64_t{2000}, false, 1, 3600000},
        {"writable", "Lets the programs write to the pictures", false},
        choice("zero_copy", "Pictures whose memory has no descriptor: require: an error; prefer: they are copied once",
               "prefer", {"require", "prefer"}),
        remote()},
       false,
       true},
      [](const Parameters& given, const Environment& environment) -> AnyElement {
        return std::make_unique<NodeSink>(given, environment);
      }};
  return made;
}

}  // namespace

std::vector<KnownElement> elements() { return {node_source(), node_sink()}; }

}  // namespace pipewire
}  // namespace elements
}  // namespace v1
}  // namespace tenon
