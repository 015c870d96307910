// SPDX-License-Identifier: Apache-2.0
// The meta in which JSON travels with a buffer. DL Streamer's programs find it by its API's name and read it by its layout.
#include <gst/gst.h>

#include <tenon/bindings/gstreamer/gva/gva.hpp>
#include <tenon/core/error.hpp>

namespace tenon {
inline namespace v1 {
namespace gst_plugin {
namespace gva {
namespace {

constexpr const char* kApi = "GstGVAJSONMetaAPI";
constexpr const char* kName = "GstGVAJSONMeta";

struct JsonMeta {
  GstMeta meta;
  gchar* message;
};

GType api() {
  static const GType type = [] {
    if (const GType known = g_type_from_name(kApi)) return known;
    static const gchar* no_tags[] = {nullptr};
    return gst_meta_api_type_register(kApi, no_tags);
  }();
  return type;
}

/// DL Streamer's own registration, if its plugin is loaded, too; else ours.
const GstMetaInfo* info() {
  static const GstMetaInfo* const registered = [] {
    if (const GstMetaInfo* known = gst_meta_get_info(kName)) return known;
    const auto init = [](GstMeta* meta, gpointer, GstBuffer*) -> gboolean {
      reinterpret_cast<JsonMeta*>(meta)->message = nullptr;
      return TRUE;
    };
    const auto free = [](GstMeta* meta, GstBuffer*) { g_free(reinterpret_cast<JsonMeta*>(meta)->message); };
    const auto transform = [](GstBuffer* into, GstMeta* meta, GstBuffer*, GQuark, gpointer) -> gboolean {
      const gchar* const message = reinterpret_cast<JsonMeta*>(meta)->message;
      if (message) add_message(into, message);
      return TRUE;
    };
    return gst_meta_register(api(), kName, sizeof(JsonMeta), init, free, transform);
  }();
  return registered;
}

}  // namespace

void add_message(GstBuffer* buffer, const std::string& text) {
  GstMeta* const meta = gst_buffer_add_meta(buffer, info(), nullptr);
  if (!meta) throw Error(Code::kInternal, "gvametaconvert: no meta for the JSON", "gst_buffer_add_meta", 0);
  reinterpret_cast<JsonMeta*>(meta)->message = g_strdup(text.c_str());
}

std::vector<std::string> messages_of(GstBuffer* buffer) {
  std::vector<std::string> all;
  gpointer state = nullptr;
  while (GstMeta* const meta = gst_buffer_iterate_meta_filtered(buffer, &state, api())) {
    if (const gchar* const message = reinterpret_cast<JsonMeta*>(meta)->message) all.emplace_back(message);
  }
  return all;
}

}  // namespace gva
}  // namespace gst_plugin
}  // namespace v1
}  // namespace tenon
