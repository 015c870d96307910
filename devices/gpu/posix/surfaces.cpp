// SPDX-License-Identifier: Apache-2.0
// The ways of VA-API's surfaces to the device.
#include <tenon/devices/gpu/remote/surfaces.hpp>

#include <cstdio>
#include <optional>
#include <string>
#include <utility>

#include <tenon/core/error.hpp>
#include <tenon/core/pixel_format.hpp>
#include <tenon/devices/gpu/public/remote_properties.hpp>
#include <tenon/devices/gpu/remote/remote_copies.hpp>
#include <tenon/devices/gpu/remote/va_library.hpp>
#include <tenon/frameworks/dmabuf/dmabuf.hpp>
#include <tenon/frameworks/opencl/context.hpp>
#include <tenon/frameworks/opencl/external.hpp>
#include <tenon/frameworks/opencl/sharing.hpp>
#include <tenon/runtime/exception.hpp>

namespace tenon::inline v1::gpu_device {
namespace {

/// Samples of a plane's DRM format; nothing for formats that no tensor has.
struct Samples {
  ElementType type;
  std::size_t channels;
};
std::optional<Samples> samples_of(std::uint32_t format) {
  struct Known {
    std::uint32_t format;
    Samples samples;
  };
  constexpr ElementType kByte = ElementType::kU8, kWord = ElementType::kU16;
  constexpr Known kKnown[] = {{fourcc('R', '8', ' ', ' '), {kByte, 1}}, {fourcc('G', 'R', '8', '8'), {kByte, 2}},
                              {fourcc('R', 'G', '8', '8'), {kByte, 2}}, {fourcc('R', '1', '6', ' '), {kWord, 1}},
                              {fourcc('G', 'R', '3', '2'), {kWord, 2}}, {fourcc('R', 'G', '3', '2'), {kWord, 2}},
                              {fourcc('X', 'R', '2', '4'), {kByte, 4}}, {fourcc('A', 'R', '2', '4'), {kByte, 4}},
                              {fourcc('X', 'B', '2', '4'), {kByte, 4}}, {fourcc('A', 'B', '2', '4'), {kByte, 4}}};
  for (const Known& known : kKnown)
    if (known.format == format) return known.samples;
  return std::nullopt;
}

std::string text_of(std::uint32_t format) {
  char text[16];
  std::snprintf(text, sizeof text, "0x%08x", format);
  return text;
}

/// The memory behind a plane, also as a remote tensor.
class SurfaceMemory final : public Memory, public CopiedMemory {
 public:
  /// @param whole  The memory of the whole dma-buf.
  SurfaceMemory(std::shared_ptr<const Gpu> gpu, Ref<Memory> whole, const VaSurface& surface)
      : Memory(dmabuf::context(), dmabuf::kDmabufMemory, properties_of(*whole)),
        gpu_(std::move(gpu)),
        whole_(std::move(whole)),
        surface_(surface) {}
  ~SurfaceMemory() override { drop_views(); }
  int borrow_fd() const override { return whole_->borrow_fd(); }
  std::string device_name() const override { return gpu_->device_name(); }
  AnyMap remote_params() const override {
    AnyMap params = params_of(surface_);
    params[intel_gpu::shared_mem_type.name()] = intel_gpu::SharedMemType::VA_SURFACE;
    params[intel_gpu::ocl_context.name()] = static_cast<void*>(gpu_->native().context.get());
    return params;
  }
  Tensor seen(const Tensor& self) const override { return Tensor(self.info(), whole_, self.offset()); }

 private:
  static Properties properties_of(const Memory& whole) {
    Properties properties;
    properties.size_bytes = whole.size_bytes();
    properties.read_only = whole.read_only();
    properties.fd = whole.fd_kind();
    properties.modifier = whole.modifier();
    properties.identity = whole.identity();
    return properties;
  }
  const std::shared_ptr<const Gpu> gpu_;
  const Ref<Memory> whole_;
  const VaSurface surface_;
};

/// A surface is as large as its decoder made it.
class SurfaceLease final : public LeaseState {
 public:
  bool reshape(Tensor& tensor, const Shape& shape) override {
    if (tensor.shape() == shape) return false;
    throw AssertFailure("Cannot call set_shape for Tensor created on top of a VA surface (" +
                        to_string(tensor.shape()) + " to " + to_string(shape) + ")");
  }
};

/// A picture's rows at the surface's pitch. @errors as surface_tensor().
TensorInfo info_of(element::Type type, const Shape& shape, const SurfacePlane& plane, const VaSurface& surface,
                   std::size_t memory_bytes) {
  const std::string what = "GPU: plane " + std::to_string(surface.plane) + " of VA surface " +
                           std::to_string(surface.surface) + " (" + std::to_string(plane.width_px) + "x" +
                           std::to_string(plane.height_px) + " px)";
  const auto samples = samples_of(plane.format);
  if (!samples)
    throw Error(Code::kUnimplemented, what + " has the DRM format " + text_of(plane.format) + ", which no tensor has");
  const std::size_t rank = shape.size(), first = rank == 4 ? 1 : 0;
  if (rank < 2 || rank > 4 || (rank == 4 && shape[0] != 1))
    throw Error(Code::kInvalidArgument, what + ": a tensor over it is [h, w], [h, w, c] or [1, h, w, c], not " +
                                            to_string(shape) + "; the items of a batch are surfaces of their own");
  const std::size_t height = shape[first], width = shape[first + 1], channels = rank > 2 ? shape[first + 2] : 1;
  if (static_cast<ElementType>(type) != samples->type || channels != samples->channels)
    throw Error(Code::kInvalidArgument, what + " has " + std::to_string(samples->channels) + " samples a pixel of " +
                                            std::string(name(samples->type)) + ", not those of " + to_string(shape) +
                                            " of " + type.to_string());
  // 4:2:0 is all that planes of chroma are here.
  const std::size_t half = surface.plane > 0 ? 2 : 1;
  const std::size_t most_wide = (plane.width_px + half - 1) / half, most_high = (plane.height_px + half - 1) / half;
  const std::size_t sample = size_bytes(samples->type), row = width * channels * sample;
  const bool is_in_memory = height == 0 || (plane.pitch >= row && plane.pitch % sample == 0 &&
                                            plane.offset + plane.pitch * (height - 1) + row <= memory_bytes);
  if (width > most_wide || height > most_high || !is_in_memory)
    throw Error(Code::kOutOfRange, what + " has " + std::to_string(most_wide) + "x" + std::to_string(most_high) +
                                       " pixels at a pitch of " + std::to_string(plane.pitch) + " from byte " +
                                       std::to_string(plane.offset) + " on of " + std::to_string(memory_bytes) +
                                       ", which is too small for " + to_string(shape));
  TensorInfo info{type, shape, {}};
  const auto pitch = static_cast<std::ptrdiff_t>(plane.pitch), pixel = static_cast<std::ptrdiff_t>(channels * sample);
  if (rank == 4) info.strides.push_back(pitch * static_cast<std::ptrdiff_t>(height));
  info.strides.push_back(pitch);
  info.strides.push_back(pixel);
  if (rank > 2) info.strides.push_back(static_cast<std::ptrdiff_t>(sample));
  return info;
}

bool imports_dmabufs(const Gpu& gpu) { return opencl::imports(gpu.context(), FdKind::kDmabuf); }
bool has_hosts_memory(const Gpu& gpu) { return gpu.native().coherency == opencl::Coherency::kStanding; }

/// What each way lacks on a device.
std::string missing_on(const Gpu& gpu) {
  std::string sharing, dmabuf;
  opencl::shares(gpu.context(), opencl::PictureApi::kVa, &sharing);
  opencl::imports(gpu.context(), FdKind::kDmabuf, &dmabuf);
  return "By the platform's sharing: " + sharing + ". By a dma-buf: " + dmabuf +
         ". In the host's memory: the device has memory of its own, so a mapped surface would be copied: map it "
         "(vaDeriveImage, vaMapBuffer) and give its planes as tensors";
}

}  // namespace

std::uintptr_t surface_of(const Any& handle) { return handle.as<std::uint32_t>(); }

AnyMap params_of(const VaSurface& surface) {
  return {{intel_gpu::va_device.name(), surface.display},
          {intel_gpu::dev_object_handle.name(), static_cast<std::uint32_t>(surface.surface)},
          {intel_gpu::va_plane.name(), surface.plane}};
}

std::shared_ptr<const Gpu> gpu_for_surfaces(void* display) {
  const auto gpus = all_gpus();
  if (gpus.empty()) throw Error(Code::kUnavailable, "GPU: there is no OpenCL device to share a VADisplay with");
  try {
    Context shared = opencl::make_va_context(display);
    const std::string id = id_of(opencl::device(shared).id);
    return std::make_shared<Gpu>(std::move(shared), id, false);
  } catch (const Error& error) {
    if (error.code() != Code::kUnavailable) throw;  // No platform shares them.
  }
  if (!va_obstacle().empty())
    throw NotImplemented("GPU: a context of a VADisplay: no platform shares its surfaces (" +
                         missing_on(*gpus.front()) + "), and they cannot be handed out as dma-bufs: " + va_obstacle());
  for (const auto& takes : {imports_dmabufs, has_hosts_memory})
    for (const auto& gpu : gpus)
      if (takes(*gpu)) return gpu;
  throw NotImplemented("GPU: a context of a VADisplay is not possible here. " + missing_on(*gpus.front()));
}

Tensor surface_tensor(const std::shared_ptr<const Gpu>& gpu, element::Type type, const Shape& shape,
                      const VaSurface& surface) {
  SurfacePlane plane =
      export_plane(surface.display, static_cast<std::uint32_t>(surface.surface), surface.plane, default_deadline());
  if (plane.modifier != kModifierLinear)
    throw Error(
        Code::kUnimplemented,
        "GPU: the pixels of VA surface " + std::to_string(surface.surface) +
            " are tiled (a DRM modifier), which kernels do not read, and this platform does not share surfaces; "
            "let the decoder make linear ones (VASurfaceAttribDRMFormatModifiers), or copy it (vaGetImage)");
  const Ref<Memory> whole = dmabuf::import(std::move(plane.fd), plane.object_bytes);
  TensorInfo info = info_of(type, shape, plane, surface, whole->size_bytes());
  auto memory = make_ref<SurfaceMemory>(gpu, whole, surface);
  const tenon::v1::View& view = memory->add_view(
      std::make_unique<dmabuf::DmabufView>(dmabuf::context(), memory->read_only() ? Access::kRead : Access::kReadWrite,
                                           UniqueFd(), memory->borrow_fd(), memory->fd_kind() != FdKind::kDmabuf));
  return Tensor(std::move(info), std::move(memory), plane.offset, make_ref<SurfaceLease>(), &view);
}

Tensor direct3d_buffer(const std::shared_ptr<const Gpu>& /*gpu*/, void* /*device*/, element::Type /*type*/,
                       const Shape& /*shape*/, void* /*buffer*/) {
  throw NotImplemented("GPU: remote tensors of SHARED_MEM_TYPE DX_BUFFER: Direct3D 11 exists on Windows only");
}

}  // namespace tenon::inline v1::gpu_device
