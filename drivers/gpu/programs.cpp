// SPDX-License-Identifier: Apache-2.0
// Programs, kernels and launches. The runtime forms sub-groups along x only, a GPU along the linear local id: kernels that use
// sub-groups are launched with a flat local size, and a preamble of their source computes the ids that they would have had. The
// real local size, the number of dimensions and the global offset travel as the global offset. Its block writes ignore that a
// branch is not taken: they become stores of each work-item. And the runtime forgets a program at the application's last
// release, although kernels still use it: each kernel here keeps one reference.
#include <tenon/drivers/gpu/layer.hpp>

#include <elf.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace tenon::gpu_layer {
namespace {

struct Kernel {
  cl_program program = nullptr;
  cl_uint references = 1;  // The application's.
  bool flat = false;
  bool presented = false;
};

std::shared_mutex mutex;
std::unordered_set<cl_program> flat_programs;
std::unordered_map<cl_kernel, Kernel> kernels;

void set_flat(cl_program program, bool flat) {
  if (!program) return;
  const std::unique_lock lock(mutex);
  if (flat)
    flat_programs.insert(program);
  else
    flat_programs.erase(program);  // The handle of a program that is gone is used again.
}
bool is_flat(cl_program program) {
  const std::shared_lock lock(mutex);
  return flat_programs.count(program) != 0;
}

/// Bits of each component of the global offset: the local size, the number of dimensions, the real offset.
constexpr unsigned kSizeBits = 12, kDimsBits = 2, kOffsetShift = kSizeBits + kDimsBits;
static_assert(kMaxWorkGroup < (1u << kSizeBits));

/// A GPU's assembly in a kernel ends the process in the runtime's compiler: here it is an error of the build. Clients try whether it works.
constexpr std::string_view kNoAssembly = R"(#define __asm__ assembly_of_a_gpu_cannot_run_on_a_cpu
#define asm assembly_of_a_gpu_cannot_run_on_a_cpu
#line 1
)";

/// Before the source of flat programs. The last line restores the line numbers of the build log.
constexpr std::string_view kPreamble =
    R"(static inline size_t tenon_local_size(uint d) { return d < 3 ? get_global_offset(d) & 0xfff : 1; }
static inline uint tenon_work_dim(void) { return (uint)(get_global_offset(0) >> 12) & 3; }
static inline size_t tenon_global_offset(uint d) { return d < 3 ? get_global_offset(d) >> 14 : 0; }
static inline size_t tenon_local_id(uint d) {
  const uint i = (uint)get_local_id(0), x = (uint)tenon_local_size(0), y = (uint)tenon_local_size(1);
  return d == 0 ? i % x : d == 1 ? (i / x) % y : d == 2 ? i / (x * y) : 0;
}
static inline size_t tenon_global_index(uint d) { return get_group_id(d) * tenon_local_size(d) + tenon_local_id(d); }
static inline size_t tenon_global_id(uint d) { return tenon_global_index(d) + tenon_global_offset(d); }
static inline size_t tenon_global_size(uint d) { return get_num_groups(d) * tenon_local_size(d); }
static inline size_t tenon_global_linear_id(void) {
  return (tenon_global_index(2) * tenon_global_size(1) + tenon_global_index(1)) * tenon_global_size(0) + tenon_global_index(0);
}
#define get_work_dim() tenon_work_dim()
#define get_local_id(d) tenon_local_id(d)
#define get_local_size(d) tenon_local_size(d)
#define get_enqueued_local_size(d) tenon_local_size(d)
#define get_global_id(d) tenon_global_id(d)
#define get_global_size(d) tenon_global_size(d)
#define get_global_offset(d) tenon_global_offset(d)
#define get_global_linear_id() tenon_global_linear_id()
#define reqd_work_group_size(x, y, z) reqd_work_group_size((x) * (y) * (z), 1, 1)
#line 1
)";

/// Before the source of flat programs that write blocks. The runtime (2023.2) also writes where a sub-group does not take the branch around the
/// call, or writes the values of another branch, unless its compiler sees that work-items agree. Images are left to it: they are written with
/// three arguments.
constexpr std::string_view kBlockWrites =
    R"(#define TENON_STORES(name, T, S) \
static inline void __attribute__((overloadable)) tenon_##name(S T* p, T v) { p[get_sub_group_local_id()] = v; } \
static inline void __attribute__((overloadable)) tenon_##name(S T* p, T##2 v) { \
  tenon_##name(p, v.lo); tenon_##name(p + get_max_sub_group_size(), v.hi); } \
static inline void __attribute__((overloadable)) tenon_##name(S T* p, T##4 v) { \
  tenon_##name(p, v.lo); tenon_##name(p + 2 * get_max_sub_group_size(), v.hi); } \
static inline void __attribute__((overloadable)) tenon_##name(S T* p, T##8 v) { \
  tenon_##name(p, v.lo); tenon_##name(p + 4 * get_max_sub_group_size(), v.hi); } \
static inline void __attribute__((overloadable)) tenon_##name(S T* p, T##16 v) { \
  tenon_##name(p, v.lo); tenon_##name(p + 8 * get_max_sub_group_size(), v.hi); }
TENON_STORES(block_write, uint, __global) TENON_STORES(block_write, uint, __local)
TENON_STORES(block_write_us, ushort, __global) TENON_STORES(block_write_us, ushort, __local)
TENON_STORES(block_write_uc, uchar, __global) TENON_STORES(block_write_uc, uchar, __local)
TENON_STORES(block_write_ul, ulong, __global) TENON_STORES(block_write_ul, ulong, __local)
#define TENON_TO(a, b, c, name, ...) name
#define intel_sub_group_block_write(...) TENON_TO(__VA_ARGS__, intel_sub_group_block_write, tenon_block_write, 0)(__VA_ARGS__)
#define intel_sub_group_block_write2(...) TENON_TO(__VA_ARGS__, intel_sub_group_block_write2, tenon_block_write, 0)(__VA_ARGS__)
#define intel_sub_group_block_write4(...) TENON_TO(__VA_ARGS__, intel_sub_group_block_write4, tenon_block_write, 0)(__VA_ARGS__)
#define intel_sub_group_block_write8(...) TENON_TO(__VA_ARGS__, intel_sub_group_block_write8, tenon_block_write, 0)(__VA_ARGS__)
#define intel_sub_group_block_write_ui(...) TENON_TO(__VA_ARGS__, intel_sub_group_block_write_ui, tenon_block_write, 0)(__VA_ARGS__)
#define intel_sub_group_block_write_ui2(...) TENON_TO(__VA_ARGS__, intel_sub_group_block_write_ui2, tenon_block_write, 0)(__VA_ARGS__)
#define intel_sub_group_block_write_ui4(...) TENON_TO(__VA_ARGS__, intel_sub_group_block_write_ui4, tenon_block_write, 0)(__VA_ARGS__)
#define intel_sub_group_block_write_ui8(...) TENON_TO(__VA_ARGS__, intel_sub_group_block_write_ui8, tenon_block_write, 0)(__VA_ARGS__)
#define intel_sub_group_block_write_us(...) TENON_TO(__VA_ARGS__, intel_sub_group_block_write_us, tenon_block_write_us, 0)(__VA_ARGS__)
#define intel_sub_group_block_write_us2(...) TENON_TO(__VA_ARGS__, intel_sub_group_block_write_us2, tenon_block_write_us, 0)(__VA_ARGS__)
#define intel_sub_group_block_write_us4(...) TENON_TO(__VA_ARGS__, intel_sub_group_block_write_us4, tenon_block_write_us, 0)(__VA_ARGS__)
#define intel_sub_group_block_write_us8(...) TENON_TO(__VA_ARGS__, intel_sub_group_block_write_us8, tenon_block_write_us, 0)(__VA_ARGS__)
#define intel_sub_group_block_write_us16(...) TENON_TO(__VA_ARGS__, intel_sub_group_block_write_us16, tenon_block_write_us, 0)(__VA_ARGS__)
#define intel_sub_group_block_write_uc(...) TENON_TO(__VA_ARGS__, intel_sub_group_block_write_uc, tenon_block_write_uc, 0)(__VA_ARGS__)
#define intel_sub_group_block_write_uc2(...) TENON_TO(__VA_ARGS__, intel_sub_group_block_write_uc2, tenon_block_write_uc, 0)(__VA_ARGS__)
#define intel_sub_group_block_write_uc4(...) TENON_TO(__VA_ARGS__, intel_sub_group_block_write_uc4, tenon_block_write_uc, 0)(__VA_ARGS__)
#define intel_sub_group_block_write_uc8(...) TENON_TO(__VA_ARGS__, intel_sub_group_block_write_uc8, tenon_block_write_uc, 0)(__VA_ARGS__)
#define intel_sub_group_block_write_uc16(...) TENON_TO(__VA_ARGS__, intel_sub_group_block_write_uc16, tenon_block_write_uc, 0)(__VA_ARGS__)
#define intel_sub_group_block_write_ul(...) TENON_TO(__VA_ARGS__, intel_sub_group_block_write_ul, tenon_block_write_ul, 0)(__VA_ARGS__)
#define intel_sub_group_block_write_ul2(...) TENON_TO(__VA_ARGS__, intel_sub_group_block_write_ul2, tenon_block_write_ul, 0)(__VA_ARGS__)
#define intel_sub_group_block_write_ul4(...) TENON_TO(__VA_ARGS__, intel_sub_group_block_write_ul4, tenon_block_write_ul, 0)(__VA_ARGS__)
#define intel_sub_group_block_write_ul8(...) TENON_TO(__VA_ARGS__, intel_sub_group_block_write_ul8, tenon_block_write_ul, 0)(__VA_ARGS__)
#line 1
)";

/// oneDNN asks a program of this name for the GPU that it was built for, where it does not know the device's IP version.
constexpr std::string_view kWhichGpu = "_ngen_hw_detect";

/// What it reads: an ELF whose section of machine code is that of no GPU, so that it writes none, which no CPU could run.
struct NoGpu {
  Elf64_Ehdr header{};
  Elf64_Shdr section{};
  std::uint32_t magic = 0x494e5443, version = 0, family = 0, pointer_bytes = 8, kernels = 1, stepping = 0, patches = 0,
                end = 0;
};
std::string_view no_gpu() {
  static const NoGpu file = [] {
    NoGpu made;
    std::memcpy(made.header.e_ident, ELFMAG, SELFMAG);
    made.header.e_ident[EI_CLASS] = ELFCLASS64;
    made.header.e_ident[EI_DATA] = ELFDATA2LSB;
    made.header.e_shoff = offsetof(NoGpu, section);
    made.header.e_shentsize = sizeof made.section;
    made.header.e_shnum = 1;
    made.section.sh_type = 0xff000005;  // A device's binary.
    made.section.sh_offset = offsetof(NoGpu, magic);
    made.section.sh_size = sizeof made - offsetof(NoGpu, magic);
    return made;
  }();
  return {reinterpret_cast<const char*>(&file), sizeof file};
}

/// Binaries of flat programs say so at their end, because they outlive the program.
constexpr std::string_view kMark = "TENONFLT";

cl_program CL_API_CALL create_program_with_source(cl_context context, cl_uint count, const char** strings,
                                                  const size_t* lengths, cl_int* status) {
  return guarded(status, [&] {
    std::string source;
    bool whole = count != 0 && strings;
    for (cl_uint i = 0; whole && i < count; ++i) {
      whole = strings[i] != nullptr;
      if (whole) source.append(strings[i], lengths && lengths[i] ? lengths[i] : std::strlen(strings[i]));
    }
    // The runtime refuses what is not whole.
    const auto has = [&](const char* word) { return source.find(word) != std::string::npos; };
    const bool presented = whole && is_presented(context);
    const bool flat = presented && has("sub_group"), assembly = presented && has("asm");
    if (flat && has("block_write")) source.insert(0, kBlockWrites);
    if (flat) source.insert(0, kPreamble);
    if (assembly) source.insert(0, kNoAssembly);
    const char* text = source.data();
    const std::size_t size = source.size();
    const cl_program program = flat || assembly
                                   ? runtime.clCreateProgramWithSource(context, 1, &text, &size, status)
                                   : runtime.clCreateProgramWithSource(context, count, strings, lengths, status);
    set_flat(program, flat);
    return program;
  });
}

cl_program CL_API_CALL create_program_with_binary(cl_context context, cl_uint count, const cl_device_id* devices,
                                                  const size_t* lengths, const unsigned char** binaries,
                                                  cl_int* binary_status, cl_int* status) {
  return guarded(status, [&] {
    if (!lengths || !binaries)
      return runtime.clCreateProgramWithBinary(context, count, devices, lengths, binaries, binary_status, status);
    std::vector<std::size_t> sizes(lengths, lengths + count);
    bool flat = false;
    for (cl_uint i = 0; i < count; ++i) {
      if (!binaries[i] || !std::string_view(reinterpret_cast<const char*>(binaries[i]), sizes[i]).ends_with(kMark))
        continue;
      sizes[i] -= kMark.size();
      flat = true;
    }
    const cl_program program =
        runtime.clCreateProgramWithBinary(context, count, devices, sizes.data(), binaries, binary_status, status);
    set_flat(program, flat);
    return program;
  });
}

cl_program CL_API_CALL create_program_with_il(cl_context context, const void* il, size_t length, cl_int* status) {
  return guarded(status, [&] {
    const cl_program program = runtime.clCreateProgramWithIL(context, il, length, status);
    set_flat(program, false);
    return program;
  });
}

cl_program CL_API_CALL link_program(cl_context context, cl_uint devices_count, const cl_device_id* devices,
                                    const char* options, cl_uint count, const cl_program* programs,
                                    void(CL_CALLBACK* notify)(cl_program, void*), void* data, cl_int* status) {
  return guarded(status, [&] {
    const bool flat = programs && std::any_of(programs, programs + count, is_flat);
    const cl_program program =
        runtime.clLinkProgram(context, devices_count, devices, options, count, programs, notify, data, status);
    set_flat(program, flat);
    return program;
  });
}

/// The number of binaries that a program has, one for each device.
cl_uint binaries_of(cl_program program) {
  cl_uint count = 0;
  runtime.clGetProgramInfo(program, CL_PROGRAM_NUM_DEVICES, sizeof count, &count, nullptr);
  return count;
}
std::string source_of(cl_program program) {
  std::size_t bytes = 0;
  runtime.clGetProgramInfo(program, CL_PROGRAM_SOURCE, 0, nullptr, &bytes);
  std::string text(bytes, '\0');
  if (bytes) runtime.clGetProgramInfo(program, CL_PROGRAM_SOURCE, bytes, text.data(), nullptr);
  return text.c_str();
}
/// Whether a program's devices, all of one platform, are those that the layer presents.
bool presents(cl_program program) {
  std::vector<cl_device_id> devices(binaries_of(program));
  return !devices.empty() &&
         runtime.clGetProgramInfo(program, CL_PROGRAM_DEVICES, devices.size() * sizeof(cl_device_id), devices.data(),
                                  nullptr) == CL_SUCCESS &&
         is_presented(devices[0]);
}
/// A query for a program's binaries, each of which is `binary`.
cl_int answer_binaries(cl_program program, std::string_view binary, bool sizes, size_t size, void* value,
                       size_t* size_ret) {
  const cl_uint count = binaries_of(program);
  if (sizes) return answer(std::vector<std::size_t>(count, binary.size()).data(), count, size, value, size_ret);
  if (size_ret) *size_ret = count * sizeof(void*);
  if (!value) return CL_SUCCESS;
  if (size < count * sizeof(void*)) return CL_INVALID_VALUE;
  for (cl_uint i = 0; i < count; ++i)
    if (void* to = static_cast<void**>(value)[i]) std::memcpy(to, binary.data(), binary.size());
  return CL_SUCCESS;
}
cl_int CL_API_CALL get_program_info(cl_program program, cl_program_info key, size_t size, void* value,
                                    size_t* size_ret) {
  return guarded([&]() -> cl_int {
    if (key == CL_PROGRAM_SOURCE) {
      std::size_t bytes = 0;
      if (const cl_int status = runtime.clGetProgramInfo(program, key, 0, nullptr, &bytes)) return status;
      std::string text(bytes, '\0');
      if (const cl_int status = runtime.clGetProgramInfo(program, key, bytes, text.data(), nullptr)) return status;
      std::string_view given = text.c_str();
      for (const std::string_view added : {kNoAssembly, kPreamble, kBlockWrites})
        if (given.starts_with(added)) given.remove_prefix(added.size());
      return answer(given, size, value, size_ret);
    }
    if (key != CL_PROGRAM_BINARY_SIZES && key != CL_PROGRAM_BINARIES)
      return runtime.clGetProgramInfo(program, key, size, value, size_ret);
    if (!is_flat(program)) {
      if (presents(program) && source_of(program).find(kWhichGpu) != std::string::npos)
        return answer_binaries(program, no_gpu(), key == CL_PROGRAM_BINARY_SIZES, size, value, size_ret);
      return runtime.clGetProgramInfo(program, key, size, value, size_ret);
    }
    std::vector<std::size_t> sizes(binaries_of(program));
    if (const cl_int status = runtime.clGetProgramInfo(program, CL_PROGRAM_BINARY_SIZES,
                                                       sizes.size() * sizeof(std::size_t), sizes.data(), nullptr))
      return status;
    if (key == CL_PROGRAM_BINARY_SIZES) {
      for (std::size_t& each : sizes) each += each ? kMark.size() : 0;
      return answer(sizes.data(), sizes.size(), size, value, size_ret);
    }
    const cl_int status = runtime.clGetProgramInfo(program, key, size, value, size_ret);
    if (status != CL_SUCCESS || !value) return status;
    auto* const* binaries = static_cast<char* const*>(value);
    for (std::size_t i = 0; i < std::min(sizes.size(), size / sizeof(void*)); ++i)
      if (binaries[i] && sizes[i]) std::memcpy(binaries[i] + sizes[i], kMark.data(), kMark.size());
    return status;
  });
}

/// A new kernel, which keeps its program from now on.
void keep(cl_kernel kernel) {
  Kernel entry;
  if (!kernel || runtime.clGetKernelInfo(kernel, CL_KERNEL_PROGRAM, sizeof entry.program, &entry.program, nullptr))
    return;
  entry.flat = is_flat(entry.program);
  entry.presented = presents(entry.program);
  {
    const std::unique_lock lock(mutex);
    kernels[kernel] = entry;
  }
  runtime.clRetainProgram(entry.program);
}
/// The same of one that is lost again if there is no memory for that.
cl_kernel kept(cl_kernel kernel, cl_int* status) {
  try {
    keep(kernel);
    return kernel;
  } catch (...) {
    runtime.clReleaseKernel(kernel);
    if (status) *status = CL_OUT_OF_HOST_MEMORY;
    return nullptr;
  }
}
cl_kernel CL_API_CALL create_kernel(cl_program program, const char* name, cl_int* status) {
  return kept(runtime.clCreateKernel(program, name, status), status);
}
cl_kernel CL_API_CALL clone_kernel(cl_kernel kernel, cl_int* status) {
  return kept(runtime.clCloneKernel(kernel, status), status);
}
cl_int CL_API_CALL create_kernels_in_program(cl_program program, cl_uint entries, cl_kernel* made, cl_uint* count) {
  return guarded([&] {
    cl_uint all = 0;
    const cl_int status = runtime.clCreateKernelsInProgram(program, entries, made, &all);
    if (status == CL_SUCCESS && count) *count = all;
    if (status == CL_SUCCESS && made) std::for_each(made, made + all, keep);
    return status;
  });
}
cl_int CL_API_CALL retain_kernel(cl_kernel kernel) {
  const cl_int status = runtime.clRetainKernel(kernel);
  if (status != CL_SUCCESS) return status;
  const std::unique_lock lock(mutex);
  if (const auto found = kernels.find(kernel); found != kernels.end()) ++found->second.references;
  return status;
}
cl_int CL_API_CALL release_kernel(cl_kernel kernel) {
  cl_program last = nullptr;
  {
    // Before the call, after which another thread may get the same handle for a new kernel.
    const std::unique_lock lock(mutex);
    if (const auto found = kernels.find(kernel); found != kernels.end() && --found->second.references == 0) {
      last = found->second.program;
      kernels.erase(found);
    }
  }
  const cl_int status = runtime.clReleaseKernel(kernel);
  if (last) runtime.clReleaseProgram(last);
  return status;
}

Kernel find(cl_kernel kernel) {
  const std::shared_lock lock(mutex);
  const auto found = kernels.find(kernel);
  return found == kernels.end() ? Kernel{} : found->second;
}

cl_int CL_API_CALL get_kernel_work_group_info(cl_kernel kernel, cl_device_id device, cl_kernel_work_group_info key,
                                              size_t size, void* value, size_t* size_ret) {
  const cl_int status = runtime.clGetKernelWorkGroupInfo(kernel, device, key, size, value, size_ret);
  if (status == CL_SUCCESS && value && key == CL_KERNEL_WORK_GROUP_SIZE && find(kernel).presented) {
    auto* group = static_cast<std::size_t*>(value);
    *group = std::min(*group, kMaxWorkGroup);
  }
  return status;
}
cl_int CL_API_CALL get_kernel_sub_group_info(cl_kernel kernel, cl_device_id device, cl_kernel_sub_group_info key,
                                             size_t input_size, const void* input, size_t size, void* value,
                                             size_t* size_ret) {
  const bool of_range = key == CL_KERNEL_MAX_SUB_GROUP_SIZE_FOR_NDRANGE || key == CL_KERNEL_SUB_GROUP_COUNT_FOR_NDRANGE;
  const std::size_t dims = input_size / sizeof(std::size_t);
  if (!of_range || !input || dims == 0 || dims > 3 || !find(kernel).flat)
    return runtime.clGetKernelSubGroupInfo(kernel, device, key, input_size, input, size, value, size_ret);
  std::size_t whole = 1;
  for (std::size_t i = 0; i < dims; ++i) whole *= static_cast<const std::size_t*>(input)[i];
  return runtime.clGetKernelSubGroupInfo(kernel, device, key, sizeof whole, &whole, size, value, size_ret);
}

cl_int CL_API_CALL launch(cl_command_queue queue, cl_kernel kernel, cl_uint dims, const size_t* offset,
                          const size_t* global, const size_t* local, cl_uint count, const cl_event* after,
                          cl_event* event) {
  const Kernel known = find(kernel);
  const auto as_it_is = [&] {
    return runtime.clEnqueueNDRangeKernel(queue, kernel, dims, offset, global, local, count, after, event);
  };
  if (!known.presented || dims < 1 || dims > 3 || !global) return as_it_is();
  std::array<std::size_t, 3> items{1, 1, 1}, group{1, 1, 1}, place{0, 0, 0};
  for (cl_uint i = 0; i < dims; ++i) {
    items[i] = global[i];
    if (local) group[i] = local[i];
    if (offset) place[i] = offset[i];
    if (group[i] == 0 || group[i] > kMaxWorkGroup) return CL_INVALID_WORK_GROUP_SIZE;
  }
  if (group[0] * group[1] * group[2] > kMaxWorkGroup) return CL_INVALID_WORK_GROUP_SIZE;
  // Nothing to compute, which the runtime knows how to enqueue.
  if (!known.flat || items[0] == 0 || items[1] == 0 || items[2] == 0) return as_it_is();
  if (!local)  // The largest power of two up to 64, which a driver might choose.
    for (group[0] = 64; items[0] % group[0] != 0;) group[0] /= 2;
  const std::size_t whole = group[0] * group[1] * group[2];
  for (std::size_t i = 0; i < 3; ++i) {
    if (items[i] % group[i] != 0) return CL_INVALID_WORK_GROUP_SIZE;
    if (place[i] >> (64 - kOffsetShift) != 0) return CL_INVALID_GLOBAL_OFFSET;
    place[i] = place[i] << kOffsetShift | std::size_t{dims} << kSizeBits | group[i];
  }
  const std::size_t flat_local[] = {whole, 1, 1};
  const std::size_t flat_global[] = {items[0] / group[0] * whole, items[1] / group[1], items[2] / group[2]};
  return runtime.clEnqueueNDRangeKernel(queue, kernel, 3, place.data(), &flat_global[0], &flat_local[0], count, after,
                                        event);
}
/// A launch of one work-item, which tells a flat kernel its sizes: without them it would divide by 0.
cl_int CL_API_CALL task(cl_command_queue queue, cl_kernel kernel, cl_uint count, const cl_event* after,
                        cl_event* event) {
  const std::size_t one = 1;
  return find(kernel).flat ? launch(queue, kernel, 1, nullptr, &one, &one, count, after, event)
                           : runtime.clEnqueueTask(queue, kernel, count, after, event);
}

}  // namespace

void install_programs(cl_icd_dispatch& table) {
  table.clCreateProgramWithSource = create_program_with_source;
  table.clCreateProgramWithBinary = create_program_with_binary;
  table.clCreateProgramWithIL = create_program_with_il;
  table.clLinkProgram = link_program;
  table.clGetProgramInfo = get_program_info;
  table.clCreateKernel = create_kernel;
  table.clCloneKernel = clone_kernel;
  table.clCreateKernelsInProgram = create_kernels_in_program;
  table.clRetainKernel = retain_kernel;
  table.clReleaseKernel = release_kernel;
  table.clGetKernelWorkGroupInfo = get_kernel_work_group_info;
  table.clGetKernelSubGroupInfo = get_kernel_sub_group_info;
  table.clEnqueueNDRangeKernel = launch;
  table.clEnqueueTask = task;
}

}  // namespace tenon::gpu_layer
