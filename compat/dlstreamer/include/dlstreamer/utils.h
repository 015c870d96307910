// SPDX-License-Identifier: Apache-2.0
// Checks, texts of descriptions, and metadata by its class.
#pragma once

#include <algorithm>
#include <functional>
#include <iterator>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "dlstreamer/dictionary.h"
#include "dlstreamer/frame.h"
#include "dlstreamer/frame_info.h"

/// Throws std::runtime_error with the text of the condition where it does not hold. Programs write it with a semicolon and without.
#define DLS_CHECK(_VAR) \
  if (!(_VAR)) throw std::runtime_error(std::string(__FUNCTION__) + ": Error on: " #_VAR);

/// The same for calls that give a negative number when they fail.
#define DLS_CHECK_GE0(_VAR)                                                                          \
  {                                                                                                  \
    const auto dls_result = (_VAR);                                                                  \
    if (dls_result < 0)                                                                              \
      throw std::runtime_error(std::string(__FUNCTION__) + ": Error " + std::to_string(dls_result) + \
                               " calling: " #_VAR);                                                  \
  }

namespace dlstreamer {

template <typename T>
using auto_ptr = std::unique_ptr<T, std::function<void(T*)>>;

/// What a frame is like. Its memory type is Any where its tensors differ.
inline FrameInfo frame_info(FramePtr frame) {
  FrameInfo info(frame->media_type(), frame->memory_type());
  info.format = frame->format();
  for (const TensorPtr& tensor : frame) {
    info.tensors.push_back(tensor->info());
    if (tensor->memory_type() != frame->memory_type()) info.memory_type = MemoryType::Any;
  }
  return info;
}

inline std::vector<std::string> split_string(const std::string& input, char delimiter = ',') {
  std::vector<std::string> parts;
  std::istringstream stream(input);
  for (std::string part; std::getline(stream, part, delimiter);) parts.push_back(part);
  return parts;
}

template <typename OUTPUT, typename INPUT, typename O>
std::vector<OUTPUT> transform_vector(const std::vector<INPUT>& input, O op) {
  std::vector<OUTPUT> output;
  std::transform(input.begin(), input.end(), std::back_inserter(output), op);
  return output;
}

template <typename Iter>
std::string join_strings(Iter begin, Iter end, char delimiter = ',') {
  std::ostringstream text;
  for (Iter each = begin; each != end; ++each) {
    if (each != begin) text << delimiter;
    text << *each;
  }
  return text.str();
}

/// Null where the frame has none of this name.
inline DictionaryPtr find_metadata(const Frame& frame, std::string_view meta_name) {
  for (const DictionaryPtr& meta : frame.metadata())
    if (meta->name() == meta_name) return meta;
  return nullptr;
}
template <class T>
std::shared_ptr<T> find_metadata(const Frame& frame, std::string_view meta_name = T::name) {
  const DictionaryPtr found = find_metadata(frame, meta_name);
  return found ? std::make_shared<T>(found) : nullptr;
}
/// The first one of this name and format.
template <class T>
std::shared_ptr<T> find_metadata(const Frame& frame, std::string_view meta_name, const std::string& format) {
  for (const DictionaryPtr& meta : frame.metadata())
    if (meta->name() == meta_name && meta->get<std::string>("format", {}) == format) return std::make_shared<T>(meta);
  return nullptr;
}

template <class T>
T add_metadata(Frame& frame, std::string_view meta_name = T::name) {
  return T(frame.metadata().add(meta_name));
}

inline void copy_dictionary(const Dictionary& src, Dictionary& dst, bool copy_name = false) {
  for (const std::string& key : src.keys()) {
    if (const auto value = src.try_get(key)) dst.set(key, *value);
    if (const auto [data, nbytes] = src.try_get_array(key); data) dst.set_array(key, data, nbytes);
  }
  if (copy_name) dst.set_name(src.name());
}

inline void copy_metadata(const Frame& src, Frame& dst) {
  for (const DictionaryPtr& meta : src.metadata()) copy_dictionary(*meta, *dst.metadata().add(meta->name()));
}

inline std::string any_to_string(const Any& value) {
  return std::visit(
      [](const auto& held) -> std::string {
        using T = std::decay_t<decltype(held)>;
        if constexpr (std::is_same_v<T, std::string>)
          return held;
        else if constexpr (std::is_same_v<T, bool>)
          return held ? "true" : "false";
        else if constexpr (std::is_same_v<T, std::pair<int, int>>)
          return std::to_string(held.first) + "/" + std::to_string(held.second);
        else if constexpr (std::is_arithmetic_v<T>)
          return std::to_string(held);
        else
          return join_strings(held.begin(), held.end());
      },
      value);
}

namespace detail {

struct DataTypeName {
  DataType type;
  const char* name;
};
inline constexpr DataTypeName kDataTypes[] = {
    {DataType::UInt8, "uint8"}, {DataType::Int32, "int32"}, {DataType::Int64, "int64"}, {DataType::Float32, "float32"}};

}  // namespace detail

inline std::string datatype_to_string(DataType datatype) {
  for (const detail::DataTypeName& row : detail::kDataTypes)
    if (row.type == datatype) return row.name;
  throw std::runtime_error("datatype_to_string: " + std::to_string(static_cast<int>(datatype)) + " is no DataType");
}
/// @errors std::runtime_error: no such name.
inline DataType datatype_from_string(const std::string& str) {
  for (const detail::DataTypeName& row : detail::kDataTypes)
    if (row.name == str) return row.type;
  throw std::runtime_error("datatype_from_string: no type is called '" + str +
                           "': uint8, int32, int64 and float32 are all");
}

inline std::string media_type_to_string(MediaType media_type) {
  static constexpr const char* names[] = {"Any", "Tensors", "Image", "Audio"};
  return names[static_cast<size_t>(media_type)];
}

inline std::vector<size_t> shape_from_string(const std::string& str) {
  return transform_vector<size_t>(split_string(str), [](const std::string& part) { return std::stoull(part); });
}
inline std::string shape_to_string(const std::vector<size_t>& dims) { return join_strings(dims.begin(), dims.end()); }

/// "uint8:480,640,3", and the strides behind another colon where rows are padded.
inline std::string tensor_info_to_string(const TensorInfo& info) {
  return datatype_to_string(info.dtype) + ":" + shape_to_string(info.shape) +
         (info.is_contiguous() ? "" : ":" + shape_to_string(info.stride));
}
/// @errors std::runtime_error: not "type:shape" or "type:shape:strides".
inline TensorInfo tensor_info_from_string(const std::string& str) {
  const std::vector<std::string> parts = split_string(str, ':');
  if (parts.size() != 2 && parts.size() != 3)
    throw std::runtime_error("tensor_info_from_string: '" + str +
                             "' is not of the form uint8:480,640,3 or uint8:480,640,3:1920,3,1");
  return TensorInfo(shape_from_string(parts[1]), datatype_from_string(parts[0]),
                    parts.size() == 3 ? shape_from_string(parts[2]) : std::vector<size_t>());
}

inline std::string frame_info_to_string(const FrameInfo& info) {
  std::string text = media_type_to_string(info.media_type);
  if (info.media_type == MediaType::Image) text += ":" + image_format_to_string(static_cast<ImageFormat>(info.format));
  text += std::string(" in ") + memory_type_to_string(info.memory_type);
  for (const TensorInfo& tensor : info.tensors) text += " " + tensor_info_to_string(tensor);
  return text;
}

}  // namespace dlstreamer
