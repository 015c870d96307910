// SPDX-License-Identifier: Apache-2.0
// Launch lines that end or begin in a program: frames of an appsink, frames into an appsrc. Needs gstreamer-app-1.0.
#pragma once

#include <gst/app/gstappsink.h>
#include <gst/app/gstappsrc.h>
#include <gst/gst.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include <tenon/core/error.hpp>
#include <tenon/core/pixel_format.hpp>
#include <tenon/core/policy.hpp>
#include <tenon/frameworks/gstreamer/caps.hpp>
#include <tenon/frameworks/gstreamer/gst.hpp>
#include <tenon/frameworks/gstreamer/pool.hpp>

namespace tenon {
inline namespace v1 {
namespace gstreamer {

struct UnrefPlain {
  void operator()(GstMessage* message) const { gst_message_unref(message); }
  void operator()(GstSample* sample) const { gst_sample_unref(sample); }
  void operator()(GstIterator* iterator) const { gst_iterator_free(iterator); }
};
using MessagePtr = std::unique_ptr<GstMessage, UnrefPlain>;
using SamplePtr = std::unique_ptr<GstSample, UnrefPlain>;
using IteratorPtr = std::unique_ptr<GstIterator, UnrefPlain>;

/// Calls visit(element) for each element of the pipeline, also in bins, until it returns true.
template <typename Visit>
bool any_element(GstElement* pipeline, Visit&& visit) {
  const IteratorPtr each(gst_bin_iterate_recurse(GST_BIN(pipeline)));
  GValue item = G_VALUE_INIT;
  bool found = false;
  while (!found && gst_iterator_next(each.get(), &item) == GST_ITERATOR_OK) {
    found = visit(GST_ELEMENT(g_value_get_object(&item)));
    g_value_reset(&item);
  }
  g_value_unset(&item);
  return found;
}

/// Once it is true, waits end soon (kCancelled). Null: they last until their deadlines.
using Cancelled = std::shared_ptr<const std::atomic<bool>>;

namespace detail {

inline Code code_of(const GError& error) {
  if (error.domain == GST_RESOURCE_ERROR && error.code == GST_RESOURCE_ERROR_NOT_FOUND) return Code::kNotFound;
  if (error.domain == GST_STREAM_ERROR) return Code::kDataLoss;
  return Code::kUnavailable;
}

/// What the line's end takes: dma-bufs in any layout, and all formats of host memory that Tenon knows.
inline CapsPtr accepted() {
  std::size_t count = 0;
  const PixelFormatInfo* const known = all_formats(count);
  std::string names;
  for (std::size_t i = 0; i < count; ++i) {
    const FormatMapping* mapping = find_mapping(known[i].format);
    if (mapping) names += (names.empty() ? "" : ", ") + std::string(gst_video_format_to_string(mapping->gst));
  }
  return CapsPtr(gst_caps_from_string(("video/x-raw(memory:DMABuf); video/x-raw, format={" + names + "}").c_str()));
}

/// A pipeline made of a line; stopped at the end.
class Launched {
 public:
  /// @param whole  What is parsed. @param line  What the user wrote, for messages. @errors kInvalidArgument
  Launched(const std::string& whole, std::string line) : line_(std::move(line)) {
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
  ~Launched() {
    if (pipeline_) gst_element_set_state(pipeline_.get(), GST_STATE_NULL);
  }
  Launched(const Launched&) = delete;
  Launched& operator=(const Launched&) = delete;

  std::string about() const { return "launch line \"" + line_ + "\": "; }
  /// @errors kCancelled: `cancelled` is true
  void check_cancelled(const Cancelled& cancelled) const {
    if (cancelled && *cancelled) throw Error(Code::kCancelled, about() + "it was told to stop");
  }
  GstElement* pipeline() const { return pipeline_.get(); }

  /// The first element for which is_one() holds; null where none is.
  template <typename IsOne>
  ObjectPtr<GstElement> find(IsOne is_one) const {
    ObjectPtr<GstElement> found;
    any_element(pipeline_.get(), [&](GstElement* element) {
      if (is_one(element)) found.reset(GST_ELEMENT(gst_object_ref(element)));
      return found != nullptr;
    });
    return found;
  }

  /// @return whether the stream has ended. @errors the first error that an element has reported.
  bool check_bus() const {
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

 private:
  std::string line_;
  ObjectPtr<GstElement> pipeline_;
};

}  // namespace detail

/// A launch line that runs, and the appsink in which it ends: the line's own, or one that is added.
/// @thread one at a time
class LaunchedSource {
 public:
  /// @param pool  Offered to the elements before the appsink.
  /// @errors kInvalidArgument: no such line, with GStreamer's reason; kUnavailable: GStreamer does not start.
  explicit LaunchedSource(const std::string& line, const PoolOptions& pool = {}, Cancelled cancelled = {})
      : launched_(line + (has_own(line) ? "" : " ! appsink name=tenon"), line), cancelled_(std::move(cancelled)) {
    sink_ = launched_.find([](GstElement* element) { return GST_IS_APP_SINK(element); });
    if (!sink_) throw Error(Code::kInvalidArgument, launched_.about() + "it has no appsink");
    if (!has_own(line)) {
      g_object_set(sink_.get(), "sync", FALSE, "max-buffers", 2U, nullptr);
      gst_app_sink_set_caps(GST_APP_SINK(sink_.get()), detail::accepted().get());
    }
    g_object_set(sink_.get(), "enable-last-sample", FALSE, nullptr);  // It would keep a buffer.
    offer_pool(sink_.get(), pool);
    live_ = gst_element_set_state(pipeline(), GST_STATE_PAUSED) == GST_STATE_CHANGE_NO_PREROLL;
    gst_element_set_state(pipeline(), GST_STATE_PLAYING);
  }

  GstElement* pipeline() const { return launched_.pipeline(); }
  bool live() const { return live_; }

  /// The next picture; null at the end. @errors what the elements report; kDeadlineExceeded; kCancelled
  SamplePtr pull(Deadline deadline) {
    GstAppSink* const sink = GST_APP_SINK(sink_.get());
    while (true) {
      launched_.check_cancelled(cancelled_);
      constexpr auto kSlice = std::chrono::milliseconds(50);  // An error ends no wait of the appsink's.
      const auto left = std::chrono::duration_cast<std::chrono::nanoseconds>(deadline - Clock::now());
      const auto wait = std::clamp<std::chrono::nanoseconds>(left, std::chrono::nanoseconds(0), kSlice);
      SamplePtr sample(gst_app_sink_try_pull_sample(sink, static_cast<GstClockTime>(wait.count())));
      if (sample) return sample;
      launched_.check_bus();
      if (gst_app_sink_is_eos(sink)) return {};
      if (left <= left.zero()) throw Error(Code::kDeadlineExceeded, launched_.about() + "no picture in time");
    }
  }

 private:
  static bool has_own(const std::string& line) { return line.find("appsink") != std::string::npos; }

  detail::Launched launched_;
  Cancelled cancelled_;
  ObjectPtr<GstElement> sink_;
  bool live_ = false;
};

/// A launch line that runs, and begins in an appsrc: the line's own, or one that is put before it.
/// @thread one at a time
class LaunchedSink {
 public:
  /// @param caps  Of the buffers, by gstreamer::caps(). @errors as LaunchedSource
  LaunchedSink(const std::string& line, const GstCaps* caps, Cancelled cancelled = {})
      : launched_(has_own(line) ? line : "appsrc name=tenon ! " + line, line), cancelled_(std::move(cancelled)) {
    source_ = launched_.find([](GstElement* element) { return GST_IS_APP_SRC(element); });
    if (!source_) throw Error(Code::kInvalidArgument, launched_.about() + "it has no appsrc");
    g_object_set(source_.get(), "format", GST_FORMAT_TIME, "block", FALSE, "max-bytes", guint64{0}, nullptr);
    gst_app_src_set_caps(source(), caps);
    gst_element_set_state(launched_.pipeline(), GST_STATE_PLAYING);
  }

  /// Gives a buffer to the line, when fewer than four wait there.
  /// @errors what the elements report; kDeadlineExceeded: they take none; kUnavailable: they want no more;
  /// kCancelled
  void push(BufferPtr buffer, Deadline deadline) {
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

  /// Tells the line that nothing more comes, and waits until it has finished. @errors as push()
  void finish(Deadline deadline) {
    gst_app_src_end_of_stream(source());
    while (!launched_.check_bus()) {
      launched_.check_cancelled(cancelled_);
      if (Clock::now() >= deadline)
        throw Error(Code::kDeadlineExceeded, launched_.about() + "its elements do not finish in time");
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }

 private:
  static constexpr guint64 kMostWaiting = 4;
  static bool has_own(const std::string& line) { return line.find("appsrc") != std::string::npos; }
  GstAppSrc* source() const { return GST_APP_SRC(source_.get()); }

  detail::Launched launched_;
  Cancelled cancelled_;
  ObjectPtr<GstElement> source_;
};

}  // namespace gstreamer
}  // namespace v1
}  // namespace tenon
