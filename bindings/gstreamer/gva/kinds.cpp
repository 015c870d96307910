// SPDX-License-Identifier: Apache-2.0
// What the properties of DL Streamer's elements are to Tenon's elements.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <map>
#include <memory>
#include <set>
#include <utility>

#include <tenon/bindings/gstreamer/gva/gva.hpp>
#include <tenon/bindings/gstreamer/host.hpp>
#include <tenon/core/error.hpp>
#include <tenon/elements/registry.hpp>
#include <tenon/frameworks/gstreamer/gst.hpp>

namespace tenon {
inline namespace v1 {
namespace gst_plugin {
namespace gva {
namespace {

using elements::Description;
using elements::Role;

constexpr double kNoLimit = 1e9;

std::string value_or(const Texts& given, const std::string& name, const std::string& otherwise) {
  const auto found = given.find(name);
  return found == given.end() || found->second.empty() ? otherwise : found->second;
}

std::string whole(double value) { return std::to_string(static_cast<std::int64_t>(value)); }

/// A list of labels without the brackets that GStreamer's arrays have.
std::string without_brackets(std::string text) {
  if (text.size() >= 2 && text.front() == '<' && text.back() == '>') text = text.substr(1, text.size() - 2);
  std::string joined;
  for (std::string part : parts_of(text, ',')) {
    part.erase(0, part.find_first_not_of(" \t"));
    part.erase(part.find_last_not_of(" \t") + 1);
    joined += (joined.empty() ? "" : ",") + part;
  }
  return joined;
}

/// Properties of the device: KEY=VALUE, separated by blanks.
std::string properties_of(const Texts& given, const std::string& owner) {
  std::string all;
  for (const auto& [key, value] : options_of(value_or(given, "ie-config", ""), owner + ": ie-config")) {
    if ((key + value).find(' ') != std::string::npos)
      throw Error(Code::kInvalidArgument, owner + ": ie-config: \"" + key + "=" + value + "\" has a blank");
    all += (all.empty() ? "" : " ") + key + "=" + value;
  }
  const std::string device = value_or(given, "device", "CPU");
  for (const auto& [kind, name] :
       {std::pair("CPU", "cpu-throughput-streams"), std::pair("GPU", "gpu-throughput-streams")}) {
    const std::string streams = value_or(given, name, "0");
    if (streams != "0" && device.find(kind) != std::string::npos)
      all += (all.empty() ? "" : " ") + ("NUM_STREAMS=" + streams);
  }
  return all;
}

void put_batch(const Texts& given, Texts& made) {
  const std::string size = value_or(given, "batch-size", "0"), timeout = value_or(given, "batch-timeout", "-1");
  const bool is_single = size == "0" || timeout == "0";
  made["batch"] = is_single ? "1" : size;
  if (!is_single) made["max_delay_ms"] = timeout == "-1" ? whole(kNoLimit) : timeout;
}

void put_shape(const Texts& given, Texts& made, const std::string& owner) {
  const std::string width = value_or(given, "reshape-width", "0"), height = value_or(given, "reshape-height", "0");
  if (width != "0" && height != "0") {
    made["shape"] = width + "x" + height;
  } else if (width != height) {
    throw Error(Code::kInvalidArgument, owner +
                                            ": reshape needs reshape-width and reshape-height, or neither for the "
                                            "size of the frames; found " +
                                            width + " and " + height);
  } else if (value_or(given, "reshape", "false") == "true") {
    made["shape"] = "frame";
  }
}

/// @param region  The default of inference-region.
Texts for_infer(const std::string& owner, const std::string& region, const Texts& given) {
  Texts made;
  for (const auto& [theirs, ours] :
       {std::pair("model", "model"), std::pair("device", "device"), std::pair("model-proc", "side_file"),
        std::pair("labels-file", "labels_file"), std::pair("object-class", "labels")}) {
    if (const std::string value = value_or(given, theirs, ""); !value.empty()) made[ours] = value;
  }
  put_batch(given, made);
  put_shape(given, made, owner);
  if (const std::string labels = value_or(given, "labels", ""); !labels.empty())
    made["model_labels"] = without_brackets(labels);
  if (const std::string all = properties_of(given, owner); !all.empty()) made["properties"] = all;
  const auto at_most = [&](const char* name, const char* otherwise, double most) {
    return whole(std::min(number_of(value_or(given, name, otherwise), owner + ": " + name, 0, 1e10), most));
  };
  made["requests"] = at_most("nireq", "0", 256);
  made["interval"] = at_most("inference-interval", "1", kNoLimit);
  made["on"] = value_or(given, "inference-region", region) == "roi-list" ? "objects" : "frame";
  return made;
}

Texts for_track(const std::string& owner, const Texts& given) {
  // Each object of the model gets an id, whatever its score.
  Texts made{{"confidence", "0"}};
  for (const auto& [key, value] : options_of(value_or(given, "config", ""), owner + ": config")) {
    const std::string what = owner + ": config: " + key;
    if (key == "tracking_per_class") made["across_labels"] = flag_of(value, what) ? "false" : "true";
    if (key == "max_num_objects") made["max_objects"] = whole(number_of(value, what, 0, 1e6));
  }
  if (value_or(given, "tracking-type", "zero-term") != "deep-sort") return made;
  // What gvainference gives of an object is what it looks like. Its cosine distance is twice the distance here.
  for (const auto& [ours, value] :
       {std::pair("appearance", "true"), std::pair("raw_embeddings", "true"), std::pair("appearance_threshold", "0.1"),
        std::pair("appearance_overlap", "0"), std::pair("appearance_reach", "2"), std::pair("confirm", "3"),
        std::pair("iou", "0.3"), std::pair("keep", "30")})
    made[ours] = value;
  for (const auto& [key, value] : options_of(value_or(given, "deepsort-trck-cfg", ""), owner + ": deepsort-trck-cfg")) {
    const std::string what = owner + ": deepsort-trck-cfg: " + key;
    if (key == "max_age") made["keep"] = whole(number_of(value, what, 0, 1e6));
    if (key == "n_init") made["confirm"] = whole(number_of(value, what, 1, 1e6));
    if (key == "max_iou_distance") made["iou"] = elements::to_text(1 - number_of(value, what, 0, 1));
    if (key == "max_cosine_distance")
      made["appearance_threshold"] = elements::to_text(number_of(value, what, 0, 2) / 2);
    if (key == "reid_max_age") made["appearance_keep"] = whole(number_of(value, what, 0, 1e6));
    if (key == "object_class") made["labels"] = value;
  }
  return made;
}

/// A time in nanoseconds, 0 for the usual one.
Texts for_aggregate(const std::string&, const Texts& given) {
  const auto latency = std::strtoull(value_or(given, "latency", "0").c_str(), nullptr, 10);
  if (latency == 0) return {};
  const unsigned long long most = 3'600'000;
  return {{"max_delay_ms", std::to_string(std::clamp<unsigned long long>(latency / 1'000'000, 1, most))}};
}

/// 0 frames per second are all of them.
Texts for_throttle(const std::string&, const Texts& given) {
  const double per_second = std::strtod(value_or(given, "target-fps", "0").c_str(), nullptr);
  return {{"how", "wait"}, {"fps", elements::to_text(per_second > 0 ? std::max(per_second, 0.001) : 1e6)}};
}

/// The element has DL Streamer's names, with underscores, and compares with the picture before as its does.
Texts for_motion(const std::string& owner, const Texts& given) {
  Texts made{{"learning", "1"}};
  for (const Documented& element : documented()) {
    if (element.name != owner) continue;
    for (const Property& property : element.properties) {
      const std::string& theirs = property.parameter.name;
      std::string ours = theirs;
      std::replace(ours.begin(), ours.end(), '-', '_');
      const auto found = given.find(theirs);
      made[ours] = found == given.end() ? elements::to_text(property.parameter.default_value) : found->second;
    }
  }
  return made;
}

struct Unref {
  void operator()(GstObject* object) const { gst_object_unref(object); }
};
using ObjectPtr = std::unique_ptr<GstObject, Unref>;

/// The outermost bin around the element.
ObjectPtr outermost(GstElement* element) {
  ObjectPtr top(GST_OBJECT(gst_object_ref(element)));
  while (GstObject* parent = gst_object_get_parent(top.get())) top.reset(parent);
  return top;
}

/// An element that names an instance and no model takes what it lacks from the element of its kind with the same instance and a model.
void share_instance(GstElement* element, Texts& given) {
  const std::string instance = value_or(given, "model-instance-id", "");
  if (instance.empty() || !value_or(given, "model", "").empty()) return;
  const ObjectPtr top = outermost(element);
  if (!GST_IS_BIN(top.get())) return;
  GstIterator* const all = gst_bin_iterate_recurse(GST_BIN(top.get()));
  struct Search {
    GstElement* element;
    const std::string& instance;
    Texts found = {};
  } search{element, instance};
  const auto look = [](const GValue* item, gpointer data) {
    auto& wanted = *static_cast<Search*>(data);
    auto* const other = static_cast<GstElement*>(g_value_get_object(item));
    if (other == wanted.element || G_OBJECT_TYPE(other) != G_OBJECT_TYPE(wanted.element)) return;
    const Texts texts = reinterpret_cast<Object<GstElement>*>(other)->host->settings();
    if (value_or(texts, "model-instance-id", "") == wanted.instance && !value_or(texts, "model", "").empty())
      wanted.found = texts;
  };
  while (gst_iterator_foreach(all, look, &search) == GST_ITERATOR_RESYNC) gst_iterator_resync(all);
  gst_iterator_free(all);
  given.insert(search.found.begin(), search.found.end());
}

/// What is behind one name.
struct Behind {
  std::string element = {};  ///< Its name in the registry; empty: `make` or a type of its own.
  std::function<Texts(const std::string& owner, const Texts&)> translate = {};
  elements::AnyElement (*make)(const Texts&, const elements::Environment&) = nullptr;
  std::vector<std::string> needs = {};  ///< Elements of the registry that `make` uses.
  bool has_instances = false;
  elements::ElementFiles (*files)(const Texts&) = nullptr;
};

std::map<std::string, Behind> all_behind() {
  const auto infer = [](const char* region, Texts more) {
    Behind made{"infer"};
    made.has_instances = true;
    made.translate = [region, more](const std::string& owner, const Texts& given) {
      Texts all = for_infer(owner, region, given);
      all.insert(more.begin(), more.end());
      return all;
    };
    return made;
  };
  std::map<std::string, Behind> all{{"gvaclassify", infer("roi-list", {})},
                                    {"gvainference", infer("full-frame", {{"decode", "none"}})},
                                    {"gvatrack", {"track", &for_track}},
                                    {"gvamotiondetect", {"motion", &for_motion}},
                                    {"gvametaaggregate", {"aggregate", &for_aggregate}},
                                    {"gvafpsthrottle", {"throttle", &for_throttle}}};
  Behind detect = infer("full-frame", {});
  detect.translate = [base = detect.translate](const std::string& owner, const Texts& given) {
    Texts made = base(owner, given);
    made["confidence"] = value_or(given, "threshold", "0.5");
    return made;
  };
  all["gvadetect"] = detect;
  all["gvawatermark"].make = &make_watermark;
  all["gvawatermark"].needs = {"draw"};
  all["gvaattachroi"].make = &make_regions;
  all["gvaanalytics"].make = &make_analytics;
  all["gvametaconvert"] = all["gvametapublish"] = all["gvafpscounter"] = {};
  all["gvametapublish"].files = &files_of_meta_publish;
  all["gvastreammux"] = all["gvastreamdemux"] = {};
  return all;
}

Kind kind_of(const Documented& documented, const Behind& behind, const std::vector<Description>& known) {
  Kind kind;
  const std::string like = behind.element.empty() && !behind.needs.empty() ? behind.needs.front() : behind.element;
  for (const Description& one : known) {
    if (one.name == like) kind.description = one;
  }
  kind.description.name = documented.name;
  kind.description.about = documented.about;
  kind.description.parameters.clear();
  for (const Property& property : documented.properties) {
    kind.description.parameters.push_back(property.parameter);
    kind.shown[property.parameter.name] = property.shown;
    if (property.effect == Property::Effect::kNone) kind.without_effect[property.parameter.name] = property.why;
    if (property.effect == Property::Effect::kRefused) kind.refused[property.parameter.name] = property.why;
  }
  kind.element = behind.element;
  if (behind.translate)
    kind.translate = [translate = behind.translate, name = documented.name](const Texts& given) {
      return translate(name, given);
    };
  if (behind.make) kind.make = behind.make;
  if (behind.files) kind.files = behind.files;
  if (behind.has_instances) kind.complete = &share_instance;
  return kind;
}

}  // namespace

std::vector<std::string> parts_of(const std::string& text, char separator) {
  std::vector<std::string> parts;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find(separator, at), text.size());
    if (end > at) parts.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return parts;
}

std::vector<std::pair<std::string, std::string>> options_of(const std::string& text, const std::string& owner) {
  std::vector<std::pair<std::string, std::string>> all;
  for (const std::string& part : parts_of(text, ',')) {
    const std::size_t equals = part.find('=');
    if (equals == std::string::npos || equals == 0)
      throw Error(Code::kInvalidArgument, owner + ": \"" + part + "\" is not KEY=VALUE; separate them by commas");
    all.emplace_back(part.substr(0, equals), part.substr(equals + 1));
  }
  return all;
}

bool flag_of(const std::string& value, const std::string& what) {
  std::string lower;
  for (const char letter : value) lower += static_cast<char>(g_ascii_tolower(letter));
  if (lower == "true" || lower == "1" || lower == "yes") return true;
  if (lower == "false" || lower == "0" || lower == "no") return false;
  throw Error(Code::kInvalidArgument, what + " is \"" + value + "\"; expected true or false");
}

double number_of(const std::string& value, const std::string& what, double least, double most) {
  double number = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
  if (error != std::errc() || end != value.data() + value.size() || !(number >= least && number <= most))
    throw Error(Code::kInvalidArgument, what + " is \"" + value + "\"; expected a number from " +
                                            elements::to_text(least) + " to " + elements::to_text(most));
  return number;
}

std::vector<Kind> kinds() {
  const std::vector<Description> known = elements::known_elements();
  const auto is_there = [&](const std::string& name) {
    return std::any_of(known.begin(), known.end(), [&](const Description& one) { return one.name == name; });
  };
  const std::map<std::string, Behind> behind = all_behind();
  std::vector<Kind> all;
  for (const Documented& documented : documented()) {
    const auto found = behind.find(documented.name);
    if (found == behind.end()) continue;
    std::vector<std::string> needs = found->second.needs;
    if (!found->second.element.empty()) needs.push_back(found->second.element);
    if (std::all_of(needs.begin(), needs.end(), is_there)) all.push_back(kind_of(documented, found->second, known));
  }
  return all;
}

}  // namespace gva
}  // namespace gst_plugin
}  // namespace v1
}  // namespace tenon
