// SPDX-License-Identifier: Apache-2.0
// Finds devices, and asks them.
#include <tenon/devices/gpu/hardware.hpp>

#include <algorithm>
#include <cstdlib>
#include <string_view>
#include <utility>

#include <tenon/core/error.hpp>
#include <tenon/core/host.hpp>
#include <tenon/runtime/exception.hpp>

namespace tenon::inline v1::gpu_device {
namespace {

template <typename T>
T ask(cl_device_id device, cl_device_info key) {
  return client::info<T>(clGetDeviceInfo, "clGetDeviceInfo", device, key);
}

Target target_of(const opencl::Device& device) {
  Target target;
  // For tests: on a CPU the kernels that GPUs get.
  const char* const as = std::getenv("TENON_GPU_KERNELS");
  target.is_cpu = device.is_cpu() && !(as && std::string_view(as) == "gpu");
  target.has_f64 = device.has("cl_khr_fp64");
  target.max_group = ask<std::size_t>(device.id, CL_DEVICE_MAX_WORK_GROUP_SIZE);
  target.local_bytes = ask<cl_ulong>(device.id, CL_DEVICE_LOCAL_MEM_SIZE);
  target.compute_units = std::max<cl_uint>(ask<cl_uint>(device.id, CL_DEVICE_MAX_COMPUTE_UNITS), 1);
  // mma.sync of f16 by f16: since compute capability 8.0.
  constexpr cl_device_info kComputeCapability = 0x4000;  // CL_DEVICE_COMPUTE_CAPABILITY_MAJOR_NV
  if (device.has("cl_nv_device_attribute_query") && ask<cl_uint>(device.id, kComputeCapability) >= 8)
    target.matrices = Target::Matrices::kNvidia;
  // A kernel of three planes takes a pointer, an offset and a pitch of each, and has some other arguments.
  constexpr std::size_t kOthers = 256, kOfItem = 3 * 24, kMost = 32;
  const auto arguments = ask<std::size_t>(device.id, CL_DEVICE_MAX_PARAMETER_SIZE);
  target.most_items = std::clamp<std::size_t>(arguments > kOthers ? (arguments - kOthers) / kOfItem : 1, 1, kMost);
  target.alignment = std::max<std::size_t>(device.base_alignment, 64);
  return target;
}

}  // namespace

Gpu::Gpu(Context context, std::string id, bool shares_queue)
    : context_(std::move(context)), id_(std::move(id)), shares_queue_(shares_queue) {
  auto* buffers = context_.as<opencl::BufferContext>();
  if (!buffers)
    throw Error(Code::kInvalidArgument,
                "GPU: " + (context_ ? std::string(context_->name()) : std::string("a null context")) +
                    " is no context of OpenCL buffers");
  native_ = buffers->native_ref();
  target_ = target_of(native_->device);
  memory_bytes_ = ask<cl_ulong>(native_->device.id, CL_DEVICE_GLOBAL_MEM_SIZE);
  cache_line_bytes_ = ask<cl_uint>(native_->device.id, CL_DEVICE_GLOBAL_MEM_CACHELINE_SIZE);
  if (native_->device.usm)
    set_usm_argument_ = reinterpret_cast<clSetKernelArgMemPointerINTEL_fn>(
        clGetExtensionFunctionAddressForPlatform(native_->device.platform, "clSetKernelArgMemPointerINTEL"));
  library_ = std::make_unique<KernelLibrary>(native_);
  router_.add(host_context());
  router_.add(context_);
}

const std::vector<std::shared_ptr<const Gpu>>& all_gpus() {
  static const auto* const all = [] {
    auto* found = new std::vector<std::shared_ptr<const Gpu>>;  // Tensors may outlive static objects.
    for (const cl_device_id device : client::all_devices()) {
      try {
        found->push_back(std::make_shared<Gpu>(opencl::make_context(device), std::to_string(found->size()), false));
      } catch (const Error&) {  // A device whose driver cannot make a context is none.
      }
    }
    return found;
  }();
  return *all;
}

std::shared_ptr<const Gpu> find_gpu(const std::string& id) {
  const auto& all = all_gpus();
  if (all.empty())
    throw Error(Code::kUnavailable,
                "GPU: no OpenCL platform with a device is installed: install the driver of the GPU, or pocl-opencl-icd "
                "for the CPU, or name a driver in OCL_ICD_VENDORS");
  if (id.empty()) return all.front();
  std::string ids;
  for (const auto& gpu : all) {
    if (gpu->id() == id) return gpu;
    ids += (ids.empty() ? "" : ", ") + gpu->id();
  }
  throw Error(Code::kInvalidArgument, "GPU: there is no device \"" + id + "\"; there are: " + ids);
}

}  // namespace tenon::inline v1::gpu_device
