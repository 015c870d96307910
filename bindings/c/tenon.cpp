// SPDX-License-Identifier: Apache-2.0
// Bodies of the C interface: each runs inside guard(), which turns exceptions into a status and this thread's message.
#include <tenon/bindings/c/tenon.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <new>
#include <string>
#include <vector>

#include <tenon/core/host.hpp>
#include <tenon/core/ledger.hpp>
#include <tenon/runtime/runtime.hpp>

struct tenon_strings {
  std::vector<std::string> values;
};
struct tenon_tensor {
  tenon::Tensor value;
};
struct tenon_frame {
  tenon::Frame value;
};
struct tenon_core {
  tenon::Core value;
};
struct tenon_model {
  std::shared_ptr<tenon::Model> value;
  std::vector<std::string> input_names, output_names;
};
struct tenon_compiled_model {
  tenon::CompiledModel value;
  std::vector<std::string> input_names, output_names;
};
struct tenon_infer_request {
  tenon::InferRequest value;
};

namespace {

using tenon::Code;
using tenon::Error;

std::string& last_error() {
  thread_local std::string message;
  return message;
}

void keep_message(const char* message) noexcept {
  try {
    last_error() = message;
  } catch (...) {
    last_error().clear();  // No memory for a message about no memory.
  }
}

tenon_status_t status_of_current_exception() noexcept {
  try {
    throw;
  } catch (const Error& error) {
    try {
      keep_message(tenon::describe(error).c_str());
    } catch (...) {
      keep_message(error.what());
    }
    return static_cast<tenon_status_t>(error.code());
  } catch (const std::bad_alloc&) {
    keep_message("out of memory");
    return TENON_RESOURCE_EXHAUSTED;
  } catch (const std::exception& error) {
    keep_message(error.what());
    return TENON_UNKNOWN;
  } catch (...) {
    keep_message("an exception of a foreign type");
    return TENON_UNKNOWN;
  }
}

template <typename F>
tenon_status_t guard(F&& body) noexcept {
  try {
    body();
    return TENON_OK;
  } catch (...) {
    return status_of_current_exception();
  }
}

[[noreturn]] void refuse(const std::string& message) { throw Error(Code::kInvalidArgument, message); }

template <typename T>
T& checked(T* pointer, const char* what) {
  if (!pointer) refuse(std::string(what) + " is NULL");
  return *pointer;
}

/// Clears an out-parameter, so that callers who forget the status see NULL and no stale handle.
template <typename T>
T*& prepared(T** out) {
  if (!out) refuse("the out-parameter is NULL");
  *out = nullptr;
  return *out;
}

/// The caller's struct as ours: fields that its header lacks are 0, fields that ours lacks must be 0.
template <typename T>
T read_struct(const T* from, const char* what) {
  checked(from, what);
  const std::size_t size = from->struct_size;
  if (size < sizeof(std::size_t) || size > 4096) {
    refuse(std::string(what) + ".struct_size is " + std::to_string(size) + "; set it to sizeof(the struct), here " +
           std::to_string(sizeof(T)));
  }
  const auto* bytes = reinterpret_cast<const unsigned char*>(from);
  for (std::size_t i = sizeof(T); i < size; ++i) {
    if (bytes[i] != 0)
      refuse(std::string(what) + " sets a field that this version (" + tenon_version() + ") does not know");
  }
  T value{};
  std::memcpy(&value, from, std::min(size, sizeof(T)));
  return value;
}

/// Writes as much of `value` as the caller's struct has room for.
template <typename T>
void write_struct(T* to, T value, const char* what) {
  checked(to, what);
  const std::size_t size = to->struct_size;
  if (size < sizeof(std::size_t) || size > 4096) {
    refuse(std::string(what) + ".struct_size is " + std::to_string(size) + "; set it to sizeof(the struct), here " +
           std::to_string(sizeof(T)));
  }
  value.struct_size = size;
  std::memcpy(to, &value, std::min(size, sizeof(T)));
}

char* copy_of(const std::string& text) {
  auto* copy = static_cast<char*>(std::malloc(text.size() + 1));
  if (!copy) throw std::bad_alloc();
  std::memcpy(copy, text.c_str(), text.size() + 1);
  return copy;
}

tenon::ElementType type_of(tenon_element_type_t type) {
  if (type <= TENON_TYPE_UNDEFINED || type > TENON_TYPE_U1)
    refuse("element type " + std::to_string(type) + " does not exist");
  return static_cast<tenon::ElementType>(type);
}

tenon::Shape shape_of(std::size_t rank, const std::size_t* extents) {
  if (rank > TENON_MAX_RANK) refuse("rank " + std::to_string(rank) + " is above TENON_MAX_RANK");
  if (rank != 0 && !extents) refuse("shape is NULL");
  return tenon::Shape(extents, extents + rank);
}

/// Calls a release callback exactly once: when the last owner goes, or at once when nobody became one.
std::shared_ptr<void> owner_of(tenon_release_t release, void* user) {
  if (!release) return nullptr;
  try {
    return std::shared_ptr<void>(user, [release](void* pointer) { release(pointer); });
  } catch (...) {
    throw;  // shared_ptr has called the deleter.
  }
}

tenon::HostMemory::Release release_of(const std::shared_ptr<void>& owner) {
  if (!owner) return {};
  // The callback lives as long as the memory: releasing it is what drops the owner.
  return [owner = owner]() mutable { owner.reset(); };
}

tenon::FrameInfo frame_info_of(const tenon_frame_info_t* from) {
  const tenon_frame_info_t info = read_struct(from, "frame info");
  tenon::FrameInfo result;
  result.format = tenon::PixelFormat{info.fourcc, info.modifier};
  result.width_px = info.width_px;
  result.height_px = info.height_px;
  if (info.colour_space < 0 || info.colour_space > TENON_COLOUR_SPACE_BT2020)
    refuse("colour_space " + std::to_string(info.colour_space) + " does not exist");
  if (info.colour_range < 0 || info.colour_range > TENON_COLOUR_RANGE_FULL)
    refuse("colour_range " + std::to_string(info.colour_range) + " does not exist");
  result.colour_space = static_cast<tenon::ColourSpace>(info.colour_space);
  result.colour_range = static_cast<tenon::ColourRange>(info.colour_range);
  return result;
}

tenon::AnyMap properties_of(const tenon_property_t* properties, std::size_t count) {
  if (count != 0 && !properties) refuse("properties is NULL");
  tenon::AnyMap map;
  for (std::size_t i = 0; i < count; ++i) {
    if (!properties[i].key || !properties[i].value) refuse("property " + std::to_string(i) + " has no key or no value");
    map[properties[i].key] = tenon::Any(std::string(properties[i].value));
  }
  return map;
}

template <typename Port>
std::string name_of(const Port& port) {
  return port.get_names().empty() ? port.get_node()->get_friendly_name() : port.get_any_name();
}

template <typename Ports>
std::vector<std::string> names_of(const Ports& ports) {
  std::vector<std::string> names;
  for (const auto& port : ports) names.push_back(name_of(port));
  return names;
}

template <typename Ports>
void write_port(const Ports& ports, const std::vector<std::string>& names, std::size_t index, tenon_port_info_t* info) {
  if (index >= ports.size()) {
    throw Error(Code::kOutOfRange,
                "port " + std::to_string(index) + " does not exist: the model has " + std::to_string(ports.size()));
  }
  tenon_port_info_t value{};
  value.name = names[index].c_str();
  value.type = static_cast<tenon_element_type_t>(static_cast<tenon::ElementType>(ports[index].get_element_type()));
  const tenon::PartialShape& shape = ports[index].get_partial_shape();
  value.rank = -1;
  if (shape.rank().is_static()) {
    if (shape.size() > TENON_MAX_RANK)
      throw Error(Code::kOutOfRange, "port \"" + names[index] + "\" has more than TENON_MAX_RANK dimensions");
    value.rank = static_cast<std::int32_t>(shape.size());
    for (std::size_t axis = 0; axis < shape.size(); ++axis) {
      value.shape[axis] = shape[axis].is_static() ? static_cast<std::int64_t>(shape[axis].get_length()) : -1;
    }
  }
  write_struct(info, value, "port info");
}

}  // namespace

const char* tenon_status_name(tenon_status_t status) {
  if (status < TENON_OK || status > TENON_DATA_LOSS) return "unknown";
  return tenon::name(static_cast<Code>(status)).data();
}
const char* tenon_last_error_message(void) { return last_error().c_str(); }
const char* tenon_version(void) { return "0.1.0"; }
void tenon_string_free(char* text) { std::free(text); }

size_t tenon_strings_count(const tenon_strings_t* strings) { return strings ? strings->values.size() : 0; }
const char* tenon_strings_get(const tenon_strings_t* strings, size_t index) {
  return strings && index < strings->values.size() ? strings->values[index].c_str() : nullptr;
}
void tenon_strings_free(tenon_strings_t* strings) { delete strings; }

tenon_status_t tenon_tensor_create(tenon_element_type_t type, size_t rank, const size_t* shape, tenon_tensor_t** out) {
  return guard([&] {
    prepared(out);
    *out = new tenon_tensor{tenon::Tensor(type_of(type), shape_of(rank, shape))};
  });
}

tenon_status_t tenon_tensor_wrap(tenon_element_type_t type, size_t rank, const size_t* shape,
                                 const ptrdiff_t* byte_strides, void* data, tenon_release_t release, void* user,
                                 tenon_tensor_t** out) {
  return guard([&] {
    const auto owner = owner_of(release, user);
    tenon_tensor_t*& result = prepared(out);
    tenon::TensorInfo info;
    info.type = type_of(type);
    info.shape = shape_of(rank, shape);
    info.strides = byte_strides ? tenon::ByteStrides(byte_strides, byte_strides + rank)
                                : tenon::packed_strides(info.type, info.shape);
    const auto extent = tenon::checked_extent_bytes(info);
    if (!extent)
      refuse("the size of a tensor of shape " + to_string(info.shape) + " and byte strides " + to_string(info.strides) +
             " does not fit");
    if (!data && *extent != 0) refuse("data is NULL for a tensor of shape " + to_string(info.shape));
    if (byte_strides && tenon::size_bytes(info.type) == 0) refuse("tensors of types below 8 bits have no byte strides");
    result = new tenon_tensor{
        tenon::Tensor(std::move(info), tenon::HostMemory::borrow(data, *extent, false, release_of(owner)))};
  });
}

tenon_status_t tenon_tensor_slice(const tenon_tensor_t* tensor, const size_t* begin, const size_t* end,
                                  tenon_tensor_t** out) {
  return guard([&] {
    tenon_tensor_t*& result = prepared(out);
    const tenon::Tensor& whole = checked(tensor, "tensor").value;
    const std::size_t rank = whole.shape().size();
    result = new tenon_tensor{whole.slice(shape_of(rank, begin), shape_of(rank, end))};
  });
}

tenon_status_t tenon_tensor_data(const tenon_tensor_t* tensor, void** out) {
  return guard([&] {
    prepared(out);
    *out = checked(tensor, "tensor").value.data();
  });
}
tenon_element_type_t tenon_tensor_type(const tenon_tensor_t* tensor) {
  return tensor ? static_cast<tenon_element_type_t>(tensor->value.element_type()) : TENON_TYPE_UNDEFINED;
}
size_t tenon_tensor_rank(const tenon_tensor_t* tensor) { return tensor ? tensor->value.shape().size() : 0; }
tenon_status_t tenon_tensor_shape(const tenon_tensor_t* tensor, size_t* out) {
  return guard([&] {
    const tenon::Shape& shape = checked(tensor, "tensor").value.shape();
    if (!shape.empty()) std::copy(shape.begin(), shape.end(), &checked(out, "the out-parameter"));
  });
}
tenon_status_t tenon_tensor_byte_strides(const tenon_tensor_t* tensor, ptrdiff_t* out) {
  return guard([&] {
    const tenon::Tensor& value = checked(tensor, "tensor").value;
    if (tenon::size_bytes(value.element_type()) == 0)
      throw Error(Code::kUnimplemented, "tensors of types below 8 bits have no byte strides");
    if (!value.byte_strides().empty())
      std::copy(value.byte_strides().begin(), value.byte_strides().end(), &checked(out, "the out-parameter"));
  });
}
size_t tenon_tensor_size_bytes(const tenon_tensor_t* tensor) { return tensor ? tensor->value.size_bytes() : 0; }
void tenon_tensor_free(tenon_tensor_t* tensor) { delete tensor; }

tenon_status_t tenon_frame_create(const tenon_frame_info_t* info, tenon_frame_t** out) {
  return guard([&] {
    prepared(out);
    *out = new tenon_frame{tenon::Frame::allocate(frame_info_of(info))};
  });
}

tenon_status_t tenon_frame_wrap(const tenon_frame_info_t* info, const tenon_plane_t* planes, size_t plane_count,
                                tenon_release_t release, void* user, tenon_frame_t** out) {
  return guard([&] {
    const auto owner = owner_of(release, user);
    tenon_frame_t*& result = prepared(out);
    const tenon::FrameInfo frame_info = frame_info_of(info);
    const tenon::PixelFormatInfo* format = tenon::find_format(frame_info.format.fourcc);
    if (!format) refuse("fourcc " + std::to_string(frame_info.format.fourcc) + " is no pixel format known here");
    if (plane_count != format->plane_count) {
      refuse(std::string(format->name) + " has " + std::to_string(format->plane_count) + " planes, got " +
             std::to_string(plane_count));
    }
    checked(planes, "planes");
    std::vector<tenon::Tensor> tensors;
    for (std::size_t i = 0; i < plane_count; ++i) {
      tenon::TensorInfo plane;
      plane.type = format->sample;
      plane.shape = tenon::plane_shape(frame_info, i);
      plane.strides = tenon::packed_strides(plane.type, plane.shape);
      const auto row_bytes = tenon::plane_extent(frame_info, i).row_bytes;
      if (planes[i].pitch_bytes < row_bytes || planes[i].pitch_bytes > PTRDIFF_MAX) {
        refuse("plane " + std::to_string(i) + ": pitch_bytes " + std::to_string(planes[i].pitch_bytes) +
               " is below the row's " + std::to_string(row_bytes));
      }
      plane.strides[0] = static_cast<std::ptrdiff_t>(planes[i].pitch_bytes);
      const auto extent = tenon::checked_extent_bytes(plane);
      if (!extent) refuse("plane " + std::to_string(i) + " is too large");
      if (!planes[i].data) refuse("plane " + std::to_string(i) + ": data is NULL");
      tensors.emplace_back(std::move(plane),
                           tenon::HostMemory::borrow(planes[i].data, *extent, false, release_of(owner)));
    }
    result = new tenon_frame{tenon::Frame(frame_info, std::move(tensors))};
  });
}

size_t tenon_frame_plane_count(const tenon_frame_t* frame) { return frame ? frame->value.plane_count() : 0; }
tenon_status_t tenon_frame_plane(const tenon_frame_t* frame, size_t index, tenon_tensor_t** out) {
  return guard([&] {
    prepared(out);
    *out = new tenon_tensor{checked(frame, "frame").value.plane(index)};
  });
}
void tenon_frame_free(tenon_frame_t* frame) { delete frame; }

tenon_status_t tenon_core_create(tenon_core_t** out) {
  return guard([&] {
    prepared(out);
    *out = new tenon_core{};
  });
}
void tenon_core_free(tenon_core_t* core) { delete core; }

tenon_status_t tenon_core_get_available_devices(const tenon_core_t* core, tenon_strings_t** out) {
  return guard([&] {
    prepared(out);
    *out = new tenon_strings{checked(core, "core").value.get_available_devices()};
  });
}

tenon_status_t tenon_core_get_property(const tenon_core_t* core, const char* device, const char* key, char** out) {
  return guard([&] {
    char*& result = prepared(out);
    checked(key, "key");
    result = copy_of(checked(core, "core").value.get_property(device ? device : "", std::string(key)).to_text());
  });
}

tenon_status_t tenon_core_set_properties(tenon_core_t* core, const char* device, const tenon_property_t* properties,
                                         size_t count) {
  return guard([&] {
    checked(core, "core").value.set_property(std::string(device ? device : ""), properties_of(properties, count));
  });
}

tenon_status_t tenon_core_read_model(const tenon_core_t* core, const char* model_path, const char* weights_path,
                                     tenon_model_t** out) {
  return guard([&] {
    tenon_model_t*& result = prepared(out);
    checked(model_path, "model_path");
    auto model = checked(core, "core").value.read_model(model_path, weights_path ? weights_path : "");
    auto inputs = names_of(model->inputs());
    auto outputs = names_of(model->outputs());
    result = new tenon_model{std::move(model), std::move(inputs), std::move(outputs)};
  });
}

tenon_status_t tenon_core_read_model_from_memory(const tenon_core_t* core, const void* model, size_t model_size,
                                                 const tenon_tensor_t* weights, tenon_model_t** out) {
  return guard([&] {
    tenon_model_t*& result = prepared(out);
    if (!model || model_size == 0) refuse("the model is empty");
    auto read = checked(core, "core")
                    .value.read_model(std::string(static_cast<const char*>(model), model_size),
                                      weights ? weights->value : tenon::Tensor());
    auto inputs = names_of(read->inputs());
    auto outputs = names_of(read->outputs());
    result = new tenon_model{std::move(read), std::move(inputs), std::move(outputs)};
  });
}

tenon_status_t tenon_core_compile_model(tenon_core_t* core, const tenon_model_t* model, const char* device,
                                        const tenon_compile_options_t* options, tenon_compiled_model_t** out) {
  return guard([&] {
    tenon_compiled_model_t*& result = prepared(out);
    tenon::AnyMap properties;
    if (options) {
      const tenon_compile_options_t given = read_struct(options, "compile options");
      properties = properties_of(given.properties, given.property_count);
      if (given.zero_copy < 0 || given.zero_copy > TENON_ZERO_COPY_ALLOW)
        refuse("zero_copy " + std::to_string(given.zero_copy) + " does not exist");
      if (given.zero_copy != TENON_ZERO_COPY_DEFAULT)
        properties.insert(tenon::zero_copy(static_cast<tenon::ZeroCopy>(given.zero_copy - 1)));
      if (given.frames) properties.insert(tenon::input_frames(frame_info_of(given.frames)));
    }
    auto compiled =
        checked(core, "core")
            .value.compile_model(checked(model, "model").value, std::string(device ? device : "AUTO"), properties);
    auto inputs = names_of(compiled.inputs());
    auto outputs = names_of(compiled.outputs());
    result = new tenon_compiled_model{std::move(compiled), std::move(inputs), std::move(outputs)};
  });
}

tenon_status_t tenon_core_report(const tenon_core_t* core, char** out) {
  return guard([&] {
    char*& result = prepared(out);
    checked(core, "core");
    result = copy_of(const_cast<tenon_core_t*>(core)->value.ledger().report());
  });
}

size_t tenon_model_input_count(const tenon_model_t* model) { return model ? model->input_names.size() : 0; }
size_t tenon_model_output_count(const tenon_model_t* model) { return model ? model->output_names.size() : 0; }
tenon_status_t tenon_model_input_info(const tenon_model_t* model, size_t index, tenon_port_info_t* info) {
  return guard([&] { write_port(checked(model, "model").value->inputs(), model->input_names, index, info); });
}
tenon_status_t tenon_model_output_info(const tenon_model_t* model, size_t index, tenon_port_info_t* info) {
  return guard([&] { write_port(checked(model, "model").value->outputs(), model->output_names, index, info); });
}
void tenon_model_free(tenon_model_t* model) { delete model; }

size_t tenon_compiled_model_input_count(const tenon_compiled_model_t* model) {
  return model ? model->input_names.size() : 0;
}
size_t tenon_compiled_model_output_count(const tenon_compiled_model_t* model) {
  return model ? model->output_names.size() : 0;
}
tenon_status_t tenon_compiled_model_input_info(const tenon_compiled_model_t* model, size_t index,
                                               tenon_port_info_t* info) {
  return guard([&] { write_port(checked(model, "model").value.inputs(), model->input_names, index, info); });
}
tenon_status_t tenon_compiled_model_output_info(const tenon_compiled_model_t* model, size_t index,
                                                tenon_port_info_t* info) {
  return guard([&] { write_port(checked(model, "model").value.outputs(), model->output_names, index, info); });
}
tenon_status_t tenon_compiled_model_get_property(const tenon_compiled_model_t* model, const char* key, char** out) {
  return guard([&] {
    char*& result = prepared(out);
    checked(key, "key");
    result = copy_of(checked(model, "model").value.get_property(std::string(key)).to_text());
  });
}
tenon_status_t tenon_compiled_model_create_infer_request(tenon_compiled_model_t* model, tenon_infer_request_t** out) {
  return guard([&] {
    prepared(out);
    *out = new tenon_infer_request{checked(model, "model").value.create_infer_request()};
  });
}
void tenon_compiled_model_free(tenon_compiled_model_t* model) { delete model; }

tenon_status_t tenon_infer_request_set_tensor(tenon_infer_request_t* request, const char* name,
                                              const tenon_tensor_t* tensor) {
  return guard([&] {
    checked(name, "name");
    checked(request, "request").value.set_tensor(std::string(name), checked(tensor, "tensor").value);
  });
}
tenon_status_t tenon_infer_request_set_input_tensor(tenon_infer_request_t* request, size_t index,
                                                    const tenon_tensor_t* tensor) {
  return guard([&] { checked(request, "request").value.set_input_tensor(index, checked(tensor, "tensor").value); });
}
tenon_status_t tenon_infer_request_set_output_tensor(tenon_infer_request_t* request, size_t index,
                                                     const tenon_tensor_t* tensor) {
  return guard([&] { checked(request, "request").value.set_output_tensor(index, checked(tensor, "tensor").value); });
}
tenon_status_t tenon_infer_request_get_tensor(tenon_infer_request_t* request, const char* name, tenon_tensor_t** out) {
  return guard([&] {
    tenon_tensor_t*& result = prepared(out);
    checked(name, "name");
    result = new tenon_tensor{checked(request, "request").value.get_tensor(std::string(name))};
  });
}
tenon_status_t tenon_infer_request_get_input_tensor(tenon_infer_request_t* request, size_t index,
                                                    tenon_tensor_t** out) {
  return guard([&] {
    prepared(out);
    *out = new tenon_tensor{checked(request, "request").value.get_input_tensor(index)};
  });
}
tenon_status_t tenon_infer_request_get_output_tensor(tenon_infer_request_t* request, size_t index,
                                                     tenon_tensor_t** out) {
  return guard([&] {
    prepared(out);
    *out = new tenon_tensor{checked(request, "request").value.get_output_tensor(index)};
  });
}
tenon_status_t tenon_infer_request_set_frame(tenon_infer_request_t* request, const char* name,
                                             const tenon_frame_t* frame) {
  return guard([&] {
    tenon::InferRequest& value = checked(request, "request").value;
    const tenon::Frame& picture = checked(frame, "frame").value;
    if (name)
      value.set_frame(std::string(name), picture);
    else
      value.set_frame(picture);
  });
}
tenon_status_t tenon_infer_request_infer(tenon_infer_request_t* request) {
  return guard([&] { checked(request, "request").value.infer(); });
}
tenon_status_t tenon_infer_request_start_async(tenon_infer_request_t* request) {
  return guard([&] { checked(request, "request").value.start_async(); });
}
tenon_status_t tenon_infer_request_wait(tenon_infer_request_t* request) {
  return guard([&] { checked(request, "request").value.wait(); });
}
tenon_status_t tenon_infer_request_wait_for(tenon_infer_request_t* request, int64_t timeout_ms) {
  return guard([&] {
    if (!checked(request, "request").value.wait_for(std::chrono::milliseconds(timeout_ms))) {
      throw Error(Code::kDeadlineExceeded, "the inference still runs after " + std::to_string(timeout_ms) + " ms");
    }
  });
}
tenon_status_t tenon_infer_request_cancel(tenon_infer_request_t* request) {
  return guard([&] { checked(request, "request").value.cancel(); });
}
tenon_status_t tenon_infer_request_set_callback(tenon_infer_request_t* request, tenon_callback_t callback, void* user) {
  return guard([&] {
    tenon::InferRequest& value = checked(request, "request").value;
    if (!callback) return value.set_callback({});
    value.set_callback([callback, user](std::exception_ptr error) {
      if (!error) return callback(TENON_OK, "", user);
      const tenon_status_t status = guard([&] { std::rethrow_exception(error); });
      callback(status, last_error().c_str(), user);
    });
  });
}
tenon_status_t tenon_infer_request_ledger(const tenon_infer_request_t* request, tenon_ledger_totals_t* totals) {
  return guard([&] {
    checked(request, "request");
    const tenon::LedgerEntry sum = const_cast<tenon_infer_request_t*>(request)->value.ledger().total();
    tenon_ledger_totals_t value{};
    value.maps = sum.maps;
    value.copied_bytes = sum.copied;
    value.converted_bytes = sum.converted;
    value.transferred_bytes = sum.transferred;
    value.waits = sum.waits;
    value.wait_ns = sum.wait_ns;
    write_struct(totals, value, "totals");
  });
}
void tenon_infer_request_free(tenon_infer_request_t* request) { delete request; }
