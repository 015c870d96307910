// SPDX-License-Identifier: Apache-2.0
// Surfaces as memory: one per object that the driver hands out; and dma-bufs of others seen as surfaces.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <tenon/core/context.hpp>
#include <tenon/core/error.hpp>
#include <tenon/core/free_list.hpp>
#include <tenon/core/host.hpp>
#include <tenon/core/memory.hpp>
#include <tenon/core/memory_kind.hpp>
#include <tenon/core/policy.hpp>
#include <tenon/core/ref_counted.hpp>
#include <tenon/core/tensor.hpp>
#include <tenon/core/view_count.hpp>
#include <tenon/frameworks/dmabuf/client.hpp>
#include <tenon/frameworks/vaapi/surface.hpp>

namespace tenon {
inline namespace v1 {
namespace vaapi {

/// `Tensor::kind()` of planes of surfaces.
inline constexpr MemoryKind kVaapiMemory{"vaapi"};

namespace detail {

/// The derived image of a surface while somebody looks at it: mapped once for all. @thread any.
class SharedImage {
 public:
  /// The view of the host, through which the surface's first byte has an address; lasts until end().
  /// @errors kFailedPrecondition: the driver's image lies otherwise than what it handed out; those of the driver.
  const View& begin(const Surface& surface, const std::vector<SurfaceLayout::Plane>& planes, Access access) {
    std::lock_guard lock(mutex_);
    if (users_ == 0) {
      if (!image_.derive(surface) || !lies_as(planes)) {
        image_.end();
        throw Error(Code::kFailedPrecondition, "vaapi: the driver shows " + surface.what() +
                                                   " to the CPU in another layout than it hands out, or not at all");
      }
      // Drivers mostly map at one address: then the view of before serves.
      if (!view_ || view_->host() != image_.bytes() || !covers(view_->access(), access)) {
        view_.emplace(host_context(), kCpuMemory, access, image_.bytes());
        note_view_made();
      }
    }
    ++users_;
    return *view_;
  }
  void end() noexcept {
    std::lock_guard lock(mutex_);
    if (--users_ == 0) image_.end();
  }

 private:
  bool lies_as(const std::vector<SurfaceLayout::Plane>& planes) const {
    const VAImage& image = image_.image();
    if (image.num_planes != planes.size() || planes.size() > 3) return false;
    for (std::size_t p = 0; p < planes.size(); ++p)
      if (image.offsets[p] != planes[p].offset_bytes || image.pitches[p] != planes[p].pitch_bytes) return false;
    return true;
  }

  std::mutex mutex_;
  std::size_t users_ = 0;
  MappedImage image_;
  std::optional<View> view_;
};

/// A surface with what is known of it. Shared by the memories of its objects, or by the views of memories it lies over.
struct SurfaceState final : RefCounted {
  SurfaceState(Ref<Surface> of, std::uint32_t format, std::uint32_t width, std::uint32_t height,
               std::vector<SurfaceLayout::Plane> lies)
      : surface(std::move(of)),
        timeline(make_ref<SurfaceTimeline>(surface)),
        fourcc(format),
        width_px(width),
        height_px(height),
        planes(std::move(lies)) {}
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
                                 const std::shared_ptr<const DeviceIdentity>& exporter) {
    auto state = make_ref<detail::SurfaceState>(std::move(surface), layout.fourcc, layout.width_px, layout.height_px,
                                                std::move(layout.planes));
    Ref<SurfaceMemory> first;
    for (SurfaceLayout::Object& object : layout.objects) {
      const auto found = dmabuf::client::inspect(object.fd.get(), 0);
      Properties properties = found.properties;
      properties.modifier = object.modifier;
      properties.read_only = properties.read_only || layout.read_only;
      if (!found.stand_in) properties.exporter = exporter;
      const std::size_t index = first ? first->object_count() : 0;
      Ref<SurfaceMemory> made(new SurfaceMemory(context, properties, state, index, std::move(object.fd)));
      if (first)
        first->others_.push_back(std::move(made));
      else
        first = std::move(made);
    }
    if (!first)
      throw Error(Code::kInternal, "vaapi: the driver hands out " + state->surface->what() + " without an object");
    return first;
  }
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
                std::size_t object, UniqueFd fd)
      : Memory(context, kVaapiMemory, properties), state_(std::move(state)), object_(object), fd_(std::move(fd)) {}

  const Ref<detail::SurfaceState> state_;
  const std::size_t object_;
  UniqueFd fd_;
  std::vector<Ref<SurfaceMemory>> others_;
};

/// A dma-buf as part of a surface that was imported over it. Its key tells formats and layouts apart.
class SurfaceView final : public View {
 public:
  SurfaceView(Context context, Access access, std::uint64_t key, Ref<detail::SurfaceState> state, std::size_t object)
      : View(std::move(context), kVaapiMemory, access, nullptr, key), state_(std::move(state)), object_(object) {}
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
inline std::optional<SurfacePart> find_part(const Tensor& tensor) {
  if (!tensor) return std::nullopt;
  if (const auto* view = dynamic_cast<const SurfaceView*>(tensor.view()))
    return SurfacePart{view->state(), view->object()};
  if (tensor.view()) return std::nullopt;
  if (const auto* memory = dynamic_cast<const SurfaceMemory*>(tensor.memory().get()))
    return SurfacePart{memory->state(), memory->object()};
  return std::nullopt;
}
inline SurfacePart part_of(const Tensor& tensor) {
  if (auto part = find_part(tensor)) return *std::move(part);
  throw Error(Code::kInvalidArgument,
              "vaapi: " + (tensor ? to_string(tensor) : std::string("an empty tensor")) +
                  " is not in a VA surface; map the frame to a vaapi context with a Router first");
}

/// Access of the CPU to a surface through its derived image; wraps the lease of the tensor that was mapped.
class ImageLease final : public LeaseState {
 public:
  /// Precondition: the image has begun.
  static Lease over(const Tensor& source, Ref<SurfaceState> state) {
    ImageLease* lease = FreeList<ImageLease>::instance().take();
    lease->memory_ = source.memory();
    lease->inner_ = source.lease();
    lease->state_ = std::move(state);
    return Lease(lease);
  }
  bool writable() const override { return !inner_ || inner_->writable(); }

 protected:
  void dispose() noexcept override {
    state_->image.end();
    state_ = {};
    inner_ = {};
    memory_ = {};
    FreeList<ImageLease>::instance().give_back(this);
  }

 private:
  friend class FreeList<ImageLease>;
  Ref<Memory> memory_;
  Lease inner_;
  Ref<SurfaceState> state_;
  ImageLease* next_ = nullptr;
};

/// `tensor`, a plane or a part of one, where it lies in an image of its surface. Valid while the image is.
/// @errors kInvalidArgument: no plane of the surface.
inline Tensor in_image(const Tensor& tensor, const SurfacePart& part, const MappedImage& image) {
  const std::vector<SurfaceLayout::Plane>& planes = part.state->planes;
  std::size_t plane = planes.size();
  for (std::size_t p = 0; p < planes.size() && p < image.image().num_planes; ++p) {
    const std::size_t begin = planes[p].offset_bytes;
    if (planes[p].object == part.object && begin <= tensor.offset() &&
        (plane == planes.size() || begin > planes[plane].offset_bytes))
      plane = p;
  }
  if (plane == planes.size() || tensor.shape().empty())
    throw Error(Code::kInvalidArgument,
                "vaapi: " + to_string(tensor) + " is no plane of " + part.state->surface->what());
  const std::size_t inside = tensor.offset() - planes[plane].offset_bytes, pitch = planes[plane].pitch_bytes;
  const std::size_t there = image.image().pitches[plane];
  TensorInfo info = tensor.info();
  info.strides = tensor.byte_strides();
  if (info.shape.size() > 1) info.strides[0] = static_cast<std::ptrdiff_t>(there);
  return Tensor(info, HostMemory::borrow(image.bytes(), image.image().data_size),
                image.image().offsets[plane] + inside / pitch * there + inside % pitch);
}

}  // namespace detail
}  // namespace vaapi
}  // namespace v1
}  // namespace tenon
