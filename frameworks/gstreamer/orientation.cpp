// SPDX-License-Identifier: Apache-2.0
// GStreamer has the same eight orientations: mirrored left to right first, then turned clockwise.
#include <tenon/frameworks/gstreamer/orientation.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <memory>
#include <string_view>

namespace tenon {
inline namespace v1 {
namespace gstreamer {
namespace detail {

/// By number of the Rotation.
inline constexpr std::array<std::string_view, 8> kOrientations{"rotate-0",        "rotate-90",      "rotate-180",
                                                               "rotate-270",      "flip-rotate-0",  "flip-rotate-90",
                                                               "flip-rotate-180", "flip-rotate-270"};

}  // namespace detail

TENON_INLINE std::optional<Rotation> orientation_of(GstEvent* event) {
  if (GST_EVENT_TYPE(event) != GST_EVENT_TAG) return std::nullopt;
  GstTagList* list = nullptr;
  gst_event_parse_tag(event, &list);
  gchar* text = nullptr;
  if (!list || !gst_tag_list_get_string(list, GST_TAG_IMAGE_ORIENTATION, &text)) return std::nullopt;
  const std::unique_ptr<gchar, void (*)(gpointer)> held(text, g_free);
  const auto& all = detail::kOrientations;
  const auto at = std::find(all.begin(), all.end(), std::string_view(text));
  if (at == all.end()) return std::nullopt;
  return static_cast<Rotation>(at - all.begin());
}

TENON_INLINE GstEvent* orientation_event(Rotation rotation) {
  return gst_event_new_tag(gst_tag_list_new(GST_TAG_IMAGE_ORIENTATION,
                                            detail::kOrientations[static_cast<std::size_t>(rotation)].data(), nullptr));
}

TENON_INLINE GstEvent* with_orientation(GstEvent* tags, Rotation rotation) {
  GstTagList* list = nullptr;
  gst_event_parse_tag(tags, &list);
  GstTagList* const changed = gst_tag_list_copy(list);
  gst_tag_list_add(changed, GST_TAG_MERGE_REPLACE, GST_TAG_IMAGE_ORIENTATION,
                   detail::kOrientations[static_cast<std::size_t>(rotation)].data(), nullptr);
  GstEvent* const event = gst_event_new_tag(changed);
  gst_event_set_seqnum(event, gst_event_get_seqnum(tags));
  return event;
}

}  // namespace gstreamer
}  // namespace v1
}  // namespace tenon
