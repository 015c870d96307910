// SPDX-License-Identifier: Apache-2.0
// Reads the texts of properties; those of sinks that are locations are written.
#include <tenon/frameworks/gstreamer/named_files.hpp>

#include <algorithm>
#include <memory>
#include <string_view>
#include <utility>

namespace tenon {
inline namespace v1 {
namespace gstreamer {
namespace detail {

struct FreeGlib {
  void operator()(void* memory) const { g_free(memory); }
};

TENON_INLINE bool is_sink(GstElement* element) {
  if (GST_OBJECT_FLAG_IS_SET(element, GST_ELEMENT_FLAG_SINK)) return true;
  const char* kind = gst_element_class_get_metadata(GST_ELEMENT_GET_CLASS(element), GST_ELEMENT_METADATA_KLASS);
  return kind && std::string_view(kind).find("Sink") != std::string_view::npos;
}

/// Whether a property of that name tells where multiplexers and encoders keep notes.
TENON_INLINE bool is_note(std::string_view property) {
  constexpr std::string_view kNotes[] = {"moov-recovery-file", "faststart-file", "multipass-cache-file"};
  return std::ranges::count(kNotes, property) != 0;
}

/// Whether a property of that name tells where an element writes.
TENON_INLINE bool is_written(std::string_view property, bool is_of_sink) {
  if (is_note(property)) return true;
  return is_of_sink && (property.ends_with("location") || property.ends_with("filename") || property == "path");
}

/// The path of a file: URI; other texts as they are; empty for URLs of other kinds.
TENON_INLINE std::string path_of(const std::string& text) {
  if (text.find("://") == std::string::npos) return text;
  const std::unique_ptr<char, FreeGlib> path(g_filename_from_uri(text.c_str(), nullptr, nullptr));
  return path ? path.get() : "";
}

/// The texts of a property that is a text or an array of texts, as `uris` of uriplaylistbin is.
TENON_INLINE std::vector<std::string> texts_of(const GValue& value) {
  std::vector<std::string> texts;
  if (G_VALUE_HOLDS_STRING(&value)) {
    if (const char* text = g_value_get_string(&value)) texts.push_back(text);
  } else if (G_VALUE_HOLDS(&value, G_TYPE_STRV)) {
    const auto* list = static_cast<const char* const*>(g_value_get_boxed(&value));
    for (; list && *list; ++list) texts.push_back(*list);
  } else if (G_VALUE_TYPE(&value) == GST_TYPE_ARRAY) {
    for (guint i = 0; i < gst_value_array_get_size(&value); ++i) {
      const std::vector<std::string> inner = texts_of(*gst_value_array_get_value(&value, i));
      texts.insert(texts.end(), inner.begin(), inner.end());
    }
  }
  return texts;
}

}  // namespace detail

TENON_INLINE std::vector<NamedFile> named_files(GstElement* element) {
  std::vector<NamedFile> files;
  const bool is_of_sink = detail::is_sink(element);
  guint count = 0;
  const std::unique_ptr<GParamSpec*, detail::FreeGlib> all(
      g_object_class_list_properties(G_OBJECT_GET_CLASS(element), &count));
  for (guint i = 0; i < count; ++i) {
    GParamSpec* property = all.get()[i];
    const std::string_view name = property->name;
    const bool has_texts = property->value_type == G_TYPE_STRING || property->value_type == G_TYPE_STRV ||
                           property->value_type == GST_TYPE_ARRAY;
    if (!has_texts || (property->flags & G_PARAM_READABLE) == 0 || name == "name") continue;
    GValue value = G_VALUE_INIT;
    g_value_init(&value, property->value_type);
    g_object_get_property(G_OBJECT(element), property->name, &value);
    // The notes are used in a mode that is not the default.
    const bool is_unused = detail::is_note(name) && g_param_value_defaults(property, &value);
    const std::vector<std::string> texts = is_unused ? std::vector<std::string>() : detail::texts_of(value);
    g_value_unset(&value);
    for (const std::string& text : texts) {
      if (std::string path = detail::path_of(text); !path.empty())
        files.push_back({std::move(path), detail::is_written(name, is_of_sink)});
    }
  }
  return files;
}

}  // namespace gstreamer
}  // namespace v1
}  // namespace tenon
