// SPDX-License-Identifier: Apache-2.0
// Elements that tests register beside Tenon's own, the plugin loaded after them, and pipelines with deadlines.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include <gst/check/gstharness.h>
#include <gst/gst.h>

#include <tenon/core/error.hpp>
#include <tenon/core/metadata.hpp>
#include <tenon/elements/registry.hpp>
#include <tenon/frameworks/gstreamer/frame.hpp>
#include <tenon/frameworks/gstreamer/gst.hpp>

namespace tenon::gst_plugin_testing {

namespace gs = tenon::gstreamer;
using elements::AnyElement;
using elements::Environment;
using elements::Item;
using elements::Output;
using elements::Parameters;
using elements::Role;
using elements::StreamInfo;
using namespace std::chrono_literals;

/// Counts of all elements together. load_plugin() resets them.
struct Seen {
  std::atomic<int> opens{0}, ends{0}, finishes{0}, frames{0}, detections{0}, interrupts{0}, alive{0};
  std::atomic<int> asking{0}, asked{0}, torn{0};  ///< Calls of wanted(): in progress, all; destroyed meanwhile.
  std::atomic<std::uint64_t> address{0};
  std::atomic<bool> is_live{false};
  std::atomic<Rotation> rotation{Rotation::kNone};  ///< The last recorded picture has it.
};
inline Seen seen;

/// Counts its living objects.
struct Alive {
  Alive() { ++seen.alive; }
  ~Alive() {
    if (seen.asking != 0) ++seen.torn;
    --seen.alive;
  }
};

/// Marks a call of wanted() in progress, and holds it for so long that other threads come between.
struct Asked {
  Asked() {
    ++seen.asking, ++seen.asked;
    std::this_thread::sleep_for(50us);
  }
  ~Asked() { --seen.asking; }
};

/// Marks each frame with an object, and has requirements on memory.
class Marking final : public elements::TransformInplace, Alive {
 public:
  explicit Marking(const Parameters& given)
      : alignment_(given.integer("alignment")), fail_at_(given.integer("fail_at")) {}
  Requirements wanted(const StreamInfo&) const override {
    const Asked now;
    Requirements all;
    all.alignment = static_cast<std::size_t>(alignment_);
    return all;
  }
  StreamInfo open(std::uint32_t, const StreamInfo& in) override {
    ++seen.opens;
    seen.is_live = in.is_live;
    return in;
  }
  void process(std::uint32_t, Frame& frame) override {
    if (count_++ == fail_at_) throw Error(Code::kDataLoss, "marking: told to fail");
    ++seen.frames;
    seen.address =
        reinterpret_cast<std::uintptr_t>(frame.plane(0).is_host_addressable() ? frame.plane(0).data() : nullptr);
    seen.detections += static_cast<int>(metadata::of(frame).all<metadata::Detection>().size());
    metadata::of(frame).add(metadata::Detection{{1, 2, 11, 12}, "mark", 3, 0.5f});
  }
  void end(std::uint32_t) override { ++seen.ends; }

 private:
  const std::int64_t alignment_, fail_at_;
  std::int64_t count_ = 0;
};

/// Emits four frames at once, or after a while those that have come.
class Batching final : public elements::Transform, Alive {
 public:
  explicit Batching(const Parameters& given) : wait_(std::chrono::milliseconds(given.integer("wait_ms"))) {}
  StreamInfo open(std::uint32_t, const StreamInfo& in) override {
    ++seen.opens;
    StreamInfo out = in;
    out.delay += wait_;
    return out;
  }
  void process(Item item, Output& output) override {
    if (held_.empty()) due_ = Clock::now() + wait_;
    held_.push_back(std::move(item));
    if (held_.size() == 4) proceed(output);
  }
  std::optional<Deadline> due() const override { return held_.empty() ? std::nullopt : std::optional<Deadline>(due_); }
  void proceed(Output& output) override {
    for (Item& item : held_) output.emit(std::move(item));
    held_.clear();
  }
  void end(std::uint32_t, Output& output) override {
    ++seen.ends;
    proceed(output);
  }

 private:
  const std::chrono::milliseconds wait_;
  std::vector<Item> held_;
  Deadline due_{};
};

/// Makes a grey picture of half the size from every second frame; refuses pictures smaller than 16 pixels.
class Halving final : public elements::Transform, Alive {
 public:
  StreamInfo open(std::uint32_t, const StreamInfo& in) override {
    if (in.frame.width_px < 16)
      throw Error(Code::kInvalidArgument, "halving: pictures of 16 pixels and more are needed");
    StreamInfo out = in;
    out.frame = {};
    out.frame.format = kGray8;
    out.frame.width_px = in.frame.width_px / 2, out.frame.height_px = in.frame.height_px / 2;
    info_ = out.frame;
    return out;
  }
  void process(Item item, Output& output) override {
    if (count_++ % 2 == 1) return;
    Frame made = Frame::allocate(info_);
    made.set_timestamp_ns(item.frame.timestamp_ns());
    item.frame = std::move(made);
    output.emit(std::move(item));
  }

 private:
  FrameInfo info_;
  int count_ = 0;
};

/// Keeps the last tensor in the metadata of the frames.
class Tap final : public elements::TransformInplace {
 public:
  void process(std::uint32_t, Frame& frame) override {
    const auto all = metadata::of(frame).all<metadata::TensorOutput>();
    if (!all.empty()) held = all.back()->tensor;
  }
  static inline Tensor held;
};

class GreyOnly final : public elements::TransformInplace {
 public:
  StreamInfo open(std::uint32_t, const StreamInfo& in) override {
    if (in.frame.format != kGray8) throw Error(Code::kInvalidArgument, "grey_only: only GRAY8 is taken");
    return in;
  }
  void process(std::uint32_t, Frame&) override {}
};

/// Waits until the next frame's time, or for ever.
class Slow final : public elements::Source, Alive {
 public:
  explicit Slow(const Parameters& given) : mode_(given.text("mode")) {}
  StreamInfo open(Deadline) override {
    if (mode_ == "absent") throw Error(Code::kNotFound, "slow: there is no such camera");
    FrameInfo info{kGray8, 33, 16};
    if (mode_ == "lying") info.width_px = 64, info.height_px = 32, info.rotation = Rotation::k90;
    picture_ = Frame::allocate(info);
    return {info, 100, mode_ == "live"};
  }
  void allocate(const Requirements& wanted, std::span<const Party>) override { seen.address = wanted.alignment; }
  std::optional<Frame> read(Deadline deadline) override {
    if (mode_ == "damaged" && count_ == 2) throw Error(Code::kDataLoss, "slow: a damaged file");
    if (mode_ == "silent") {
      std::this_thread::sleep_until(deadline);
      throw Error(Code::kDeadlineExceeded, "slow: nothing yet");
    }
    if (mode_ == "live") std::this_thread::sleep_for(10ms);
    if (mode_ != "live" && count_ == 5) return std::nullopt;
    Frame frame = picture_;
    frame.set_timestamp_ns(count_++ * 10'000'000);
    return frame;
  }
  void interrupt() noexcept override { ++seen.interrupts; }

 private:
  const std::string mode_;
  Frame picture_;
  std::int64_t count_ = 0;
};

class Recording final : public elements::Sink, Alive {
 public:
  explicit Recording(const Parameters& given)
      : fail_in_(given.text("fail_in")), alignment_(given.integer("alignment")) {}
  Requirements wanted(const StreamInfo&) const override {
    const Asked now;
    Requirements all;
    all.alignment = static_cast<std::size_t>(alignment_);
    return all;
  }
  void open(std::uint32_t, const StreamInfo&) override {
    ++seen.opens;
    fail("open");
  }
  void write(std::uint32_t, const Frame& frame) override {
    fail("write");
    if (is_interrupted_) throw Error(Code::kCancelled, "recording: interrupted");
    ++seen.frames;
    seen.rotation = frame.info().rotation;
    if (const auto known = metadata::find(frame))
      seen.detections += static_cast<int>(known->all<metadata::Detection>().size());
  }
  void end(std::uint32_t) override {
    ++seen.ends;
    fail("end");
  }
  void finish() override {
    ++seen.finishes;
    fail("finish");
  }
  void interrupt() noexcept override { is_interrupted_ = true; }
  void resume() override { is_interrupted_ = false; }

 private:
  void fail(const char* where) const {
    if (fail_in_ == where) throw Error(Code::kResourceExhausted, "recording: the disk is full");
  }
  const std::string fail_in_;
  const std::int64_t alignment_;
  std::atomic<bool> is_interrupted_{false};
};

template <typename T>
elements::Factory factory() {
  return [](const Parameters& given, const Environment&) -> AnyElement {
    if constexpr (std::is_constructible_v<T, const Parameters&>)
      return std::make_unique<T>(given);
    else
      return std::make_unique<T>();
  };
}

inline void register_all() {
  using elements::register_element;
  register_element({"marking",
                    "Marks frames",
                    Role::kTransformInplace,
                    {{"alignment", "Bytes", std::int64_t{1}, false, 1, 4096},
                     {"fail_at", "Frame", std::int64_t{-1}, false, -1, 1000},
                     {"name", "A name that GStreamer has, too", std::string("x")},
                     {"ratio", "A number", 0.5, false, 0, 1},
                     {"loud", "A flag", true},
                     {"colour", "A choice", std::string("green"), false, {}, {}, {"red", "green", "blue"}}}},
                   factory<Marking>());
  register_element({"batching",
                    "Waits for four frames",
                    Role::kTransform,
                    {{"wait_ms", "How long", std::int64_t{60'000}, false, 0}}},
                   factory<Batching>());
  register_element({"halving", "Half the pictures, of half the size", Role::kTransform}, factory<Halving>());
  register_element({"tap", "Keeps a tensor", Role::kTransformInplace}, factory<Tap>());
  elements::Description grey{"grey_only", "Takes one format", Role::kTransformInplace};
  grey.formats = {kGray8};
  register_element(std::move(grey), factory<GreyOnly>());
  register_element(
      {"slow",
       "Frames, or none",
       Role::kSource,
       {{"mode", "How", std::string("file"), false, {}, {}, {"file", "live", "silent", "absent", "damaged", "lying"}}}},
      factory<Slow>());
  register_element({"recording",
                    "Counts",
                    Role::kSink,
                    {{"fail_in", "Where", std::string()}, {"alignment", "Bytes", std::int64_t{1}, false, 1, 4096}}},
                   factory<Recording>());
  register_element(
      {"needy", "Needs a model", Role::kTransformInplace, {{"model", "A file", std::string("m.xml"), true}}},
      factory<GreyOnly>());
}

/// Starts GStreamer with the plugin and the elements above; counts begin at 0.
inline void load_plugin() {
  static const bool once = [] {
    register_all();
    gs::start();
    const gs::ObjectPtr<GstPlugin> plugin(gst_plugin_load_by_name("tenon"));
    EXPECT_TRUE(plugin) << "GST_PLUGIN_PATH names no folder with libgsttenon.so";
    return true;
  }();
  static_cast<void>(once);
  seen.opens = seen.ends = seen.finishes = seen.frames = seen.detections = seen.interrupts = 0;
  seen.asked = seen.torn = 0;
  seen.address = 0;
  seen.is_live = false;
  seen.rotation = Rotation::kNone;
}

struct Teardown {
  void operator()(GstHarness* harness) const { gst_harness_teardown(harness); }
};
using HarnessPtr = std::unique_ptr<GstHarness, Teardown>;

inline constexpr const char* kGreyCaps = "video/x-raw,format=GRAY8,width=64,height=32,framerate=30/1";

/// `line` between a source and a sink of this test, with the caps set and playing.
inline HarnessPtr harness(const char* line, const char* caps = kGreyCaps) {
  load_plugin();
  HarnessPtr made(gst_harness_new_parse(line));
  if (caps) gst_harness_set_src_caps_str(made.get(), caps);
  return made;
}

/// A grey picture of 64x32 at `frame` thirtieths of a second.
inline GstBuffer* picture(int frame, std::size_t size = 64 * 32) {
  GstBuffer* const buffer = gst_buffer_new_allocate(nullptr, size, nullptr);
  gst_buffer_memset(buffer, 0, static_cast<guint8>(frame), size);
  GST_BUFFER_PTS(buffer) = static_cast<GstClockTime>(frame) * GST_SECOND / 30;
  GST_BUFFER_DURATION(buffer) = GST_SECOND / 30;
  return buffer;
}

/// A value of "tenon-stats" of an element, or of the only element in a harness's bin.
inline std::uint64_t stat(GstElement* element, const char* name) {
  if (GST_IS_BIN(element)) element = GST_ELEMENT(GST_BIN(element)->children->data);
  GstStructure* stats = nullptr;
  g_object_get(element, "tenon-stats", &stats, nullptr);
  guint64 value = 0;
  EXPECT_TRUE(gst_structure_get_uint64(stats, name, &value)) << name;
  gst_structure_free(stats);
  return value;
}

/// A launched line. Its state is NULL at the end.
class Line {
 public:
  explicit Line(const std::string& line) {
    load_plugin();
    GError* error = nullptr;
    pipeline_.reset(gst_parse_launch(line.c_str(), &error));
    if (error) ADD_FAILURE() << line << ": " << error->message;
    g_clear_error(&error);
    gst_object_ref_sink(pipeline_.get());
  }
  ~Line() { to(GST_STATE_NULL); }
  GstElement* get() const { return pipeline_.get(); }
  GstStateChangeReturn to(GstState state) { return gst_element_set_state(pipeline_.get(), state); }
  gs::ObjectPtr<GstElement> element(const char* name) const {
    return gs::ObjectPtr<GstElement>(gst_bin_get_by_name(GST_BIN(pipeline_.get()), name));
  }
  /// The end of the stream goes no further than the element of that name.
  void lose_the_end_of(const char* name) const {
    const gs::ObjectPtr<GstPad> pad(gst_element_get_static_pad(element(name).get(), "src"));
    gst_pad_add_probe(
        pad.get(), GST_PAD_PROBE_TYPE_EVENT_DOWNSTREAM,
        [](GstPad*, GstPadProbeInfo* info, gpointer) {
          return GST_EVENT_TYPE(GST_PAD_PROBE_INFO_EVENT(info)) == GST_EVENT_EOS ? GST_PAD_PROBE_DROP
                                                                                 : GST_PAD_PROBE_OK;
        },
        nullptr, nullptr);
  }
  /// Plays to the end. @return the error's text with its debug text, "" at the end of the stream, "late" after a minute.
  std::string run() {
    to(GST_STATE_PLAYING);
    return wait();
  }
  std::string wait() {
    const gs::ObjectPtr<GstBus> bus(gst_element_get_bus(pipeline_.get()));
    GstMessage* const message = gst_bus_timed_pop_filtered(
        bus.get(), 60 * GST_SECOND, static_cast<GstMessageType>(GST_MESSAGE_EOS | GST_MESSAGE_ERROR));
    if (!message) return "late";
    std::string text;
    if (GST_MESSAGE_TYPE(message) == GST_MESSAGE_ERROR) {
      GError* error = nullptr;
      gchar* debug = nullptr;
      gst_message_parse_error(message, &error, &debug);
      text = std::string(error->message) + "\n" + (debug ? debug : "");
      domain = error->domain, code = error->code;
      g_clear_error(&error);
      g_free(debug);
    }
    gst_message_unref(message);
    return text;
  }

  GQuark domain = 0;
  gint code = 0;

 private:
  gs::ObjectPtr<GstElement> pipeline_;
};

}  // namespace tenon::gst_plugin_testing
