// SPDX-License-Identifier: Apache-2.0
// Surfaces: their planes by PRIME, the end of their work, their pixels.
#include <tenon/frameworks/vaapi/surface.hpp>

#include <va/va_drmcommon.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <thread>
#include <utility>

#include <tenon/core/error.hpp>
#include <tenon/frameworks/vaapi/native.hpp>
#include <tenon/frameworks/vaapi/pixel_format.hpp>

namespace tenon {
inline namespace v1 {
namespace vaapi {

TENON_INLINE Ref<Surface> Surface::adopt(Ref<Display> display, VASurfaceID id) {
  return Ref<Surface>(new Surface(std::move(display), id, true, nullptr));
}

TENON_INLINE Ref<Surface> Surface::borrow(Ref<Display> display, VASurfaceID id, std::shared_ptr<const void> keeper) {
  return Ref<Surface>(new Surface(std::move(display), id, false, std::move(keeper)));
}

TENON_INLINE Surface::~Surface() {
  if (owned_) vaDestroySurfaces(display_->handle(), &id_, 1);
}

TENON_INLINE SurfaceLayout Surface::export_layout() const {
  VADRMPRIMESurfaceDescriptor from{};
  constexpr const char* kCall = "vaExportSurfaceHandle";
  const auto ask = [&](std::uint32_t access) {
    return native::call(kCall, vaExportSurfaceHandle, display_->handle(), id_,
                        std::uint32_t{VA_SURFACE_ATTRIB_MEM_TYPE_DRM_PRIME_2},
                        access | VA_EXPORT_SURFACE_SEPARATE_LAYERS, static_cast<void*>(&from));
  };
  SurfaceLayout layout;
  VAStatus status = ask(VA_EXPORT_SURFACE_READ_WRITE);
  if (status == VA_STATUS_ERROR_INVALID_PARAMETER) {  // A surface over memory that may only be read.
    layout.read_only = true;
    status = ask(VA_EXPORT_SURFACE_READ_ONLY);
  }
  native::check(status, kCall, what());
  for (std::uint32_t i = 0; i < std::min<std::uint32_t>(from.num_objects, 4); ++i)
    layout.objects.push_back({UniqueFd(from.objects[i].fd), from.objects[i].size, from.objects[i].drm_format_modifier});
  layout.fourcc = from.fourcc;
  layout.width_px = from.width;
  layout.height_px = from.height;
  for (std::uint32_t i = 0; i < std::min<std::uint32_t>(from.num_layers, 4); ++i) {
    const auto& layer = from.layers[i];
    if (layer.num_planes != 1 || layer.object_index[0] >= layout.objects.size()) {
      throw Error(Code::kInternal, "vaapi: the driver describes plane " + std::to_string(i) + " of " + what() + " as " +
                                       std::to_string(layer.num_planes) + " planes in object " +
                                       std::to_string(layer.object_index[0]) + " of " +
                                       std::to_string(layout.objects.size()));
    }
    layout.planes.push_back({layer.object_index[0], layer.offset[0], layer.pitch[0]});
  }
  return layout;
}

TENON_INLINE bool Surface::busy() const {
  VASurfaceStatus status = VASurfaceReady;
  constexpr const char* kCall = "vaQuerySurfaceStatus";
  native::check(native::call(kCall, vaQuerySurfaceStatus, display_->handle(), id_, &status), kCall, what());
  return status == VASurfaceRendering;
}

TENON_INLINE void Surface::sync(Deadline deadline) const {
  const auto left = std::chrono::duration_cast<std::chrono::nanoseconds>(deadline - Clock::now()).count();
  const auto timeout_ns = static_cast<std::uint64_t>(std::max<decltype(left)>(left, 0));
  const VAStatus status = native::call("vaSyncSurface2", vaSyncSurface2, display_->handle(), id_, timeout_ns);
  if (status != VA_STATUS_ERROR_UNIMPLEMENTED) return native::check(status, "vaSyncSurface2", what());
  // vaSyncSurface would wait without a limit.
  while (busy()) {
    if (Clock::now() >= deadline)
      throw Error(Code::kDeadlineExceeded,
                  "vaapi: " + what() + " was not finished in time; its device is late or gone");
    std::this_thread::sleep_for(std::chrono::microseconds(100));
  }
  native::check(native::call("vaSyncSurface", vaSyncSurface, display_->handle(), id_), "vaSyncSurface", what());
}

TENON_INLINE Surface::Surface(Ref<Display> display, VASurfaceID id, bool owned, std::shared_ptr<const void> keeper)
    : display_(std::move(display)), keeper_(std::move(keeper)), id_(id), owned_(owned) {}

TENON_INLINE SurfaceTimeline::SurfaceTimeline(Ref<Surface> surface)
    : surface_(std::move(surface)), name_("VA surface " + std::to_string(surface_->id())) {}

TENON_INLINE TimelinePoint SurfaceTimeline::next() {
  return TimelinePoint(Ref<Timeline>(this), given_.fetch_add(1, std::memory_order_acq_rel) + 1);
}

TENON_INLINE PointState SurfaceTimeline::query(std::uint64_t value) const {
  if (value <= done_.load(std::memory_order_acquire))
    return is_failure(value) ? PointState::kFailed : PointState::kReached;
  try {
    const std::uint64_t given = given_.load(std::memory_order_acquire);
    if (surface_->busy()) return PointState::kPending;
    settle(given, Clock::now() + std::chrono::seconds(1));  // Does not block: it asks for the outcome.
  } catch (const Error&) {
    return PointState::kFailed;
  }
  return PointState::kReached;
}

TENON_INLINE void SurfaceTimeline::wait(std::uint64_t value, Deadline deadline) const {
  if (value > done_.load(std::memory_order_acquire) || is_failure(value))
    settle(std::max(value, given_.load(std::memory_order_acquire)), deadline);
}

TENON_INLINE void SurfaceTimeline::settle(std::uint64_t given, Deadline deadline) const {
  try {
    surface_->sync(deadline);
  } catch (const Error& error) {
    if (error.code() == Code::kDeadlineExceeded) throw;
    failed_.store(given, std::memory_order_release);
    raise_done(given);
    throw;
  }
  raise_done(given);
}

TENON_INLINE void SurfaceTimeline::raise_done(std::uint64_t value) const {
  std::uint64_t known = done_.load(std::memory_order_relaxed);
  while (known < value && !done_.compare_exchange_weak(known, value, std::memory_order_release)) {
  }
}

namespace detail {

TENON_INLINE bool MappedImage::derive(const Surface& surface) {
  constexpr const char* kCall = "vaDeriveImage";
  const VAStatus status = native::call(kCall, vaDeriveImage, surface.display()->handle(), surface.id(), &image_);
  if (status == VA_STATUS_ERROR_OPERATION_FAILED || status == VA_STATUS_ERROR_UNIMPLEMENTED) return false;
  native::check(status, kCall, surface.what());
  map(surface);
  return true;
}

TENON_INLINE void MappedImage::make(const Surface& surface, std::uint32_t fourcc, std::uint32_t width_px,
                                    std::uint32_t height_px) {
  VAImageFormat format = format_of(surface, fourcc);
  constexpr const char* kCall = "vaCreateImage";
  native::check(native::call(kCall, vaCreateImage, surface.display()->handle(), &format, static_cast<int>(width_px),
                             static_cast<int>(height_px), &image_),
                kCall, "an image for " + surface.what());
  map(surface);
}

TENON_INLINE void MappedImage::end() noexcept {
  if (!display_) return;
  if (bytes_) vaUnmapBuffer(display_->handle(), image_.buf);
  vaDestroyImage(display_->handle(), image_.image_id);
  bytes_ = nullptr;
  display_ = nullptr;
}

TENON_INLINE VAImageFormat MappedImage::format_of(const Surface& surface, std::uint32_t fourcc) {
  const VADisplay display = surface.display()->handle();
  std::vector<VAImageFormat> all(static_cast<std::size_t>(std::max(vaMaxNumImageFormats(display), 0)));
  int count = 0;
  constexpr const char* kCall = "vaQueryImageFormats";
  native::check(native::call(kCall, vaQueryImageFormats, display, all.data(), &count), kCall, surface.what());
  for (const VAImageFormat& format : all)
    if (format.fourcc == fourcc) return format;
  throw Error(Code::kUnimplemented, "vaapi: the driver has no images of the format of " + surface.what());
}

TENON_INLINE void MappedImage::map(const Surface& surface) {
  display_ = surface.display();
  void* address = nullptr;
  constexpr const char* kCall = "vaMapBuffer";
  if (const VAStatus status = native::call(kCall, vaMapBuffer, display_->handle(), image_.buf, &address)) {
    end();
    native::fail(status, kCall, surface.what());
  }
  bytes_ = static_cast<std::byte*>(address);
}

TENON_INLINE Ref<Surface> create_surface(const Ref<Display>& display, const FrameInfo& info,
                                         std::vector<VASurfaceAttrib> attributes) {
  const FormatMapping* mapping = find_mapping(info.format);
  const std::string what = "a surface " + to_string(info.format) + " of " + std::to_string(info.width_px) + "x" +
                           std::to_string(info.height_px);
  if (!mapping || !display->has_format(mapping->va))
    throw Error(Code::kUnimplemented, "vaapi: " + what + ": " + display->vendor() + " has no surfaces of that format");
  VASurfaceAttrib format{};
  format.type = VASurfaceAttribPixelFormat;
  format.flags = VA_SURFACE_ATTRIB_SETTABLE;
  format.value.type = VAGenericValueTypeInteger;
  format.value.value.i = static_cast<int>(mapping->va);
  attributes.push_back(format);
  VASurfaceID id = VA_INVALID_SURFACE;
  constexpr const char* kCall = "vaCreateSurfaces";
  native::check(native::call(kCall, vaCreateSurfaces, display->handle(), unsigned{mapping->rt_format}, info.width_px,
                             info.height_px, &id, 1u, attributes.data(), static_cast<unsigned>(attributes.size())),
                kCall, what);
  return Surface::adopt(display, id);
}

}  // namespace detail
}  // namespace vaapi
}  // namespace v1
}  // namespace tenon
