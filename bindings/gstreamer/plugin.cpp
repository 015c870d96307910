// SPDX-License-Identifier: Apache-2.0
// The plugin: a GStreamer element for each element of the registry.
#include <string>
#include <utility>
#include <vector>

#include <gst/gst.h>

#include <tenon/bindings/gstreamer/aliases.hpp>
#include <tenon/bindings/gstreamer/host.hpp>
#include <tenon/bindings/gstreamer/streams.hpp>
#include <tenon/core/version.hpp>
#include <tenon/elements/registry.hpp>

namespace tenon {
inline namespace v1 {
namespace gst_plugin {
namespace {

GType type_of(Kind& kind) {
  if (kind.description.name == "streammux") return stream_mux_type(kind);
  if (kind.description.name == "streamdemux") return stream_demux_type(kind);
  switch (kind.description.role) {
    case elements::Role::kSource:
      return source_type(kind);
    case elements::Role::kSink:
      return sink_type(kind);
    default:
      return kind.description.takes == elements::Takes::kAudio ? audio_filter_type(kind) : filter_type(kind);
  }
}

/// Whether the element works in a line with one stream. Sources and sinks of sound are left out, since GStreamer's own serve these cases, and
/// so are elements that join streams, which need a pad for each: its compositor does that.
bool fits(const elements::Description& element) {
  const bool is_sound = element.takes == elements::Takes::kAudio;
  return !element.joins && (!is_sound || element.role == elements::Role::kTransform);
}

gboolean init(GstPlugin* plugin) {
  depend_on_modules(plugin);
  std::vector<Kind> kinds = aliases();
  for (Kind& kind : stream_kinds()) kinds.push_back(std::move(kind));
  for (const elements::Description& description : elements::known_elements()) {
    if (!fits(description)) continue;
    Kind& kind = kinds.emplace_back();
    kind.description = description;
    kind.element = description.name;
  }
  bool is_good = true;
  for (Kind& each : kinds) {
    Kind* const kind = new Kind(std::move(each));  // Never deleted: the GType lives for ever and uses it.
    kind->type_name = "GstTenon_" + kind->description.name;
    const std::string name = "tenon" + kind->description.name;
    is_good = gst_element_register(plugin, name.c_str(), GST_RANK_NONE, type_of(*kind)) && is_good;
  }
  return is_good;
}

}  // namespace
}  // namespace gst_plugin
}  // namespace v1
}  // namespace tenon

#define PACKAGE "tenon"
GST_PLUGIN_DEFINE(GST_VERSION_MAJOR, GST_VERSION_MINOR, tenon,
                  "Tenon's elements: models on the memory of any framework", tenon::gst_plugin::init, TENON_VERSION,
                  "Apache 2.0", "Tenon", "Tenon")
