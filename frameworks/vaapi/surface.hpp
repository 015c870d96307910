// SPDX-License-Identifier: Apache-2.0
// A VASurfaceID with an owner: its planes by PRIME, the end of its work as a point, and its pixels for the CPU.
#pragma once

#include <va/va.h>
#include <va/va_drmcommon.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <tenon/core/error.hpp>
#include <tenon/core/fd.hpp>
#include <tenon/core/frame.hpp>
#include <tenon/core/pixel_format.hpp>
#include <tenon/core/policy.hpp>
#include <tenon/core/ref_counted.hpp>
#include <tenon/core/timeline.hpp>
#include <tenon/frameworks/vaapi/display.hpp>
#include <tenon/frameworks/vaapi/native.hpp>
#include <tenon/frameworks/vaapi/pixel_format.hpp>

namespace tenon {
inline namespace v1 {
namespace vaapi {

/// Where a surface's planes lie, in the objects that the driver hands out. Bytes.
struct SurfaceLayout {
  struct Object {
    UniqueFd fd;
    std::size_t size_bytes = 0;
    std::uint64_t modifier = kModifierLinear;
  };
  struct Plane {
    std::size_t object = 0, offset_bytes = 0, pitch_bytes = 0;
    friend bool operator==(const Plane&, const Plane&) = default;
  };
  std::uint32_t fourcc = 0;  ///< VA_FOURCC_*
  std::uint32_t width_px = 0, height_px = 0;
  std::vector<Object> objects;
  std::vector<Plane> planes;
  bool read_only = false;
};

/// One surface, ours or an application's. @thread any.
class Surface final : public RefCounted {
 public:
  /// Takes over `id`: it is destroyed with the last reference.
  static Ref<Surface> adopt(Ref<Display> display, VASurfaceID id) {
    return Ref<Surface>(new Surface(std::move(display), id, true, nullptr));
  }
  /// Borrows `id`, which stays its owner's; `keeper` may keep it alive.
  static Ref<Surface> borrow(Ref<Display> display, VASurfaceID id, std::shared_ptr<const void> keeper = nullptr) {
    return Ref<Surface>(new Surface(std::move(display), id, false, std::move(keeper)));
  }
  ~Surface() override {
    if (owned_) vaDestroySurfaces(display_->handle(), &id_, 1);
  }

  VASurfaceID id() const { return id_; }
  const Ref<Display>& display() const { return display_; }
  std::string what() const { return "surface " + std::to_string(id_); }

  /// Hands all planes out, each in a layer of its own. New descriptors each time.
  /// @errors kInvalidArgument: no such surface; kUnimplemented: the driver hands none out.
  SurfaceLayout export_layout() const {
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
      layout.objects.push_back(
          {UniqueFd(from.objects[i].fd), from.objects[i].size, from.objects[i].drm_format_modifier});
    layout.fourcc = from.fourcc;
    layout.width_px = from.width;
    layout.height_px = from.height;
    for (std::uint32_t i = 0; i < std::min<std::uint32_t>(from.num_layers, 4); ++i) {
      const auto& layer = from.layers[i];
      if (layer.num_planes != 1 || layer.object_index[0] >= layout.objects.size()) {
        throw Error(Code::kInternal, "vaapi: the driver describes plane " + std::to_string(i) + " of " + what() +
                                         " as " + std::to_string(layer.num_planes) + " planes in object " +
                                         std::to_string(layer.object_index[0]) + " of " +
                                         std::to_string(layout.objects.size()));
      }
      layout.planes.push_back({layer.object_index[0], layer.offset[0], layer.pitch[0]});
    }
    return layout;
  }

  /// Whether work on it is still running. @errors kInvalidArgument: its owner has destroyed it.
  bool busy() const {
    VASurfaceStatus status = VASurfaceReady;
    constexpr const char* kCall = "vaQuerySurfaceStatus";
    native::check(native::call(kCall, vaQuerySurfaceStatus, display_->handle(), id_, &status), kCall, what());
    return status == VASurfaceRendering;
  }
  /// Waits for all work on it. @errors kDeadlineExceeded; kDataLoss: it could not be decoded; those of the driver.
  void sync(Deadline deadline) const {
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

 private:
  Surface(Ref<Display> display, VASurfaceID id, bool owned, std::shared_ptr<const void> keeper)
      : display_(std::move(display)), keeper_(std::move(keeper)), id_(id), owned_(owned) {}

  Ref<Display> display_;
  std::shared_ptr<const void> keeper_;
  VASurfaceID id_;
  bool owned_;
};

/// Work on a surface. VA-API has no numbers for it: a point is reached when nothing runs on the surface, which is not
/// earlier than its own work, and perhaps later. @thread as Timeline.
class SurfaceTimeline final : public Timeline {
 public:
  explicit SurfaceTimeline(Ref<Surface> surface)
      : surface_(std::move(surface)), name_("VA surface " + std::to_string(surface_->id())) {}
  std::string_view name() const override { return name_; }
  /// A point for the work that was given to the driver before this call.
  TimelinePoint next() {
    return TimelinePoint(Ref<Timeline>(this), given_.fetch_add(1, std::memory_order_acq_rel) + 1);
  }
  const Ref<Surface>& surface() const { return surface_; }

  PointState query(std::uint64_t value) const override {
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
  void wait(std::uint64_t value, Deadline deadline) const override {
    if (value > done_.load(std::memory_order_acquire) || is_failure(value))
      settle(std::max(value, given_.load(std::memory_order_acquire)), deadline);
  }

 private:
  bool is_failure(std::uint64_t value) const { return failed_.load(std::memory_order_acquire) == value; }
  /// @errors as Surface::sync, each time that it is asked.
  void settle(std::uint64_t given, Deadline deadline) const {
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
  void raise_done(std::uint64_t value) const {
    std::uint64_t known = done_.load(std::memory_order_relaxed);
    while (known < value && !done_.compare_exchange_weak(known, value, std::memory_order_release)) {
    }
  }

  Ref<Surface> surface_;
  std::string name_;
  mutable std::atomic<std::uint64_t> given_{0}, done_{0}, failed_{0};
};

namespace detail {

/// An image with the driver's bytes mapped. Unmapped and destroyed at the end. @thread one at a time.
class MappedImage {
 public:
  MappedImage() = default;
  MappedImage(const MappedImage&) = delete;
  MappedImage& operator=(const MappedImage&) = delete;
  ~MappedImage() { end(); }

  /// The surface's own bytes. @return false: the driver shows none of this surface. @errors those of the driver.
  bool derive(const Surface& surface) {
    constexpr const char* kCall = "vaDeriveImage";
    const VAStatus status = native::call(kCall, vaDeriveImage, surface.display()->handle(), surface.id(), &image_);
    if (status == VA_STATUS_ERROR_OPERATION_FAILED || status == VA_STATUS_ERROR_UNIMPLEMENTED) return false;
    native::check(status, kCall, surface.what());
    map(surface);
    return true;
  }
  /// Bytes of its own, of the surface's size. @errors those of the driver.
  void make(const Surface& surface, std::uint32_t fourcc, std::uint32_t width_px, std::uint32_t height_px) {
    VAImageFormat format = format_of(surface, fourcc);
    constexpr const char* kCall = "vaCreateImage";
    native::check(native::call(kCall, vaCreateImage, surface.display()->handle(), &format, static_cast<int>(width_px),
                               static_cast<int>(height_px), &image_),
                  kCall, "an image for " + surface.what());
    map(surface);
  }
  void end() noexcept {
    if (!display_) return;
    if (bytes_) vaUnmapBuffer(display_->handle(), image_.buf);
    vaDestroyImage(display_->handle(), image_.image_id);
    bytes_ = nullptr;
    display_ = nullptr;
  }

  const VAImage& image() const { return image_; }
  std::byte* bytes() const { return bytes_; }

 private:
  static VAImageFormat format_of(const Surface& surface, std::uint32_t fourcc) {
    const VADisplay display = surface.display()->handle();
    std::vector<VAImageFormat> all(static_cast<std::size_t>(std::max(vaMaxNumImageFormats(display), 0)));
    int count = 0;
    constexpr const char* kCall = "vaQueryImageFormats";
    native::check(native::call(kCall, vaQueryImageFormats, display, all.data(), &count), kCall, surface.what());
    for (const VAImageFormat& format : all)
      if (format.fourcc == fourcc) return format;
    throw Error(Code::kUnimplemented, "vaapi: the driver has no images of the format of " + surface.what());
  }
  void map(const Surface& surface) {
    display_ = surface.display();
    void* address = nullptr;
    constexpr const char* kCall = "vaMapBuffer";
    if (const VAStatus status = native::call(kCall, vaMapBuffer, display_->handle(), image_.buf, &address)) {
      end();
      native::fail(status, kCall, surface.what());
    }
    bytes_ = static_cast<std::byte*>(address);
  }

  Ref<Display> display_;
  VAImage image_{};
  std::byte* bytes_ = nullptr;
};

/// A new surface. @param attributes  More than its format. @errors kUnimplemented: a format that the driver lacks;
/// kResourceExhausted; those of the driver.
inline Ref<Surface> create_surface(const Ref<Display>& display, const FrameInfo& info,
                                   std::vector<VASurfaceAttrib> attributes = {}) {
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
