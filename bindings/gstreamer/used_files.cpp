// SPDX-License-Identifier: Apache-2.0
// What the elements around one read and write, so that it writes over nothing that they read.
#include <tenon/bindings/gstreamer/host.hpp>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <tenon/core/error.hpp>
#include <tenon/core/version.hpp>
#include <tenon/elements/read_files.hpp>
#include <tenon/frameworks/gstreamer/gst.hpp>
#include <tenon/frameworks/gstreamer/named_files.hpp>

namespace tenon {
inline namespace v1 {
namespace gst_plugin {
namespace {

namespace gs = tenon::gstreamer;

/// Both plugins of one release know each other's hosts.
GQuark host_quark() {
  static const GQuark quark = g_quark_from_string("tenon-host-" TENON_VERSION);
  return quark;
}

/// The outermost bin that the element is in, or the element.
gs::ObjectPtr<GstObject> outermost(GstElement* element) {
  gs::ObjectPtr<GstObject> top(GST_OBJECT(gst_object_ref(element)));
  while (GstObject* const parent = gst_object_get_parent(top.get())) top.reset(parent);
  return top;
}

/// All elements in a bin, each with a reference.
std::vector<gs::ObjectPtr<GstElement>> elements_in(GstObject* top) {
  std::vector<gs::ObjectPtr<GstElement>> all;
  if (!GST_IS_BIN(top)) return all;
  GstIterator* const each = gst_bin_iterate_recurse(GST_BIN(top));
  GValue item = G_VALUE_INIT;
  for (;;) {
    const GstIteratorResult result = gst_iterator_next(each, &item);
    if (result == GST_ITERATOR_OK) {
      all.emplace_back(GST_ELEMENT(gst_object_ref(g_value_get_object(&item))));
      g_value_reset(&item);
    } else if (result == GST_ITERATOR_RESYNC) {
      all.clear();
      gst_iterator_resync(each);
    } else {
      break;
    }
  }
  g_value_unset(&item);
  gst_iterator_free(each);
  return all;
}

/// Whether the getters of its properties may run now. Bins that stream or hold the element itself may hold locks that the getters take;
/// the elements in them say what they read.
bool may_be_asked(GstElement* other, GstElement* element) {
  if (!GST_IS_BIN(other)) return true;
  return GST_STATE(other) <= GST_STATE_READY && !gst_object_has_as_ancestor(GST_OBJECT(element), GST_OBJECT(other));
}

void add_inputs(UsedFiles& files, const std::vector<std::string>& paths, const std::string& what) {
  for (const std::string& path : paths) files.add_input(path, what);
}
void add_outputs(UsedFiles& files, const elements::ElementFiles& of, const std::string& what) {
  for (const std::string& path : of.written) files.add_output(path, what, of.appends);
}

}  // namespace

void Host::make_known() { g_object_set_qdata(G_OBJECT(object_), host_quark(), this); }
Host* Host::find(GstElement* element) {
  return static_cast<Host*>(g_object_get_qdata(G_OBJECT(element), host_quark()));
}

elements::ElementFiles Host::files() const {
  Texts texts = settings();
  if (kind_.complete) kind_.complete(object_, texts);
  if (kind_.files) return kind_.files(texts);
  if (!kind_.element.empty()) {
    const elements::Environment environment{name(), nullptr, {kStream}};
    return elements::element_files(elements::find_element(kind_.element),
                                   kind_.translate ? kind_.translate(texts) : texts, environment);
  }
  elements::ElementFiles files;
  for (gs::NamedFile& named : gs::named_files(object_)) files.read.push_back(std::move(named.path));
  return files;
}

std::shared_ptr<UsedFiles> Host::used_files() const {
  const auto files = std::make_shared<UsedFiles>();
  const std::string own_name = "element '" + name() + "':";
  const elements::ElementFiles own = this->files();
  add_inputs(*files, own.read, own_name);
  add_outputs(*files, own, own_name);
  const gs::ObjectPtr<GstObject> top = outermost(object_);
  for (const gs::ObjectPtr<GstElement>& other : elements_in(top.get())) {
    if (other.get() == object_) continue;
    const std::unique_ptr<char, decltype(&g_free)> text(gst_object_get_name(GST_OBJECT(other.get())), &g_free);
    const std::string what = "element '" + std::string(text.get()) + "':";
    if (const Host* const host = find(other.get())) {
      elements::ElementFiles theirs;
      try {
        theirs = host->files();
      } catch (const Error&) {
        continue;  // It says itself what is wrong with its settings.
      }
      add_inputs(*files, theirs.read, what);
      add_outputs(*files, theirs, what);
    } else if (may_be_asked(other.get(), object_)) {
      for (const gs::NamedFile& named : gs::named_files(other.get()))
        if (!named.is_written) add_inputs(*files, elements::files_read_for(named.path), what);
    }
  }
  return files;
}

}  // namespace gst_plugin
}  // namespace v1
}  // namespace tenon
