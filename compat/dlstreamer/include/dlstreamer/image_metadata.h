// SPDX-License-Identifier: Apache-2.0
// Metadata of images: what was found in them, and where they come from.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "dlstreamer/dictionary.h"
#include "dlstreamer/image_info.h"
#include "dlstreamer/tensor.h"
#include "dlstreamer/utils.h"

namespace dlstreamer {

class TimestampMetadata {
 public:
  static constexpr auto name = "timestamp";
  struct key {
    static constexpr auto pts = "pts";            // intptr_t, nanoseconds
    static constexpr auto dts = "dts";            // intptr_t, nanoseconds
    static constexpr auto duration = "duration";  // intptr_t, nanoseconds
  };
};

/// A result of inference: a tensor, copied, with the names of model and layer.
class InferenceResultMetadata : public DictionaryProxy {
 public:
  static constexpr auto name = "tensor";
  struct key {
    static constexpr auto model_name = "model_name";    // std::string
    static constexpr auto layer_name = "layer_name";    // std::string
    static constexpr auto format = "format";            // std::string
    static constexpr auto data_buffer = "data_buffer";  // array
    static constexpr auto dims = "dims";                // std::vector<size_t>
    static constexpr auto precision = "precision";      // int: 10 is float32, 40 is uint8, 70 is int32, 72 is int64
  };
  using DictionaryProxy::DictionaryProxy;

  std::string model_name() const { return _dict->get(key::model_name, std::string()); }
  std::string layer_name() const { return _dict->get(key::layer_name, std::string()); }
  std::string format() const { return _dict->get(key::format, std::string()); }
  void set_model_name(const std::string& model_name) { _dict->set(key::model_name, model_name); }
  void set_layer_name(const std::string& layer_name) { _dict->set(key::layer_name, layer_name); }

  /// Copies the elements of a tensor of the host.
  void init_tensor_data(const Tensor& tensor, const std::string& layer_name = "", const std::string& format = "") {
    const TensorInfo& tensor_info = tensor.info();
    for (const Precision& row : kPrecisions)
      if (row.type == tensor_info.dtype) _dict->set(key::precision, row.number);
    _dict->set(key::dims, tensor_info.shape);
    _dict->set_array(key::data_buffer, tensor.data(), tensor_info.nbytes());
    if (!layer_name.empty()) set_layer_name(layer_name);
    if (!format.empty()) _dict->set(key::format, format);
  }
  /// @errors std::runtime_error: no tensor is in it.
  TensorInfo info() const {
    const int number = _dict->get<int>(key::precision);
    for (const Precision& row : kPrecisions)
      if (row.number == number) return TensorInfo(_dict->get<std::vector<size_t>>(key::dims), row.type);
    throw std::runtime_error("InferenceResultMetadata: precision " + std::to_string(number) + " is no DataType");
  }
  /// Over the bytes in the metadata, which it keeps. Null where there are none.
  TensorPtr tensor() const {
    const auto [data, nbytes] = _dict->try_get_array(key::data_buffer);
    if (!data) return nullptr;
    return std::make_shared<Stored>(_dict, const_cast<void*>(data), info());
  }

 private:
  struct Precision {
    DataType type;
    int number;
  };
  static constexpr Precision kPrecisions[] = {
      {DataType::Float32, 10}, {DataType::UInt8, 40}, {DataType::Int32, 70}, {DataType::Int64, 72}};

  class Stored final : public Tensor {
   public:
    Stored(DictionaryPtr keeper, void* data, TensorInfo info)
        : _keeper(std::move(keeper)), _data(data), _info(std::move(info)) {}
    const TensorInfo& info() const override { return _info; }
    MemoryType memory_type() const override { return MemoryType::CPU; }
    ContextPtr context() const override { return nullptr; }
    TensorPtr parent() const override { return nullptr; }
    void* data() const override { return _data; }
    handle_t handle(std::string_view /*key*/ = {}) const override { return reinterpret_cast<handle_t>(_data); }
    handle_t handle(std::string_view key, handle_t default_value) const noexcept override {
      return key.empty() || key == "data" ? reinterpret_cast<handle_t>(_data) : default_value;
    }

   private:
    DictionaryPtr _keeper;
    void* _data;
    TensorInfo _info;
  };
};

/// A rectangle, in shares of width and height.
class DetectionMetadata : public InferenceResultMetadata {
 public:
  static constexpr auto name = "detection";
  struct key {
    static constexpr auto x_min = "x_min";            // double
    static constexpr auto y_min = "y_min";            // double
    static constexpr auto x_max = "x_max";            // double
    static constexpr auto y_max = "y_max";            // double
    static constexpr auto confidence = "confidence";  // double
    static constexpr auto id = "id";                  // int
    static constexpr auto parent_id = "parent_id";    // int
    static constexpr auto label_id = "label_id";      // int
    static constexpr auto label = "label";            // std::string
  };
  using InferenceResultMetadata::InferenceResultMetadata;

  double x_min() const { return _dict->get<double>(key::x_min); }
  double y_min() const { return _dict->get<double>(key::y_min); }
  double x_max() const { return _dict->get<double>(key::x_max); }
  double y_max() const { return _dict->get<double>(key::y_max); }
  double confidence() const { return _dict->get<double>(key::confidence); }
  int id() const { return _dict->get<int>(key::id, -1); }
  int parent_id() const { return _dict->get<int>(key::parent_id, -1); }
  int label_id() const { return _dict->get<int>(key::label_id, -1); }
  std::string label() const { return _dict->get(key::label, std::string()); }
  void init(double x_min, double y_min, double x_max, double y_max, double confidence = 0.0, int label_id = -1,
            const std::string& label = {}) {
    _dict->set(key::x_min, x_min);
    _dict->set(key::y_min, y_min);
    _dict->set(key::x_max, x_max);
    _dict->set(key::y_max, y_max);
    _dict->set(key::confidence, confidence);
    if (label_id >= 0) _dict->set(key::label_id, label_id);
    if (!label.empty()) _dict->set(key::label, label);
  }
};

class ClassificationMetadata : public InferenceResultMetadata {
 public:
  static constexpr auto name = "classification";
  struct key {
    static constexpr auto label = "label";            // std::string
    static constexpr auto label_id = "label_id";      // int
    static constexpr auto confidence = "confidence";  // double
  };
  using InferenceResultMetadata::InferenceResultMetadata;

  std::string label() const { return _dict->get<std::string>(key::label); }
  int label_id() const { return _dict->get<int>(key::label_id); }
  double confidence() const { return _dict->get<double>(key::confidence); }
  void set_label(const std::string& label) { _dict->set(key::label, label); }
  void set_label_id(int label_id) { _dict->set(key::label_id, label_id); }
  void set_confidence(double confidence) { _dict->set(key::confidence, confidence); }
};

class ObjectIdMetadata : public DictionaryProxy {
 public:
  static constexpr auto name = "object_id";
  struct key {
    static constexpr auto id = "id";  // int
  };
  using DictionaryProxy::DictionaryProxy;

  int id() const { return _dict->get<int>(key::id); }
  void set_id(int id) { _dict->set(key::id, id); }
};

/// Where an element took its picture from: a map from the picture to what it was cut from.
class AffineTransformInfoMetadata : public DictionaryProxy {
 public:
  static constexpr auto name = "AffineTransformMetadata";
  struct key {
    static constexpr auto matrix = "matrix";  // std::vector<double>, two rows of three
  };
  using DictionaryProxy::DictionaryProxy;

  std::vector<double> matrix() const { return _dict->get<std::vector<double>>(key::matrix); }
  void set_matrix(const std::vector<double>& matrix) { _dict->set(key::matrix, matrix); }
  /// A scaled rectangle: `src_rect` of the source became `dst_rect`. Both ends are in shares of their extents.
  template <class RECT>
  void set_rect(double src_w, double src_h, double dst_w, double dst_h, const RECT& src_rect, const RECT& dst_rect) {
    const double x_scale =
        (static_cast<double>(src_rect.width) / src_w) / (static_cast<double>(dst_rect.width) / dst_w);
    const double y_scale =
        (static_cast<double>(src_rect.height) / src_h) / (static_cast<double>(dst_rect.height) / dst_h);
    set_matrix({x_scale, 0, src_rect.x / src_w - dst_rect.x / dst_w * x_scale,  //
                0, y_scale, src_rect.y / src_h - dst_rect.y / dst_h * y_scale});
  }
};

class SourceIdentifierMetadata : public DictionaryProxy {
 public:
  static constexpr auto name = "SourceIdentifierMetadata";
  struct key {
    static constexpr auto batch_index = "batch_index";  // int
    static constexpr auto pts = "pts";                  // intptr_t, nanoseconds
    static constexpr auto stream_id = "stream_id";      // intptr_t
    static constexpr auto roi_id = "roi_id";            // int
    static constexpr auto object_id = "object_id";      // int
  };
  using DictionaryProxy::DictionaryProxy;

  int batch_index() const { return _dict->get<int>(key::batch_index); }
  int64_t pts() const { return _dict->get<intptr_t>(key::pts); }
  intptr_t stream_id() const { return _dict->get<intptr_t>(key::stream_id); }
  int roi_id() const { return _dict->get<int>(key::roi_id); }
  int object_id() const { return _dict->get<int>(key::object_id); }
  void init(int batch_index, intptr_t pts, intptr_t stream_id, int roi_id, int object_id = 0) {
    _dict->set(key::batch_index, batch_index);
    _dict->set(key::pts, pts);
    _dict->set(key::stream_id, stream_id);
    _dict->set(key::roi_id, roi_id);
    _dict->set(key::object_id, object_id);
  }
};

/// What a model is called, and what it takes and gives.
class ModelInfoMetadata : public DictionaryProxy {
 public:
  static constexpr auto name = "model_info";
  struct key {
    static constexpr auto model_name = "model_name";  // std::string
  };
  using DictionaryProxy::DictionaryProxy;

  std::string model_name() const { return _dict->get<std::string>(key::model_name); }
  FrameInfo input() const { return info("input"); }
  FrameInfo output() const { return info("output"); }
  std::vector<std::string> input_layers() const { return layers("input"); }
  std::vector<std::string> output_layers() const { return layers("output"); }

  void set_model_name(const std::string& model_name) { _dict->set(key::model_name, model_name); }
  /// @param info_name  "input" or "output".
  void set_info(const std::string& info_name, const FrameInfo& info) {
    _dict->set(info_name + "_tensors", transform_vector<std::string>(info.tensors, tensor_info_to_string));
  }
  void set_layer_names(const std::string& info_name, const std::vector<std::string>& layer_names) {
    _dict->set(info_name + "_names", layer_names);
  }

 private:
  std::vector<std::string> list(const std::string& key) const { return _dict->get(key, std::vector<std::string>()); }
  std::vector<std::string> layers(const std::string& info_name) const { return list(info_name + "_names"); }
  FrameInfo info(const std::string& info_name) const {
    return FrameInfo(MediaType::Tensors, MemoryType::CPU,
                     transform_vector<TensorInfo>(list(info_name + "_tensors"), tensor_info_from_string));
  }
};

}  // namespace dlstreamer
