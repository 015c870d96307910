// SPDX-License-Identifier: Apache-2.0
// Values between C and C++, statuses, and the longer calls.
#include "support.hpp"

#ifndef _WIN32
#include <sys/uio.h>
#include <unistd.h>
#endif
#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <filesystem>
#include <istream>
#include <memory>
#include <mutex>
#include <streambuf>
#include <string_view>

#include <openvino/runtime/exception.hpp>
#include <tenon/core/error.hpp>
#include <tenon/core/file_stream.hpp>

namespace ov_c {

// ---------------------------------------------------------------- statuses
namespace {
/// Never destroyed: threads of requests may fail while the process ends.
struct LastError {
  std::mutex mutex;
  std::string text;
};
LastError& last() {
  static auto* error = new LastError;
  return *error;
}
ov_status_e keep(ov_status_e status, const char* text) noexcept {
  try {
    const std::lock_guard lock(last().mutex);
    last().text = text;
  } catch (...) {  // No memory for the text.
  }
  return status;
}
}  // namespace

const char* text_of(ov_status_e status) {
  switch (status) {
    case OK:
      return "success";
    case GENERAL_ERROR:
      return "general error";
    case NOT_IMPLEMENTED:
      return "it's not implement";
    case NETWORK_NOT_LOADED:
      return "failed to network";
    case PARAMETER_MISMATCH:
      return "input parameter mismatch";
    case NOT_FOUND:
      return "cannot find the value";
    case OUT_OF_BOUNDS:
      return "out of bounds";
    case UNEXPECTED:
      return "run with unexpected error";
    case REQUEST_BUSY:
      return "request is busy";
    case RESULT_NOT_READY:
      return "result is not ready";
    case NOT_ALLOCATED:
      return "it is not allocated";
    case INFER_NOT_STARTED:
      return "inference start with error";
    case NETWORK_NOT_READ:
      return "network is not ready";
    case INFER_CANCELLED:
      return "inference is canceled";
    case INVALID_C_PARAM:
      return "invalid c input parameters";
    case UNKNOWN_C_ERROR:
      return "unknown c error";
    case NOT_IMPLEMENT_C_METHOD:
      return "not implement in c method";
    case UNKNOW_EXCEPTION:
      return "unknown exception";
  }
  return "not in the list of statuses";
}
ov_status_e status_of_exception() {
  try {
    throw;
  } catch (const ov::Busy& error) {
    return keep(REQUEST_BUSY, error.what());
  } catch (const ov::Cancelled& error) {
    return keep(INFER_CANCELLED, error.what());
  } catch (const ov::NotImplemented& error) {
    return keep(NOT_IMPLEMENTED, error.what());
  } catch (const ov::Exception& error) {
    return keep(GENERAL_ERROR, error.what());
  } catch (const std::exception& error) {
    return keep(UNKNOW_EXCEPTION, error.what());
  } catch (...) {
    return keep(UNKNOW_EXCEPTION, "An unknown exception occurred");
  }
}
const char* last_error() {
  try {
    const std::lock_guard lock(last().mutex);
    return last().text.empty() ? nullptr : copy_of(last().text);
  } catch (...) {
    return nullptr;
  }
}
void forget_error() {
  const std::lock_guard lock(last().mutex);
  last().text.clear();
}

// ---------------------------------------------------------------- values that programs give
namespace {
/// The enumerators of both sides have the same order.
template <typename To, typename From>
To enumerator(From given, int last_value, const char* what) {
  const int value = static_cast<int>(given);
  OPENVINO_ASSERT(value >= 0 && value <= last_value, value, " is no ", what, ": they end with ", last_value);
  return static_cast<To>(value);
}
}  // namespace
bool is_known(ov_element_type_e type) { return static_cast<int>(type) >= 0 && static_cast<int>(type) <= F8E8M0; }
ov::element::Type to_type(ov_element_type_e type) {
  static_assert(static_cast<int>(ov::element::Type_t::f8e8m0) == F8E8M0);
  return enumerator<ov::element::Type_t>(type, F8E8M0, "ov_element_type_e");
}
ov::preprocess::ColorFormat to_color(ov_color_format_e format) {
  static_assert(static_cast<int>(ov::preprocess::ColorFormat::BGRX) == BGRX);
  return enumerator<ov::preprocess::ColorFormat>(format, BGRX, "ov_color_format_e");
}
ov::preprocess::ResizeAlgorithm to_algorithm(ov_preprocess_resize_algorithm_e algorithm) {
  static_assert(static_cast<int>(ov::preprocess::ResizeAlgorithm::RESIZE_NEAREST) == RESIZE_NEAREST);
  return enumerator<ov::preprocess::ResizeAlgorithm>(algorithm, RESIZE_NEAREST, "ov_preprocess_resize_algorithm_e");
}
ov::preprocess::PaddingMode to_mode(ov_padding_mode_e mode) {
  static_assert(static_cast<int>(ov::preprocess::PaddingMode::SYMMETRIC) == SYMMETRIC);
  return enumerator<ov::preprocess::PaddingMode>(mode, SYMMETRIC, "ov_padding_mode_e");
}
ov::Shape to_shape(const ov_shape_t& shape) {
  OPENVINO_ASSERT(shape.rank >= 0 && (shape.dims || shape.rank == 0), "a shape of rank ", shape.rank, " at ",
                  static_cast<const void*>(shape.dims));
  ov::Shape result;
  for (std::int64_t i = 0; i < shape.rank; ++i) {
    OPENVINO_ASSERT(shape.dims[i] >= 0, "extent ", i, " of a shape is ", shape.dims[i]);
    result.push_back(static_cast<std::size_t>(shape.dims[i]));
  }
  return result;
}
ov::PartialShape to_partial_shape(const ov_partial_shape_t& shape) {
  if (moves(shape.rank)) return ov::PartialShape::dynamic();
  OPENVINO_ASSERT(shape.rank.max >= 0 && (shape.dims || shape.rank.max == 0), "a shape of rank ", shape.rank.max,
                  " at ", static_cast<const void*>(shape.dims));
  std::vector<ov::Dimension> dimensions;
  for (std::int64_t i = 0; i < shape.rank.max; ++i)
    dimensions.emplace_back(std::max<std::int64_t>(shape.dims[i].min, 0), shape.dims[i].max);
  return dimensions;
}
std::string text(const char* given, const char* what) {
  OPENVINO_ASSERT(given, what, " is NULL");
  return given;
}
std::vector<std::string> texts(std::size_t count, const char** given) {
  std::vector<std::string> result;
  for (std::size_t i = 0; i < count; ++i) result.push_back(text(given[i], "a text of a list"));
  return result;
}
std::vector<std::string> texts(std::size_t count, va_list given) {
  std::vector<std::string> result;
  for (std::size_t i = 0; i < count; ++i) result.push_back(text(va_arg(given, const char*), "an argument"));
  return result;
}
std::string narrow(const wchar_t* path) { return std::filesystem::path(std::wstring(path)).string(); }
const ov::Output<ov::Node>& port_of(const ov_output_port_t* port) {
  OPENVINO_ASSERT(port, "a port of a list is NULL");
  return port->object;
}

namespace {
std::string called_twice(encryption_func function, const std::string& in) {
  std::size_t size = 0;
  function(in.c_str(), in.size(), nullptr, &size);
  std::string out(size, '\0');
  if (size > 0) function(in.c_str(), in.size(), out.data(), &size);
  out.resize(std::min(size, out.size()));
  return out;
}
ov::Any value_of(const std::string& key, const void* value) {
  if (key != ov::cache_encryption_callbacks.name()) return text(static_cast<const char*>(value), key.c_str());
  OPENVINO_ASSERT(value, key, " is NULL");
  const auto functions = *static_cast<const ov_encryption_callbacks*>(value);
  OPENVINO_ASSERT(functions.encrypt_func && functions.decrypt_func, key, " needs both functions");
  ov::EncryptionCallbacks callbacks;
  callbacks.encrypt = [functions](const std::string& in) { return called_twice(functions.encrypt_func, in); };
  callbacks.decrypt = [functions](const std::string& in) { return called_twice(functions.decrypt_func, in); };
  return callbacks;
}
#ifndef _WIN32
/// Whether an argument is the address of a text, and not a number of 32 bits. By the address alone where the system does not say what is there.
bool is_text(std::uintptr_t address) {
  constexpr std::uintptr_t kFirstPage = 4096, kLowerHalf = 0xffffffff;
  if (address < kFirstPage) return false;
  std::array<char, 12> found{};
  const iovec into{found.data(), found.size() - 1};
  std::array<iovec, found.size() - 1> bytes;  // The call ends at the first one that it cannot read.
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = {reinterpret_cast<void*>(address + i), 1};
  const ssize_t count = process_vm_readv(::getpid(), &into, 1, bytes.data(), bytes.size(), 0);
  if (count < 0 && errno == EFAULT) return false;
  const std::string_view digits(found.data());
  return address > kLowerHalf ||
         (count > 0 && !digits.empty() && digits.find_first_not_of("0123456789") == std::string_view::npos);
}
#endif
/// What these keys have is an address itself, not a text.
ov::Any remote_value_of(const std::string& key, const void* value) {
#ifdef _WIN32
  if (key == ov_property_key_intel_gpu_dev_object_handle) return const_cast<void*>(value);
#else
  // A VASurfaceID or a plane: a text, as the header of the keys says, or the number itself, as the documentation shows it. The lower half is what an
  // argument of 32 bits leaves there.
  const auto bits = reinterpret_cast<std::uintptr_t>(value);
  if ((key == ov_property_key_intel_gpu_dev_object_handle || key == ov_property_key_intel_gpu_va_plane) &&
      !is_text(bits))
    return static_cast<std::uint32_t>(bits);
#endif
  for (const char* handle : {ov_property_key_intel_gpu_ocl_context, ov_property_key_intel_gpu_ocl_queue,
                             ov_property_key_intel_gpu_va_device, ov_property_key_intel_gpu_mem_handle}) {
    if (key == handle) return const_cast<void*>(value);
  }
  return value_of(key, value);
}
template <typename Value>
ov::AnyMap map_of(std::size_t count, va_list list, Value value) {
  ov::AnyMap result;
  for (std::size_t i = 0; i < count; ++i) {
    const std::string key = text(va_arg(list, const char*), "the key of a property");
    result[key] = value(key, va_arg(list, const void*));
  }
  return result;
}
template <typename Value>
ov::AnyMap map_of(std::size_t count, const ov_property_t* properties, Value value) {
  ov::AnyMap result;
  for (std::size_t i = 0; i < count; ++i) {
    const std::string key = text(properties[i].key, "the key of a property");
    result[key] = value(key, properties[i].value);
  }
  return result;
}
}  // namespace
ov::AnyMap properties(std::size_t count, va_list list) { return map_of(count, list, value_of); }
ov::AnyMap to_map(std::size_t count, const ov_property_t* properties) { return map_of(count, properties, value_of); }
ov::AnyMap remote_properties(std::size_t count, va_list list) { return map_of(count, list, remote_value_of); }
ov::AnyMap to_remote_map(std::size_t count, const ov_property_t* properties) {
  return map_of(count, properties, remote_value_of);
}

// ---------------------------------------------------------------- values that programs get
char* copy_of(const std::string& text) {
  char* copy = new char[text.size() + 1];
  std::copy_n(text.c_str(), text.size() + 1, copy);
  return copy;
}
void give(ov_element_type_e* out, const ov::element::Type& type) {
  *out = static_cast<ov_element_type_e>(static_cast<ov::element::Type_t>(type));
}
void give(ov_shape_t* out, const ov::Shape& shape) {
  // A scalar's has an address, too: programs take NULL for a shape that is missing.
  out->dims = new std::int64_t[std::max<std::size_t>(shape.size(), 1)]();
  out->rank = static_cast<std::int64_t>(shape.size());
  std::copy(shape.begin(), shape.end(), out->dims);
}
void give(ov_partial_shape_t* out, const ov::PartialShape& shape) {
  const ov::Rank rank = shape.rank();
  ov_dimension_t* dims = nullptr;
  if (rank.is_static()) {
    dims = new ov_dimension_t[std::max<std::size_t>(shape.size(), 1)]();
    std::transform(shape.begin(), shape.end(), dims, [](const ov::Dimension& each) {
      return ov_dimension_t{each.get_min_length(), each.get_max_length()};
    });
  }
  *out = {{rank.get_min_length(), rank.get_max_length()}, dims};
}
void give(ov_version_t* out, const ov::Version& version) {
  ov_version_t made{copy_of(version.buildNumber), nullptr};
  try {
    made.description = copy_of(version.description);
  } catch (...) {
    release(made);
    throw;
  }
  *out = made;
}
namespace {
/// A list whose entries are filled one after the other. What was filled is released where one fails.
template <typename List, typename Entry, typename From, typename Fill>
void give_list(List* out, Entry* List::*entries, const From& from, Fill fill) {
  List made{};
  made.*entries = new Entry[std::max<std::size_t>(from.size(), 1)]();
  made.size = from.size();
  try {
    std::size_t index = 0;
    for (const auto& each : from) fill((made.*entries)[index++], each);
  } catch (...) {
    release(&made);
    throw;
  }
  *out = made;
}
}  // namespace
void give(ov_available_devices_t* out, const std::vector<std::string>& devices) {
  give_list(out, &ov_available_devices_t::devices, devices,
            [](char*& entry, const std::string& device) { entry = copy_of(device); });
}
void give(ov_core_version_list_t* out, const std::map<std::string, ov::Version>& versions) {
  give_list(out, &ov_core_version_list_t::versions, versions, [](ov_core_version_t& entry, const auto& version) {
    entry.device_name = copy_of(version.first);
    give(&entry.version, version.second);
  });
}
void give(ov_profiling_info_list_t* out, const std::vector<ov::ProfilingInfo>& infos) {
  give_list(out, &ov_profiling_info_list_t::profiling_infos, infos,
            [](ov_profiling_info_t& entry, const ov::ProfilingInfo& info) {
              entry.status = static_cast<decltype(entry.status)>(info.status);
              entry.real_time = info.real_time.count();
              entry.cpu_time = info.cpu_time.count();
              entry.node_name = copy_of(info.node_name);
              entry.exec_type = copy_of(info.exec_type);
              entry.node_type = copy_of(info.node_type);
            });
}
void give_params(std::size_t* size, char** out, const ov::AnyMap& params) {
  *out = copy_of(ov::Any(params).as<std::string>());
  *size = params.size();
}
void release(ov_version_t& version) {
  delete[] version.buildNumber;
  delete[] version.description;
  version = {};
}
namespace {
template <typename List, typename Entry, typename F>
void release_list(List* list, Entry* List::*entries, F free_entry) {
  if (!list) return;
  for (std::size_t i = 0; list->*entries && i < list->size; ++i) free_entry((list->*entries)[i]);
  delete[](list->*entries);
  *list = {};
}
}  // namespace
void release(ov_available_devices_t* devices) {
  release_list(devices, &ov_available_devices_t::devices, [](char* each) { delete[] each; });
}
void release(ov_core_version_list_t* versions) {
  release_list(versions, &ov_core_version_list_t::versions, [](ov_core_version_t& each) {
    delete[] each.device_name;
    release(each.version);
  });
}
void release(ov_profiling_info_list_t* infos) {
  release_list(infos, &ov_profiling_info_list_t::profiling_infos, [](ov_profiling_info_t& each) {
    for (const char* text : {each.node_name, each.exec_type, each.node_type}) delete[] text;
  });
}

// ---------------------------------------------------------------- shapes in C
bool moves(const ov_dimension_t& dimension) {
  return dimension.min == -1 || dimension.max == -1 || dimension.min != dimension.max;
}
bool moves(const ov_partial_shape_t& shape) {
  return moves(shape.rank) || std::any_of(shape.dims, shape.dims + (shape.dims ? shape.rank.max : 0),
                                          [](const ov_dimension_t& each) { return moves(each); });
}
namespace {
bool is_extent(const ov_dimension_t& each) { return each.min >= -1 && each.max >= -1 && each.max >= each.min; }
}  // namespace
ov_status_e create_shape(std::int64_t rank, const std::int64_t* dims, ov_shape_t* out) {
  if (rank <= 0 || (dims && std::any_of(dims, dims + rank, [](std::int64_t each) { return each < 0; })))
    return INVALID_C_PARAM;
  return guarded([&] {
    auto* copy = new std::int64_t[static_cast<std::size_t>(rank)]();
    if (dims) std::copy_n(dims, rank, copy);
    *out = {rank, copy};
  });
}
ov_status_e create_partial_shape(const ov_rank_t& rank, const ov_dimension_t* dims, ov_partial_shape_t* out) {
  if (!is_extent(rank)) return INVALID_C_PARAM;
  if (moves(rank)) {
    *out = {rank, nullptr};
    return OK;
  }
  if (rank.max <= 0 || !dims || !std::all_of(dims, dims + rank.max, is_extent)) return INVALID_C_PARAM;
  return guarded([&] {
    auto* copy = new ov_dimension_t[static_cast<std::size_t>(rank.max)];
    std::copy_n(dims, rank.max, copy);
    *out = {rank, copy};
  });
}
ov_status_e create_static_shape(std::int64_t rank, const std::int64_t* dims, ov_partial_shape_t* out) {
  if (rank <= 0 || !dims || std::any_of(dims, dims + rank, [](std::int64_t each) { return each < 0; }))
    return INVALID_C_PARAM;
  return guarded([&] {
    auto* copy = new ov_dimension_t[static_cast<std::size_t>(rank)];
    std::transform(dims, dims + rank, copy, [](std::int64_t each) { return ov_dimension_t{each, each}; });
    *out = {{rank, rank}, copy};
  });
}
ov_status_e static_shape(const ov_partial_shape_t& shape, ov_shape_t* out) {
  if (moves(shape)) return PARAMETER_MISMATCH;
  return guarded([&] { give(out, to_partial_shape(shape).to_shape()); });
}
char* text_of(const ov_partial_shape_t& shape) {
  if (moves(shape.rank)) return copy_of("?");
  std::string result = "{";
  for (std::int64_t i = 0; shape.dims && i < shape.rank.max; ++i) {
    const ov_dimension_t& each = shape.dims[i];
    result += (i ? "," : "") + (each.min < -1 || each.max < -1 || (each.max >= 0 && each.max < each.min)
                                    ? std::string("!")
                                    : ov::Dimension(std::max<std::int64_t>(each.min, 0), each.max).to_string());
  }
  return copy_of(result + "}");
}

// ---------------------------------------------------------------- calls
namespace {
void copy_texts(ov::Tensor& tensor, const char** given, std::size_t count) {
  const std::vector<std::string> all = texts(count, given);
  std::copy(all.begin(), all.end(), tensor.data<std::string>());
}
}  // namespace
ov_status_e create_texts(const char** given, std::size_t count, const ov::Shape& shape, ov_tensor_t** out) {
  ov::Tensor tensor(ov::element::string, shape);
  if (count > tensor.get_size()) return INVALID_C_PARAM;
  copy_texts(tensor, given, count);
  give(out, std::move(tensor));
  return OK;
}
ov_status_e set_texts(ov::Tensor& tensor, const char** given, std::size_t count) {
  if (tensor.get_element_type() != ov::element::string || count != tensor.get_size()) return INVALID_C_PARAM;
  copy_texts(tensor, given, count);
  return OK;
}
void set_properties(ov::Core& core, const char* device, const ov::AnyMap& properties) {
  if (device)
    core.set_property(device, properties);
  else
    core.set_property(properties);
}
namespace {
/// A stream over bytes that stay where they are.
class Bytes : public std::streambuf {
 public:
  Bytes(const char* data, std::size_t size) {
    char* start = const_cast<char*>(data);  // std::streambuf's pointers are not const; nothing is written.
    setg(start, start, start + size);
  }

 protected:
  pos_type seekoff(off_type offset, std::ios_base::seekdir from, std::ios_base::openmode mode) override {
    const off_type base = from == std::ios_base::beg   ? 0
                          : from == std::ios_base::cur ? gptr() - eback()
                                                       : egptr() - eback();
    return seekpos(base + offset, mode);
  }
  pos_type seekpos(pos_type position, std::ios_base::openmode) override {
    if (position < pos_type(0) || position > pos_type(egptr() - eback())) return pos_type(off_type(-1));
    setg(eback(), eback() + off_type(position), egptr());
    return position;
  }
};
}  // namespace
ov::CompiledModel import_model(ov::Core& core, const char* content, std::size_t size, const char* device) {
  Bytes bytes(content, size);
  std::istream stream(&bytes);
  return core.import_model(stream, std::string(device));
}
void export_model(ov::CompiledModel& model, const char* path) try {
  tenon::NewFileStream file(path);
  model.export_model(file);
  file.commit();
} catch (const tenon::Error& error) {
  OPENVINO_THROW("the file ", path, " was not written: ", error.what());
}
void set_callback(ov::InferRequest& request, const ov_callback_t* callback) {
  request.set_callback([callback](std::exception_ptr) {
    if (callback->callback_func) callback->callback_func(callback->args);
  });
}
void set_log(ov_util_log_callback_func function) {
  if (!function) return ov::util::set_log_callback({});
  ov::util::set_log_callback([function](std::string_view message) { function(std::string(message).c_str()); });
}
void refuse_extension(const char* path) {
  OPENVINO_THROW("the extension ", path,
                 ": Tenon loads no extensions of OpenVINO, whose classes have the original's layout in memory; its "
                 "operations are those of "
                 "openvino/op/ops.hpp");
}

}  // namespace ov_c
