// SPDX-License-Identifier: Apache-2.0
// Writes the entries of a frame's metadata as DL Streamer's gvametaconvert does.
#include <tenon/bindings/gstreamer/gva/frame_json.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <utility>

#include <tenon/core/element_type.hpp>
#include <tenon/core/orientation.hpp>
#include <tenon/core/zones.hpp>

namespace tenon {
inline namespace v1 {
namespace gst_plugin {
namespace gva {
namespace {

using Json = nlohmann::json;
using metadata::Classification;
using metadata::Detection;
using metadata::Entry;
using metadata::Id;
using metadata::Segmentation;
using metadata::TensorOutput;
using metadata::ZoneEvent;

/// OpenVINO's names, which DL Streamer has; empty: it has none.
const char* precision_of(ElementType type) {
  switch (type) {
    case ElementType::kF32:
      return "FP32";
    case ElementType::kF16:
      return "FP16";
    case ElementType::kBf16:
      return "BF16";
    case ElementType::kF64:
      return "FP64";
    case ElementType::kU8:
      return "U8";
    case ElementType::kI8:
      return "I8";
    case ElementType::kI16:
      return "I16";
    case ElementType::kU16:
      return "U16";
    case ElementType::kI32:
      return "I32";
    case ElementType::kU32:
      return "U32";
    case ElementType::kI64:
      return "I64";
    case ElementType::kU64:
      return "U64";
    default:
      return "";
  }
}

template <typename T>
Json values_of(const Tensor& packed) {
  Json all = Json::array();
  const T* const values = packed.data<T>();
  for (std::size_t i = 0; i < packed.element_count(); ++i) {
    if constexpr (std::is_floating_point_v<T>)
      all.push_back(static_cast<double>(values[i]));
    else
      all.push_back(values[i]);
  }
  return all;
}

Json data_of(const Tensor& tensor) {
  if (!tensor || tensor.size_bytes() == 0) return Json::array();
  Tensor packed = tensor;
  if (!tensor.is_contiguous() || !tensor.is_host_addressable()) {
    packed = Tensor();
    tensor.copy_to(packed);
  }
  switch (packed.element_type()) {
    case ElementType::kF32:
      return values_of<float>(packed);
    case ElementType::kF64:
      return values_of<double>(packed);
    case ElementType::kU8:
      return values_of<std::uint8_t>(packed);
    case ElementType::kI8:
      return values_of<std::int8_t>(packed);
    case ElementType::kI16:
      return values_of<std::int16_t>(packed);
    case ElementType::kU16:
      return values_of<std::uint16_t>(packed);
    case ElementType::kI32:
      return values_of<std::int32_t>(packed);
    case ElementType::kU32:
      return values_of<std::uint32_t>(packed);
    case ElementType::kI64:
      return values_of<std::int64_t>(packed);
    case ElementType::kU64:
      return values_of<std::uint64_t>(packed);
    default:
      return Json::array();  // Its precision and dims are written; JSON has no such numbers.
  }
}

void put_text(Json& into, const char* name, const std::string& text) {
  if (!text.empty()) into[name] = text;
}

void put_tensor(Json& into, const Tensor& tensor) {
  if (!tensor) return;
  put_text(into, "precision", precision_of(tensor.element_type()));
  into["layout"] = "ANY";
  Json dims = Json::array();
  for (const std::size_t extent : tensor.shape()) dims.push_back(extent);
  into["dims"] = std::move(dims);
  into["data"] = data_of(tensor);
}

Json tensor_json(const TensorOutput& output) {
  Json made = Json::object();
  put_tensor(made, output.tensor);
  put_text(made, "name", output.name.empty() ? std::string() : "inference_layer_name:" + output.name);
  put_text(made, "layer_name", output.name);
  put_text(made, "model_name", output.model);
  put_text(made, "format", output.format);
  return made;
}

Json mask_json(const Segmentation& mask) {
  Json made = Json::object();
  put_tensor(made, mask.mask);
  made["name"] = "segmentation";
  made["format"] = "segmentation_mask";
  return made;
}

Json class_json(const Classification& one) {
  Json made = Json::object();
  put_text(made, "label", one.label);
  if (!one.model.empty()) made["model"] = {{"name", one.model}};
  made["confidence"] = static_cast<double>(one.score);
  if (one.label_id >= 0) made["label_id"] = one.label_id;
  return made;
}

/// Classes of `parent`: the best of each model.
void put_classes(Json& into, const metadata::Collection& known, Id parent) {
  std::vector<std::string> models;
  for (const auto& entry : known.of<Classification>(parent)) {
    if (std::find(models.begin(), models.end(), entry->model) != models.end()) continue;
    models.push_back(entry->model);
    into[into.contains("classification") ? "classification/" + entry->model : "classification"] =
        class_json(*entry.value);
  }
}

Json tensors_json(const metadata::Collection& known, Id parent) {
  Json all = Json::array();
  for (const auto& entry : known.of<TensorOutput>(parent)) all.push_back(tensor_json(*entry.value));
  for (const auto& entry : known.of<Segmentation>(parent)) all.push_back(mask_json(*entry.value));
  return all;
}

void put_zones(Json& into, const metadata::Collection& known, Id object) {
  for (const auto& event : known.of<ZoneEvent>(object)) {
    if (event->what == ZoneEvent::What::kInside) into["zone_violations"].push_back(event->zone);
    const bool is_out = event->what == ZoneEvent::What::kCrossedOut;
    if (is_out || event->what == ZoneEvent::What::kCrossedIn)
      into["tripwire_crossings"].push_back({{"tripwire_id", event->zone}, {"direction", is_out ? 1 : -1}});
  }
  // Members that an element adds as they are: the dwell times of gvaanalytics.
  for (const auto& extra : known.of<metadata::Json>(object)) {
    const Json members = Json::parse(extra->text, nullptr, false);
    if (members.is_object()) into.update(members);
  }
}

Json object_json(const Entry<Detection>& entry, const metadata::Collection& known, const FrameInfo& info,
                 bool with_tensors) {
  const Detection& object = *entry.value;
  const double width = std::max(info.upright_width_px(), 1u), height = std::max(info.upright_height_px(), 1u);
  // A box may be infinite, or none at all.
  const auto whole = [](float value) {
    return value > 0 ? static_cast<std::int64_t>(std::min(std::round(value), 1e9f)) : std::int64_t{0};
  };
  const auto part = [](float value, double of) { return static_cast<double>(value) / of; };
  const metadata::Box& box = object.box;
  Json made{{"x", whole(box.x1)},
            {"y", whole(box.y1)},
            {"w", whole(box.x2) - whole(box.x1)},
            {"h", whole(box.y2) - whole(box.y1)},
            {"region_id", entry.id}};
  if (entry.parent != metadata::kFrame) made["parent_id"] = entry.parent;
  if (object.track_id > 0) made["id"] = object.track_id;
  put_text(made, "roi_type", object.label);
  Json detection{{"bounding_box",
                  {{"x_min", part(box.x1, width)},
                   {"x_max", part(box.x2, width)},
                   {"y_min", part(box.y1, height)},
                   {"y_max", part(box.y2, height)}}},
                 {"confidence", static_cast<double>(object.score)}};
  if (object.label_id >= 0) detection["label_id"] = object.label_id;
  put_text(detection, "label", object.label);
  made["detection"] = std::move(detection);
  put_classes(made, known, entry.id);
  if (with_tensors) made["tensors"] = tensors_json(known, entry.id);
  put_zones(made, known, entry.id);
  return made;
}

}  // namespace

Json objects_json(const metadata::Collection& known, const FrameInfo& info, bool with_tensors) {
  Json all = Json::array();
  for (const auto& entry : known.all<Detection>()) all.push_back(object_json(entry, known, info, with_tensors));
  const bool has_more = !known.of<Classification>(metadata::kFrame).empty() ||
                        !known.of<TensorOutput>(metadata::kFrame).empty() ||
                        !known.of<Segmentation>(metadata::kFrame).empty();
  if (!has_more) return all;
  Json frame{{"x", 0}, {"y", 0}, {"w", info.upright_width_px()}, {"h", info.upright_height_px()}};
  put_classes(frame, known, metadata::kFrame);
  if (with_tensors) frame["tensors"] = tensors_json(known, metadata::kFrame);
  all.push_back(std::move(frame));
  return all;
}

Json frame_tensors_json(const metadata::Collection& known) { return tensors_json(known, metadata::kFrame); }

}  // namespace gva
}  // namespace gst_plugin
}  // namespace v1
}  // namespace tenon
