// SPDX-License-Identifier: Apache-2.0
// Surfaces as memory: one per object that the driver hands out; and dma-bufs of others seen as surfaces.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include <tenon/core/context.hpp>
#include <tenon/core/memory.hpp>
#include <tenon/core/memory_kind.hpp>
#include <tenon/core/policy.hpp>
#include <tenon/core/ref_counted.hpp>
#include <tenon/core/tensor.hpp>
#include <tenon/frameworks/vaapi/surface.hpp>

namespace tenon {
inline namespace v1 {
namespace vaapi {

/// `Tensor::kind()` of planes of surfaces.
inline constexpr MemoryKind kVaapiMemory{"vaapi"};

namespace detail {

/// The derived image of a surface while it is looked at: mapped once for all readers. @thread any.
class SharedImage {
 public:
  /// The view of the host, through which the surface's first byte has an address; lasts until end().
  /// @errors kFailedPrecondition: the driver's image lies otherwise than what it handed out; those of the driver.
  const View& begin(const Surface& surface, const std::vector<SurfaceLayout::Plane>& planes, Access access);
  void end() noexcept;

 private:
  bool lies_as(const std::vector<SurfaceLayout::Plane>& planes) const;

  std::mutex mutex_;
  std::size_t users_ = 0;
  MappedImage image_;
  std::optional<View> view_;
};

/// A surface with what is known of it. Shared by the memories of its objects, or by the views of memories it lies over.
struct SurfaceState final : RefCounted {
  SurfaceState(Ref<Surface> of, std::uint32_t format, std::uint32_t width, std::uint32_t height,
               std::vector<SurfaceLayout::Plane> lies);
  const Ref<Surface> surface;
  const Ref<SurfaceTimeline> timeline;
  const std::uint32_t fourcc;  ///< VA_FOURCC_*
  const std::uint32_t width_px, height_px;
  const std::vector<SurfaceLayout::Plane> planes;
  SharedImage image;
};

}  // namespace detail

/// One object of a surface. Has a descriptor where the driver hands one out. The first one of a surface keeps the others.
class SurfaceMemory final : public Memory {
 public:
  /// All objects of a surface, in their order. Takes over the descriptors of `layout`.
  /// @errors kInvalidArgument: a descriptor that is no memory.
  static Ref<SurfaceMemory> over(const Context& context, Ref<Surface> surface, SurfaceLayout layout,
                                 const std::shared_ptr<const DeviceIdentity>& exporter);
  ~SurfaceMemory() override { drop_views(); }

  int borrow_fd() const override { return fd_.get(); }
  const Ref<detail::SurfaceState>& state() const { return state_; }
  /// Which object of the surface it is.
  std::size_t object() const { return object_; }
  /// Object `index` of the surface. Precondition: this is the first one.
  Ref<Memory> at(std::size_t index) { return index == 0 ? Ref<Memory>(this) : Ref<Memory>(others_.at(index - 1)); }
  std::size_t object_count() const { return others_.size() + 1; }

 private:
  SurfaceMemory(const Context& context, const Properties& properties, Ref<detail::SurfaceState> state,
                std::size_t object, UniqueFd fd);

  const Ref<detail::SurfaceState> state_;
  const std::size_t object_;
  UniqueFd fd_;
  std::vector<Ref<SurfaceMemory>> others_;
};

/// A dma-buf as part of a surface that was imported over it. Its key tells formats and layouts apart.
class SurfaceView final : public View {
 public:
  SurfaceView(Context context, Access access, std::uint64_t key, Ref<detail::SurfaceState> state, std::size_t object);
  const Ref<detail::SurfaceState>& state() const { return state_; }
  std::size_t object() const { return object_; }

 private:
  const Ref<detail::SurfaceState> state_;
  const std::size_t object_;
};

namespace detail {

/// The surface that a tensor is a plane of, and the object that it lies in.
struct SurfacePart {
  Ref<SurfaceState> state;
  std::size_t object = 0;
};
/// Nothing for memory of others.
std::optional<SurfacePart> find_part(const Tensor& tensor);
SurfacePart part_of(const Tensor& tensor);

/// The CPU's access to a surface through its derived image, which ends with the lease; wraps that of `source`.
/// Precondition: the image has begun.
Lease image_lease(const Tensor& source, Ref<SurfaceState> state);

/// `tensor`, a plane or a part of one, where it lies in an image of its surface. Valid while the image is.
/// @errors kInvalidArgument: no plane of the surface.
Tensor in_image(const Tensor& tensor, const SurfacePart& part, const MappedImage& image);

}  // namespace detail
}  // namespace vaapi
}  // namespace v1
}  // namespace tenon
