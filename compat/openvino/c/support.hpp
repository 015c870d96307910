// SPDX-License-Identifier: Apache-2.0
// What the generated functions are made of: values in and out, and exceptions as statuses.
#pragma once

#include <openvino/c/ov_prepostprocess.h>

#include <chrono>
#include <cstdarg>
#include <cstddef>
#include <cstdint>
#include <map>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "handles.hpp"

namespace ov_c {

// ---------------------------------------------------------------- statuses
const char* text_of(ov_status_e status);
/// The status that stands for the current exception, whose text becomes the last error.
ov_status_e status_of_exception();
const char* last_error();
void forget_error();
template <typename F>
ov_status_e guarded(F&& call) {
  try {
    if constexpr (std::is_same_v<decltype(call()), ov_status_e>) {
      return call();
    } else {
      call();
      return OK;
    }
  } catch (...) {
    return status_of_exception();
  }
}

// ---------------------------------------------------------------- values that programs give
bool is_known(ov_element_type_e type);
/// @errors of these: Exception, a value that is none.
ov::element::Type to_type(ov_element_type_e type);
ov::preprocess::ColorFormat to_color(ov_color_format_e format);
ov::preprocess::ResizeAlgorithm to_algorithm(ov_preprocess_resize_algorithm_e algorithm);
ov::preprocess::PaddingMode to_mode(ov_padding_mode_e mode);
ov::Shape to_shape(const ov_shape_t& shape);
ov::PartialShape to_partial_shape(const ov_partial_shape_t& shape);
/// @errors Exception: NULL, which `what` names.
std::string text(const char* given, const char* what);
std::vector<std::string> texts(std::size_t count, const char** given);
std::vector<std::string> texts(std::size_t count, va_list given);
template <typename T>
std::vector<int> numbers(const T* given, std::ptrdiff_t count) {
  OPENVINO_ASSERT(count >= 0 && (given || count == 0), "a list of ", count, " numbers at ",
                  static_cast<const void*>(given));
  return std::vector<int>(given, given + count);
}
/// Paths of the functions for wchar_t.
std::string narrow(const wchar_t* path);
const ov::Output<ov::Node>& port_of(const ov_output_port_t* port);

/// Pairs of a key and its value.
ov::AnyMap properties(std::size_t count, va_list list);
ov::AnyMap to_map(std::size_t count, const ov_property_t* properties);
/// The same where some keys have a handle.
ov::AnyMap remote_properties(std::size_t count, va_list list);
ov::AnyMap to_remote_map(std::size_t count, const ov_property_t* properties);

// ---------------------------------------------------------------- values that programs get, and free
char* copy_of(const std::string& text);
template <typename Handle, typename T, std::enable_if_t<std::is_class_v<Handle>, int> = 0>
void give(Handle** out, T&& object) {
  *out = new Handle{std::forward<T>(object)};
}
template <typename Handle, typename T>
void give(Handle** out, Part<T> part) {
  *out = new Handle{{std::move(part.owner), part.object}};
}
template <typename T>
Part<T> part(const std::shared_ptr<ov::preprocess::PrePostProcessor>& owner, T& object) {
  return {owner, &object};
}
inline void give(char** out, const std::string& text) { *out = copy_of(text); }
inline void give(std::size_t* out, std::size_t number) { *out = number; }
void give(ov_element_type_e* out, const ov::element::Type& type);
void give(ov_shape_t* out, const ov::Shape& shape);
void give(ov_partial_shape_t* out, const ov::PartialShape& shape);
void give(ov_version_t* out, const ov::Version& version);
void give(ov_available_devices_t* out, const std::vector<std::string>& devices);
void give(ov_core_version_list_t* out, const std::map<std::string, ov::Version>& versions);
void give(ov_profiling_info_list_t* out, const std::vector<ov::ProfilingInfo>& infos);
void give_params(std::size_t* size, char** out, const ov::AnyMap& params);
void release(ov_version_t& version);
void release(ov_available_devices_t* devices);
void release(ov_core_version_list_t* versions);
void release(ov_profiling_info_list_t* infos);

// ---------------------------------------------------------------- shapes in C
bool moves(const ov_dimension_t& dimension);
bool moves(const ov_partial_shape_t& shape);
ov_status_e create_shape(std::int64_t rank, const std::int64_t* dims, ov_shape_t* out);
ov_status_e create_partial_shape(const ov_rank_t& rank, const ov_dimension_t* dims, ov_partial_shape_t* out);
ov_status_e create_static_shape(std::int64_t rank, const std::int64_t* dims, ov_partial_shape_t* out);
ov_status_e static_shape(const ov_partial_shape_t& shape, ov_shape_t* out);
char* text_of(const ov_partial_shape_t& shape);

// ---------------------------------------------------------------- calls that take more than one line
/// @errors std::out_of_range, which is UNKNOW_EXCEPTION in the original, too.
template <typename T>
T at(const std::vector<T>& list, std::size_t index, const char* what) {
  if (index >= list.size())
    throw std::out_of_range(std::string(what) + " " + std::to_string(index) + ": the model has " +
                            std::to_string(list.size()));
  return list[index];
}
ov_status_e create_texts(const char** given, std::size_t count, const ov::Shape& shape, ov_tensor_t** out);
ov_status_e set_texts(ov::Tensor& tensor, const char** given, std::size_t count);
template <typename M>
ov::CompiledModel compile(ov::Core& core, const M& model, const char* device, const ov::AnyMap& properties) {
  return device ? core.compile_model(model, std::string(device), properties) : core.compile_model(model, properties);
}
void set_properties(ov::Core& core, const char* device, const ov::AnyMap& properties);
ov::CompiledModel import_model(ov::Core& core, const char* content, std::size_t size, const char* device);
void export_model(ov::CompiledModel& model, const char* path);
void set_callback(ov::InferRequest& request, const ov_callback_t* callback);
void set_log(ov_util_log_callback_func function);
[[noreturn]] void refuse_extension(const char* path);

}  // namespace ov_c
