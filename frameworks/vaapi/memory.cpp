// SPDX-License-Identifier: Apache-2.0
// Surfaces as memory.
#include <tenon/frameworks/vaapi/memory.hpp>

#include <string>
#include <utility>

#include <tenon/core/error.hpp>
#include <tenon/core/free_list.hpp>
#include <tenon/core/host.hpp>
#include <tenon/core/view_count.hpp>
#include <tenon/frameworks/dmabuf/client.hpp>

namespace tenon {
inline namespace v1 {
namespace vaapi {
namespace detail {

TENON_INLINE const View& SharedImage::begin(const Surface& surface, const std::vector<SurfaceLayout::Plane>& planes,
                                            Access access) {
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

TENON_INLINE void SharedImage::end() noexcept {
  std::lock_guard lock(mutex_);
  if (--users_ == 0) image_.end();
}

TENON_INLINE bool SharedImage::lies_as(const std::vector<SurfaceLayout::Plane>& planes) const {
  const VAImage& image = image_.image();
  if (image.num_planes != planes.size() || planes.size() > 3) return false;
  for (std::size_t p = 0; p < planes.size(); ++p)
    if (image.offsets[p] != planes[p].offset_bytes || image.pitches[p] != planes[p].pitch_bytes) return false;
  return true;
}

TENON_INLINE SurfaceState::SurfaceState(Ref<Surface> of, std::uint32_t format, std::uint32_t width,
                                        std::uint32_t height, std::vector<SurfaceLayout::Plane> lies)
    : surface(std::move(of)),
      timeline(make_ref<SurfaceTimeline>(surface)),
      fourcc(format),
      width_px(width),
      height_px(height),
      planes(std::move(lies)) {}

}  // namespace detail

TENON_INLINE Ref<SurfaceMemory> SurfaceMemory::over(const Context& context, Ref<Surface> surface, SurfaceLayout layout,
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

TENON_INLINE SurfaceMemory::SurfaceMemory(const Context& context, const Properties& properties,
                                          Ref<detail::SurfaceState> state, std::size_t object, UniqueFd fd)
    : Memory(context, kVaapiMemory, properties), state_(std::move(state)), object_(object), fd_(std::move(fd)) {}

TENON_INLINE SurfaceView::SurfaceView(Context context, Access access, std::uint64_t key,
                                      Ref<detail::SurfaceState> state, std::size_t object)
    : View(std::move(context), kVaapiMemory, access, nullptr, key), state_(std::move(state)), object_(object) {}

namespace detail {

TENON_INLINE std::optional<SurfacePart> find_part(const Tensor& tensor) {
  if (!tensor) return std::nullopt;
  if (const auto* view = dynamic_cast<const SurfaceView*>(tensor.view()))
    return SurfacePart{view->state(), view->object()};
  if (tensor.view()) return std::nullopt;
  if (const auto* memory = dynamic_cast<const SurfaceMemory*>(tensor.memory().get()))
    return SurfacePart{memory->state(), memory->object()};
  return std::nullopt;
}

TENON_INLINE SurfacePart part_of(const Tensor& tensor) {
  if (auto part = find_part(tensor)) return *std::move(part);
  throw Error(Code::kInvalidArgument,
              "vaapi: " + (tensor ? to_string(tensor) : std::string("an empty tensor")) +
                  " is not in a VA surface; map the frame to a vaapi context with a Router first");
}

/// Access of the CPU to a surface through its derived image; wraps the lease of the tensor that was mapped.
class ImageLease final : public LeaseState {
 public:
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

TENON_INLINE Lease image_lease(const Tensor& source, Ref<SurfaceState> state) {
  return ImageLease::over(source, std::move(state));
}

TENON_INLINE Tensor in_image(const Tensor& tensor, const SurfacePart& part, const MappedImage& image) {
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
