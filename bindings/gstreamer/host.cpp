// SPDX-License-Identifier: Apache-2.0
// Passes settings, counts and errors between elements and GStreamer.
#include <tenon/bindings/gstreamer/host.hpp>

#include <dlfcn.h>

#include <filesystem>
#include <memory>
#include <set>

#include <tenon/core/error.hpp>
#include <tenon/frameworks/gstreamer/gst.hpp>

namespace tenon {
inline namespace v1 {
namespace gst_plugin {
namespace {

struct Failure {
  GQuark domain;
  gint code;
};

Failure failure_of(Code code, During during) {
  switch (code) {
    case Code::kNotFound:
      return {GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_NOT_FOUND};
    case Code::kPermissionDenied:
      return {GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_NOT_AUTHORIZED};
    case Code::kResourceExhausted:
      return {GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_NO_SPACE_LEFT};
    case Code::kUnavailable:
      return {GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_OPEN_READ_WRITE};
    case Code::kDataLoss:
      return {GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_READ};
    case Code::kInvalidArgument:
    case Code::kUnimplemented:
    case Code::kOutOfRange:
      if (during == During::kNegotiation) return {GST_STREAM_ERROR, GST_STREAM_ERROR_FORMAT};
      if (during == During::kStart) return {GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_SETTINGS};
      break;
    default:
      break;
  }
  if (during == During::kStart) return {GST_LIBRARY_ERROR, GST_LIBRARY_ERROR_INIT};
  return {GST_STREAM_ERROR, GST_STREAM_ERROR_FAILED};
}

/// Whether this is the first call in the process with that text.
bool is_first(const std::string& text) {
  static std::mutex mutex;
  static std::set<std::string> told;
  const std::lock_guard lock(mutex);
  return told.insert(text).second;
}

/// Posts a message that is no error. Programs show the text, gst-launch-1.0 the debug text.
void tell(GstElement* object, const std::string& text) {
  gst_element_message_full(object, GST_MESSAGE_INFO, GST_LIBRARY_ERROR, GST_LIBRARY_ERROR_SETTINGS,
                           g_strdup(text.c_str()), g_strdup(text.c_str()), "bindings/gstreamer", GST_FUNCTION,
                           __LINE__);
}

}  // namespace

void post_error(GstElement* object, const std::exception& error, During during) {
  const auto* known = dynamic_cast<const Error*>(&error);
  const Failure failure = failure_of(known ? known->code() : Code::kUnknown, during);
  const std::string debug = known ? "Tenon: " + std::string(name(known->code())) : std::string();
  gst_element_message_full(object, GST_MESSAGE_ERROR, failure.domain, failure.code, g_strdup(error.what()),
                           debug.empty() ? nullptr : g_strdup(debug.c_str()), "bindings/gstreamer", GST_FUNCTION,
                           __LINE__);
}

bool Host::set_property(guint number, const GValue* value) {
  const std::lock_guard lock(mutex_);
  return settings_.set(number, value);
}

bool Host::get_property(guint number, GValue* value) const {
  if (number == kind_.stats_property) {
    put_stats(value, {frames_in, frames_out, dropped}, ledger);
    return true;
  }
  const std::lock_guard lock(mutex_);
  return settings_.get(number, value);
}

Texts Host::settings() const {
  const std::lock_guard lock(mutex_);
  return settings_.texts();
}

std::string Host::name() const {
  const std::unique_ptr<char, decltype(&g_free)> name(gst_object_get_name(GST_OBJECT(object_)), &g_free);
  return name.get();
}

Texts Host::checked_settings() const {
  Texts texts = settings();
  if (kind_.complete) kind_.complete(object_, texts);
  for (const elements::Parameter& parameter : kind_.description.parameters) {
    const auto given = texts.find(parameter.name);
    if (given == texts.end() || given->second == elements::to_text(parameter.default_value)) continue;
    if (const auto why = kind_.refused.find(parameter.name); why != kind_.refused.end())
      throw Error(Code::kUnimplemented, "element '" + name() + "' (" + kind_.description.name + "): " + parameter.name +
                                            "=" + given->second + " is not possible: " + why->second);
    const auto why = kind_.without_effect.find(parameter.name);
    if (why != kind_.without_effect.end() && is_first(kind_.description.name + "." + parameter.name))
      tell(object_, kind_.description.name + ": " + parameter.name + " has no effect: " + why->second);
  }
  return texts;
}

elements::AnyElement Host::make() const {
  const Texts texts = checked_settings();
  const elements::Environment environment{name(), const_cast<Ledger*>(&ledger), {}, used_files(), branches()};
  if (kind_.make) return kind_.make(texts, environment);
  return elements::make_element(kind_.element, kind_.translate ? kind_.translate(texts) : texts, environment);
}

std::string name_of_new_pad(GstElement* object, const gchar* wanted, const std::string& prefix) {
  const auto is_free = [object](const std::string& name) {
    return !gstreamer::ObjectPtr<GstPad>(gst_element_get_static_pad(object, name.c_str()));
  };
  if (wanted) return is_free(wanted) ? wanted : "";
  for (int i = 0;; ++i) {
    if (std::string name = prefix + std::to_string(i); is_free(name)) return name;
  }
}

void depend_on_modules(GstPlugin* plugin) {
  Dl_info library{};
  const auto place = reinterpret_cast<const void*>(&elements::known_elements);
  const std::string folder =
      ::dladdr(place, &library) != 0 && library.dli_fname ? std::filesystem::path(library.dli_fname).parent_path() : "";
  gst_plugin_add_dependency_simple(plugin, "TENON_ELEMENT_PATH", folder.c_str(), "libtenon_elements_",
                                   GST_PLUGIN_DEPENDENCY_FLAG_FILE_NAME_IS_PREFIX);
}

void describe_class(GstElementClass* element_class, const Kind& kind, const char* classification) {
  gst_element_class_set_metadata(element_class, ("Tenon: " + kind.description.name).c_str(), classification,
                                 kind.description.about.c_str(), "Tenon");
}

}  // namespace gst_plugin
}  // namespace v1
}  // namespace tenon
