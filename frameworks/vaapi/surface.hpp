// SPDX-License-Identifier: Apache-2.0
// A VASurfaceID with an owner: its planes by PRIME, the end of its work as a point, and its pixels for the CPU.
#pragma once

#include <va/va.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <tenon/core/fd.hpp>
#include <tenon/core/frame.hpp>
#include <tenon/core/pixel_format.hpp>
#include <tenon/core/policy.hpp>
#include <tenon/core/ref_counted.hpp>
#include <tenon/core/timeline.hpp>
#include <tenon/frameworks/vaapi/display.hpp>

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
  static Ref<Surface> adopt(Ref<Display> display, VASurfaceID id);
  /// Borrows `id`, which stays its owner's; `keeper` may keep it alive.
  static Ref<Surface> borrow(Ref<Display> display, VASurfaceID id, std::shared_ptr<const void> keeper = nullptr);
  ~Surface() override;

  VASurfaceID id() const { return id_; }
  const Ref<Display>& display() const { return display_; }
  std::string what() const { return "surface " + std::to_string(id_); }

  /// Hands all planes out, each in a layer of its own. New descriptors each time.
  /// @errors kInvalidArgument: no such surface; kUnimplemented: the driver hands none out.
  SurfaceLayout export_layout() const;

  /// Whether work on it is still running. @errors kInvalidArgument: its owner has destroyed it.
  bool busy() const;
  /// Waits for all work on it. @errors kDeadlineExceeded; kDataLoss: it could not be decoded; those of the driver.
  void sync(Deadline deadline) const;

 private:
  Surface(Ref<Display> display, VASurfaceID id, bool owned, std::shared_ptr<const void> keeper);

  Ref<Display> display_;
  std::shared_ptr<const void> keeper_;
  VASurfaceID id_;
  bool owned_;
};

/// Work on a surface. VA-API has no numbers for it: a point is reached when nothing runs on the surface, which is not
/// earlier than its own work, and perhaps later. @thread as Timeline.
class SurfaceTimeline final : public Timeline {
 public:
  explicit SurfaceTimeline(Ref<Surface> surface);
  std::string_view name() const override { return name_; }
  /// A point for the work that was given to the driver before this call.
  TimelinePoint next();
  const Ref<Surface>& surface() const { return surface_; }

  PointState query(std::uint64_t value) const override;
  void wait(std::uint64_t value, Deadline deadline) const override;

 private:
  bool is_failure(std::uint64_t value) const { return failed_.load(std::memory_order_acquire) == value; }
  /// @errors as Surface::sync, each time that it is asked.
  void settle(std::uint64_t given, Deadline deadline) const;
  void raise_done(std::uint64_t value) const;

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
  bool derive(const Surface& surface);
  /// Bytes of its own, of the surface's size. @errors those of the driver.
  void make(const Surface& surface, std::uint32_t fourcc, std::uint32_t width_px, std::uint32_t height_px);
  void end() noexcept;

  const VAImage& image() const { return image_; }
  std::byte* bytes() const { return bytes_; }

 private:
  static VAImageFormat format_of(const Surface& surface, std::uint32_t fourcc);
  void map(const Surface& surface);

  Ref<Display> display_;
  VAImage image_{};
  std::byte* bytes_ = nullptr;
};

/// A new surface. @param attributes  More than its format. @errors kUnimplemented: a format that the driver lacks;
/// kResourceExhausted; those of the driver.
Ref<Surface> create_surface(const Ref<Display>& display, const FrameInfo& info,
                            std::vector<VASurfaceAttrib> attributes = {});

}  // namespace detail
}  // namespace vaapi
}  // namespace v1
}  // namespace tenon
