// SPDX-License-Identifier: Apache-2.0
// Contexts around an application's handles, and tensors in them.
#include <tenon/devices/gpu/remote.hpp>

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include <tenon/core/error.hpp>
#include <tenon/core/host.hpp>
#include <tenon/devices/gpu/public/remote_properties.hpp>
#include <tenon/runtime/exception.hpp>
#include <tenon/runtime/remote_tensor.hpp>

namespace tenon::inline v1::gpu_device {
namespace {

using intel_gpu::ContextType;
using intel_gpu::SharedMemType;

const Any* find(const AnyMap& params, const char* key) {
  const auto found = params.find(key);
  return found == params.end() ? nullptr : &found->second;
}

void check_keys(const AnyMap& params, std::initializer_list<const char*> known, const char* what) {
  for (const auto& [key, value] : params) {
    (void)value;
    const std::string& name = key;
    if (std::any_of(known.begin(), known.end(), [&](const char* each) { return name == each; })) continue;
    std::string all;
    for (const char* each : known) all += (all.empty() ? "" : ", ") + std::string(each);
    throw Error(Code::kNotFound, std::string("GPU: ") + what + " have no parameter " + name + "; known: " + all);
  }
}

/// A tensor must not grow in memory that has no room.
class RemoteLease final : public LeaseState {
 public:
  explicit RemoteLease(std::size_t capacity_bytes) : capacity_bytes_(capacity_bytes) {}
  bool reshape(Tensor& tensor, const Shape& shape) override {
    const auto size = checked_size_bytes(tensor.element_type(), shape);
    if (!size || *size > capacity_bytes_)
      throw AssertFailure(
          "Cannot call set_shape for Tensor created on top of preallocated memory if shape was increased. (" +
              to_string(shape) + " needs more than " + std::to_string(capacity_bytes_) + " bytes)",
          Code::kOutOfRange);
    return false;
  }

 private:
  std::size_t capacity_bytes_;
};

/// A buffer whose host address is hidden, like that of a device's own memory.
class RemoteBuffer final : public opencl::BufferMemory, public RemoteMemory {
 public:
  RemoteBuffer(std::shared_ptr<const Gpu> gpu, const Properties& properties, client::Handle<cl_mem> buffer,
               cl_mem_flags flags)
      : BufferMemory(gpu->context(), properties, gpu->native_ref(), std::move(buffer), flags, {}),
        gpu_(std::move(gpu)) {}
  std::string device_name() const override { return "GPU." + gpu_->id(); }
  AnyMap remote_params() const override {
    return {{intel_gpu::shared_mem_type.name(), SharedMemType::OCL_BUFFER},
            {intel_gpu::ocl_context.name(), static_cast<void*>(gpu_->native().context.get())},
            {intel_gpu::mem_handle.name(), static_cast<void*>(buffer())}};
  }
  void copy_to(const Tensor& self, Tensor& destination) const override {
    std::vector<std::byte> packed(self.size_bytes());
    self.context()->read(self, packed);
    put(packed, destination);
  }
  void copy_from(const Tensor& self, const Tensor& source) override {
    if (!source || source.element_type() != self.element_type() || source.shape() != self.shape())
      throw Error(Code::kInvalidArgument, "GPU: copying " +
                                              (source ? to_string(source) : std::string("an empty tensor")) + " into " +
                                              to_string(self) + ": type and shape must be the same");
    std::vector<std::byte> packed(self.size_bytes());
    if (source.is_host_addressable()) {
      Tensor view(TensorInfo{source.element_type(), source.shape(), {}},
                  HostMemory::borrow(packed.data(), packed.size(), false, {}));
      source.copy_to(view);
    } else {
      source.context()->read(source, packed);
    }
    self.context()->write(self, packed);
  }

 private:
  static void put(std::span<const std::byte> packed, Tensor& destination) {
    if (!destination.is_host_addressable()) return destination.context()->write(destination, packed);
    const Tensor view(TensorInfo{destination.element_type(), destination.shape(), {}},
                      HostMemory::borrow(const_cast<std::byte*>(packed.data()), packed.size(), false, {}));
    view.copy_to(destination);
  }
  const std::shared_ptr<const Gpu> gpu_;
};

Tensor over(const std::shared_ptr<const Gpu>& gpu, element::Type type, const Shape& shape,
            client::Handle<cl_mem> buffer) {
  const auto needed = checked_size_bytes(type, shape);
  const auto size = client::info<std::size_t>(clGetMemObjectInfo, "clGetMemObjectInfo", buffer.get(), CL_MEM_SIZE);
  const auto flags = client::info<cl_mem_flags>(clGetMemObjectInfo, "clGetMemObjectInfo", buffer.get(), CL_MEM_FLAGS);
  if (!needed || *needed > size)
    throw Error(Code::kOutOfRange, "GPU: the buffer has " + std::to_string(size) + " bytes, and a tensor " +
                                       to_string(shape) + " of " + type.to_string() + " needs " +
                                       (needed ? std::to_string(*needed) : std::string("too many")));
  Memory::Properties properties;
  properties.size_bytes = size;
  properties.read_only = (flags & CL_MEM_READ_ONLY) != 0;
  properties.identity = {MemoryIdentity::Kind::kHandle, 0, reinterpret_cast<std::uintptr_t>(buffer.get())};
  auto memory = make_ref<RemoteBuffer>(gpu, properties, std::move(buffer), flags);
  return Tensor(TensorInfo{type, shape, {}}, std::move(memory), 0, make_ref<RemoteLease>(size));
}

client::Handle<cl_mem> application_buffer(const Gpu& gpu, const AnyMap& params) {
  const Any* given = find(params, intel_gpu::mem_handle.name());
  auto* const buffer = given ? static_cast<cl_mem>(given->as<void*>()) : nullptr;
  if (!buffer)
    throw AssertFailure("[GPU] Null or missing MEM_HANDLE: a tensor over a buffer needs the application's cl_mem");
  client::check_mem(gpu.native(), buffer, CL_MEM_OBJECT_BUFFER, "create_tensor");
  return client::Handle<cl_mem>::retain(buffer, "wrapping a buffer");
}

/// A context of several devices has to say which: by its queue, or by number.
cl_device_id device_of(cl_context context, int number) {
  const std::vector<cl_device_id> devices = client::devices_of(context);
  if (number < 0 && devices.size() == 1) return devices.front();
  if (number < 0 || static_cast<std::size_t>(number) >= devices.size())
    throw AssertFailure("[GPU] Exactly one device expected in case of context sharing, but " +
                        std::to_string(devices.size()) + " found; OCL_CONTEXT_DEVICE_ID or OCL_QUEUE says which");
  return devices[static_cast<std::size_t>(number)];
}

}  // namespace

AnyMap GpuContext::params() const {
  void* const queue = gpu_->shares_queue() ? static_cast<void*>(gpu_->native().queue.get()) : nullptr;
  return {{intel_gpu::context_type.name(), ContextType::OCL},
          {intel_gpu::ocl_context.name(), static_cast<void*>(gpu_->native().context.get())},
          {intel_gpu::ocl_queue.name(), queue}};
}

Tensor GpuContext::create_tensor(element::Type type, const Shape& shape, const AnyMap& params) {
  check_keys(params, {intel_gpu::shared_mem_type.name(), intel_gpu::mem_handle.name()}, "remote tensors");
  const Any* kind = find(params, intel_gpu::shared_mem_type.name());
  if (kind) {
    const auto wanted = kind->as<SharedMemType>();
    if (wanted != SharedMemType::OCL_BUFFER)
      throw NotImplemented("GPU: remote tensors of SHARED_MEM_TYPE " + kind->to_text() +
                           "; OCL_BUFFER with a MEM_HANDLE, or no parameters, work");
    return over(gpu_, type, shape, application_buffer(*gpu_, params));
  }
  if (!params.empty())
    throw Error(Code::kInvalidArgument, "GPU: MEM_HANDLE is given without SHARED_MEM_TYPE, which says what it is");
  const auto size = checked_size_bytes(type, shape);
  if (!size) throw Error(Code::kInvalidArgument, "GPU: a tensor " + to_string(shape) + " is too large");
  return over(gpu_, type, shape,
              client::make_buffer(gpu_->native(), CL_MEM_READ_WRITE, std::max<std::size_t>(*size, 1), nullptr,
                                  "a remote tensor"));
}

Tensor GpuContext::create_host_tensor(element::Type type, const Shape& shape) {
  const auto size = checked_size_bytes(type, shape);
  if (!size || *size == 0 || gpu_->native().coherency != opencl::Coherency::kStanding) return Tensor(type, shape);
  Requirements wanted = gpu_->context()->requirements();
  wanted.size_bytes = *size;
  return Tensor(TensorInfo{type, shape, {}}, gpu_->context()->allocate(wanted));
}

std::shared_ptr<GpuContext> make_context(const AnyMap& params) {
  check_keys(params,
             {intel_gpu::context_type.name(), intel_gpu::ocl_context.name(), intel_gpu::ocl_queue.name(),
              intel_gpu::ocl_context_device_id.name(), intel_gpu::va_device.name()},
             "contexts");
  const Any* type = find(params, intel_gpu::context_type.name());
  if (!type) throw AssertFailure("[GPU] No parameter CONTEXT_TYPE found in parameters map");
  if (type->as<ContextType>() != ContextType::OCL)
    throw NotImplemented("GPU: contexts of CONTEXT_TYPE " + type->to_text() + "; OCL works");
  const Any* given = find(params, intel_gpu::ocl_context.name());
  auto* const context = given ? static_cast<cl_context>(given->as<void*>()) : nullptr;
  if (!context) throw AssertFailure("[GPU] Can't create shared OCL context as user handle is nullptr!");
  const Any* queue = find(params, intel_gpu::ocl_queue.name());
  auto* const shared = queue ? static_cast<cl_command_queue>(queue->as<void*>()) : nullptr;
  const Any* number = find(params, intel_gpu::ocl_context_device_id.name());
  Context wrapped = shared ? opencl::wrap(context, shared)
                           : opencl::wrap_device(context, device_of(context, number ? number->as<int>() : -1));
  std::string id = "0";
  for (const auto& known : all_gpus())
    if (known->native().device.id == opencl::device(wrapped).id) id = known->id();
  return std::make_shared<GpuContext>(std::make_shared<Gpu>(std::move(wrapped), id, shared != nullptr));
}

}  // namespace tenon::inline v1::gpu_device
