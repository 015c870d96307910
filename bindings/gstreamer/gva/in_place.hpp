// SPDX-License-Identifier: Apache-2.0
// Elements that look at buffers of any caps, or add metas to them, on GstBaseTransform.
#pragma once

#include <optional>
#include <utility>

#include <gst/base/gstbasetransform.h>

#include <tenon/bindings/gstreamer/host.hpp>
#include <tenon/elements/parameters.hpp>

namespace tenon {
inline namespace v1 {
namespace gst_plugin {
namespace gva {

/// The base. Members throw; that becomes an error message. @thread as GStreamer calls it.
class InPlace : public Host {
 public:
  using Host::Host;
  virtual void start(const elements::Parameters& given) = 0;
  virtual void stop() {}
  virtual void set_caps(GstCaps*) {}
  /// @param buffer  Writable, if adds_metas().
  virtual void process(GstBuffer* buffer) = 0;
  /// The stream has ended.
  virtual void end() {}
  virtual bool adds_metas() const { return false; }
  /// Makes waiting calls end.
  virtual void interrupt() noexcept {}

  GstBaseTransform* base() const { return GST_BASE_TRANSFORM(object()); }
  bool guarded_call(During during, void (InPlace::*member)()) {
    return guarded(during, [&] { (this->*member)(); });
  }

  template <typename Made>
  static void init_class_of(GstBaseTransformClass* base_class, Kind& kind);

 private:
  bool do_start() {
    return guarded(During::kStart, [&] {
      used_files();
      start({"element '" + name() + "' (" + kind().description.name + ")", kind().description.parameters,
             checked_settings()});
    });
  }
  bool do_set_caps(GstCaps* caps) {
    return guarded(During::kNegotiation, [&] { set_caps(caps); });
  }
  GstFlowReturn do_process(GstBuffer* buffer) {
    ++frames_in;
    if (!guarded(During::kStream, [&] { process(buffer); })) return GST_FLOW_ERROR;
    ++frames_out;
    return GST_FLOW_OK;
  }
};

template <typename Made>
void InPlace::init_class_of(GstBaseTransformClass* base_class, Kind& kind) {
  auto* const element_class = GST_ELEMENT_CLASS(base_class);
  for (const auto& [name, direction] : {std::pair("sink", GST_PAD_SINK), std::pair("src", GST_PAD_SRC)}) {
    GstCaps* const any = gst_caps_new_any();
    gst_element_class_add_pad_template(element_class, gst_pad_template_new(name, direction, GST_PAD_ALWAYS, any));
    gst_caps_unref(any);
  }
  describe_class(element_class, kind, "Filter/Metadata");
  static const auto of = [](gpointer object) -> InPlace& { return host_of<Made, GstBaseTransform>(object); };
  static GstElementClass* parent = nullptr;
  parent = static_cast<GstElementClass*>(g_type_class_peek_parent(base_class));
  element_class->change_state = [](GstElement* object, GstStateChange change) {
    if (change == GST_STATE_CHANGE_PAUSED_TO_READY) of(object).interrupt();
    return parent->change_state(object, change);
  };
  // The caps do not change, so queries go through; a buffer that gets metas is made writable without a copy of its memory.
  base_class->passthrough_on_same_caps = TRUE;
  base_class->transform_ip_on_passthrough = TRUE;
  base_class->start = [](GstBaseTransform* object) -> gboolean { return of(object).do_start(); };
  base_class->stop = [](GstBaseTransform* object) -> gboolean {
    of(object).guarded_call(During::kStream, &InPlace::stop);
    return TRUE;  // An error has been posted; the element stops all the same.
  };
  base_class->set_caps = [](GstBaseTransform* object, GstCaps* caps, GstCaps*) -> gboolean {
    return of(object).do_set_caps(caps);
  };
  base_class->prepare_output_buffer = [](GstBaseTransform* object, GstBuffer* in, GstBuffer** out) {
    *out = !of(object).adds_metas() || gst_buffer_is_writable(in) ? in : gst_buffer_copy(in);
    return GST_FLOW_OK;
  };
  base_class->transform_ip = [](GstBaseTransform* object, GstBuffer* buffer) { return of(object).do_process(buffer); };
  base_class->sink_event = [](GstBaseTransform* object, GstEvent* event) -> gboolean {
    if (GST_EVENT_TYPE(event) == GST_EVENT_EOS && !of(object).guarded_call(During::kStream, &InPlace::end)) {
      gst_event_unref(event);  // After an error the end of the stream is not announced.
      return FALSE;
    }
    auto* const own = reinterpret_cast<GTypeInstance*>(object)->g_class;
    return static_cast<GstBaseTransformClass*>(g_type_class_peek_parent(own))->sink_event(object, event);
  };
}

}  // namespace gva
}  // namespace gst_plugin
}  // namespace v1
}  // namespace tenon
