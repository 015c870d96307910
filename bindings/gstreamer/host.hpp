// SPDX-License-Identifier: Apache-2.0
// The base of GStreamer elements of all roles: the element that they host, its settings, counts and errors.
#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <new>
#include <string>
#include <utility>

#include <gst/gst.h>

#include <tenon/bindings/gstreamer/properties.hpp>
#include <tenon/core/ledger.hpp>
#include <tenon/core/used_files.hpp>
#include <tenon/elements/registry.hpp>

namespace tenon {
inline namespace v1 {
namespace gst_plugin {

/// The number of the only stream of a hosted element.
inline constexpr std::uint32_t kStream = 0;

/// The place of a failure, on which GStreamer's error code depends.
enum class During : std::uint8_t { kStart, kNegotiation, kStream };

/// Holds the lock of a sink pad under which buffers, their events and allocation queries arrive. The queries come to an inactive
/// pad, too, so the code that makes or ends the hosted element must hold this lock.
class StreamLock {
 public:
  explicit StreamLock(GstPad* sink) : sink_(sink) { GST_PAD_STREAM_LOCK(sink_); }
  ~StreamLock() { GST_PAD_STREAM_UNLOCK(sink_); }
  StreamLock(const StreamLock&) = delete;
  StreamLock& operator=(const StreamLock&) = delete;

 private:
  GstPad* const sink_;
};

/// Posts an error message with Tenon's text and the nearest of GStreamer's codes. @thread any.
void post_error(GstElement* object, const std::exception& error, During during);

/// The C++ half of one GStreamer element. @thread properties and stats any; all else as GStreamer calls it.
class Host {
 public:
  Host(GstElement* object, const Kind& kind)
      : ledger(&Ledger::process()), object_(object), kind_(kind), settings_(kind) {
    make_known();
  }
  virtual ~Host() = default;
  Host(const Host&) = delete;
  Host& operator=(const Host&) = delete;

  virtual bool set_property(guint number, const GValue* value);
  virtual bool get_property(guint number, GValue* value) const;

  GstElement* object() const { return object_; }
  const Kind& kind() const { return kind_; }
  /// What was set on this object. @thread any.
  Texts settings() const;
  /// The host of an element of either plugin; null: it is no element of Tenon's. @thread any.
  static Host* find(GstElement* element);
  /// The files that it reads and writes as it is set now. @thread any. @errors as elements::element_files()
  elements::ElementFiles files() const;
  /// The paths on which the stream comes. @thread any.
  virtual std::uint32_t branches() const { return 1; }

  Ledger ledger;
  std::atomic<std::uint64_t> frames_in{0}, frames_out{0}, dropped{0};

 protected:
  /// The element as it is set now. @errors as make_element()
  elements::AnyElement make() const;
  /// What was set, and what comes from other objects, for an element that starts. Tells once which of it has no effect.
  /// @errors kUnimplemented: a parameter that is refused.
  Texts checked_settings() const;
  /// The files that the elements of the whole pipeline read, and Tenon's write, as far as they are set before this one starts.
  /// @errors kInvalidArgument: this one would write over one that is read, or that another one of Tenon's writes; as files()
  std::shared_ptr<UsedFiles> used_files() const;
  /// The name of the object.
  std::string name() const;
  /// Runs the element's code. An exception becomes an error message. @return False: it threw.
  template <typename Body>
  bool guarded(During during, Body body) const {
    try {
      body();
      return true;
    } catch (const std::exception& error) {
      post_error(object_, error, during);
    }
    return false;
  }

 private:
  void make_known();
  GstElement* const object_;
  const Kind& kind_;
  mutable std::mutex mutex_;
  Settings settings_;
};

/// GObject's half: a `Parent`, and the Host beside it.
template <typename Parent>
struct Object {
  Parent parent;
  Host* host;  ///< Made by init and deleted by finalize, since GObject calls no destructors.
};
template <typename ParentClass>
struct Class {
  ParentClass parent;
  const Kind* kind;
};

/// The host of an object that is an Object<Parent>. `Made` is its class.
template <typename Made, typename Parent>
Made& host_of(gpointer object) {
  return *static_cast<Made*>(reinterpret_cast<Object<Parent>*>(object)->host);
}

/// Registers the GType of `kind`: a `Parent` whose host is a `Made(GstElement*, const Kind&)`.
/// Made::init_class(ParentClass*, Kind&) sets the class's methods, pads and texts.
template <typename Made, typename Parent, typename ParentClass>
GType register_type(GType parent, Kind& kind) {
  GTypeInfo info{};
  info.class_size = sizeof(Class<ParentClass>);
  info.instance_size = sizeof(Object<Parent>);
  info.class_data = &kind;
  info.class_init = [](gpointer object_class, gpointer data) {
    Kind& own = *static_cast<Kind*>(data);
    static_cast<Class<ParentClass>*>(object_class)->kind = &own;
    auto* const methods = static_cast<GObjectClass*>(object_class);
    methods->set_property = [](GObject* object, guint number, const GValue* value, GParamSpec* spec) {
      if (!host_of<Made, Parent>(object).set_property(number, value))
        G_OBJECT_WARN_INVALID_PROPERTY_ID(object, number, spec);
    };
    methods->get_property = [](GObject* object, guint number, GValue* value, GParamSpec* spec) {
      if (!host_of<Made, Parent>(object).get_property(number, value))
        G_OBJECT_WARN_INVALID_PROPERTY_ID(object, number, spec);
    };
    methods->finalize = [](GObject* object) {
      auto* const own_class = reinterpret_cast<GTypeInstance*>(object)->g_class;
      delete std::exchange(reinterpret_cast<Object<Parent>*>(object)->host, nullptr);
      static_cast<GObjectClass*>(g_type_class_peek_parent(own_class))->finalize(object);
    };
    Made::init_class(static_cast<ParentClass*>(object_class), own);
    install_properties(methods, own);
  };
  info.instance_init = [](GTypeInstance* instance, gpointer object_class) {
    auto* const object = reinterpret_cast<Object<Parent>*>(instance);
    object->host =
        new Made(reinterpret_cast<GstElement*>(instance), *static_cast<Class<ParentClass>*>(object_class)->kind);
  };
  return g_type_register_static(parent, kind.type_name.c_str(), &info, static_cast<GTypeFlags>(0));
}

/// The parent's methods, for chaining up.
inline GstElementClass* parent_class(GstElement* object) {
  return static_cast<GstElementClass*>(g_type_class_peek_parent(reinterpret_cast<GTypeInstance*>(object)->g_class));
}

/// Long name, classification and description, as gst-inspect-1.0 shows them.
void describe_class(GstElementClass* element_class, const Kind& kind, const char* classification);

/// The name for a pad that is requested. @param wanted  As GStreamer gives it; null: the first free one. @param prefix  "sink_".
/// @return Empty: there is a pad of that name.
std::string name_of_new_pad(GstElement* object, const gchar* wanted, const std::string& prefix);

/// GStreamer caches the contents of a plugin. This makes it scan the plugin again when modules of elements are added or removed.
void depend_on_modules(GstPlugin* plugin);

/// @name One GType for each element of the registry with that role. @{
GType filter_type(Kind& kind);
GType audio_filter_type(Kind& kind);
GType source_type(Kind& kind);
GType sink_type(Kind& kind);
/// @}

}  // namespace gst_plugin
}  // namespace v1
}  // namespace tenon
