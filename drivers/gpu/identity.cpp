// SPDX-License-Identifier: Apache-2.0
// What the device says of itself: a GPU like those of Gen12LP, the newest generation without a systolic unit, whose programs in
// machine code no CPU can run. Its IP version, 12.30, is that of no GPU, because oneDNN writes machine code for those that it knows.
#include <tenon/drivers/gpu/mapping.hpp>

#include <atomic>
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>
#include <vector>

namespace tenon::gpu_layer {
namespace {

constexpr const char* kName = "Intel(R) Iris(R) Xe Graphics (software)";
constexpr const char* kDriverVersion = "25.18.33578";

/// Extensions whose calls and behaviour the layer adds. The runtime has sub-groups under Intel's name only.
std::vector<const char*> added_extensions() {
  std::vector<const char*> names = {"cl_khr_subgroups", "cl_khr_pci_bus_info", "cl_khr_external_memory",
                                    "cl_khr_external_memory_dma_buf"};
  if (shares_surfaces()) names.push_back("cl_intel_va_api_media_sharing");
  return names;
}

/// Keys of extensions, which headers have under various names: cl_intel_device_attribute_query,
/// cl_intel_required_subgroup_size, cl_khr_pci_bus_info, cl_khr_external_memory.
enum Key : cl_uint {
  kIpVersion = 0x4250,
  kDeviceId = 0x4251,
  kSlices = 0x4252,
  kSubSlices = 0x4253,
  kUnitsPerSubSlice = 0x4254,
  kThreadsPerUnit = 0x4255,
  kFeatures = 0x4256,
  kSubGroupSizes = 0x4108,
  kPciBus = 0x410F,
  kPlatformImports = 0x2044,
  kDeviceImports = 0x204F,
};

/// The text that an "info" call gives, without its end; empty if it fails.
template <typename Call>
std::string text_of(Call call) {
  std::size_t size = 0;
  if (call(0, nullptr, &size) != CL_SUCCESS || size == 0) return {};
  std::string text(size, '\0');
  if (call(size, text.data(), nullptr) != CL_SUCCESS) return {};
  return text.c_str();
}

/// TENON_GPU_MEMORY: bytes of memory that the device has.
std::optional<cl_ulong> memory_bytes() {
  const char* text = std::getenv("TENON_GPU_MEMORY");
  if (!text || !*text) return std::nullopt;
  cl_ulong bytes = 0;
  const char* end = text + std::strlen(text);
  const auto [last, error] = std::from_chars(text, end, bytes);
  if (error == std::errc() && last == end && bytes != 0) return bytes;
  static const bool said = [text] {
    std::fprintf(stderr, "tenon gpu: TENON_GPU_MEMORY is '%s', which is not a number of bytes: ignored\n", text);
    return true;
  }();
  static_cast<void>(said);
  return std::nullopt;
}

std::string with_added(std::string names) {
  while (names.ends_with(' ')) names.pop_back();
  for (const char* name : added_extensions()) names = names + " " + name;
  return names;
}

cl_int CL_API_CALL get_platform_info(cl_platform_id platform, cl_platform_info key, size_t size, void* value,
                                     size_t* size_ret) {
  return guarded([&]() -> cl_int {
    if ((key != CL_PLATFORM_EXTENSIONS && key != kPlatformImports) || !is_presented(platform))
      return runtime.clGetPlatformInfo(platform, key, size, value, size_ret);
    if (key == kPlatformImports) return answer(&kDmaBuf, 1, size, value, size_ret);
    return answer(with_added(text_of([&](std::size_t bytes, void* text, std::size_t* needed) {
                    return runtime.clGetPlatformInfo(platform, key, bytes, text, needed);
                  })),
                  size, value, size_ret);
  });
}

/// Extensions with their versions, all of the added ones 1.0.0.
std::vector<cl_name_version> versioned_extensions(cl_device_id device) {
  std::size_t bytes = 0;
  runtime.clGetDeviceInfo(device, CL_DEVICE_EXTENSIONS_WITH_VERSION, 0, nullptr, &bytes);
  std::vector<cl_name_version> all(bytes / sizeof(cl_name_version));
  if (!all.empty()) runtime.clGetDeviceInfo(device, CL_DEVICE_EXTENSIONS_WITH_VERSION, bytes, all.data(), nullptr);
  for (const char* name : added_extensions()) {
    cl_name_version added{};
    added.version = CL_MAKE_VERSION(1, 0, 0);
    std::strncpy(added.name, name, sizeof added.name - 1);
    all.push_back(added);
  }
  return all;
}

cl_int device_info(cl_device_id device, cl_device_info key, size_t size, void* value, size_t* size_ret) {
  const auto number = [&](auto number) { return answer(&number, 1, size, value, size_ret); };
  switch (key) {
    case CL_DEVICE_TYPE:
      return number(cl_device_type{CL_DEVICE_TYPE_GPU});
    case CL_DEVICE_NAME: {
      const char* name = std::getenv("TENON_GPU_NAME");
      return answer(name && *name ? name : kName, size, value, size_ret);
    }
    case CL_DRIVER_VERSION:
      return answer(kDriverVersion, size, value, size_ret);
    case CL_DEVICE_VENDOR_ID:
      return number(cl_uint{0x8086});
    case CL_DEVICE_MAX_COMPUTE_UNITS:
      return number(cl_uint{96});
    case CL_DEVICE_MAX_WORK_GROUP_SIZE:
      return number(kMaxWorkGroup);
    case CL_DEVICE_MAX_WORK_ITEM_SIZES: {
      const std::size_t sizes[] = {kMaxWorkGroup, kMaxWorkGroup, kMaxWorkGroup};
      return answer(sizes, 3, size, value, size_ret);
    }
    case CL_DEVICE_GLOBAL_MEM_SIZE:
      if (const auto bytes = memory_bytes()) return number(*bytes);
      break;
    case CL_DEVICE_MAX_MEM_ALLOC_SIZE:
      if (const auto bytes = memory_bytes()) return number(*bytes / 2);
      break;
    case CL_DEVICE_MAX_CLOCK_FREQUENCY:
      return number(cl_uint{1300});
    case CL_DEVICE_PARTITION_MAX_SUB_DEVICES:
      return number(cl_uint{0});
    case kIpVersion:
      return number(cl_uint{12 << 22 | 30 << 14});
    case kDeviceId:
      return number(cl_uint{0x9A49});
    case kSlices:
      return number(cl_uint{1});
    case kSubSlices:
      return number(cl_uint{6});
    case kUnitsPerSubSlice:
      return number(cl_uint{16});
    case kThreadsPerUnit:
      return number(cl_uint{7});
    case kFeatures:
      return number(cl_ulong{0});
    case kSubGroupSizes: {
      const std::size_t sizes[] = {8, 16, 32};
      return answer(sizes, 3, size, value, size_ret);
    }
    case kPciBus: {
      const cl_uint bus[] = {0, 0, 2, 0};
      return answer(bus, 4, size, value, size_ret);
    }
    case kDeviceImports:
      return number(kDmaBuf);
    case CL_DEVICE_HALF_FP_CONFIG: {
      const cl_int status = runtime.clGetDeviceInfo(device, key, size, value, size_ret);
      if (status == CL_SUCCESS && value) *static_cast<cl_device_fp_config*>(value) |= CL_FP_DENORM;
      return status;
    }
    case CL_DEVICE_EXTENSIONS:
      return answer(with_added(text_of([&](std::size_t bytes, void* text, std::size_t* needed) {
                      return runtime.clGetDeviceInfo(device, key, bytes, text, needed);
                    })),
                    size, value, size_ret);
    case CL_DEVICE_EXTENSIONS_WITH_VERSION: {
      const std::vector<cl_name_version> all = versioned_extensions(device);
      return answer(all.data(), all.size(), size, value, size_ret);
    }
    default:
      break;
  }
  return runtime.clGetDeviceInfo(device, key, size, value, size_ret);
}
cl_int CL_API_CALL get_device_info(cl_device_id device, cl_device_info key, size_t size, void* value,
                                   size_t* size_ret) {
  return guarded([&] {
    return is_presented(device) ? device_info(device, key, size, value, size_ret)
                                : runtime.clGetDeviceInfo(device, key, size, value, size_ret);
  });
}

/// The runtime's name of a type: its CPU is the GPU, and it has no GPU that could be taken for a CPU.
cl_device_type real_type(cl_device_type wanted) {
  if (wanted == CL_DEVICE_TYPE_ALL) return wanted;
  cl_device_type type = wanted & ~cl_device_type{CL_DEVICE_TYPE_GPU | CL_DEVICE_TYPE_CPU};
  if (wanted & CL_DEVICE_TYPE_GPU) type |= CL_DEVICE_TYPE_CPU;
  if (wanted & CL_DEVICE_TYPE_CPU) type |= CL_DEVICE_TYPE_GPU;
  return type;
}
/// Without these no client of Intel's GPUs takes a device.
constexpr const char* kNeeded[] = {"cl_intel_subgroups", "cl_intel_required_subgroup_size",
                                   "cl_intel_unified_shared_memory"};

/// Says once why the CPU of another runtime stays a CPU: the program will only say that it found no GPU.
void explain(cl_platform_id platform) {
  cl_device_id device = nullptr;
  if (runtime.clGetDeviceIDs(platform, CL_DEVICE_TYPE_CPU, 1, &device, nullptr) != CL_SUCCESS) return;
  static std::atomic_flag said;
  if (said.test_and_set()) return;
  const auto text = [device](cl_device_info key) {
    return text_of([=](std::size_t bytes, void* to, std::size_t* needed) {
      return runtime.clGetDeviceInfo(device, key, bytes, to, needed);
    });
  };
  const std::string has = " " + text(CL_DEVICE_EXTENSIONS) + " ";
  std::string lacks;
  for (const char* name : kNeeded)
    if (has.find(" " + std::string(name) + " ") == std::string::npos)
      lacks += (lacks.empty() ? "" : ", ") + std::string(name);
  std::fprintf(stderr,
               "tenon gpu: the device '%s' (%s) is not presented as a GPU: it %s%s; take Intel's runtime for CPUs (pip "
               "install intel-opencl-rt)\n",
               text(CL_DEVICE_NAME).c_str(), text(CL_DEVICE_VERSION).c_str(),
               lacks.empty() ? "is of another runtime than Intel's" : "lacks ", lacks.c_str());
}

cl_int CL_API_CALL get_device_ids(cl_platform_id platform, cl_device_type type, cl_uint entries, cl_device_id* devices,
                                  cl_uint* count) {
  return guarded([&] {
    const bool presented = is_presented(platform);
    if (!presented) explain(platform);
    return runtime.clGetDeviceIDs(platform, presented ? real_type(type) : type, entries, devices, count);
  });
}

cl_context CL_API_CALL create_context_from_type(const cl_context_properties* properties, cl_device_type type,
                                                void(CL_CALLBACK* notify)(const char*, const void*, size_t, void*),
                                                void* data, cl_int* status_ret) {
  bool is_ours = false;
  for (const cl_context_properties* pair = properties; pair && *pair; pair += 2)
    is_ours |= *pair == CL_CONTEXT_PLATFORM && is_presented(reinterpret_cast<cl_platform_id>(pair[1]));
  if (is_ours) type = real_type(type);
  return make_context(is_ours, properties, status_ret, [&](const cl_context_properties* known, cl_int* status) {
    return runtime.clCreateContextFromType(known, type, notify, data, status);
  });
}

}  // namespace

bool is_presented(cl_device_id device) {
  cl_device_type type = 0;
  char vendor[64] = "";
  return runtime.clGetDeviceInfo(device, CL_DEVICE_TYPE, sizeof type, &type, nullptr) == CL_SUCCESS &&
         (type & CL_DEVICE_TYPE_CPU) &&
         runtime.clGetDeviceInfo(device, CL_DEVICE_VENDOR, sizeof vendor, vendor, nullptr) == CL_SUCCESS &&
         std::string_view(vendor).starts_with("Intel");
}

bool is_presented(cl_platform_id platform) {
  cl_device_id device = nullptr;
  return runtime.clGetDeviceIDs(platform, CL_DEVICE_TYPE_CPU, 1, &device, nullptr) == CL_SUCCESS &&
         is_presented(device);
}

bool is_presented(cl_context context) {
  cl_device_id devices[16] = {};
  std::size_t bytes = 0;
  return runtime.clGetContextInfo(context, CL_CONTEXT_DEVICES, sizeof devices, devices, &bytes) == CL_SUCCESS &&
         bytes != 0 && is_presented(devices[0]);
}

void install_identity(cl_icd_dispatch& table) {
  table.clGetPlatformInfo = get_platform_info;
  table.clGetDeviceInfo = get_device_info;
  table.clGetDeviceIDs = get_device_ids;
  table.clCreateContextFromType = create_context_from_type;
}

}  // namespace tenon::gpu_layer
