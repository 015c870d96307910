// SPDX-License-Identifier: Apache-2.0
// The table of alias names, and the mapping from aliases back to the elements' own names.
#include <tenon/bindings/gstreamer/aliases.hpp>

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <tenon/elements/registry.hpp>

namespace tenon {
inline namespace v1 {
namespace gst_plugin {
namespace {

using elements::Description;
using elements::Parameter;

/// A parameter under another name.
struct Renamed {
  std::string parameter, property;
  std::string default_value = {};                  ///< Another one, as text; empty: the same.
  std::map<std::string, std::string> values = {};  ///< Names of choices to the element's own; empty: the same.
};

struct Alias {
  std::string name, element, about;
  std::vector<Renamed> renamed;
};

/// The properties under the names of gvadetect and gvaclassify.
std::vector<Renamed> of_inference(const std::string& region) {
  const std::map<std::string, std::string> regions{
      {"full-frame", "frame"}, {"roi-list", "objects"}, {"tiles", "tiles"}};
  return {{"confidence", "threshold"}, {"interval", "inference-interval"}, {"batch", "batch-size"},
          {"requests", "nireq"},       {"labels", "object-class"},         {"on", "inference-region", region, regions},
          {"side_file", "model-proc"}};
}

std::vector<Alias> table() {
  return {
      {"detect", "infer",
       "Finds objects with a model, in frames or in objects that were found before, and adds them as "
       "regions of interest",
       of_inference("full-frame")},
      {"classify", "infer",
       "Classifies the objects that were found before with a model, or whole frames, and adds the classes",
       of_inference("roi-list")},
      {"inference", "infer", "Runs a model on frames, or on the objects found in them, and adds its outputs as tensors",
       [] {
         std::vector<Renamed> all = of_inference("full-frame");
         all.push_back({"decode", "decode", "none", {}});
         return all;
       }()},
      {"watermark", "draw", "Draws the metadata of a frame on a copy of it", {}},
  };
}

/// The description with the alias names. @param back  Receives the parameter for each property.
Description renamed(const Alias& alias, const Description& from, std::map<std::string, Renamed>& back) {
  Description made = from;
  made.name = alias.name;
  made.about = alias.about;
  for (const Renamed& one : alias.renamed) {
    const auto is_meant = [&](const Parameter& each) { return each.name == one.parameter; };
    const auto parameter = std::find_if(made.parameters.begin(), made.parameters.end(), is_meant);
    if (parameter == made.parameters.end()) continue;
    parameter->name = one.property;
    if (!one.values.empty()) {
      parameter->choices.clear();
      for (const auto& [theirs, ours] : one.values) parameter->choices.push_back(theirs);
    }
    if (!one.default_value.empty()) parameter->default_value = one.default_value;
    back.emplace(one.property, one);
  }
  return made;
}

/// The parameters for the element, under its own names, with the alias's defaults where they differ.
std::map<std::string, std::string> own_names(const std::map<std::string, Renamed>& back,
                                             const std::map<std::string, std::string>& given) {
  const auto own_value = [](const Renamed& one, const std::string& value) {
    const auto found = one.values.find(value);
    return found == one.values.end() ? value : found->second;
  };
  std::map<std::string, std::string> all;
  for (const auto& [property, one] : back) {
    if (!one.default_value.empty()) all[one.parameter] = own_value(one, one.default_value);
  }
  for (const auto& [property, value] : given) {
    const auto found = back.find(property);
    if (found == back.end())
      all[property] = value;
    else
      all[found->second.parameter] = own_value(found->second, value);
  }
  return all;
}

}  // namespace

std::vector<Kind> aliases() {
  const std::vector<Description> known = elements::known_elements();
  std::vector<Kind> all;
  for (const Alias& alias : table()) {
    const auto is_meant = [&](const Description& one) { return one.name == alias.element; };
    const auto is_taken = [&](const Description& one) { return one.name == alias.name; };
    const auto found = std::find_if(known.begin(), known.end(), is_meant);
    if (found == known.end() || std::any_of(known.begin(), known.end(), is_taken)) continue;
    std::map<std::string, Renamed> back;
    Kind& kind = all.emplace_back();
    kind.description = renamed(alias, *found, back);
    kind.element = alias.element;
    kind.translate = [back](const std::map<std::string, std::string>& given) { return own_names(back, given); };
  }
  return all;
}

}  // namespace gst_plugin
}  // namespace v1
}  // namespace tenon
