// SPDX-License-Identifier: Apache-2.0
// Remote contexts, and their arguments as key-value pairs like in OpenVINO's C interface.
#include <array>
#include <cstdarg>
#include <string_view>

#include <tenon/bindings/c/internal/guard.hpp>

namespace tenon::c {
namespace {

constexpr std::string_view kPointerKeys[] = {"OCL_CONTEXT", "OCL_QUEUE",  "VA_DEVICE",
                                             "MEM_HANDLE",  "L0_CONTEXT", "CPU_VA"};
constexpr std::string_view kNumberKeys[] = {"VA_PLANE", "TILE_ID", "OCL_CONTEXT_DEVICE_ID"};
constexpr std::string_view kSurfaceKey = "DEV_OBJECT_HANDLE", kDescriptorKey = "OS_HANDLE";
/// Smaller values are not pointers: they were passed as int.
constexpr std::uint32_t kFirstAddress = 4096;
constexpr std::size_t kMostArguments = 64;

template <std::size_t N>
bool is_one_of(std::string_view key, const std::string_view (&keys)[N]) {
  return std::find(std::begin(keys), std::end(keys), key) != std::end(keys);
}

/// A value by its key, as it was passed. OpenVINO reads all others as text, so its documented call with VA_PLANE 0
/// fails and with 1 crashes; here an int is accepted.
Any value_of(std::string_view key, void* given) {
  const auto low = static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(given));
  if (is_one_of(key, kPointerKeys)) return Any(given);
  if (key == kSurfaceKey) return Any(low);  // A VASurfaceID.
  if (key == kDescriptorKey) return Any(static_cast<int>(low));
  if (is_one_of(key, kNumberKeys) && low < kFirstAddress) return Any(std::to_string(low));
  if (!given) refuse("the value of \"" + std::string(key) + "\" is NULL");
  if (reinterpret_cast<std::uintptr_t>(given) < kFirstAddress)
    refuse("the value of \"" + std::string(key) + "\" is the number " + std::to_string(low) + "; it must be a text");
  return Any(std::string(static_cast<const char*>(given)));
}

AnyMap arguments_of(std::size_t count, std::va_list& arguments) {
  if (count % 2 != 0)
    refuse("argument_count is " + std::to_string(count) + ", but keys and values come in pairs: it must be even");
  if (count > kMostArguments)
    refuse("argument_count " + std::to_string(count) + " is above " + std::to_string(kMostArguments));
  AnyMap params;
  for (std::size_t i = 0; i < count; i += 2) {
    const char* key = va_arg(arguments, const char*);  // NOLINT(clang-analyzer-valist.Uninitialized): the caller's
    if (!key) refuse("key " + std::to_string(i / 2) + " is NULL");
    params[key] = value_of(key, va_arg(arguments, void*));
  }
  return params;
}

RemoteContext& value_of(const tenon_remote_context_t* context) { return checked(context, "context").value; }

/// OpenVINO's name for a tensor's use.
std::string use_text(tenon_tensor_use_t use) {
  switch (use) {
    case TENON_USE_ANY:
      return "BINDED";
    case TENON_USE_INPUT:
      return "INPUT";
    case TENON_USE_OUTPUT:
      return "OUTPUT";
    default:
      refuse("use " + std::to_string(use) + " does not exist");
  }
}

/// Where a tensor's memory comes from.
enum class Place { kOwn, kDescriptor, kPages, kFile };

/// "GPU" for "GPU.1" and for "OPENVINO.GPU.0".
std::string family_of(std::string device) {
  constexpr std::string_view kThrough = "OPENVINO.";
  if (device.rfind(kThrough, 0) == 0) device.erase(0, kThrough.size());
  return device.substr(0, device.find('.'));
}

AnyMap npu_params(Place place, const std::string& use, const Any& what) {
  constexpr const char* kTypes[] = {"L0_INTERNAL_BUF", "SHARED_BUF", "CPU_VA", "MMAPED_FILE"};
  AnyMap params{{"MEM_TYPE", Any(kTypes[static_cast<int>(place)])}, {"TENSOR_TYPE", Any(use)}};
  if (place == Place::kFile)
    params["FILE_DESCRIPTOR"] = what;
  else if (place == Place::kDescriptor)
    params["MEM_HANDLE"] = Any(reinterpret_cast<void*>(static_cast<std::intptr_t>(what.as<int>())));
  else if (place == Place::kPages)
    params["MEM_HANDLE"] = what;
  return params;
}

/// OpenVINO's GPU plugin only distinguishes whether the caller's pages are written.
AnyMap gpu_params(Place place, tenon_tensor_use_t use, const Any& what) {
  constexpr const char* kTypes[] = {"USM_DEVICE_BUFFER", "BUFFER_FROM_HANDLE", "CPU_VA", "MMAPED_FILE"};
  AnyMap params{{"SHARED_MEM_TYPE", Any(kTypes[static_cast<int>(place)])}};
  if (place == Place::kDescriptor) params["OS_HANDLE"] = what;
  if (place == Place::kFile) params["FILE_DESCRIPTOR"] = what;
  if (place == Place::kPages) {
    params["CPU_VA"] = what;
    params["CPU_VA_SIZE"] = Any(std::int64_t{-1});  // As much as the shape needs.
    params["CPU_VA_ACCESS"] = Any(use == TENON_USE_INPUT ? "READ" : "READ_WRITE");
  }
  return params;
}

/// The parameters for a tensor in such memory, with the keys of the context's device.
/// @param what  the descriptor (int), the address (void*) or the file's path (std::string); empty for the device's own memory.
AnyMap memory_params(const RemoteContext& context, Place place, tenon_tensor_use_t use, const Any& what = {}) {
  constexpr const char* kNames[] = {"memory of its own", "a descriptor", "the caller's pages", "a file"};
  const std::string use_name = use_text(use), device = context.get_device_name(), family = family_of(device);
  if (family == "NPU") return npu_params(place, use_name, what);
  // OpenVINO's GPU plugin has no key for a file as text.
  if (family == "GPU" && (place != Place::kFile || device.rfind("GPU", 0) == 0)) return gpu_params(place, use, what);
  throw Error(Code::kUnimplemented, "unknown keys: how the device '" + device + "' takes " +
                                        kNames[static_cast<int>(place)] +
                                        "; pass its own to tenon_remote_context_create_tensor_with");
}

/// Creates a tensor with the parameters from `params_for(context)`, after
/// checking shape and type.
template <typename ParamsFor>
tenon_status_t make_tensor(const tenon_remote_context_t* context, tenon_element_type_t type, std::size_t rank,
                           const std::size_t* shape, tenon_tensor_t** out, ParamsFor&& params_for) {
  return make(out, [&] {
    RemoteContext& value = value_of(context);
    const Shape extents = shape_of(rank, shape);
    const AnyMap params = params_for(value);
    return value.create_tensor(type_of(type), extents, params);
  });
}

}  // namespace
}  // namespace tenon::c

using namespace tenon::c;

tenon_status_t tenon_core_create_context(const tenon_core_t* core, const char* device, size_t argument_count,
                                         tenon_remote_context_t** out, ...) {
  std::va_list arguments;
  va_start(arguments, out);
  const tenon_status_t status = make(out, [&] {
    tenon::Core& value = checked(core, "core").value;
    required(device, "device");
    return value.create_context(device, arguments_of(argument_count, arguments));
  });
  va_end(arguments);
  return status;
}
tenon_status_t tenon_core_create_context_with(const tenon_core_t* core, const char* device,
                                              const tenon_properties_t* params, tenon_remote_context_t** out) {
  return make(out, [&] {
    tenon::Core& value = checked(core, "core").value;
    return value.create_context(required(device, "device"), runtime_properties(params, "params"));
  });
}
tenon_status_t tenon_core_get_default_context(const tenon_core_t* core, const char* device,
                                              tenon_remote_context_t** out) {
  return make(out, [&] {
    tenon::Core& value = checked(core, "core").value;
    return value.get_default_context(required(device, "device"));
  });
}
tenon_status_t tenon_compiled_model_get_context(const tenon_compiled_model_t* model, tenon_remote_context_t** out) {
  return make(out, [&] { return checked(model, "model").value.get_context(); });
}

tenon_status_t tenon_remote_context_get_device_name(const tenon_remote_context_t* context, char** out) {
  return give_text(out, [&] { return value_of(context).get_device_name(); });
}
tenon_status_t tenon_remote_context_get_params(const tenon_remote_context_t* context, size_t* out_count,
                                               char** out_params) {
  return run([&] {
    *required(out_count, "out_count") = 0;
    *required(out_params, "out_params") = nullptr;
    const tenon::AnyMap params = value_of(context).get_params();
    *out_params = copy_of(params_text(params));
    *out_count = params.size();
  });
}
tenon_status_t tenon_remote_context_get_properties(const tenon_remote_context_t* context, tenon_properties_t** out) {
  return make(out, [&] { return value_of(context).get_params(); });
}
tenon_status_t tenon_remote_context_create_tensor(const tenon_remote_context_t* context, tenon_element_type_t type,
                                                  size_t rank, const size_t* shape, size_t argument_count,
                                                  tenon_tensor_t** out, ...) {
  std::va_list arguments;
  va_start(arguments, out);
  const tenon_status_t status = make_tensor(context, type, rank, shape, out, [&](const tenon::RemoteContext&) {
    return arguments_of(argument_count, arguments);
  });
  va_end(arguments);
  return status;
}
tenon_status_t tenon_remote_context_create_tensor_with(const tenon_remote_context_t* context, tenon_element_type_t type,
                                                       size_t rank, const size_t* shape,
                                                       const tenon_properties_t* params, tenon_tensor_t** out) {
  return make_tensor(context, type, rank, shape, out,
                     [&](const tenon::RemoteContext&) { return runtime_properties(params, "params"); });
}
tenon_status_t tenon_remote_context_create_host_tensor(const tenon_remote_context_t* context, tenon_element_type_t type,
                                                       size_t rank, const size_t* shape, tenon_tensor_t** out) {
  return make(out, [&] {
    tenon::RemoteContext& value = value_of(context);
    const tenon::Shape extents = shape_of(rank, shape);
    return value.create_host_tensor(type_of(type), extents);
  });
}
tenon_status_t tenon_remote_context_create_device_tensor(const tenon_remote_context_t* context,
                                                         tenon_element_type_t type, size_t rank, const size_t* shape,
                                                         tenon_tensor_use_t use, tenon_tensor_t** out) {
  return make_tensor(context, type, rank, shape, out,
                     [&](const tenon::RemoteContext& value) { return memory_params(value, Place::kOwn, use); });
}
tenon_status_t tenon_remote_context_create_tensor_from_fd(const tenon_remote_context_t* context,
                                                          tenon_element_type_t type, size_t rank, const size_t* shape,
                                                          int32_t fd, tenon_tensor_use_t use, tenon_tensor_t** out) {
  return make_tensor(context, type, rank, shape, out, [&](const tenon::RemoteContext& value) {
    if (fd < 0) refuse("fd is " + std::to_string(fd) + ", which is not a descriptor");
    return memory_params(value, Place::kDescriptor, use, tenon::Any(static_cast<int>(fd)));
  });
}
tenon_status_t tenon_remote_context_create_tensor_from_memory(const tenon_remote_context_t* context,
                                                              tenon_element_type_t type, size_t rank,
                                                              const size_t* shape, void* memory, tenon_tensor_use_t use,
                                                              tenon_tensor_t** out) {
  return make_tensor(context, type, rank, shape, out, [&](const tenon::RemoteContext& value) {
    return memory_params(value, Place::kPages, use, tenon::Any(required(memory, "memory")));
  });
}
tenon_status_t tenon_remote_context_create_tensor_from_file(const tenon_remote_context_t* context,
                                                            tenon_element_type_t type, size_t rank, const size_t* shape,
                                                            const char* path, uint64_t offset_bytes,
                                                            tenon_tensor_t** out) {
  return make_tensor(context, type, rank, shape, out, [&](const tenon::RemoteContext& value) {
    const std::string file = required(path, "path");
    if (file.empty()) refuse("path is empty");
    tenon::AnyMap params = memory_params(value, Place::kFile, TENON_USE_INPUT, tenon::Any(file));
    params["FILE_OFFSET"] = tenon::Any(offset_bytes);
    return params;
  });
}
void tenon_remote_context_free(tenon_remote_context_t* context) { free_handle(context); }
