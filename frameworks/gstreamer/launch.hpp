// SPDX-License-Identifier: Apache-2.0
// Launch lines that end or begin in a program: frames of an appsink, frames into an appsrc. Needs gstreamer-app-1.0.
#pragma once

#include <gst/app/gstappsink.h>
#include <gst/app/gstappsrc.h>
#include <gst/gst.h>

#include <atomic>
#include <memory>
#include <string>

#include <tenon/core/pixel_format.hpp>
#include <tenon/core/policy.hpp>
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

/// A pipeline made of a line; stopped at the end.
class Launched {
 public:
  /// @param whole  What is parsed. @param line  What the user wrote, for messages. @errors kInvalidArgument
  Launched(const std::string& whole, std::string line);
  ~Launched();
  Launched(const Launched&) = delete;
  Launched& operator=(const Launched&) = delete;

  std::string about() const { return "launch line \"" + line_ + "\": "; }
  /// @errors kCancelled: `cancelled` is true
  void check_cancelled(const Cancelled& cancelled) const;
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

  /// @return GStreamer's answer, which is no failure. @errors what an element has reported; kUnavailable: none has, and it failed.
  GstStateChangeReturn set_state(GstState state) const;

  /// @return whether the stream has ended. @errors the first error that an element has reported.
  bool check_bus() const;

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
  explicit LaunchedSource(const std::string& line, const PoolOptions& pool = {}, Cancelled cancelled = {});

  GstElement* pipeline() const { return launched_.pipeline(); }
  bool live() const { return live_; }

  /// The next picture; null at the end. @errors what the elements report; kDeadlineExceeded; kCancelled
  SamplePtr pull(Deadline deadline);
  /// How the last picture is to be turned, as the stream's tags say.
  Rotation rotation() const { return rotation_; }

 private:
  static bool has_own(const std::string& line) { return line.find("appsink") != std::string::npos; }

  detail::Launched launched_;
  Cancelled cancelled_;
  ObjectPtr<GstElement> sink_;
  Rotation rotation_ = Rotation::kNone;
  bool live_ = false;
};

/// A launch line that runs, and begins in an appsrc: the line's own, or one that is put before it.
/// @thread one at a time
class LaunchedSink {
 public:
  /// @param caps  The caps of the buffers, by gstreamer::caps(). @param rotation  How their pictures are to be turned: a tag says so to the line.
  /// @errors as LaunchedSource
  LaunchedSink(const std::string& line, const GstCaps* caps, Cancelled cancelled = {},
               Rotation rotation = Rotation::kNone);

  /// Gives a buffer to the line, when fewer than four wait there.
  /// @errors what the elements report; kDeadlineExceeded: they take none; kUnavailable: they want no more;
  /// kCancelled
  void push(BufferPtr buffer, Deadline deadline);

  /// Tells the line that nothing more comes, and waits until it has finished. @errors as push()
  void finish(Deadline deadline);

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
