// SPDX-License-Identifier: Apache-2.0
// Makes GParamSpecs from the descriptions of parameters.
#include <tenon/bindings/gstreamer/properties.hpp>

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>

namespace tenon {
inline namespace v1 {
namespace gst_plugin {
namespace {

using elements::Parameter;
using elements::Value;

/// Text that lives as long as the process, as classes and their properties do.
const char* kept(const std::string& text) { return g_intern_string(text.c_str()); }

/// A name of letters, digits and dashes, as GObject requires.
std::string dashed(std::string name) {
  std::replace_if(
      name.begin(), name.end(), [](char letter) { return !g_ascii_isalnum(letter); }, '-');
  return name;
}

/// The enumeration of a text's choices. The values are the indices of the choices, counted from `first`.
GType choices_type(const std::string& name, const std::vector<std::string>& choices, gint first) {
  if (const GType known = g_type_from_name(name.c_str())) return known;
  auto* const values = g_new0(GEnumValue, choices.size() + 1);  // Never freed: the type lives for ever and uses it.
  for (std::size_t i = 0; i < choices.size(); ++i)
    values[i] = {static_cast<gint>(i) + first, kept(choices[i]), kept(choices[i])};
  return g_enum_register_static(kept(name), values);
}

gint place_of(const std::vector<std::string>& choices, const std::string& text) {
  const auto found = std::find(choices.begin(), choices.end(), text);
  return found == choices.end() ? 0 : static_cast<gint>(found - choices.begin());
}

gint64 bounded(double value) {
  if (value <= static_cast<double>(G_MININT64)) return G_MININT64;
  if (value >= static_cast<double>(G_MAXINT64)) return G_MAXINT64;
  return static_cast<gint64>(value);
}

/// An integer or a number of a type that is not the usual one; null: `type` is none of these.
GParamSpec* make_narrow_spec(const Parameter& parameter, const char* id, const char* about, GType type,
                             GParamFlags flags) {
  const auto* integer = std::get_if<std::int64_t>(&parameter.default_value);
  const auto whole = [&](gint64 lowest, gint64 highest) {
    return std::pair(std::max(bounded(parameter.least), lowest), std::min(bounded(parameter.most), highest));
  };
  if (integer && type == G_TYPE_UINT) {
    const auto [least, most] = whole(0, G_MAXUINT);
    return g_param_spec_uint(id, id, about, static_cast<guint>(least), static_cast<guint>(most),
                             static_cast<guint>(*integer), flags);
  }
  if (integer && type == G_TYPE_INT) {
    const auto [least, most] = whole(G_MININT, G_MAXINT);
    return g_param_spec_int(id, id, about, static_cast<gint>(least), static_cast<gint>(most),
                            static_cast<gint>(*integer), flags);
  }
  if (integer && type == G_TYPE_UINT64)  // Held as the 64 bits of an integer with a sign.
    return g_param_spec_uint64(id, id, about, 0, G_MAXUINT64, static_cast<guint64>(*integer), flags);
  const double* number = std::get_if<double>(&parameter.default_value);
  if (!number || type != G_TYPE_FLOAT) return nullptr;
  const double most = static_cast<double>(G_MAXFLOAT);
  return g_param_spec_float(id, id, about, static_cast<gfloat>(std::max(parameter.least, -most)),
                            static_cast<gfloat>(std::min(parameter.most, most)), static_cast<gfloat>(*number), flags);
}

GParamSpec* make_spec(const Parameter& parameter, const std::string& name, GType choices, const Shown& shown) {
  const auto flags =
      shown.is_read_only
          ? static_cast<GParamFlags>(G_PARAM_READABLE | G_PARAM_STATIC_STRINGS)
          : static_cast<GParamFlags>(G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS | GST_PARAM_MUTABLE_READY);
  const char* const id = kept(name);
  const char* const about = kept(parameter.about + (parameter.is_required ? " (required)" : ""));
  if (GParamSpec* const narrow = make_narrow_spec(parameter, id, about, shown.type, flags)) return narrow;
  if (const bool* flag = std::get_if<bool>(&parameter.default_value))
    return g_param_spec_boolean(id, id, about, *flag, flags);
  if (const auto* integer = std::get_if<std::int64_t>(&parameter.default_value)) {
    const gint64 least = bounded(std::ceil(parameter.least)), most = bounded(std::floor(parameter.most));
    return g_param_spec_int64(id, id, about, least, most, std::clamp<gint64>(*integer, least, most), flags);
  }
  if (const double* number = std::get_if<double>(&parameter.default_value)) {
    const double least = std::max(parameter.least, -G_MAXDOUBLE), most = std::min(parameter.most, G_MAXDOUBLE);
    return g_param_spec_double(id, id, about, least, most, std::clamp(*number, least, most), flags);
  }
  const std::string& text = std::get<std::string>(parameter.default_value);
  if (choices != G_TYPE_INVALID)
    return g_param_spec_enum(id, id, about, choices, place_of(parameter.choices, text) + shown.first_choice, flags);
  return g_param_spec_string(id, id, about, parameter.is_required || shown.is_null ? nullptr : kept(text), flags);
}

Shown shown_of(const Kind& kind, const Parameter& parameter) {
  const auto found = kind.shown.find(parameter.name);
  return found == kind.shown.end() ? Shown() : found->second;
}

/// `from` as a value of another type of numbers.
template <typename T, typename Get>
T number_of(const GValue* from, GType type, Get get) {
  GValue wide = G_VALUE_INIT;
  g_value_init(&wide, type);
  g_value_transform(from, &wide);
  return static_cast<T>(get(&wide));
}

/// Puts a value of one type of numbers into one of another.
template <typename T, typename Set>
void put_number(GValue* into, GType type, T number, Set set) {
  GValue wide = G_VALUE_INIT;
  g_value_init(&wide, type);
  set(&wide, number);
  g_value_transform(&wide, into);
}

}  // namespace

void install_properties(GObjectClass* object_class, Kind& kind) {
  guint number = 0;
  for (const Parameter& parameter : kind.description.parameters) {
    std::string name = dashed(parameter.name);
    if (g_object_class_find_property(object_class, name.c_str()) || name == "tenon-stats") name = "element-" + name;
    const bool is_choice = !parameter.choices.empty() && std::holds_alternative<std::string>(parameter.default_value);
    const Shown shown = shown_of(kind, parameter);
    const GType choices = is_choice ? choices_type(kind.type_name + "_" + name, parameter.choices, shown.first_choice)
                                    : static_cast<GType>(G_TYPE_INVALID);
    kind.choices.push_back(choices);
    kind.properties.push_back(name);
    g_object_class_install_property(object_class, ++number, make_spec(parameter, name, choices, shown));
  }
  kind.stats_property = ++number;
  g_object_class_install_property(
      object_class, number,
      g_param_spec_boxed("tenon-stats", "tenon-stats",
                         "Frames in, frames out and frames dropped; bytes copied, converted and transferred; waits",
                         GST_TYPE_STRUCTURE, static_cast<GParamFlags>(G_PARAM_READABLE | G_PARAM_STATIC_STRINGS)));
}

const Parameter* Settings::parameter(guint number) const {
  const std::vector<Parameter>& all = kind_.description.parameters;
  return number >= 1 && number <= all.size() ? &all[number - 1] : nullptr;
}

bool Settings::set(guint number, const GValue* value) {
  const Parameter* const known = parameter(number);
  if (!known) return false;
  Value given = known->default_value;
  if (std::holds_alternative<bool>(given)) {
    given = static_cast<bool>(g_value_get_boolean(value));
  } else if (std::holds_alternative<std::int64_t>(given)) {
    given = number_of<std::int64_t>(value, G_TYPE_INT64, &g_value_get_int64);
  } else if (std::holds_alternative<double>(given)) {
    given = number_of<double>(value, G_TYPE_DOUBLE, &g_value_get_double);
  } else if (kind_.choices[number - 1] != G_TYPE_INVALID) {
    given = known->choices[static_cast<std::size_t>(g_value_get_enum(value) - shown_of(kind_, *known).first_choice)];
  } else if (const char* text = g_value_get_string(value)) {
    given = std::string(text);
  } else {
    given_.erase(number);  // Null: the parameter counts as never set.
    return true;
  }
  given_[number] = std::move(given);
  return true;
}

bool Settings::get(guint number, GValue* value) const {
  const Parameter* const known = parameter(number);
  if (!known) return false;
  const auto found = given_.find(number);
  const Value& held = found == given_.end() ? known->default_value : found->second;
  if (const bool* flag = std::get_if<bool>(&held))
    g_value_set_boolean(value, *flag);
  else if (const auto* integer = std::get_if<std::int64_t>(&held))
    put_number(value, G_TYPE_INT64, *integer, &g_value_set_int64);
  else if (const double* decimal = std::get_if<double>(&held))
    put_number(value, G_TYPE_DOUBLE, *decimal, &g_value_set_double);
  else if (kind_.choices[number - 1] != G_TYPE_INVALID)
    g_value_set_enum(value,
                     place_of(known->choices, std::get<std::string>(held)) + shown_of(kind_, *known).first_choice);
  else if (found != given_.end() || !(known->is_required || shown_of(kind_, *known).is_null))
    g_value_set_string(value, std::get<std::string>(held).c_str());
  return true;
}

Texts Settings::texts() const {
  Texts all;
  for (const auto& [number, value] : given_) all.emplace(parameter(number)->name, elements::to_text(value));
  return all;
}

void put_stats(GValue* value, const Counts& counts, const Ledger& ledger) {
  const LedgerEntry moved = ledger.total();
  g_value_take_boxed(
      value, gst_structure_new("tenon-stats", "frames-in", G_TYPE_UINT64, counts.frames_in, "frames-out", G_TYPE_UINT64,
                               counts.frames_out, "dropped", G_TYPE_UINT64, counts.dropped, "copied", G_TYPE_UINT64,
                               moved.copied, "converted", G_TYPE_UINT64, moved.converted, "transferred", G_TYPE_UINT64,
                               moved.transferred, "waits", G_TYPE_UINT64, moved.waits, nullptr));
}

}  // namespace gst_plugin
}  // namespace v1
}  // namespace tenon
