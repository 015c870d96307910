// SPDX-License-Identifier: Apache-2.0
// Buffers and textures of Direct3D 11 as remote tensors: memory of frameworks/d3d11, which requests route to the device by the host.
#include <tenon/devices/gpu/remote/surfaces.hpp>

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>

#include <tenon/core/error.hpp>
#include <tenon/core/pixel_format.hpp>
#include <tenon/devices/gpu/public/remote_properties.hpp>
#include <tenon/devices/gpu/remote/remote_copies.hpp>
#include <tenon/devices/gpu/remote/va_library.hpp>
#include <tenon/frameworks/d3d11/d3d11.hpp>
#include <tenon/runtime/exception.hpp>

namespace tenon::inline v1::gpu_device {
namespace {

using intel_gpu::SharedMemType;

/// A d3d11::BufferMemory or d3d11::TextureMemory that is a remote tensor's as well.
template <typename Base>
class Direct3DMemory final : public Base, public CopiedMemory {
 public:
  /// @param params  What a tensor over it says of it.
  template <typename... Given>
  Direct3DMemory(std::shared_ptr<const Gpu> gpu, AnyMap params, Given&&... given)
      : Base(std::forward<Given>(given)...), gpu_(std::move(gpu)), params_(std::move(params)) {}
  std::string device_name() const override { return gpu_->device_name(); }
  AnyMap remote_params() const override {
    AnyMap params = params_;
    params[intel_gpu::ocl_context.name()] = static_cast<void*>(gpu_->native().context.get());
    return params;
  }
  Tensor seen(const Tensor& self) const override { return self; }

 private:
  const std::shared_ptr<const Gpu> gpu_;
  const AnyMap params_;
};

/// What the application made keeps its size.
class Direct3DLease final : public LeaseState {
 public:
  explicit Direct3DLease(const char* what) : what_(what) {}
  bool reshape(Tensor& tensor, const Shape& shape) override {
    if (tensor.shape() == shape) return false;
    throw AssertFailure(std::string("Cannot call set_shape for Tensor created on top of ") + what_ + " (" +
                        to_string(tensor.shape()) + " to " + to_string(shape) + ")");
  }

 private:
  const char* const what_;
};

Context context_of(void* device) { return d3d11::wrap(static_cast<ID3D11Device*>(device)); }

/// A picture's rows at the plane's pitch. @param plane  All of it, as frameworks/d3d11 has it. @errors as surface_tensor().
TensorInfo info_of(element::Type type, const Shape& shape, const Tensor& plane, const VaSurface& surface) {
  const std::size_t rank = shape.size(), first = rank == 4 ? 1 : 0;
  const Shape& found = plane.shape();
  const std::size_t channels = found.size() == 3 ? found[2] : 1;
  const std::string what = "GPU: plane " + std::to_string(surface.plane) + " of the ID3D11Texture2D has " +
                           std::to_string(found[1]) + "x" + std::to_string(found[0]) + " pixels of " +
                           std::to_string(channels) + " " + std::string(name(plane.element_type()));
  if (rank < 2 || rank > 4 || (rank == 4 && shape[0] != 1))
    throw Error(Code::kInvalidArgument, what + "; a tensor over it is [h, w], [h, w, c] or [1, h, w, c], not " +
                                            to_string(shape) + "; the items of a batch are textures of their own");
  if (static_cast<ElementType>(type) != plane.element_type() || (rank > 2 ? shape[first + 2] : 1) != channels)
    throw Error(Code::kInvalidArgument, what + ", not those of " + to_string(shape) + " of " + type.to_string());
  if (shape[first] > found[0] || shape[first + 1] > found[1])
    throw Error(Code::kOutOfRange, what + ", too few for " + to_string(shape));
  TensorInfo info{type, shape, {}};
  const auto pitch = plane.byte_strides().empty()
                         ? static_cast<std::ptrdiff_t>(plane.size_bytes() / std::max<std::size_t>(found[0], 1))
                         : plane.byte_strides()[0];
  const auto sample = static_cast<std::ptrdiff_t>(size_bytes(plane.element_type()));
  if (rank == 4) info.strides.push_back(pitch * static_cast<std::ptrdiff_t>(shape[first]));
  info.strides.push_back(pitch);
  info.strides.push_back(sample * static_cast<std::ptrdiff_t>(channels));
  if (rank > 2) info.strides.push_back(sample);
  return info;
}

}  // namespace

std::string va_obstacle() { return "surfaces of VA-API are of Linux, which this is not"; }

std::uintptr_t surface_of(const Any& handle) { return reinterpret_cast<std::uintptr_t>(handle.as<void*>()); }

AnyMap params_of(const VaSurface& surface) {
  return {{intel_gpu::va_device.name(), surface.display},
          {intel_gpu::dev_object_handle.name(), reinterpret_cast<void*>(surface.surface)},
          {intel_gpu::va_plane.name(), surface.plane}};
}

std::shared_ptr<const Gpu> gpu_for_surfaces(void* display) {
  const auto gpus = all_gpus();
  if (gpus.empty()) throw Error(Code::kUnavailable, "GPU: there is no OpenCL device for an ID3D11Device");
  context_of(display);  // Throws where the device was removed.
  return gpus.front();
}

Tensor surface_tensor(const std::shared_ptr<const Gpu>& gpu, element::Type type, const Shape& shape,
                      const VaSurface& surface) {
  auto* const texture = reinterpret_cast<ID3D11Texture2D*>(surface.surface);
  if (!texture) throw AssertFailure("[GPU] Null DEV_OBJECT_HANDLE: a tensor over a texture needs an ID3D11Texture2D");
  const Context textures = d3d11::textures(context_of(surface.display));
  const Frame frame = d3d11::wrap_texture(textures, texture);
  if (surface.plane >= frame.plane_count())
    throw Error(Code::kOutOfRange, "GPU: plane " + std::to_string(surface.plane) + " of an ID3D11Texture2D of format " +
                                       to_string(frame.info().format) + ", which has " +
                                       std::to_string(frame.plane_count()));
  const Tensor& plane = frame.plane(surface.plane);
  TensorInfo info = info_of(type, shape, plane, surface);
  AnyMap params = params_of(surface);
  params[intel_gpu::shared_mem_type.name()] = SharedMemType::VA_SURFACE;
  auto memory = make_ref<Direct3DMemory<d3d11::TextureMemory>>(gpu, std::move(params), textures,
                                                               d3d11::Com<ID3D11Texture2D>::share(texture), UINT{0});
  return Tensor(std::move(info), std::move(memory), plane.offset(), make_ref<Direct3DLease>("a texture"));
}

Tensor direct3d_buffer(const std::shared_ptr<const Gpu>& gpu, void* device, element::Type type, const Shape& shape,
                       void* buffer) {
  if (!device)
    throw AssertFailure(
        "[GPU] Shared context is required to share this type of memory: create it with CONTEXT_TYPE VA_SHARED and an "
        "ID3D11Device as VA_DEVICE, or as intel_gpu::ocl::D3DContext");
  if (!buffer)
    throw AssertFailure("[GPU] Null or missing DEV_OBJECT_HANDLE: a tensor over a buffer needs an ID3D11Buffer");
  AnyMap params{{intel_gpu::va_device.name(), device},
                {intel_gpu::dev_object_handle.name(), buffer},
                {intel_gpu::shared_mem_type.name(), SharedMemType::DX_BUFFER}};
  auto memory = make_ref<Direct3DMemory<d3d11::BufferMemory>>(
      gpu, std::move(params), context_of(device), d3d11::Com<ID3D11Buffer>::share(static_cast<ID3D11Buffer*>(buffer)));
  const std::size_t needed = checked_size_bytes(type, shape).value_or(SIZE_MAX);
  if (needed > memory->size_bytes())
    throw Error(Code::kOutOfRange, "GPU: the ID3D11Buffer has " + std::to_string(memory->size_bytes()) +
                                       " bytes, and a tensor " + to_string(shape) + " of " + type.to_string() +
                                       " needs " + std::to_string(needed));
  return Tensor(TensorInfo{type, shape, {}}, std::move(memory), 0, make_ref<Direct3DLease>("an ID3D11Buffer"));
}

}  // namespace tenon::inline v1::gpu_device
