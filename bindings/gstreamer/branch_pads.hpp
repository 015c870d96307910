// SPDX-License-Identifier: Apache-2.0
// The sink pads of an element that joins branches of one stream.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include <gst/gst.h>

#include <tenon/frameworks/gstreamer/caps.hpp>
#include <tenon/frameworks/gstreamer/gst.hpp>

namespace tenon {
inline namespace v1 {
namespace gst_plugin {

/// Pads on request. The first one that is requested is the element's own sink pad, whose buffers go on; of the others the element
/// gets the buffers, and of the events only ends and gaps; tags of a branch hold for its own pictures.
/// @thread as GStreamer calls; members that name no thread: any.
class BranchPads {
 public:
  /// @thread Its members are called in the threads of the pads.
  class Owner {
   public:
    virtual GstFlowReturn branch_buffer(std::uint32_t branch, gstreamer::BufferPtr buffer,
                                        gstreamer::VideoCaps video) = 0;
    /// No more comes on this branch.
    virtual void branch_ended(std::uint32_t branch) = 0;
    /// No buffer before this time comes on this branch any more.
    virtual void branch_skips(std::uint32_t branch, std::int64_t until_ns) = 0;

   protected:
    ~Owner() = default;
  };

  /// @param first  The element's own sink pad, which is not added to it yet. @param owner  Must outlive this, and the element's pads.
  BranchPads(GstElement* object, GstPad* first, Owner& owner) : object_(object), first_(first), owner_(owner) {}

  /// @param name  As GStreamer gives it; may be null. @return Null: there is a pad of that name. @pre no data flows.
  GstPad* request(GstPadTemplate* like, const gchar* name);
  void release(GstPad* pad);
  /// Numbers the branches, from 1. @pre no data flows.
  void begin();
  /// All branches, with the first.
  std::uint32_t count() const;
  std::vector<std::uint32_t> ended() const;
  /// The greatest latency upstream of a branch but the first.
  GstClockTime latency() const;

 private:
  struct Branch {
    BranchPads& all;
    GstPad* pad;  ///< The element owns it.
    std::uint32_t number = 0;
    std::optional<gstreamer::VideoCaps> video = {};  ///< Under the pad's stream lock.
    Rotation rotation = Rotation::kNone;             ///< What its tags say. Under the pad's stream lock.
    bool has_ended = false;                          ///< Under mutex_.
  };

  static Branch& of(GstPad* pad) { return *static_cast<Branch*>(gst_pad_get_element_private(pad)); }
  GstFlowReturn chain(Branch& branch, gstreamer::BufferPtr buffer) const;
  gboolean event(Branch& branch, GstEvent* event);
  void set_ended(Branch& branch, bool has_ended);
  void set_caps(Branch& branch, GstCaps* caps) const;

  GstElement* const object_;
  GstPad* const first_;
  Owner& owner_;
  mutable std::mutex mutex_;
  bool has_first_ = false;
  std::vector<std::unique_ptr<Branch>> all_;  ///< All but the first.
};

}  // namespace gst_plugin
}  // namespace v1
}  // namespace tenon
