// SPDX-License-Identifier: Apache-2.0
// Pipelines made of launch lines.
#include <tenon/frameworks/gstreamer/launch.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <string_view>
#include <thread>
#include <utility>

#include <tenon/core/error.hpp>
#include <tenon/core/pixel_format.hpp>
#include <tenon/frameworks/gstreamer/caps.hpp>
#include <tenon/frameworks/gstreamer/orientation.hpp>

namespace tenon {
inline namespace v1 {
namespace gstreamer {
namespace detail {

TENON_INLINE Code code_of(const GError& error) {
  if (error.domain == GST_RESOURCE_ERROR && error.code == GST_RESOURCE_ERROR_NOT_FOUND) return Code::kNotFound;
  if (error.domain == GST_STREAM_ERROR) return Code::kDataLoss;
  return Code::kUnavailable;
}

/// What the line's end takes: dma-bufs in any layout, and all formats of host memory that Tenon knows.
TENON_INLINE CapsPtr accepted() {
  std::size_t count = 0;
  const PixelFormatInfo* const known = all_formats(count);
  std::string names;
  for (std::size_t i = 0; i < count; ++i) {
    const FormatMapping* mapping = find_mapping(known[i].format);
    if (mapping) names += (names.empty() ? "" : ", ") + std::string(gst_video_format_to_string(mapping->gst));
  }
  return CapsPtr(gst_caps_from_string(("video/x-raw(memory:DMABuf); video/x-raw, format={" + names + "}").c_str()));
}

TENON_INLINE Launched::Launched(const std::string& whole, std::string line) : line_(std::move(line)) {
  start();
  GError* error = nullptr;
  pipeline_.reset(gst_parse_launch_full(whole.c_str(), nullptr, GST_PARSE_FLAG_FATAL_ERRORS, &error));
  if (pipeline_ && !error && !GST_IS_BIN(pipeline_.get()))
    throw Error(Code::kInvalidArgument, about() + "it has one element only");
  if (error || !pipeline_) {
    const std::string why = error ? error->message : "no reason given";
    g_clear_error(&error);
    throw Error(Code::kInvalidArgument, about() + why + "; gst-inspect-1.0 lists the elements that are installed",
                "gst_parse_launch", 0);
  }
}

TENON_INLINE Launched::~Launched() {
  if (pipeline_) gst_element_set_state(pipeline_.get(), GST_STATE_NULL);
}

TENON_INLINE void Launched::check_cancelled(const Cancelled& cancelled) const {
  if (cancelled && *cancelled) throw Error(Code::kCancelled, about() + "it was told to stop");
}

TENON_INLINE GstStateChangeReturn Launched::set_state(GstState state) const {
  const GstStateChangeReturn answer = gst_element_set_state(pipeline_.get(), state);
  if (answer != GST_STATE_CHANGE_FAILURE) return answer;
  check_bus();  // What an element said of it.
  throw Error(Code::kUnavailable, about() + "its elements do not go to the state " + gst_element_state_get_name(state),
              "gst_element_set_state", answer);
}

TENON_INLINE bool Launched::check_bus() const {
  const ObjectPtr<GstBus> bus(gst_element_get_bus(pipeline_.get()));
  const MessagePtr message(
      gst_bus_pop_filtered(bus.get(), static_cast<GstMessageType>(GST_MESSAGE_ERROR | GST_MESSAGE_EOS)));
  if (!message) return false;
  if (GST_MESSAGE_TYPE(message.get()) == GST_MESSAGE_EOS) return true;
  GError* error = nullptr;
  gchar* details = nullptr;
  gst_message_parse_error(message.get(), &error, &details);
  const std::string_view all = details ? details : "";  // The place in GStreamer's sources, then what happened.
  const std::string text = about() + GST_OBJECT_NAME(GST_MESSAGE_SRC(message.get())) + ": " + error->message + " " +
                           std::string(all.substr(all.rfind('\n') + 1));
  const Code code = code_of(*error);
  const int number = error->code;
  g_clear_error(&error);
  g_free(details);
  throw Error(code, text, "GstMessage of type error", number);
}

}  // namespace detail

TENON_INLINE LaunchedSource::LaunchedSource(const std::string& line, const PoolOptions& pool, Cancelled cancelled)
    : launched_(line + (has_own(line) ? "" : " ! appsink name=tenon"), line), cancelled_(std::move(cancelled)) {
  sink_ = launched_.find([](GstElement* element) { return GST_IS_APP_SINK(element); });
  if (!sink_) throw Error(Code::kInvalidArgument, launched_.about() + "it has no appsink");
  if (!has_own(line)) {
    g_object_set(sink_.get(), "sync", FALSE, "max-buffers", 2U, nullptr);
    gst_app_sink_set_caps(GST_APP_SINK(sink_.get()), detail::accepted().get());
  }
  g_object_set(sink_.get(), "enable-last-sample", FALSE, nullptr);  // It would keep a buffer.
  offer_pool(sink_.get(), pool);
  live_ = launched_.set_state(GST_STATE_PAUSED) == GST_STATE_CHANGE_NO_PREROLL;
  launched_.set_state(GST_STATE_PLAYING);
}

TENON_INLINE SamplePtr LaunchedSource::pull(Deadline deadline) {
  GstAppSink* const sink = GST_APP_SINK(sink_.get());
  while (true) {
    launched_.check_cancelled(cancelled_);
    constexpr auto kSlice = std::chrono::milliseconds(50);  // An error ends no wait of the appsink's.
    const auto left = std::chrono::duration_cast<std::chrono::nanoseconds>(deadline - Clock::now());
    const auto wait = std::clamp<std::chrono::nanoseconds>(left, std::chrono::nanoseconds(0), kSlice);
    // Events, too: a tag holds for the pictures behind it.
    GstMiniObject* const next = gst_app_sink_try_pull_object(sink, static_cast<GstClockTime>(wait.count()));
    if (next && GST_IS_SAMPLE(next)) return SamplePtr(GST_SAMPLE_CAST(next));
    if (next) {
      if (GST_EVENT_TYPE(next) == GST_EVENT_STREAM_START) rotation_ = Rotation::kNone;
      rotation_ = orientation_of(GST_EVENT_CAST(next)).value_or(rotation_);
      gst_mini_object_unref(next);
      continue;
    }
    launched_.check_bus();
    if (gst_app_sink_is_eos(sink)) return {};
    if (left <= left.zero()) throw Error(Code::kDeadlineExceeded, launched_.about() + "no picture in time");
  }
}

TENON_INLINE LaunchedSink::LaunchedSink(const std::string& line, const GstCaps* caps, Cancelled cancelled,
                                        Rotation rotation)
    : launched_(has_own(line) ? line : "appsrc name=tenon ! " + line, line), cancelled_(std::move(cancelled)) {
  source_ = launched_.find([](GstElement* element) { return GST_IS_APP_SRC(element); });
  if (!source_) throw Error(Code::kInvalidArgument, launched_.about() + "it has no appsrc");
  g_object_set(source_.get(), "format", GST_FORMAT_TIME, "block", FALSE, "max-bytes", guint64{0}, nullptr);
  gst_app_src_set_caps(source(), caps);
  if (rotation != Rotation::kNone) {
    // An appsrc sends events at once, before its segment; what it is derived from sends them behind that.
    auto* const base = static_cast<GstElementClass*>(g_type_class_peek_parent(GST_ELEMENT_GET_CLASS(source_.get())));
    base->send_event(source_.get(), orientation_event(rotation));
  }
  launched_.set_state(GST_STATE_PLAYING);
}

TENON_INLINE void LaunchedSink::push(BufferPtr buffer, Deadline deadline) {
  for (;; std::this_thread::sleep_for(std::chrono::milliseconds(1))) {
    launched_.check_cancelled(cancelled_);
    if (launched_.check_bus()) throw Error(Code::kUnavailable, launched_.about() + "it has ended by itself");
    if (gst_app_src_get_current_level_buffers(source()) < kMostWaiting) break;
    if (Clock::now() >= deadline)
      throw Error(Code::kDeadlineExceeded, launched_.about() + "its elements take no more pictures");
  }
  const GstFlowReturn flow = gst_app_src_push_buffer(source(), buffer.release());
  if (flow == GST_FLOW_OK) return;
  launched_.check_bus();
  throw Error(Code::kUnavailable, launched_.about() + "it takes no pictures: " + gst_flow_get_name(flow),
              "gst_app_src_push_buffer", flow);
}

TENON_INLINE void LaunchedSink::finish(Deadline deadline) {
  if (const GstFlowReturn flow = gst_app_src_end_of_stream(source()); flow != GST_FLOW_OK) {
    launched_.check_bus();
    throw Error(Code::kUnavailable, launched_.about() + "it takes no end of its stream: " + gst_flow_get_name(flow),
                "gst_app_src_end_of_stream", flow);
  }
  while (!launched_.check_bus()) {
    launched_.check_cancelled(cancelled_);
    if (Clock::now() >= deadline)
      throw Error(Code::kDeadlineExceeded, launched_.about() + "its elements do not finish in time");
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

}  // namespace gstreamer
}  // namespace v1
}  // namespace tenon
