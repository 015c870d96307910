// SPDX-License-Identifier: Apache-2.0
// A GstStructure, and a region of interest, as dictionaries.
#pragma once

#include <cmath>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gst/video/gstvideometa.h>

#include "dlstreamer/dictionary.h"
#include "dlstreamer/gst/utils.h"
#include "dlstreamer/image_metadata.h"

namespace dlstreamer {

/// Reads and writes a structure, which has to live as long as this.
class GSTDictionary : public Dictionary {
 public:
  GSTDictionary(GstStructure* structure) : _structure(structure) {}

  std::string name() const override { return gst_structure_get_name(_structure); }
  std::vector<std::string> keys() const override {
    std::vector<std::string> all;
    for (int i = 0; i < gst_structure_n_fields(_structure); ++i)
      all.emplace_back(gst_structure_nth_field_name(_structure, static_cast<guint>(i)));
    return all;
  }
  std::optional<Any> try_get(std::string_view key) const noexcept override { return gvalue_to_any(value(key)); }
  std::pair<const void*, size_t> try_get_array(std::string_view key) const noexcept override {
    const GValue* held = value(key);
    if (!held || !G_VALUE_HOLDS(held, G_TYPE_BYTES)) return {nullptr, 0};
    gsize size = 0;
    const void* data = g_bytes_get_data(static_cast<GBytes*>(g_value_get_boxed(held)), &size);
    return {data, size};
  }
  void set(std::string_view key, Any value) override {
    GValue made = G_VALUE_INIT;
    any_to_gvalue(value, &made);
    gst_structure_take_value(_structure, std::string(key).c_str(), &made);
  }
  void set_array(std::string_view key, const void* data, size_t nbytes) override {
    GValue made = G_VALUE_INIT;
    g_value_init(&made, G_TYPE_BYTES);
    g_value_take_boxed(&made, g_bytes_new(data, nbytes));
    gst_structure_take_value(_structure, std::string(key).c_str(), &made);
  }
  void set_name(std::string const& name) override { gst_structure_set_name(_structure, name.c_str()); }

 private:
  const GValue* value(std::string_view key) const {
    return gst_structure_get_value(_structure, std::string(key).c_str());
  }

  GstStructure* _structure;
};

/// A region of interest, as DetectionMetadata reads and writes it: the rectangle, the label and the ids lie in the meta, the rest in its
/// parameter of this name. The meta has to live as long as this.
class GSTROIDictionary : public Dictionary {
 public:
  using key = DetectionMetadata::key;

  /// @param width, height  Those of the picture. @param structure  The parameter; null: it is made when it is needed.
  GSTROIDictionary(GstVideoRegionOfInterestMeta* roi, int width, int height, GstStructure* structure)
      : _roi(roi), _width(width), _height(height), _structure(structure) {}

  std::string name() const override { return DetectionMetadata::name; }
  std::vector<std::string> keys() const override {
    std::vector<std::string> all{key::x_min, key::y_min, key::x_max, key::y_max, key::id, key::parent_id, key::label};
    if (_structure)
      for (const std::string& each : GSTDictionary(_structure).keys()) all.push_back(each);
    return all;
  }
  std::optional<Any> try_get(std::string_view name) const noexcept override {
    if (name == key::x_min) return _roi->x / _width;
    if (name == key::y_min) return _roi->y / _height;
    if (name == key::x_max) return (_roi->x + _roi->w) / _width;
    if (name == key::y_max) return (_roi->y + _roi->h) / _height;
    if (name == key::id) return _roi->id;
    if (name == key::parent_id) return _roi->parent_id;
    if (name == key::label) return std::string(_roi->roi_type ? g_quark_to_string(_roi->roi_type) : "");
    return _structure ? GSTDictionary(_structure).try_get(name) : std::nullopt;
  }
  std::pair<const void*, size_t> try_get_array(std::string_view name) const noexcept override {
    return _structure ? GSTDictionary(_structure).try_get_array(name) : std::pair<const void*, size_t>(nullptr, 0);
  }
  /// The left and the upper edge first: the others become an extent.
  void set(std::string_view name, Any value) override {
    const auto pixels = [&](double extent) {
      return static_cast<guint>(std::lround(any_cast<double>(value) * extent));
    };
    if (name == key::x_min)
      _roi->x = pixels(_width);
    else if (name == key::y_min)
      _roi->y = pixels(_height);
    else if (name == key::x_max)
      _roi->w = pixels(_width) - _roi->x;
    else if (name == key::y_max)
      _roi->h = pixels(_height) - _roi->y;
    else if (name == key::id)
      _roi->id = any_cast<int>(value);
    else if (name == key::parent_id)
      _roi->parent_id = any_cast<int>(value);
    else if (name == key::label)
      _roi->roi_type = g_quark_from_string(any_cast<std::string>(value).c_str());
    else
      GSTDictionary(parameter()).set(name, std::move(value));
  }
  void set_array(std::string_view name, const void* data, size_t nbytes) override {
    GSTDictionary(parameter()).set_array(name, data, nbytes);
  }
  /// @errors std::runtime_error, always: what it is decides its name.
  void set_name(std::string const& name) override {
    throw std::runtime_error("GSTROIDictionary::set_name: a region of interest is a 'detection', not '" + name + "'");
  }

 private:
  GstStructure* parameter() {
    if (!_structure) {
      _structure = gst_structure_new_empty(DetectionMetadata::name);
      gst_video_region_of_interest_meta_add_param(_roi, _structure);
    }
    return _structure;
  }

  GstVideoRegionOfInterestMeta* _roi;
  double _width, _height;
  GstStructure* _structure;
};

}  // namespace dlstreamer
