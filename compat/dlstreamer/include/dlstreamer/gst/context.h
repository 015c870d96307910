// SPDX-License-Identifier: Apache-2.0
// GStreamer, and contexts that its elements share.
#pragma once

#include <cstring>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>

#include <gst/base/gstbasetransform.h>
#include <gst/gst.h>

#include <tenon/frameworks/gstreamer/gstreamer.hpp>

#include "dlstreamer/base/context.h"
#include "dlstreamer/gst/frame.h"
#include "dlstreamer/gst/tensor.h"

namespace dlstreamer {

/// A GstContext of the elements beside one: the VADisplay on which a decoder works.
class GSTContextQuery : public BaseContext {
 public:
  /// @param context_name  Empty: that of GStreamer's VA elements. @errors std::runtime_error: no element beside it has such a context.
  GSTContextQuery(GstPad* pad, MemoryType memory_type, const char* context_name = nullptr) : BaseContext(memory_type) {
    const std::string name = context_name ? context_name : "gst.va.display.handle";
    GstQuery* query = gst_query_new_context(name.c_str());
    GstContext* found = nullptr;
    if (pad && gst_pad_peer_query(pad, query)) gst_query_parse_context(query, &found);
    if (found) _context.reset(gst_context_ref(found));
    gst_query_unref(query);
    if (!_context) throw std::runtime_error("GSTContextQuery: no element beside the pad has a context '" + name + "'");
  }
  GSTContextQuery(GstElement* element, MemoryType memory_type, const char* context_name = nullptr)
      : GSTContextQuery(first_pad(element), memory_type, context_name) {}
  GSTContextQuery(GstBaseTransform* element, MemoryType memory_type, const char* context_name = nullptr)
      : GSTContextQuery(element->sinkpad, memory_type, context_name) {}

  handle_t handle(std::string_view name = {}) const noexcept override {
    if (!name.empty() && name != key::va_display) return nullptr;
    GstObject* display = nullptr;
    void* value = nullptr;
    gst_structure_get(gst_context_get_structure(_context.get()), "gst-display", GST_TYPE_OBJECT, &display, nullptr);
    if (!display) return nullptr;
    g_object_get(display, "va-display", &value, nullptr);
    gst_object_unref(display);
    return value;
  }

 private:
  static GstPad* first_pad(GstElement* element) {
    if (!element) return nullptr;
    GList* const pads = element->sinkpads ? element->sinkpads : element->srcpads;
    return pads ? static_cast<GstPad*>(pads->data) : nullptr;
  }
  struct Unref {
    void operator()(GstContext* context) const { gst_context_unref(context); }
  };
  std::unique_ptr<GstContext, Unref> _context;
};

class GSTContext : public BaseContext {
 public:
  using BaseContext::over;

  /// @param element  Asked by derive_context(); may be null.
  GSTContext(GstElement* element) : BaseContext(MemoryType::GST), _element(element) {}
  /// The VADisplay of the elements beside this one's, as a context with the handle va_display; null where there is none.
  ContextPtr derive_context(MemoryType memory_type) noexcept override {
    if (!_element || (memory_type != MemoryType::VAAPI && memory_type != MemoryType::VA)) return nullptr;
    try {
      return std::make_shared<GSTContextQuery>(_element, memory_type);
    } catch (const std::exception&) {
      return nullptr;
    }
  }

  tenon::Context native() override { return tenon::gstreamer::context(); }
  /// A GstMemory can be made over whatever has an address or a descriptor.
  bool takes_in_place(const tenon::Tensor& native) const override {
    return native.is_host_addressable() || native.kind() == tenon::dmabuf::kDmabufMemory;
  }
  TensorPtr over(const tenon::Tensor& mapped, const ContextPtr& self, AccessMode /*mode*/) override {
    const tenon::gstreamer::BufferPtr buffer = tenon::gstreamer::buffer(mapped);
    return std::make_shared<GSTTensor>(detail::from_tenon(mapped.info()), gst_buffer_get_memory(buffer.get(), 0), true,
                                       self);
  }
  BaseFramePtr over(const tenon::Frame& mapped, const ContextPtr& self, AccessMode /*mode*/) override {
    return std::make_shared<GSTFrame>(tenon::gstreamer::buffer(mapped).release(),
                                      detail::from_tenon(mapped, MemoryType::GST), true, self);
  }

 private:
  GstElement* _element;
};
using GSTContextPtr = std::shared_ptr<GSTContext>;

}  // namespace dlstreamer

#if defined(DLSTREAMER_VAAPI_CONTEXT)
#include "dlstreamer/gst/mappers/gst_to_vaapi.h"
#endif
#define DLSTREAMER_GST_CONTEXT
