// SPDX-License-Identifier: Apache-2.0
// Finds devices, and asks them.
#include <tenon/devices/gpu/hardware.hpp>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <mutex>
#include <string_view>
#include <utility>

#include <tenon/core/error.hpp>
#include <tenon/core/host.hpp>
#include <tenon/core/requirements.hpp>
#include <tenon/runtime/exception.hpp>

namespace tenon::inline v1::gpu_device {
namespace {

template <typename T>
T ask(cl_device_id device, cl_device_info key) {
  return client::info<T>(clGetDeviceInfo, "clGetDeviceInfo", device, key);
}

/// Work-items whose matrices the device multiplies as one: the least that a sub-group has. 0: it has no such hardware.
std::size_t multiplying_sub_group(const opencl::Device& device) {
  if (!device.has("cl_intel_subgroup_matrix_multiply_accumulate") || !device.has("cl_intel_required_subgroup_size"))
    return 0;
  const auto sizes = client::info_list<std::size_t>(clGetDeviceInfo, "clGetDeviceInfo", device.id,
                                                    cl_device_info{CL_DEVICE_SUB_GROUP_SIZES_INTEL});
  const auto least = std::min_element(sizes.begin(), sizes.end());
  return least != sizes.end() && (*least == 8 || *least == 16) ? *least : 0;
}

Target target_of(const opencl::Device& device) {
  Target target;
  // For tests: on a CPU the kernels that GPUs get, those with sub-groups of 8 or 16, with built-in dot products, or with fragments.
  const char* const given = std::getenv("TENON_GPU_KERNELS");
  const std::string_view as = given ? given : "";
  target.imitates_sub_groups = device.is_cpu() && (as == "sub_groups_8" || as == "sub_groups_16");
  target.imitates_dots = device.is_cpu() && as == "dot_products";
  target.imitates_fragments = device.is_cpu() && as == "fragments";
  target.is_cpu = device.is_cpu() && as != "gpu" && !target.imitates_sub_groups && !target.imitates_dots &&
                  !target.imitates_fragments;
  target.has_f64 = device.has("cl_khr_fp64");
  target.max_group = ask<std::size_t>(device.id, CL_DEVICE_MAX_WORK_GROUP_SIZE);
  target.local_bytes = ask<cl_ulong>(device.id, CL_DEVICE_LOCAL_MEM_SIZE);
  target.compute_units = std::max<cl_uint>(ask<cl_uint>(device.id, CL_DEVICE_MAX_COMPUTE_UNITS), 1);
  target.vector_floats = ask<cl_uint>(device.id, CL_DEVICE_NATIVE_VECTOR_WIDTH_FLOAT) >= 16 ? 16 : 8;
  // mma.sync of f16 by f16: since compute capability 8.0.
  constexpr cl_device_info kComputeCapability = 0x4000;  // CL_DEVICE_COMPUTE_CAPABILITY_MAJOR_NV
  const cl_uint capability =
      device.has("cl_nv_device_attribute_query") ? ask<cl_uint>(device.id, kComputeCapability) : 0;
  if (capability >= 8) target.matrices = Target::Matrices::kNvidia;
  target.has_warpgroups = capability == 9;
  // Compute capability 6.0 lacks dp4a; 6.1 has it.
  if (capability >= 7)
    target.dots = Target::Dots::kNvidia;
  else if (target.imitates_dots || device.has("cl_khr_integer_dot_product"))
    target.dots = Target::Dots::kExtension;
  target.sub_group = target.imitates_sub_groups ? (as == "sub_groups_8" ? 8 : 16) : multiplying_sub_group(device);
  if (target.sub_group > 0) target.matrices = Target::Matrices::kIntel;
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
  if (native_->device.usm) client::look_up(set_usm_argument_, native_->device, "clSetKernelArgMemPointerINTEL");
  command_buffers_ = command_buffer_calls(native_->device);
  library_ = std::make_unique<KernelLibrary>(native_);
  router_.add(host_context());
  router_.add(context_);
}

std::shared_ptr<const DeviceBuffer> Gpu::make_buffer(std::size_t bytes, const void* from, const char* what,
                                                     TwinUse use) const {
  auto made = std::make_shared<DeviceBuffer>();
  made->size_bytes = std::max<std::size_t>(bytes, 1);
  if (Twin* const twin = this->twin()) {
    made->shared = twin->allocate(made->size_bytes, use);
    made->buffer = client::Handle<cl_mem>::retain(made->shared->buffer(), what);
    made->address = twin->address_of(made->buffer.get());
    if (from && bytes)
      client::check(client::call(clEnqueueWriteBuffer, native_->transfers.get(), made->buffer.get(), cl_bool{CL_TRUE},
                                 std::size_t{0}, bytes, from, cl_uint{0}, kNoEvents, kNoEvent),
                    "clEnqueueWriteBuffer", what);
  } else {
    const bool has_bytes = from && bytes;
    made->buffer = client::make_buffer(*native_, CL_MEM_READ_WRITE | (has_bytes ? CL_MEM_COPY_HOST_PTR : 0),
                                       made->size_bytes, has_bytes ? const_cast<void*>(from) : nullptr, what);
  }
  count_memory(made->buffer.get(), made->size_bytes);
  return made;
}

Tensor Gpu::make_host_tensor(element::Type type, const Shape& shape) const {
  const auto size = checked_size_bytes(type, shape);
  // A device with memory of its own gets what users fill moved at every inference.
  if (!size || *size == 0 || native_->coherency != opencl::Coherency::kStanding) return Tensor(type, shape);
  Requirements wanted = context_->requirements();
  wanted.size_bytes = *size;
  if (context_.as<opencl::BufferContext>()->gives_host_memory()) {
    Tensor made(TensorInfo{type, shape, {}}, context_->allocate(wanted));
    count_memory(opencl::buffer(made), *size);
    return made;
  }
  // The platform does not say when a buffer is gone, so the memory is the host's, which the device takes as it does users' own.
  return Tensor(TensorInfo{type, shape, {}}, host_context()->allocate(wanted));
}

std::shared_ptr<Twin> Gpu::use_twin(std::string* why) const {
  std::call_once(twin_once_, [this] {
    twin_ = find_twin(context_, why_no_twin_);
    used_twin_.store(twin_.get(), std::memory_order_release);
  });
  if (why) *why = why_no_twin_;
  return twin_;
}

void Gpu::count_memory(cl_mem buffer, std::size_t bytes) const {
  struct Held {
    std::shared_ptr<std::atomic<std::uint64_t>> all;
    std::size_t bytes;
  };
  auto held = std::make_unique<Held>(Held{held_, bytes});
  const cl_int told = client::call(
      clSetMemObjectDestructorCallback, buffer,
      [](cl_mem, void* data) {
        const std::unique_ptr<Held> own(static_cast<Held*>(data));
        *own->all -= own->bytes;
      },
      static_cast<void*>(held.get()));
  if (!native_->tells_of_release && told == CL_INVALID_OPERATION) return;
  client::check(told, "clSetMemObjectDestructorCallback", "counting a buffer");
  *held_ += bytes;
  (void)held.release();  // The callback's.
}

client::Handle<cl_command_queue> make_queue(const Gpu& gpu, bool has_times, hint::Priority priority,
                                            hint::Priority throttle) {
  const cl_command_queue_properties properties = has_times ? CL_QUEUE_PROFILING_ENABLE : 0;
  const cl_device_id device = gpu.native().device.id;
  if (has_times && !(ask<cl_command_queue_properties>(device, CL_DEVICE_QUEUE_PROPERTIES) & CL_QUEUE_PROFILING_ENABLE))
    throw Error(Code::kUnimplemented, "GPU: queues of " + gpu.native().device.name +
                                          " do not time their commands (no CL_QUEUE_PROFILING_ENABLE in "
                                          "CL_DEVICE_QUEUE_PROPERTIES): leave PERF_COUNT off");
  std::vector<cl_queue_properties> list{CL_QUEUE_PROPERTIES, properties};
  const auto hint = [&](hint::Priority wanted, const char* extension, cl_queue_properties key, const char* property) {
    if (wanted == hint::Priority::MEDIUM) return;
    if (!gpu.native().device.has(extension) || gpu.native().device.version < 20 || !client::newer_calls().make_queue)
      throw Error(Code::kUnimplemented, std::string("GPU: ") + property + " is not MEDIUM, and " +
                                            gpu.native().device.name + " has no " + extension + ": leave it at MEDIUM");
    // Both extensions have 1 for the highest, 2, and 4 for the lowest.
    list.insert(list.end(), {key, cl_queue_properties{wanted == hint::Priority::HIGH ? 1u : 4u}});
  };
  hint(priority, "cl_khr_priority_hints", CL_QUEUE_PRIORITY_KHR, "GPU_QUEUE_PRIORITY");
  hint(throttle, "cl_khr_throttle_hints", CL_QUEUE_THROTTLE_KHR, "GPU_QUEUE_THROTTLE");
  if (list.size() == 2) return client::make_queue(gpu.native(), properties);
  list.push_back(0);
  return client::Handle<cl_command_queue>(client::create(
      "clCreateCommandQueueWithProperties", [&] { return "making a queue for " + gpu.native().device.name; },
      client::newer_calls().make_queue, gpu.native().context.get(), device,
      static_cast<const cl_queue_properties*>(list.data())));
}

namespace {

/// The parts of a device: those that share the fastest memory, as tiles do; where the device is one such part, halves.
std::vector<cl_device_id> parts_of(const Gpu& gpu) {
  const auto split = [&](std::vector<cl_device_partition_property> how) {
    how.push_back(0);
    std::vector<cl_device_id> parts;
    cl_uint count = 0;
    const cl_device_id whole = gpu.native().device.id;
    if (client::call(clCreateSubDevices, whole, static_cast<const cl_device_partition_property*>(how.data()),
                     cl_uint{0}, static_cast<cl_device_id*>(nullptr), &count) != CL_SUCCESS ||
        count < 2)
      return parts;
    parts.resize(count);
    client::check(client::call(clCreateSubDevices, whole, static_cast<const cl_device_partition_property*>(how.data()),
                               count, parts.data(), static_cast<cl_uint*>(nullptr)),
                  "clCreateSubDevices", "dividing " + gpu.native().device.name);
    return parts;
  };
  auto parts = split({CL_DEVICE_PARTITION_BY_AFFINITY_DOMAIN, CL_DEVICE_AFFINITY_DOMAIN_NEXT_PARTITIONABLE});
  const auto half = static_cast<cl_device_partition_property>(gpu.compute_units() / 2);
  if (parts.empty() && half > 0) parts = split({CL_DEVICE_PARTITION_EQUALLY, half});
  return parts;
}

/// The sub-devices of one device, made when they are first asked for; they live as long as the process, as all devices do.
const std::vector<std::shared_ptr<const Gpu>>& parts_as_gpus(const Gpu& whole) {
  static std::mutex mutex;
  static auto* const known = new std::map<std::string, std::vector<std::shared_ptr<const Gpu>>>;
  const std::lock_guard lock(mutex);
  const auto [found, is_new] = known->try_emplace(whole.id());
  if (is_new)
    for (const cl_device_id part : parts_of(whole))
      found->second.push_back(std::make_shared<Gpu>(opencl::make_context(part),
                                                    whole.id() + "." + std::to_string(found->second.size()), false));
  return found->second;
}

}  // namespace

namespace {

/// The devices that work, and why others do not, which is asked again the next time.
struct Probed {
  std::vector<std::shared_ptr<const Gpu>> gpus;
  std::vector<Error> failures;
  std::string failure_text() const {
    std::string text;
    for (const Error& failure : failures) text += (text.empty() ? "" : "; ") + std::string(failure.what());
    return text;
  }
};

/// The device with the least number from `wanted` on that no other has: where a platform did not answer before, others came
/// forward.
std::string free_id(const std::vector<std::shared_ptr<const Gpu>>& known, std::size_t wanted) {
  const auto is_taken = [&](const std::string& id) {
    return std::any_of(known.begin(), known.end(), [&](const auto& gpu) { return gpu->id() == id; });
  };
  while (is_taken(std::to_string(wanted))) ++wanted;
  return std::to_string(wanted);
}

Probed probe() {
  static std::mutex mutex;
  static auto* const known = new Probed;  // Tensors may outlive static objects.
  static bool is_whole = false;
  const std::lock_guard lock(mutex);
  if (is_whole) return *known;
  known->failures.clear();
  const std::vector<cl_device_id> devices = client::find_devices(known->failures);
  for (std::size_t i = 0; i < devices.size(); ++i) {
    const auto is_same = [&](const auto& gpu) { return gpu->native().device.id == devices[i]; };
    if (std::any_of(known->gpus.begin(), known->gpus.end(), is_same)) continue;
    try {
      known->gpus.push_back(std::make_shared<Gpu>(opencl::make_context(devices[i]), free_id(known->gpus, i), false));
    } catch (const Error& error) {
      known->failures.push_back(error);
    }
  }
  std::sort(known->gpus.begin(), known->gpus.end(),
            [](const auto& a, const auto& b) { return std::stoul(a->id()) < std::stoul(b->id()); });
  is_whole = known->failures.empty();
  return *known;
}

}  // namespace

std::vector<std::shared_ptr<const Gpu>> all_gpus() {
  Probed probed = probe();
  if (!probed.gpus.empty() || probed.failures.empty()) return std::move(probed.gpus);
  const Error& first = probed.failures.front();
  throw Error(Code::kUnavailable,
              "GPU: no OpenCL device can be used; the next call looks again: " + probed.failure_text(),
              first.native_api(), first.native_code());
}

std::string id_of(cl_device_id device) {
  while (device) {
    for (const auto& known : probe().gpus)
      if (known->native().device.id == device) return known->id();
    device = ask<cl_device_id>(device, CL_DEVICE_PARENT_DEVICE);
  }
  return {};
}

std::shared_ptr<const Gpu> find_gpu(const std::string& id) {
  const auto all = all_gpus();
  if (all.empty())
    throw Error(Code::kUnavailable,
                "GPU: no OpenCL platform with a device is installed: install the driver of the GPU, or pocl-opencl-icd "
                "for the CPU, or name a driver in OCL_ICD_VENDORS");
  if (id.empty()) return all.front();
  std::string ids;
  for (const auto& gpu : all) {
    if (gpu->id() == id) return gpu;
    if (id.starts_with(gpu->id() + ".")) {
      for (const auto& part : parts_as_gpus(*gpu)) {
        if (part->id() == id) return part;
        ids += (ids.empty() ? "" : ", ") + part->id();
      }
      throw Error(Code::kInvalidArgument, "GPU: there is no device \"" + id + "\"; parts of " +
                                              gpu->native().device.name + ": " +
                                              (ids.empty() ? "none, its driver does not divide it" : ids));
    }
    ids += (ids.empty() ? "" : ", ") + gpu->id();
  }
  const std::string others = probe().failure_text();
  throw Error(Code::kInvalidArgument, "GPU: there is no device \"" + id + "\"; there are: " + ids +
                                          (others.empty() ? "" : "; others fail: " + others));
}

}  // namespace tenon::inline v1::gpu_device
