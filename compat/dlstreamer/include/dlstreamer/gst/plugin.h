// SPDX-License-Identifier: Apache-2.0
// Elements of a program's own in GStreamer.
#pragma once

#include <cfloat>
#include <climits>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>

#include <gst/base/gstbasetransform.h>
#include <gst/gst.h>
#include <gst/video/video.h>

#include "dlstreamer/cpu/context.h"
#include "dlstreamer/element.h"
#include "dlstreamer/gst/context.h"
#include "dlstreamer/gst/frame.h"
#include "dlstreamer/gst/tensor.h"
#include "dlstreamer/gst/utils.h"
#include "dlstreamer/transform.h"

namespace dlstreamer {
namespace detail {

/// A described element as a GstBaseTransform. It is made when its properties and caps are known; each buffer is a GSTFrame, and what the
/// element puts out becomes a buffer that keeps its frame until GStreamer has read it.
/// @thread The element is called by one thread at a time: GStreamer asks for caps by any, and does all else by the streaming one.
class GstElementShim {
 public:
  struct Object {
    GstBaseTransform base;
    GstElementShim* shim;
  };

  static void class_init(gpointer g_class, gpointer data) {
    const auto& desc = *static_cast<const ElementDesc*>(data);
    auto* object_class = G_OBJECT_CLASS(g_class);
    object_class->set_property = [](GObject* object, guint id, const GValue* value, GParamSpec*) {
      of(object).set(id, value);
    };
    object_class->get_property = [](GObject* object, guint id, GValue* value, GParamSpec*) {
      of(object).get(id, value);
    };
    object_class->finalize = [](GObject* object) {
      delete reinterpret_cast<Object*>(object)->shim;
      G_OBJECT_CLASS(g_type_class_peek(GST_TYPE_BASE_TRANSFORM))->finalize(object);
    };
    guint id = 0;
    if (desc.params)
      for (const ParamDesc& param : *desc.params)
        g_object_class_install_property(object_class, ++id, property_of(param));

    auto* element_class = GST_ELEMENT_CLASS(g_class);
    gst_element_class_set_metadata(element_class, std::string(desc.name).c_str(), "Filter",
                                   std::string(desc.description).c_str(), std::string(desc.author).c_str());
    for (const auto& [name, direction] : {std::pair("sink", GST_PAD_SINK), std::pair("src", GST_PAD_SRC)}) {
      GstCaps* const caps = template_caps(desc, direction);
      gst_element_class_add_pad_template(element_class, gst_pad_template_new(name, direction, GST_PAD_ALWAYS, caps));
      gst_caps_unref(caps);
    }
    auto* transform_class = GST_BASE_TRANSFORM_CLASS(g_class);
    transform_class->transform_caps = [](GstBaseTransform* base, GstPadDirection direction, GstCaps* caps,
                                         GstCaps* filter) { return of(base).other_caps(direction, caps, filter); };
    transform_class->fixate_caps = [](GstBaseTransform*, GstPadDirection, GstCaps* caps, GstCaps* other) {
      return fixated(caps, other);
    };
    transform_class->set_caps = [](GstBaseTransform* base, GstCaps* in, GstCaps* out) -> gboolean {
      return of(base).reported([&] { of(base).configure(in, out); });
    };
    transform_class->stop = [](GstBaseTransform* base) -> gboolean {
      of(base).drop();
      return TRUE;
    };
    // Buffers go another way; without it, the base class would let them pass.
    transform_class->transform = [](GstBaseTransform*, GstBuffer*, GstBuffer*) { return GST_FLOW_NOT_SUPPORTED; };
    transform_class->generate_output = [](GstBaseTransform* base, GstBuffer** out) {
      *out = nullptr;
      GstBuffer* const in = std::exchange(base->queued_buf, nullptr);
      if (!in) return GST_FLOW_OK;
      return of(base).reported([&] { *out = of(base).process(in); }) ? GST_FLOW_OK : GST_FLOW_ERROR;
    };
  }
  static void instance_init(GTypeInstance* instance, gpointer g_class) {
    auto* const object = reinterpret_cast<Object*>(instance);
    const auto* desc = static_cast<const ElementDesc*>(g_type_get_qdata(G_TYPE_FROM_CLASS(g_class), desc_quark()));
    object->shim = new GstElementShim(object->base, *desc);
  }
  /// @errors std::exception: the description has frames without caps.
  static GstCaps* template_caps(const ElementDesc& desc, GstPadDirection direction) {
    const auto& infos = direction == GST_PAD_SINK ? desc.input_info : desc.output_info;
    if (!infos || infos().empty()) return gst_caps_new_any();
    return all_caps_of(infos());
  }
  static GQuark desc_quark() { return g_quark_from_static_string("tenon-dlstreamer-element"); }

 private:
  GstElementShim(GstBaseTransform& base, const ElementDesc& desc) : _base(base), _desc(desc) {
    if (desc.params)
      for (const ParamDesc& param : *desc.params) _params.emplace(param.name, param.default_value);
  }
  template <typename T>
  static GstElementShim& of(T* object) {
    return *reinterpret_cast<Object*>(object)->shim;
  }

  // ---------------------------------------------------------------- properties
  static GParamSpec* property_of(const ParamDesc& param) {
    const char* const name = param.name.c_str();
    const char* const text = param.description.c_str();
    const auto flags = static_cast<GParamFlags>(G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS);
    return std::visit(
        [&](const auto& value) -> GParamSpec* {
          using T = std::decay_t<decltype(value)>;
          const auto limit = [&](size_t index, T otherwise) {
            return param.range.size() == 2 && any_holds_type<T>(param.range[index]) ? std::get<T>(param.range[index])
                                                                                    : otherwise;
          };
          if constexpr (std::is_same_v<T, bool>)
            return g_param_spec_boolean(name, text, text, value, flags);
          else if constexpr (std::is_same_v<T, int>)
            return g_param_spec_int(name, text, text, limit(0, INT_MIN), limit(1, INT_MAX), value, flags);
          else if constexpr (std::is_same_v<T, double>)
            return g_param_spec_double(name, text, text, limit(0, -DBL_MAX), limit(1, DBL_MAX), value, flags);
          else if constexpr (std::is_same_v<T, size_t>)
            return g_param_spec_uint64(name, text, text, limit(0, 0), limit(1, SIZE_MAX), value, flags);
          else if constexpr (std::is_same_v<T, intptr_t>)
            return g_param_spec_int64(name, text, text, limit(0, INTPTR_MIN), limit(1, INTPTR_MAX), value, flags);
          else if constexpr (std::is_same_v<T, std::string>)
            return g_param_spec_string(name, text, text, value.c_str(), flags);
          else if constexpr (std::is_same_v<T, std::pair<int, int>>)
            return gst_param_spec_fraction(name, text, text, 0, 1, INT_MAX, 1, value.first, value.second, flags);
          else
            return gst_param_spec_array(name, text, text, nullptr, flags);
        },
        param.default_value);
  }
  void set(guint id, const GValue* value) {
    const ParamDesc& param = (*_desc.params)[id - 1];
    const std::optional<Any> given = gvalue_to_any(value, &param);
    if (!given) return;
    const std::lock_guard lock(_mutex);
    _params[param.name] = *given;
  }
  void get(guint id, GValue* value) {
    const ParamDesc& param = (*_desc.params)[id - 1];
    const std::lock_guard lock(_mutex);
    any_to_gvalue(_params.at(param.name), value, false, &param);
  }

  // ---------------------------------------------------------------- caps
  static GstCaps* caps_of(const FrameInfo& info) {
    if (info.media_type == MediaType::Any) return gst_caps_new_any();
    GstCaps* const caps = frame_info_to_gst_caps(info);
    if (info.memory_type == MemoryType::Any) gst_caps_set_features(caps, 0, gst_caps_features_new_any());
    return caps;
  }
  static GstCaps* all_caps_of(const FrameInfoVector& infos) {
    tenon::gstreamer::CapsPtr caps(gst_caps_new_empty());
    for (const FrameInfo& info : infos) {
      GstCaps* const each = caps_of(info);
      caps.reset(gst_caps_merge(caps.release(), each));
    }
    return caps.release();
  }
  /// What the other pad may have: an element in place changes nothing, another one is asked.
  GstCaps* other_caps(GstPadDirection direction, GstCaps* caps, GstCaps* filter) {
    GstCaps* found = nullptr;
    try {
      const std::lock_guard lock(_calls);
      make();
      if (_inplace) {
        found = gst_caps_ref(caps);
      } else {
        FrameInfoVector infos;
        if (direction == GST_PAD_SINK && gst_caps_is_fixed(caps)) {
          _transform->set_input_info(gst_caps_to_frame_info(caps));
          infos = _transform->get_output_info();
        }
        const bool said = !infos.empty() && infos.front().media_type != MediaType::Any;
        found =
            said ? all_caps_of(infos) : template_caps(_desc, direction == GST_PAD_SINK ? GST_PAD_SRC : GST_PAD_SINK);
      }
    } catch (const std::exception& error) {
      GST_ELEMENT_ERROR(&_base, LIBRARY, INIT, ("%s", error.what()), (nullptr));
      found = gst_caps_new_empty();
    }
    if (!filter) return found;
    GstCaps* const both = gst_caps_intersect_full(filter, found, GST_CAPS_INTERSECT_FIRST);
    gst_caps_unref(found);
    return both;
  }
  /// Sizes and rates that nothing says are those of the input.
  static GstCaps* fixated(GstCaps* from, GstCaps* other) {
    other = gst_caps_make_writable(gst_caps_truncate(other));
    GstStructure* const target = gst_caps_get_structure(other, 0);
    const GstStructure* const source = gst_caps_get_structure(from, 0);
    const char* const kFields[] = {"width", "height", "framerate", "pixel-aspect-ratio"};
    for (const char* field : kFields) {
      const GValue* const value = gst_structure_get_value(source, field);
      const GValue* const there = gst_structure_get_value(target, field);
      if (!value || (there && !gst_value_can_intersect(value, there)) || !gst_structure_has_name(target, "video/x-raw"))
        continue;
      gst_structure_set_value(target, field, value);
    }
    return gst_caps_fixate(other);
  }
  void configure(GstCaps* in, GstCaps* out) {
    const std::lock_guard lock(_calls);
    make();
    _input = gst_caps_to_frame_info(in);
    const bool is_video = gst_structure_has_name(gst_caps_get_structure(in, 0), "video/x-raw");
    _is_video = is_video && gst_video_info_from_caps(&_video, in);
    if (is_video && !_is_video) throw std::runtime_error("the video's caps cannot be read");
    if (_inplace) {
      _inplace->set_info(_input);
    } else {
      _transform->set_input_info(_input);
      _transform->set_output_info(gst_caps_to_frame_info(out));
    }
    if (!element()->init()) throw std::runtime_error("the element cannot be prepared: init() says so");
  }

  // ---------------------------------------------------------------- the element
  Element* element() const {
    return _inplace ? static_cast<Element*>(_inplace.get()) : static_cast<Element*>(_transform.get());
  }
  void make() {
    if (_inplace || _transform) return;
    if (_desc.magic != ElementDescMagic || !_desc.create)
      throw std::runtime_error("the description has no magic number, or nothing that creates");
    AnyMap params;
    {
      const std::lock_guard lock(_mutex);
      params = _params;
    }
    _context = std::make_shared<GSTContext>(&_base.element);
    const ElementPtr made(_desc.create(std::make_shared<BaseDictionary>(std::string(_desc.name), params), _context));
    _inplace = std::dynamic_pointer_cast<TransformInplace>(made);
    _transform = std::dynamic_pointer_cast<Transform>(made);
    if (!_inplace && !_transform)
      throw std::runtime_error("it is neither a Transform nor a TransformInplace, which GStreamer needs");
  }
  void drop() {
    const std::lock_guard lock(_calls);
    _inplace.reset();
    _transform.reset();
    _context.reset();
  }
  /// Errors are messages on the pipeline's bus.
  template <typename Body>
  bool reported(Body body) {
    try {
      body();
      return true;
    } catch (const std::exception& error) {
      GST_ELEMENT_ERROR(&_base, LIBRARY, FAILED, ("%s: %s", std::string(_desc.name).c_str(), error.what()), (nullptr));
      return false;
    }
  }

  // ---------------------------------------------------------------- buffers
  /// @param takes  Whether the frame has the only reference, which lets the element write.
  std::shared_ptr<GSTFrame> wrapped(GstBuffer* buffer, bool takes) {
    if (!_is_video) return std::make_shared<GSTFrame>(buffer, _input, takes, _context);
    return std::make_shared<GSTFrame>(buffer, &_video, nullptr, takes, _context);
  }
  /// Takes the buffer over. @return the buffer that goes on.
  GstBuffer* process(GstBuffer* in) {
    const std::lock_guard lock(_calls);
    using BufferPtr = tenon::gstreamer::BufferPtr;
    if (_inplace) {
      const auto frame = wrapped(gst_buffer_make_writable(in), true);
      if (!_inplace->process(FramePtr(frame))) throw std::runtime_error("process() failed");
      return gst_buffer_ref(frame->gst_buffer());
    }
    const BufferPtr held(in);
    FramePtr result = _transform->process(FramePtr(wrapped(in, false)));
    if (!result) throw std::runtime_error("process() failed");
    GstBuffer* const out = gst_buffer_make_writable(buffer_of(result));
    gst_buffer_copy_into(out, in, static_cast<GstBufferCopyFlags>(GST_BUFFER_COPY_FLAGS | GST_BUFFER_COPY_TIMESTAMPS),
                         0, static_cast<gsize>(-1));
    // The element's pool takes a frame back when nothing has it any more.
    static const GQuark quark = g_quark_from_static_string("tenon-dlstreamer-frame");
    gst_mini_object_set_qdata(GST_MINI_OBJECT_CAST(out), quark, new FramePtr(std::move(result)),
                              [](gpointer frame) { delete static_cast<FramePtr*>(frame); });
    return out;
  }
  GstBuffer* buffer_of(const FramePtr& frame) {
    if (const auto mine = std::dynamic_pointer_cast<GSTFrame>(frame)) return gst_buffer_ref(mine->gst_buffer());
    if (frame->media_type() == MediaType::Image)
      return gst_buffer_ref(frame.map<GSTFrame>(_context, AccessMode::Read)->gst_buffer());
    tenon::gstreamer::BufferPtr buffer(gst_buffer_new());
    for (const TensorPtr& tensor : frame) {
      const auto mapped = ptr_cast<GSTTensor>(tensor.map(_context, AccessMode::Read));
      gst_buffer_append_memory(buffer.get(), gst_memory_ref(mapped->gst_memory()));
    }
    return buffer.release();
  }

  GstBaseTransform& _base;
  const ElementDesc& _desc;
  std::mutex _mutex;  ///< Guards the parameters.
  AnyMap _params;
  std::recursive_mutex _calls;  ///< Guards all below; an element may query the pads of its own GstElement.
  ContextPtr _context;
  TransformPtr _transform;
  TransformInplacePtr _inplace;
  FrameInfo _input;
  GstVideoInfo _video{};
  bool _is_video = false;
};

}  // namespace detail
}  // namespace dlstreamer

/// Makes a GStreamer element of the description's name, with a property for each parameter. The description lives as long as the process.
/// @return FALSE, with a warning: no description, frames that have no caps, or GStreamer refuses the name.
inline gboolean register_element_gst_plugin(const dlstreamer::ElementDesc* element, GstPlugin* plugin) {
  using dlstreamer::detail::GstElementShim;
  if (!element || element->magic != dlstreamer::ElementDescMagic || element->name.empty()) {
    g_warning("register_element_gst_plugin: a description is null, or has no magic number or no name");
    return FALSE;
  }
  try {
    // Where GStreamer asks for them, no exception may leave.
    for (const GstPadDirection direction : {GST_PAD_SINK, GST_PAD_SRC})
      gst_caps_unref(GstElementShim::template_caps(*element, direction));
  } catch (const std::exception& error) {
    g_warning("register_element_gst_plugin: %s: %s", std::string(element->name).c_str(), error.what());
    return FALSE;
  }
  const std::string name(element->name), type_name = "GstDls_" + name;
  GType type = g_type_from_name(type_name.c_str());
  if (!type) {
    const GTypeInfo info{sizeof(GstBaseTransformClass),
                         nullptr,
                         nullptr,
                         GstElementShim::class_init,
                         nullptr,
                         element,
                         sizeof(GstElementShim::Object),
                         0,
                         GstElementShim::instance_init,
                         nullptr};
    type = g_type_register_static(GST_TYPE_BASE_TRANSFORM, type_name.c_str(), &info, static_cast<GTypeFlags>(0));
    if (type) g_type_set_qdata(type, GstElementShim::desc_quark(), const_cast<dlstreamer::ElementDesc*>(element));
  }
  return type && gst_element_register(plugin, name.c_str(), GST_RANK_NONE, type);
}
/// All of a list that ends with null.
inline gboolean register_elements_gst_plugin(const dlstreamer::ElementDesc** elements, GstPlugin* plugin) {
  for (; elements && *elements; ++elements)
    if (!register_element_gst_plugin(*elements, plugin)) return FALSE;
  return TRUE;
}
