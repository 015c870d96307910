// SPDX-License-Identifier: Apache-2.0
// Passes settings, counts and errors between elements and GStreamer.
#include <tenon/bindings/gstreamer/host.hpp>

#include <memory>

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

elements::AnyElement Host::make() const {
  std::map<std::string, std::string> texts;
  {
    const std::lock_guard lock(mutex_);
    texts = settings_.texts();
  }
  const std::unique_ptr<char, decltype(&g_free)> name(gst_object_get_name(GST_OBJECT(object_)), &g_free);
  const elements::Environment environment{name.get(), const_cast<Ledger*>(&ledger)};
  return elements::make_element(kind_.element, kind_.translate ? kind_.translate(texts) : texts, environment);
}

void describe_class(GstElementClass* element_class, const Kind& kind, const char* classification) {
  gst_element_class_set_metadata(element_class, ("Tenon: " + kind.description.name).c_str(), classification,
                                 kind.description.about.c_str(), "Tenon");
}

}  // namespace gst_plugin
}  // namespace v1
}  // namespace tenon
