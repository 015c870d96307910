// SPDX-License-Identifier: Apache-2.0
// The table of properties, made from docs/reference/dlstreamer_elements.toml by elements.py.
#include <tenon/bindings/gstreamer/gva/gva.hpp>

namespace tenon {
inline namespace v1 {
namespace gst_plugin {
namespace gva {
namespace {

using Effect = Property::Effect;
using elements::Value;

/// @param least, most  Bounds, which numbers have.
Property property(GType type, const char* name, const char* about, Value value, double least, double most,
                  Effect effect, const char* why) {
  Property made;
  made.parameter = {name, about, std::move(value), false, least, most};
  made.shown.type = type;
  made.effect = effect;
  made.why = why;
  return made;
}

Property text(const char* name, const char* about, const char* value, Effect effect, const char* why) {
  Property made = property(G_TYPE_INVALID, name, about, std::string(value ? value : ""), 0, 0, effect, why);
  made.shown.is_null = !value;
  return made;
}

Property one_of(const char* name, const char* about, const char* value, std::vector<std::string> choices, gint first,
                Effect effect, const char* why) {
  Property made = text(name, about, value, effect, why);
  made.parameter.choices = std::move(choices);
  made.shown.first_choice = first;
  return made;
}

Property read_only(Property made) {
  made.shown.is_read_only = true;
  return made;
}

}  // namespace

const std::vector<Documented>& documented() {
  static const std::vector<Documented> all{
#include "gva_elements.inc"
  };
  return all;
}

}  // namespace gva
}  // namespace gst_plugin
}  // namespace v1
}  // namespace tenon
