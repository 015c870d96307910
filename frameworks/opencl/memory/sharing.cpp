// SPDX-License-Identifier: Apache-2.0
// Surfaces of VA-API as images.
#include <tenon/frameworks/opencl/sharing.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>
#include <vector>

#include <tenon/core/error.hpp>
#include <tenon/core/export.hpp>
#include <tenon/core/memory.hpp>
#include <tenon/core/ref_counted.hpp>
#include <tenon/core/timeline.hpp>
#include <tenon/frameworks/opencl/context.hpp>
#include <tenon/frameworks/opencl/device.hpp>
#include <tenon/frameworks/opencl/extensions.hpp>
#include <tenon/frameworks/opencl/external.hpp>
#include <tenon/frameworks/opencl/image.hpp>
#include <tenon/frameworks/opencl/make.hpp>

namespace tenon {
inline namespace v1 {
namespace opencl {

TENON_INLINE bool shares(const Context& context, PictureApi api, std::string* reason) {
  const detail::Native& native = detail::facet(context, "shares").native();
  const Device& device = native.device;
  std::string missing;
  if (api == PictureApi::kD3d11)
    missing =
        device.has("cl_khr_d3d11_sharing")
            ? "cl_khr_d3d11_sharing is not among what Tenon uses; map the texture or the buffer by the host"
            : device.name + " (" + device.platform_name + ") lacks cl_khr_d3d11_sharing, which exists on Windows only";
  else if (!device.has(detail::kVaSharing))
    missing = device.name + " (" + device.platform_name + ") lacks " + detail::kVaSharing;
  else if (!native.extensions.has_surfaces())
    missing = device.name + " (" + device.platform_name + ") has " + detail::kVaSharing + " without its functions";
  else if (!native.va_display)
    missing = "the cl_context was not made of a VADisplay; opencl::make_va_context does";
  const bool possible = missing.empty();
  if (reason) *reason = std::move(missing);
  return possible;
}

namespace detail {

/// The devices that share surfaces of `display`. @param reasons  Gets why a platform shares none.
TENON_INLINE std::vector<cl_device_id> devices_of_display(void* display, std::string& reasons) {
  using DevicesOf = cl_int(CL_API_CALL*)(cl_platform_id, cl_uint, void*, cl_uint, cl_uint, cl_device_id*, cl_uint*);
  constexpr cl_uint kDisplay = 0x4094, kPreferred = 0x4095;  // CL_VA_API_DISPLAY_INTEL, CL_PREFERRED_DEVICES_FOR_...
  std::vector<cl_device_id> found;
  std::vector<Error> failures;
  for (cl_device_id id : find_devices(failures)) {
    const Device device = read_device(id);
    DevicesOf devices_of = nullptr;
    if (device.has(kVaSharing)) look_up(devices_of, device, "clGetDeviceIDsFromVA_APIMediaAdapterINTEL");
    std::array<cl_device_id, 8> shared{};
    cl_uint count = 0;
    const cl_int status = devices_of ? call(devices_of, device.platform, kDisplay, display, kPreferred,
                                            static_cast<cl_uint>(shared.size()), shared.data(), &count)
                                     : CL_DEVICE_NOT_FOUND;
    const auto end = shared.begin() + std::min<std::size_t>(count, shared.size());
    if (status == CL_SUCCESS && std::find(shared.begin(), end, id) != end) {
      found.push_back(id);
      continue;
    }
    reasons += "; " + device.name + " (" + device.platform_name + ") " +
               (devices_of ? "does not share surfaces of this display" : std::string("lacks ") + kVaSharing);
  }
  for (const Error& failure : failures) reasons += "; " + std::string(failure.what());
  return found;
}

/// A plane of a surface. OpenCL has it as long as this lives.
class SurfaceMemory final : public ImageMemory {
 public:
  SurfaceMemory(Context context, const Properties& properties, Ref<Native> native, Handle<cl_mem> image,
                const ImageLayout& layout)
      : ImageMemory(std::move(context), properties, native, std::move(image), layout), native_(std::move(native)) {}
  ~SurfaceMemory() override {
    drop_views();
    if (!taken_) return;
    const cl_mem image = this->image();
    native_->extensions.release_surfaces(native_->handovers.get(), 1, &image, 0, nullptr, nullptr);
    clFlush(native_->handovers.get());
  }
  /// @errors those of acquiring.
  void take() {
    const cl_mem plane = image();
    constexpr const char* kCall = "clEnqueueAcquireVA_APIMediaSurfacesINTEL";
    if (injected()) fail(injected_code(), kCall, "taking a surface");
    const TimelinePoint taken = hand_over(*native_, native_->extensions.acquire_surfaces, kCall, plane, *this);
    taken_ = true;
    hazards().wrote(taken, kNoBytes);
  }

 private:
  Ref<Native> native_;
  bool taken_ = false;
};

}  // namespace detail

TENON_INLINE Context make_va_context(void* display) {
  if (!display) throw Error(Code::kInvalidArgument, "opencl::make_va_context: a null VADisplay");
  std::string reasons;
  const std::vector<cl_device_id> devices = detail::devices_of_display(display, reasons);
  if (devices.empty())
    throw Error(Code::kUnavailable,
                "opencl::make_va_context: no OpenCL device shares the surfaces of this VADisplay" +
                    (reasons.empty() ? std::string("; there is none") : reasons) +
                    "; export a surface as a dma-buf (vaExportSurfaceHandle) and import that, where the device has "
                    "cl_khr_external_memory_dma_buf");
  const auto platform = detail::device_info<cl_platform_id>(devices.front(), CL_DEVICE_PLATFORM);
  constexpr cl_context_properties kDisplay = 0x4097;  // CL_CONTEXT_VA_API_DISPLAY_INTEL
  const cl_context_properties properties[] = {CL_CONTEXT_PLATFORM, reinterpret_cast<cl_context_properties>(platform),
                                              kDisplay, reinterpret_cast<cl_context_properties>(display), 0};
  return detail::make_context(devices.front(), {}, {}, static_cast<const cl_context_properties*>(properties), display);
}

TENON_INLINE Tensor import_va_surface(const Context& context, unsigned int surface, unsigned int plane) {
  ImageContext& images = detail::image_context(context, "import_va_surface");
  const detail::Native& native = images.native();
  if (std::string reason; !shares(context, PictureApi::kVa, &reason))
    throw Error(Code::kUnimplemented, "opencl::import_va_surface: " + reason);
  detail::Handle<cl_mem> image(detail::create(
      "clCreateFromVA_APIMediaSurfaceINTEL",
      [&] { return "plane " + std::to_string(plane) + " of VA surface " + std::to_string(surface); },
      native.extensions.from_surface, native.context.get(), cl_mem_flags{CL_MEM_READ_WRITE}, &surface, cl_uint{plane}));
  const detail::ImageContents contents = detail::contents_of(image.get(), "import_va_surface");
  Memory::Properties properties;
  properties.size_bytes = contents.layout.row_bytes() * contents.layout.height_px;
  properties.identity = {MemoryIdentity::Kind::kHandle, 0, reinterpret_cast<std::uintptr_t>(image.get())};
  auto memory =
      make_ref<detail::SurfaceMemory>(context, properties, images.native_ref(), std::move(image), contents.layout);
  memory->take();
  return Tensor(contents.info, std::move(memory));
}

}  // namespace opencl
}  // namespace v1
}  // namespace tenon
