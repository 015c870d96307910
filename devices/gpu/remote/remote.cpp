// SPDX-License-Identifier: Apache-2.0
// Contexts around an application's handles, and tensors in them.
#include <tenon/devices/gpu/remote/remote.hpp>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include <tenon/core/error.hpp>
#include <tenon/core/host.hpp>
#include <tenon/devices/gpu/public/remote_properties.hpp>
#include <tenon/devices/gpu/remote/described_memory.hpp>
#include <tenon/devices/gpu/remote/host_memory.hpp>
#include <tenon/devices/gpu/remote/params.hpp>
#include <tenon/devices/gpu/remote/remote_copies.hpp>
#include <tenon/devices/gpu/remote/surfaces.hpp>
#include <tenon/frameworks/opencl/external.hpp>
#include <tenon/frameworks/opencl/sharing.hpp>
#include <tenon/frameworks/opencl/svm.hpp>
#include <tenon/frameworks/opencl/usm.hpp>
#include <tenon/runtime/exception.hpp>
#include <tenon/runtime/remote_tensor.hpp>

namespace tenon::inline v1::gpu_device {
namespace {

using intel_gpu::ContextType;
using intel_gpu::SharedMemType;

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

/// A tensor must not grow in memory that has no room. Where the device made the memory, it makes some more.
class RemoteLease final : public LeaseState {
 public:
  using Remake = std::function<Tensor(const Shape&)>;
  explicit RemoteLease(std::size_t capacity_bytes, Remake remake = {})
      : capacity_bytes_(capacity_bytes), remake_(std::move(remake)) {}
  bool reshape(Tensor& tensor, const Shape& shape) override {
    const auto size = checked_size_bytes(tensor.element_type(), shape);
    const bool is_whole = tensor.offset() == 0 && tensor.is_contiguous();
    if (size && *size > capacity_bytes_ && remake_ && is_whole) {
      Tensor made = remake_(shape);
      const auto* const before = dynamic_cast<const RemoteMemory*>(tensor.memory().get());
      if (auto* const after = dynamic_cast<RemoteMemory*>(made.memory().get()); before && after)
        after->set_ledger(before->own_ledger());
      tensor = std::move(made);
      return true;
    }
    if (!size || *size > capacity_bytes_)
      throw AssertFailure(
          "Cannot call set_shape for Tensor created on top of preallocated memory if shape was increased. (" +
              to_string(shape) + " needs more than " + std::to_string(capacity_bytes_) + " bytes)",
          Code::kOutOfRange);
    return false;
  }

 private:
  const std::size_t capacity_bytes_;
  const Remake remake_;
};

/// A buffer whose host address is hidden, like that of a device's own memory.
class RemoteBuffer final : public opencl::BufferMemory, public CopiedMemory {
 public:
  /// @param imported  What makes the buffer usable, for memory of another API. @param held  What the buffer is, for the device's own.
  RemoteBuffer(std::shared_ptr<const Gpu> gpu, const Properties& properties, client::Handle<cl_mem> buffer,
               cl_mem_flags flags, SharedMemType type, Tensor imported, std::shared_ptr<const DeviceBuffer> held)
      : BufferMemory(gpu->context(), properties, gpu->native_ref(), std::move(buffer), flags, {}),
        gpu_(std::move(gpu)),
        type_(type),
        imported_(std::move(imported)),
        held_(std::move(held)) {}
  std::string device_name() const override { return gpu_->device_name(); }
  AnyMap remote_params() const override {
    AnyMap params{{intel_gpu::shared_mem_type.name(), type_},
                  {intel_gpu::ocl_context.name(), static_cast<void*>(gpu_->native().context.get())},
                  {intel_gpu::mem_handle.name(), static_cast<void*>(buffer())}};
    if (type_ == SharedMemType::CPU_VA)
      params[intel_gpu::cpu_va.name()] =
          client::info<void*>(clGetMemObjectInfo, "clGetMemObjectInfo", buffer(), CL_MEM_HOST_PTR);
    return params;
  }
  Tensor seen(const Tensor& self) const override { return self; }

 private:
  const std::shared_ptr<const Gpu> gpu_;
  const SharedMemType type_;
  const Tensor imported_;
  const std::shared_ptr<const DeviceBuffer> held_;
};

/// Memory of the OpenCL framework's other kinds, which no edge leads from or to. The host reaches USM that is its own.
class RemoteView : public Memory, public CopiedMemory {
 public:
  /// @param whole  All of it, as the framework sees it.
  RemoteView(std::shared_ptr<const Gpu> gpu, MemoryKind kind, const Tensor& whole, SharedMemType type)
      : Memory(gpu->context(), kind, properties_of(whole)), gpu_(std::move(gpu)), whole_(whole), type_(type) {}
  ~RemoteView() override { drop_views(); }
  std::string device_name() const override { return gpu_->device_name(); }
  AnyMap remote_params() const override {
    return {{intel_gpu::shared_mem_type.name(), type_},
            {intel_gpu::ocl_context.name(), static_cast<void*>(gpu_->native().context.get())},
            {intel_gpu::mem_handle.name(), handle()}};
  }
  const Tensor& whole() const { return whole_; }
  const Gpu& gpu() const { return *gpu_; }
  Tensor seen(const Tensor& self) const override { return Tensor(self.info(), whole_.memory(), self.offset()); }

 private:
  virtual void* handle() const = 0;
  static Properties properties_of(const Tensor& whole) {
    Properties properties;
    properties.size_bytes = whole.memory()->size_bytes();
    properties.host = whole.memory()->host();
    properties.identity = whole.memory()->identity();
    return properties;
  }
  const std::shared_ptr<const Gpu> gpu_;
  const Tensor whole_;
  const SharedMemType type_;
};

/// USM or SVM.
class RemotePointer final : public RemoteView {
 public:
  static constexpr MemoryKind kKind{"gpu.pointer"};
  RemotePointer(std::shared_ptr<const Gpu> gpu, const Tensor& bytes, SharedMemType type)
      : RemoteView(std::move(gpu), kKind, bytes, type) {}

 private:
  void* handle() const override { return static_cast<void*>(pointer_of(gpu(), whole())); }
};

/// A 2-D image.
class RemoteImage final : public RemoteView {
 public:
  static constexpr MemoryKind kKind{"gpu.image"};
  /// @param surface  What a tensor over a VA surface says of it; empty: it is an image.
  RemoteImage(std::shared_ptr<const Gpu> gpu, const Tensor& image, AnyMap surface)
      : RemoteView(std::move(gpu), kKind, image,
                   surface.empty() ? SharedMemType::OCL_IMAGE2D : SharedMemType::VA_SURFACE),
        surface_(std::move(surface)) {}
  AnyMap remote_params() const override {
    AnyMap params = RemoteView::remote_params();
    params.insert(surface_.begin(), surface_.end());
    return params;
  }

 private:
  const AnyMap surface_;
  void* handle() const override { return static_cast<void*>(opencl::image(whole())); }
};

/// An image's pixels lie as its driver wants: no other shape fits over them.
class ImageLease final : public LeaseState {
 public:
  bool reshape(Tensor& tensor, const Shape& shape) override {
    if (tensor.shape() == shape) return false;
    throw AssertFailure("Cannot call set_shape for Tensor created on top of an image (" + to_string(tensor.shape()) +
                        " to " + to_string(shape) + ")");
  }
};

/// Rows, columns and samples of a picture's plane, [h, w], [h, w, c] or [1, h, w, c].
struct Plane {
  std::size_t height = 0, width = 0, samples = 1;
};
Plane plane_of(const Shape& shape) {
  const bool has_batch = shape.size() == 4 && shape[0] == 1;
  if (shape.size() != 2 && shape.size() != 3 && !has_batch)
    throw Error(Code::kInvalidArgument, "GPU: a tensor over an image is [h, w], [h, w, c] or [1, h, w, c], not " +
                                            to_string(shape) +
                                            "; the items of a batch are images of their own (set_tensors)");
  const std::size_t first = has_batch ? 1 : 0;
  return {shape[first], shape[first + 1], shape.size() > 2 ? shape[first + 2] : 1};
}

/// @param image  The framework's tensor over all of it.  @param surface  As RemoteImage.
Tensor over_image(const std::shared_ptr<const Gpu>& gpu, element::Type type, const Shape& shape, const Tensor& image,
                  AnyMap surface = {}) {
  const Plane plane = plane_of(shape);
  const Shape& found = image.shape();
  const std::size_t channels = found.size() == 3 ? found[2] : 1;
  const std::string what = "GPU: an image of " + std::to_string(found[1]) + "x" + std::to_string(found[0]) +
                           " pixels of " + std::to_string(channels) + " " + std::string(name(image.element_type())) +
                           (channels == 1 ? " component" : " components");
  const std::string wanted = " a tensor " + to_string(shape) + " of " + type.to_string();
  if (image.element_type() != static_cast<ElementType>(type) || (channels != 1 && channels != plane.samples))
    throw Error(Code::kInvalidArgument,
                what + " does not hold" + wanted +
                    ": it wants that type, and as many components as samples, or one (CL_R with " +
                    std::to_string(plane.samples) + " pixels a column)");
  if (plane.height > found[0] || plane.width * plane.samples > found[1] * channels)
    throw Error(Code::kOutOfRange, what + " is too small for" + wanted + ", which has " + std::to_string(plane.height) +
                                       " rows of " + std::to_string(plane.width * plane.samples));
  const auto sample = static_cast<std::ptrdiff_t>(size_bytes(image.element_type()));
  const auto pitch = image.byte_strides()[0];
  TensorInfo info{type, shape, {}};
  if (static_cast<std::size_t>(pitch) != plane.width * plane.samples * static_cast<std::size_t>(sample)) {
    info.strides.resize(shape.size());
    std::size_t axis = shape.size();
    if (shape.size() > 2) info.strides[--axis] = sample;
    info.strides[--axis] = sample * static_cast<std::ptrdiff_t>(plane.samples);
    info.strides[--axis] = pitch;
    if (axis > 0) info.strides[0] = pitch * static_cast<std::ptrdiff_t>(plane.height);
  }
  return Tensor(std::move(info), make_ref<RemoteImage>(gpu, image, std::move(surface)), 0, make_ref<ImageLease>());
}

Tensor application_image(const Gpu& gpu, void* handle) {
  if (!handle) throw AssertFailure("[GPU] Null MEM_HANDLE: a tensor over an image needs the application's cl_mem");
  return opencl::wrap_image(opencl::images(gpu.context()), static_cast<cl_mem>(handle));
}

/// An image with as many components as the plane has samples, or with one where the platform has no such format.
Tensor new_image(const Gpu& gpu, element::Type type, const Shape& shape) {
  const Plane plane = plane_of(shape);
  const Context images = opencl::images(gpu.context());
  const auto element = static_cast<ElementType>(type);
  const Shape pixels{plane.height, plane.width, plane.samples};
  const bool has_format = !images.as<opencl::ImageContext>()->refusal(element, pixels, opencl::Samples::kNormalised);
  return opencl::allocate_image(images, element,
                                has_format ? pixels : Shape{plane.height, plane.width * plane.samples});
}

Tensor over(const std::shared_ptr<const Gpu>& gpu, element::Type type, const Shape& shape,
            client::Handle<cl_mem> buffer, SharedMemType kind = SharedMemType::OCL_BUFFER, Tensor imported = {},
            std::shared_ptr<const DeviceBuffer> held = nullptr) {
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
  auto memory =
      make_ref<RemoteBuffer>(gpu, properties, std::move(buffer), flags, kind, std::move(imported), std::move(held));
  return Tensor(TensorInfo{type, shape, {}}, std::move(memory), 0, make_ref<RemoteLease>(size));
}

Tensor new_buffer(const std::shared_ptr<const Gpu>& gpu, element::Type type, const Shape& shape) {
  const auto size = checked_size_bytes(type, shape);
  if (!size) throw Error(Code::kInvalidArgument, "GPU: a tensor " + to_string(shape) + " is too large");
  const std::size_t bytes = std::max<std::size_t>(*size, 1);
  auto held = gpu->make_buffer(bytes, nullptr, "a remote tensor", TwinUse::kApplication);
  auto buffer = client::Handle<cl_mem>::retain(held->buffer.get(), "a remote tensor");
  return over(gpu, type, shape, std::move(buffer), SharedMemType::OCL_BUFFER, {}, std::move(held))
      .with_lease(make_ref<RemoteLease>(bytes, [=](const Shape& larger) { return new_buffer(gpu, type, larger); }));
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
    throw AssertFailure(
        (number < 0 ? "[GPU] Exactly one device expected in case of context sharing, and the cl_context has "
                    : "[GPU] OCL_CONTEXT_DEVICE_ID is " + std::to_string(number) + ", and the cl_context has ") +
        (devices.size() == 1 ? "1 device: give 0, or leave it out"
                             : std::to_string(devices.size()) + " devices: give a number from 0 to " +
                                   std::to_string(devices.size() - 1)) +
        ", as OCL_CONTEXT_DEVICE_ID, or a queue of the device as OCL_QUEUE" +
        (number < 0 ? "" : " (Exactly one device expected in case of context sharing)"));
  return devices[static_cast<std::size_t>(number)];
}

/// Host or device memory by pointer: USM where the platform has it, else SVM.
Tensor allocate_pointer(const Gpu& gpu, std::size_t size, bool on_host) {
  const TensorInfo info{element::u8, Shape{std::max<std::size_t>(size, 1)}, {}};
  if (gpu.native().device.usm)
    return opencl::allocate_usm(opencl::usm(gpu.context()), on_host ? opencl::UsmType::kHost : opencl::UsmType::kDevice,
                                info);
  const Context svm = opencl::svm(gpu.context());
  const bool fine = on_host && (gpu.native().device.svm & CL_DEVICE_SVM_FINE_GRAIN_BUFFER) != 0;
  return opencl::allocate_svm(svm, fine ? opencl::SvmGrain::kFine : opencl::SvmGrain::kCoarse, info);
}

/// The application's pointer. OpenCL has no query for SVM pointers, so the application is believed and the memory is coarse-grained.
Tensor application_pointer(const Gpu& gpu, const AnyMap& params, std::size_t size) {
  const Any* given = find(params, intel_gpu::mem_handle.name());
  void* const data = given ? given->as<void*>() : nullptr;
  if (!data) throw AssertFailure("[GPU] Null or missing MEM_HANDLE: a tensor over USM needs the application's pointer");
  const TensorInfo info{element::u8, Shape{size}, {}};
  if (gpu.native().device.usm) return opencl::wrap_usm(opencl::usm(gpu.context()), data, info);
  return opencl::wrap_svm(opencl::svm(gpu.context()), data, opencl::SvmGrain::kCoarse, info);
}

Tensor over_pointer(const std::shared_ptr<const Gpu>& gpu, element::Type type, const Shape& shape, const Tensor& bytes,
                    SharedMemType kind, RemoteLease::Remake remake = {}) {
  return Tensor(TensorInfo{type, shape, {}}, make_ref<RemotePointer>(gpu, bytes, kind), 0,
                make_ref<RemoteLease>(bytes.size_bytes(), std::move(remake)));
}

Tensor new_pointer(const std::shared_ptr<const Gpu>& gpu, element::Type type, const Shape& shape, SharedMemType kind) {
  const auto size = checked_size_bytes(type, shape);
  if (!size) throw Error(Code::kInvalidArgument, "GPU: a tensor " + to_string(shape) + " is too large");
  return over_pointer(gpu, type, shape, allocate_pointer(*gpu, *size, kind == SharedMemType::USM_HOST_BUFFER), kind,
                      [=](const Shape& larger) { return new_pointer(gpu, type, larger, kind); });
}

}  // namespace

std::byte* pointer_of(const Gpu& gpu, const Tensor& tensor) {
  if (tensor.kind() == RemotePointer::kKind) {
    const auto* remote = dynamic_cast<const RemotePointer*>(tensor.memory().get());
    std::byte* const begin = remote ? pointer_of(gpu, remote->whole()) : nullptr;
    return begin ? begin + tensor.offset() : nullptr;
  }
  const auto* facet = tensor.context().as<opencl::FacetContext>();
  if (!facet || facet->native().context.get() != gpu.native().context.get()) return nullptr;
  if (tensor.kind() == opencl::kUsmMemory) return static_cast<std::byte*>(opencl::usm_pointer(tensor));
  if (tensor.kind() == opencl::kSvmMemory && !gpu.native().device.usm)
    return static_cast<std::byte*>(opencl::svm_pointer(tensor));
  return nullptr;
}

Tensor image_of(const Gpu& gpu, const Tensor& tensor) {
  if (tensor.kind() != RemoteImage::kKind) return {};  // A look, where a cast costs 80 ns.
  const auto* remote = dynamic_cast<const RemoteImage*>(tensor.memory().get());
  const bool is_own = remote && remote->gpu().native().context.get() == gpu.native().context.get();
  return is_own ? remote->seen(tensor) : Tensor();
}

AnyMap GpuContext::params() const {
  if (va_display_)
    return {{intel_gpu::context_type.name(), ContextType::VA_SHARED},
            {intel_gpu::ocl_context.name(), static_cast<void*>(gpu_->native().context.get())},
            {intel_gpu::va_device.name(), va_display_}};
  void* const queue = gpu_->shares_queue() ? static_cast<void*>(gpu_->native().queue.get()) : nullptr;
  return {{intel_gpu::context_type.name(), ContextType::OCL},
          {intel_gpu::ocl_context.name(), static_cast<void*>(gpu_->native().context.get())},
          {intel_gpu::ocl_queue.name(), queue}};
}

Tensor GpuContext::create_tensor(element::Type type, const Shape& shape, const AnyMap& params) {
  check_keys(params,
             {intel_gpu::shared_mem_type.name(), intel_gpu::mem_handle.name(), intel_gpu::os_handle.name(),
              intel_gpu::cpu_va.name(), intel_gpu::cpu_va_size.name(), intel_gpu::cpu_va_access.name(),
              intel_gpu::file_descriptor.name(), intel_gpu::file_offset.name(), intel_gpu::dev_object_handle.name(),
              intel_gpu::va_plane.name()},
             "remote tensors");
  const auto size = checked_size_bytes(type, shape);
  if (!size) throw Error(Code::kInvalidArgument, "GPU: a tensor " + to_string(shape) + " is too large");
  const Any* kind = find(params, intel_gpu::shared_mem_type.name());
  if (!kind) {
    if (!params.empty())
      throw Error(Code::kInvalidArgument, "GPU: MEM_HANDLE is given without SHARED_MEM_TYPE, which says what it is");
    return new_buffer(gpu_, type, shape);
  }
  const Any* handle = find(params, intel_gpu::mem_handle.name());
  switch (const auto wanted = kind->as<SharedMemType>()) {
    case SharedMemType::OCL_IMAGE2D:
      return over_image(gpu_, type, shape,
                        handle ? application_image(*gpu_, handle->as<void*>()) : new_image(*gpu_, type, shape));
    case SharedMemType::OCL_BUFFER:
      return over(gpu_, type, shape, application_buffer(*gpu_, params));
    case SharedMemType::BUFFER_FROM_HANDLE: {
      Tensor imported = described_memory(*gpu_, params, *size);
      auto buffer = client::Handle<cl_mem>::retain(opencl::buffer(imported), "imported memory");
      return over(gpu_, type, shape, std::move(buffer), wanted, std::move(imported));
    }
    case SharedMemType::USM_USER_BUFFER:
      return over_pointer(gpu_, type, shape, application_pointer(*gpu_, params, *size), wanted);
    case SharedMemType::USM_HOST_BUFFER:
    case SharedMemType::USM_DEVICE_BUFFER:
      return new_pointer(gpu_, type, shape, wanted);
    case SharedMemType::CPU_VA:
      return over(gpu_, type, shape, host_buffer(*gpu_, params, *size), wanted);
    case SharedMemType::MMAPED_FILE:
      return over(gpu_, type, shape, file_buffer(*gpu_, params, *size), wanted);
    case SharedMemType::VA_SURFACE:
      return surface(type, shape, params);
    case SharedMemType::DX_BUFFER: {
      const Any* buffer = find(params, intel_gpu::dev_object_handle.name());
      return direct3d_buffer(gpu_, va_display_, type, shape, buffer ? buffer->as<void*>() : nullptr);
    }
    default:
      throw NotImplemented(
          "GPU: remote tensors of SHARED_MEM_TYPE " + kind->to_text() +
          "; OCL_BUFFER, OCL_IMAGE2D, USM_USER_BUFFER, USM_HOST_BUFFER, USM_DEVICE_BUFFER, BUFFER_FROM_HANDLE, CPU_VA, "
          "MMAPED_FILE and VA_SURFACE work");
  }
}

/// A plane of a VA surface: an image of the platform's sharing, or the memory behind it.
Tensor GpuContext::surface(element::Type type, const Shape& shape, const AnyMap& params) {
  if (!va_display_)
    throw AssertFailure(
        "[GPU] Shared context is required to share this type of memory: create it with CONTEXT_TYPE VA_SHARED and "
        "VA_DEVICE, or as intel_gpu::ocl::VAContext");
  const Any* handle = find(params, intel_gpu::dev_object_handle.name());
  if (!handle)
    throw AssertFailure("[GPU] No parameter DEV_OBJECT_HANDLE: a tensor over a VA surface needs its VASurfaceID");
  const Any* plane = find(params, intel_gpu::va_plane.name());
  const VaSurface wanted{va_display_, surface_of(*handle), plane ? plane->as<std::uint32_t>() : 0};
  if (!gpu_->native().va_display) return surface_tensor(gpu_, type, shape, wanted);
  return over_image(gpu_, type, shape,
                    opencl::import_va_surface(opencl::images(gpu_->context()),
                                              static_cast<std::uint32_t>(wanted.surface), wanted.plane),
                    params_of(wanted));
}

Tensor GpuContext::create_host_tensor(element::Type type, const Shape& shape) {
  return gpu_->make_host_tensor(type, shape);
}

std::shared_ptr<GpuContext> make_context(const AnyMap& params) {
  check_keys(params,
             {intel_gpu::context_type.name(), intel_gpu::ocl_context.name(), intel_gpu::ocl_queue.name(),
              intel_gpu::ocl_context_device_id.name(), intel_gpu::va_device.name(), intel_gpu::tile_id.name()},
             "contexts");
  const Any* tile = find(params, intel_gpu::tile_id.name());
  if (tile && tile->as<int>() != -1 && tile->as<int>() != 0)
    throw Error(
        Code::kUnimplemented,
        "GPU: TILE_ID " + tile->to_text() +
            ": contexts are of whole devices (-1, 0); a part of a device is \"GPU.0.1\", or a cl_context of your "
            "sub-device (clCreateSubDevices)");
  const Any* type = find(params, intel_gpu::context_type.name());
  if (!type) throw AssertFailure("[GPU] No parameter CONTEXT_TYPE found in parameters map");
  if (type->as<ContextType>() == ContextType::VA_SHARED) {
    const Any* display = find(params, intel_gpu::va_device.name());
    if (!display || !display->as<void*>())
      throw AssertFailure("[GPU] Can't create shared VA/DX context as user handle is nullptr!");
    return std::make_shared<GpuContext>(gpu_for_surfaces(display->as<void*>()), display->as<void*>());
  }
  if (type->as<ContextType>() != ContextType::OCL)
    throw NotImplemented("GPU: contexts of CONTEXT_TYPE " + type->to_text() + "; OCL and VA_SHARED work");
  const Any* given = find(params, intel_gpu::ocl_context.name());
  auto* const context = given ? static_cast<cl_context>(given->as<void*>()) : nullptr;
  if (!context) throw AssertFailure("[GPU] Can't create shared OCL context as user handle is nullptr!");
  const Any* queue = find(params, intel_gpu::ocl_queue.name());
  auto* const shared = queue ? static_cast<cl_command_queue>(queue->as<void*>()) : nullptr;
  const Any* number = find(params, intel_gpu::ocl_context_device_id.name());
  Context wrapped = shared ? opencl::wrap(context, shared)
                           : opencl::wrap_device(context, device_of(context, number ? number->as<int>() : -1));
  const std::string id = id_of(opencl::device(wrapped).id);
  return std::make_shared<GpuContext>(std::make_shared<Gpu>(std::move(wrapped), id, shared != nullptr));
}

}  // namespace tenon::inline v1::gpu_device
