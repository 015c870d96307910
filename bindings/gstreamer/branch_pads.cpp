// SPDX-License-Identifier: Apache-2.0
// Requests and releases the pads of branches, and passes on what comes.
#include <tenon/bindings/gstreamer/branch_pads.hpp>

#include <algorithm>
#include <string>
#include <utility>

#include <tenon/bindings/gstreamer/host.hpp>
#include <tenon/core/error.hpp>
#include <tenon/frameworks/gstreamer/orientation.hpp>

namespace tenon {
inline namespace v1 {
namespace gst_plugin {

namespace gs = tenon::gstreamer;

GstPad* BranchPads::request(GstPadTemplate* like, const gchar* name) {
  const std::string text = name_of_new_pad(object_, name, "sink_");
  if (text.empty()) return nullptr;
  bool is_first = false;
  {
    const std::lock_guard lock(mutex_);
    is_first = !std::exchange(has_first_, true);
  }
  if (is_first) {
    gst_object_set_name(GST_OBJECT(first_), text.c_str());
    gst_element_add_pad(object_, first_);
    return first_;
  }
  GstPad* const pad = gst_pad_new_from_template(like, text.c_str());
  auto branch = std::make_unique<Branch>(Branch{*this, pad});
  gst_pad_set_element_private(pad, branch.get());
  gst_pad_set_chain_function(pad, [](GstPad* own, GstObject*, GstBuffer* buffer) {
    return of(own).all.chain(of(own), gs::BufferPtr(buffer));
  });
  gst_pad_set_event_function(
      pad, [](GstPad* own, GstObject*, GstEvent* event) { return of(own).all.event(of(own), event); });
  {
    const std::lock_guard lock(mutex_);
    all_.push_back(std::move(branch));
  }
  gst_element_add_pad(object_, pad);
  return pad;
}

void BranchPads::release(GstPad* pad) {
  gst_pad_set_active(pad, FALSE);  // Its thread is not in chain() any more.
  if (pad == first_) {
    const std::lock_guard lock(mutex_);
    has_first_ = false;
  } else {
    set_ended(of(pad), true);
    owner_.branch_ended(of(pad).number);
    const std::lock_guard lock(mutex_);
    std::erase_if(all_, [pad](const auto& branch) { return branch->pad == pad; });
  }
  gst_element_remove_pad(object_, pad);
}

void BranchPads::begin() {
  const std::lock_guard lock(mutex_);
  std::uint32_t number = 0;
  for (const auto& branch : all_) {
    branch->number = ++number;
    branch->has_ended = false;
    branch->video.reset();
    branch->rotation = Rotation::kNone;
  }
}

std::uint32_t BranchPads::count() const {
  const std::lock_guard lock(mutex_);
  return static_cast<std::uint32_t>(all_.size()) + 1;
}

std::vector<std::uint32_t> BranchPads::ended() const {
  const std::lock_guard lock(mutex_);
  std::vector<std::uint32_t> numbers;
  for (const auto& branch : all_)
    if (branch->has_ended) numbers.push_back(branch->number);
  return numbers;
}

GstClockTime BranchPads::latency() const {
  std::vector<GstPad*> pads;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& branch : all_) pads.push_back(GST_PAD(gst_object_ref(branch->pad)));
  }
  GstClockTime greatest = 0;
  for (GstPad* const pad : pads) {
    GstQuery* const query = gst_query_new_latency();
    GstClockTime least = 0;
    if (gst_pad_peer_query(pad, query)) gst_query_parse_latency(query, nullptr, &least, nullptr);
    greatest = std::max(greatest, least);
    gst_query_unref(query);
    gst_object_unref(pad);
  }
  return greatest;
}

GstFlowReturn BranchPads::chain(Branch& branch, gs::BufferPtr buffer) const {
  if (branch.video) return owner_.branch_buffer(branch.number, std::move(buffer), *branch.video);
  post_error(object_,
             Error(Code::kFailedPrecondition, "a buffer came on a branch before any caps of raw video that are known"),
             During::kNegotiation);
  return GST_FLOW_NOT_NEGOTIATED;
}

void BranchPads::set_caps(Branch& branch, GstCaps* caps) const {
  branch.video.reset();
  try {
    branch.video = gs::video_caps(caps);
    branch.video->info.rotation = branch.rotation;
  } catch (const std::exception& error) {
    post_error(object_, error, During::kNegotiation);
  }
}

void BranchPads::set_ended(Branch& branch, bool has_ended) {
  const std::lock_guard lock(mutex_);
  branch.has_ended = has_ended;
}

gboolean BranchPads::event(Branch& branch, GstEvent* event) {
  bool is_good = true;
  switch (GST_EVENT_TYPE(event)) {
    case GST_EVENT_CAPS: {
      GstCaps* caps = nullptr;
      gst_event_parse_caps(event, &caps);
      set_caps(branch, caps);
      is_good = branch.video.has_value();
      break;
    }
    case GST_EVENT_STREAM_START:
      branch.rotation = Rotation::kNone;
      if (branch.video) branch.video->info.rotation = branch.rotation;
      set_ended(branch, false);
      break;
    case GST_EVENT_FLUSH_STOP:
      set_ended(branch, false);
      break;
    case GST_EVENT_TAG:
      branch.rotation = gs::orientation_of(event).value_or(branch.rotation);
      if (branch.video) branch.video->info.rotation = branch.rotation;
      break;
    case GST_EVENT_EOS:
      set_ended(branch, true);
      owner_.branch_ended(branch.number);
      break;
    case GST_EVENT_GAP: {
      GstClockTime time = GST_CLOCK_TIME_NONE, duration = GST_CLOCK_TIME_NONE;
      gst_event_parse_gap(event, &time, &duration);
      if (!GST_CLOCK_TIME_IS_VALID(time)) break;
      // Without a duration it is a gap at that time.
      const GstClockTime end = time + (GST_CLOCK_TIME_IS_VALID(duration) ? duration : 1);
      if (end >= time && end <= G_MAXINT64) owner_.branch_skips(branch.number, static_cast<std::int64_t>(end));
      break;
    }
    default:  // The first branch brings them, too.
      break;
  }
  gst_event_unref(event);
  return is_good ? TRUE : FALSE;
}

}  // namespace gst_plugin
}  // namespace v1
}  // namespace tenon
