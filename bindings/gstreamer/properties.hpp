// SPDX-License-Identifier: Apache-2.0
// Exposes the parameters of an element as properties of a GObject class, and keeps the values that a user set on an object.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include <gst/gst.h>

#include <tenon/core/ledger.hpp>
#include <tenon/elements/description.hpp>

namespace tenon {
inline namespace v1 {
namespace gst_plugin {

/// What users set, by the names of parameters.
using Texts = std::map<std::string, std::string>;

/// A property that is another one than its parameter's type makes.
struct Shown {
  GType type = G_TYPE_INVALID;  ///< G_TYPE_UINT, G_TYPE_UINT64, G_TYPE_FLOAT...; G_TYPE_INVALID: int64, double, text.
  bool is_null = false;         ///< A text that is not set is null instead of empty.
  gint first_choice = 0;        ///< The number of the first choice.
  bool is_read_only = false;
};

/// The element that a GObject class stands for. It lives as long as the process, as classes do.
struct Kind {
  elements::Description description;
  std::string element;  ///< The element's name in the registry.
  /// Maps the parameters of `description` to those of the element; empty: they are the same.
  std::function<Texts(Texts)> translate = {};
  /// Makes the element of the parameters of `description`; empty: the registry makes `element`.
  std::function<elements::AnyElement(const Texts&, const elements::Environment&)> make = {};
  /// Adds what an object gets from others of its pipeline; empty: nothing.
  std::function<void(GstElement*, Texts&)> complete = {};
  /// The files that an object reads and writes; empty: those of `element`, or without one all that its texts name are read.
  std::function<elements::ElementFiles(const Texts&)> files = {};
  std::map<std::string, Shown> shown = {};  ///< By parameter.
  Texts without_effect = {};  ///< Parameters that are taken and change nothing, with the reason, which is told once.
  Texts refused = {};         ///< Parameters whose use is an error, with the reason.
  std::string type_name;      ///< "GstTenon_infer".
  std::vector<std::string>
      properties;              ///< The property of each parameter. Property i has the number i + 1 in the class.
  std::vector<GType> choices;  ///< The enumeration of a text with choices; G_TYPE_INVALID for others.
  guint stats_property = 0;    ///< The number of "tenon-stats"; those after it are the class's own.
};

/// Installs a property for each parameter, and the read-only "tenon-stats". Names that the parent class has are prefixed with
/// "element-". @pre called by class_init, once for each class.
void install_properties(GObjectClass* object_class, Kind& kind);

/// Numbers of one object, for "tenon-stats". @thread any.
struct Counts {
  std::uint64_t frames_in = 0, frames_out = 0, dropped = 0;
};

/// The values that a user set on an object. @thread under the object's lock.
class Settings {
 public:
  explicit Settings(const Kind& kind) : kind_(kind) {}
  /// @return False: `number` is not that of a parameter.
  bool set(guint number, const GValue* value);
  bool get(guint number, GValue* value) const;
  /// The parameters for make_element(): only those that were set.
  Texts texts() const;

 private:
  const elements::Parameter* parameter(guint number) const;

  const Kind& kind_;
  std::map<guint, elements::Value> given_;
};

/// The value of "tenon-stats": frames-in, frames-out, dropped, copied, converted, transferred (bytes), waits.
void put_stats(GValue* value, const Counts& counts, const Ledger& ledger);

}  // namespace gst_plugin
}  // namespace v1
}  // namespace tenon
