// SPDX-License-Identifier: Apache-2.0
// An OpenCL layer (OPENCL_LAYERS) that shows Intel's CPU runtime as one of Intel's GPUs, so that OpenVINO's own GPU plugin
// runs on a machine without one, and says how a GPU behaves. It answers device queries as a Gen12LP GPU does and mends what
// that runtime does otherwise than a GPU's driver:
//  - it forms sub-groups along x only, a GPU along the linear local id: kernels that use sub-groups are launched flat, and a
//    preamble computes the ids that they would have had. The real local size travels as the global offset.
//  - it forgets a program at the application's last release, although kernels still use it: each kernel keeps one reference.
#include <tenon/frameworks/opencl/testing/layer.hpp>

#include <array>
#include <cstdint>
#include <cstring>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace {

using layer::answer;
using layer::next;
using layer::table;

/// What the plugin asks and the runtime answers otherwise, or not at all. Numbers of extensions that headers lack:
/// cl_intel_device_attribute_query, cl_intel_required_subgroup_size, cl_khr_pci_bus_info.
cl_int CL_API_CALL get_device_info(cl_device_id device, cl_device_info key, size_t size, void* value,
                                   size_t* size_ret) {
  const auto number = [&](auto number) { return answer(&number, 1, size, value, size_ret); };
  const auto text = [&](std::string_view text) { return answer(text.data(), text.size() + 1, size, value, size_ret); };
  constexpr std::size_t kWorkGroup = 512;
  switch (key) {
    case CL_DEVICE_TYPE:
      return number(cl_device_type{CL_DEVICE_TYPE_GPU});
    case CL_DEVICE_NAME:
      return text("Intel(R) Iris(R) Xe Graphics (twin)");
    case CL_DRIVER_VERSION:
      return text("25.18.33578");
    case CL_DEVICE_VENDOR_ID:
      return number(cl_uint{0x8086});
    case CL_DEVICE_MAX_COMPUTE_UNITS:
      return number(cl_uint{96});
    case CL_DEVICE_MAX_WORK_GROUP_SIZE:
      return number(kWorkGroup);
    case CL_DEVICE_MAX_WORK_ITEM_SIZES: {
      const std::size_t sizes[] = {kWorkGroup, kWorkGroup, kWorkGroup};
      return answer(sizes, 3, size, value, size_ret);
    }
    case CL_DEVICE_LOCAL_MEM_SIZE:
      return number(cl_ulong{65536});
    case CL_DEVICE_MAX_CLOCK_FREQUENCY:
      return number(cl_uint{1300});
    case CL_DEVICE_PARTITION_MAX_SUB_DEVICES:
      return number(cl_uint{0});
    case 0x4250:  // CL_DEVICE_IP_VERSION_INTEL: Gen12LP, which has no systolic unit.
      return number(cl_uint{0x03000000});
    case 0x4251:  // CL_DEVICE_ID_INTEL
      return number(cl_uint{0x9A49});
    case 0x4252:  // CL_DEVICE_NUM_SLICES_INTEL
      return number(cl_uint{1});
    case 0x4253:  // CL_DEVICE_NUM_SUB_SLICES_PER_SLICE_INTEL
      return number(cl_uint{6});
    case 0x4254:  // CL_DEVICE_NUM_EUS_PER_SUB_SLICE_INTEL
      return number(cl_uint{16});
    case 0x4255:  // CL_DEVICE_NUM_THREADS_PER_EU_INTEL
      return number(cl_uint{7});
    case 0x4256:  // CL_DEVICE_FEATURE_CAPABILITIES_INTEL
      return number(cl_ulong{0});
    case 0x4108: {  // CL_DEVICE_SUB_GROUP_SIZES_INTEL
      const std::size_t sizes[] = {8, 16, 32};
      return answer(sizes, 3, size, value, size_ret);
    }
    case 0x410F: {  // CL_DEVICE_PCI_BUS_INFO_KHR
      const cl_uint bus[] = {0, 0, 2, 0};
      return answer(bus, 4, size, value, size_ret);
    }
    case CL_DEVICE_HALF_FP_CONFIG: {
      const cl_int status = next->clGetDeviceInfo(device, key, size, value, size_ret);
      if (status == CL_SUCCESS && value) *static_cast<cl_device_fp_config*>(value) |= CL_FP_DENORM;
      return status;
    }
    case CL_DEVICE_EXTENSIONS: {
      std::size_t length = 0;
      if (const cl_int status = next->clGetDeviceInfo(device, key, 0, nullptr, &length)) return status;
      std::string names(length, '\0');
      if (const cl_int status = next->clGetDeviceInfo(device, key, length, names.data(), nullptr)) return status;
      return text(std::string(names.c_str()) + " cl_khr_subgroups cl_khr_pci_bus_info");
    }
    default:
      return next->clGetDeviceInfo(device, key, size, value, size_ret);
  }
}

/// The runtime's device is a CPU; a client that asks for GPUs gets it.
cl_device_type real_type(cl_device_type wanted) {
  return wanted & (CL_DEVICE_TYPE_GPU | CL_DEVICE_TYPE_DEFAULT) ? CL_DEVICE_TYPE_ALL : wanted;
}
cl_int CL_API_CALL get_device_ids(cl_platform_id platform, cl_device_type type, cl_uint entries, cl_device_id* devices,
                                  cl_uint* count) {
  if (type != CL_DEVICE_TYPE_ALL && real_type(type) != CL_DEVICE_TYPE_ALL) {
    if (count) *count = 0;
    return CL_DEVICE_NOT_FOUND;
  }
  return next->clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, entries, devices, count);
}
cl_context CL_API_CALL create_context_from_type(const cl_context_properties* properties, cl_device_type type,
                                                void(CL_CALLBACK* notify)(const char*, const void*, size_t, void*),
                                                void* data, cl_int* status) {
  return next->clCreateContextFromType(properties, real_type(type), notify, data, status);
}

/// Programs whose kernels are launched flat.
std::mutex mutex;
std::set<cl_program> flat_programs;
void set_flat(cl_program program, bool flat) {
  if (!program) return;
  std::lock_guard lock(mutex);
  if (flat)
    flat_programs.insert(program);
  else
    flat_programs.erase(program);  // The handle of a program that is gone is used again.
}
bool is_flat(cl_program program) {
  std::lock_guard lock(mutex);
  return flat_programs.count(program) != 0;
}

constexpr std::string_view kPreamble = R"(
inline size_t twin_local_size(uint d) { return d < 3 ? get_global_offset(d) : 1; }
inline size_t twin_local_id(uint d) {
  const uint i = (uint)get_local_id(0), x = (uint)get_global_offset(0), y = (uint)get_global_offset(1);
  return d == 0 ? i % x : d == 1 ? (i / x) % y : d == 2 ? i / (x * y) : 0;
}
inline size_t twin_global_id(uint d) { return get_group_id(d) * twin_local_size(d) + twin_local_id(d); }
inline size_t twin_global_size(uint d) { return get_num_groups(d) * twin_local_size(d); }
#define get_local_id(d) twin_local_id(d)
#define get_local_size(d) twin_local_size(d)
#define get_enqueued_local_size(d) twin_local_size(d)
#define get_global_id(d) twin_global_id(d)
#define get_global_size(d) twin_global_size(d)
#define get_global_offset(d) ((size_t)0)
#define reqd_work_group_size(x, y, z) reqd_work_group_size((x) * (y) * (z), 1, 1)
)";

cl_program CL_API_CALL create_program_with_source(cl_context context, cl_uint count, const char** strings,
                                                  const size_t* lengths, cl_int* status) {
  std::string source;
  for (cl_uint i = 0; i < count; ++i)
    source.append(strings[i], lengths && lengths[i] ? lengths[i] : std::strlen(strings[i]));
  const bool flat = source.find("sub_group") != std::string::npos;
  if (flat) source.insert(0, kPreamble);
  const char* text = source.c_str();
  const cl_program program = next->clCreateProgramWithSource(context, 1, &text, nullptr, status);
  set_flat(program, flat);
  return program;
}

/// Binaries of such programs say so at their end, because they outlive the program.
constexpr std::string_view kMark = "TWINFLAT";
cl_program CL_API_CALL create_program_with_binary(cl_context context, cl_uint count, const cl_device_id* devices,
                                                  const size_t* lengths, const unsigned char** binaries,
                                                  cl_int* binary_status, cl_int* status) {
  std::vector<std::size_t> sizes(lengths, lengths + count);
  bool flat = false;
  for (cl_uint i = 0; i < count; ++i) {
    const std::string_view binary(reinterpret_cast<const char*>(binaries[i]), sizes[i]);
    if (!binary.ends_with(kMark)) continue;
    sizes[i] -= kMark.size();
    flat = true;
  }
  const cl_program program =
      next->clCreateProgramWithBinary(context, count, devices, sizes.data(), binaries, binary_status, status);
  set_flat(program, flat);
  return program;
}
cl_int CL_API_CALL get_program_info(cl_program program, cl_program_info key, size_t size, void* value,
                                    size_t* size_ret) {
  const cl_int status = next->clGetProgramInfo(program, key, size, value, size_ret);
  if (status != CL_SUCCESS || !value || !is_flat(program)) return status;
  if (key == CL_PROGRAM_BINARY_SIZES) {
    auto* sizes = static_cast<std::size_t*>(value);
    for (std::size_t i = 0; i < size / sizeof *sizes; ++i)
      if (sizes[i]) sizes[i] += kMark.size();
  } else if (key == CL_PROGRAM_BINARIES) {
    std::vector<std::size_t> sizes(size / sizeof(void*));
    next->clGetProgramInfo(program, CL_PROGRAM_BINARY_SIZES, sizes.size() * sizeof(std::size_t), sizes.data(), nullptr);
    auto* const* binaries = static_cast<char* const*>(value);
    for (std::size_t i = 0; i < sizes.size(); ++i)
      if (binaries[i] && sizes[i]) std::memcpy(binaries[i] + sizes[i], kMark.data(), kMark.size());
  }
  return status;
}

cl_program program_of(cl_kernel kernel) {
  cl_program program = nullptr;
  next->clGetKernelInfo(kernel, CL_KERNEL_PROGRAM, sizeof program, &program, nullptr);
  return program;
}
cl_kernel with_program(cl_kernel kernel) {
  if (kernel) next->clRetainProgram(program_of(kernel));
  return kernel;
}
cl_kernel CL_API_CALL create_kernel(cl_program program, const char* name, cl_int* status) {
  return with_program(next->clCreateKernel(program, name, status));
}
cl_kernel CL_API_CALL clone_kernel(cl_kernel kernel, cl_int* status) {
  return with_program(next->clCloneKernel(kernel, status));
}
cl_int CL_API_CALL create_kernels_in_program(cl_program program, cl_uint entries, cl_kernel* kernels, cl_uint* count) {
  cl_uint made = 0;
  const cl_int status = next->clCreateKernelsInProgram(program, entries, kernels, &made);
  if (count) *count = made;
  if (status == CL_SUCCESS && kernels)
    for (cl_uint i = 0; i < made; ++i) with_program(kernels[i]);
  return status;
}
cl_int CL_API_CALL release_kernel(cl_kernel kernel) {
  cl_uint references = 0;
  next->clGetKernelInfo(kernel, CL_KERNEL_REFERENCE_COUNT, sizeof references, &references, nullptr);
  const cl_program program = program_of(kernel);
  const cl_int status = next->clReleaseKernel(kernel);
  if (status == CL_SUCCESS && references == 1 && program) next->clReleaseProgram(program);
  return status;
}

cl_int CL_API_CALL run_kernel(cl_command_queue queue, cl_kernel kernel, cl_uint dims, const size_t* offset,
                              const size_t* global, const size_t* local, cl_uint count, const cl_event* after,
                              cl_event* event) {
  if (!is_flat(program_of(kernel)))
    return next->clEnqueueNDRangeKernel(queue, kernel, dims, offset, global, local, count, after, event);
  std::array<std::size_t, 3> items{1, 1, 1}, group{1, 1, 1};
  for (cl_uint i = 0; i < dims; ++i) {
    items[i] = global[i];
    if (local) group[i] = local[i];
  }
  if (!local)  // The largest power of two up to 64, which a driver might choose.
    for (group[0] = 64; items[0] % group[0] != 0;) group[0] /= 2;
  const std::size_t whole = group[0] * group[1] * group[2];
  const std::size_t flat_local[] = {whole, 1, 1};
  const std::size_t flat_global[] = {items[0] / group[0] * whole, items[1] / group[1], items[2] / group[2]};
  return next->clEnqueueNDRangeKernel(queue, kernel, 3, group.data(), &flat_global[0], &flat_local[0], count, after,
                                      event);
}

}  // namespace

void layer::install() {
  table.clGetDeviceInfo = get_device_info;
  table.clGetDeviceIDs = get_device_ids;
  table.clCreateContextFromType = create_context_from_type;
  table.clCreateProgramWithSource = create_program_with_source;
  table.clCreateProgramWithBinary = create_program_with_binary;
  table.clGetProgramInfo = get_program_info;
  table.clCreateKernel = create_kernel;
  table.clCloneKernel = clone_kernel;
  table.clCreateKernelsInProgram = create_kernels_in_program;
  table.clReleaseKernel = release_kernel;
  table.clEnqueueNDRangeKernel = run_kernel;
}
