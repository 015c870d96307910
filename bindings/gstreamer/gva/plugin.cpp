// SPDX-License-Identifier: Apache-2.0
// The plugin "gva": DL Streamer's element names over Tenon's elements. It lies in a folder of its own, so that a program gets it
// by naming that folder.
#include <string>
#include <utility>
#include <vector>

#include <gst/gst.h>

#include <tenon/bindings/gstreamer/gva/gva.hpp>
#include <tenon/bindings/gstreamer/host.hpp>
#include <tenon/bindings/gstreamer/streams.hpp>
#include <tenon/core/version.hpp>
#include <tenon/elements/registry.hpp>

namespace tenon {
inline namespace v1 {
namespace gst_plugin {
namespace gva {
namespace {

GType type_of(Kind& kind) {
  const std::string& name = kind.description.name;
  if (name == "gvametaconvert") return meta_convert_type(kind);
  if (name == "gvametapublish") return meta_publish_type(kind);
  if (name == "gvafpscounter") return fps_counter_type(kind);
  if (name == "gvastreammux") return stream_mux_type(kind);
  if (name == "gvastreamdemux") return stream_demux_type(kind);
  return filter_type(kind);
}

gboolean init(GstPlugin* plugin) {
  depend_on_modules(plugin);
  bool is_good = true;
  for (Kind& each : kinds()) {
    Kind* const kind = new Kind(std::move(each));      // Never deleted: the GType lives for ever and uses it.
    kind->type_name = "Gst" + kind->description.name;  // GStreamer makes the name gvadetect0 of it.
    // Where both plugins are found, DL Streamer's own elements come first.
    is_good = gst_element_register(plugin, kind->description.name.c_str(), GST_RANK_NONE, type_of(*kind)) && is_good;
  }
  return is_good;
}

}  // namespace
}  // namespace gva
}  // namespace gst_plugin
}  // namespace v1
}  // namespace tenon

#define PACKAGE "tenon"
GST_PLUGIN_DEFINE(GST_VERSION_MAJOR, GST_VERSION_MINOR, gva, "DL Streamer's element names over Tenon's elements",
                  tenon::gst_plugin::gva::init, TENON_VERSION, "Apache 2.0", "Tenon", "Tenon")
