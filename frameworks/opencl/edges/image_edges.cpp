// SPDX-License-Identifier: Apache-2.0
// Images over buffers, with the shelf that keeps them, and copies between images and host memory.
#include <tenon/frameworks/opencl/image_edges.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include <tenon/core/context.hpp>
#include <tenon/core/element_type.hpp>
#include <tenon/core/error.hpp>
#include <tenon/core/export.hpp>
#include <tenon/core/free_list.hpp>
#include <tenon/core/host_edge.hpp>
#include <tenon/core/ledger.hpp>
#include <tenon/core/memory.hpp>
#include <tenon/core/memory_kind.hpp>
#include <tenon/core/policy.hpp>
#include <tenon/core/ref_counted.hpp>
#include <tenon/core/shape.hpp>
#include <tenon/core/tensor.hpp>
#include <tenon/core/view_count.hpp>
#include <tenon/frameworks/opencl/buffer.hpp>
#include <tenon/frameworks/opencl/buffer_edges.hpp>
#include <tenon/frameworks/opencl/context.hpp>
#include <tenon/frameworks/opencl/device.hpp>
#include <tenon/frameworks/opencl/image.hpp>
#include <tenon/frameworks/opencl/image_rows.hpp>
#include <tenon/frameworks/opencl/image_shelf.hpp>
#include <tenon/frameworks/opencl/native.hpp>

namespace tenon {
inline namespace v1 {
namespace opencl {
namespace detail {

TENON_INLINE std::optional<Refusal> refuses_rows(const Description& from, const ImageContext& images) {
  if (auto refused = images.refusal(from.info.type, from.info.shape, Samples::kNormalised)) return refused;
  const Device& device = images.native().device;
  const Picture picture = picture_of(from.info.shape).value();
  const std::size_t sample = size_bytes(from.info.type), pixel = sample * picture.channels;
  const ByteStrides& strides = from.info.strides;
  if (static_cast<std::size_t>(strides[1]) != pixel ||
      (strides.size() == 3 && static_cast<std::size_t>(strides[2]) != sample))
    return Refusal{"the pixels of a row do not lie side by side"};
  const std::size_t pitch = static_cast<std::size_t>(strides[0]);
  const std::size_t align = std::max<std::size_t>(device.image_pitch_alignment, 1) * pixel;
  if (pitch % align != 0 || pitch < pixel * picture.width_px)
    return Refusal{"rows are " + bytes_text(pitch) + " apart, and images over buffers of " + device.name +
                   " want multiples of " + std::to_string(align) + " (" +
                   std::to_string(std::max<std::size_t>(device.image_pitch_alignment, 1)) + " px)"};
  if (from.offset + pitch * picture.height_px > from.memory_bytes)
    return Refusal{"the last row of the picture is cut off: an image wants all of its pitch"};
  return std::nullopt;
}

TENON_INLINE RowsOfImage rows_of_image(const Tensor& source) {
  const Picture picture = picture_of(source.shape()).value();
  return {{picture.width_px, picture.height_px, size_bytes(source.element_type()) * picture.channels, source.offset(),
           static_cast<std::size_t>(source.byte_strides()[0])},
          format_of(source.element_type(), picture.channels, Samples::kNormalised)};
}

TENON_INLINE Lease ImageLease::over(const Tensor& source, Ref<const ImageView> image) {
  ImageLease* lease = FreeList<ImageLease>::instance().take();
  lease->memory_ = source.memory();
  lease->inner_ = source.lease();
  lease->image_ = std::move(image);
  return Lease(lease);
}

TENON_INLINE void ImageLease::dispose() noexcept {
  image_ = {};  // Before the memory that it lies over.
  inner_ = {};
  memory_ = {};
  FreeList<ImageLease>::instance().give_back(this);
}

TENON_INLINE ImageShelf::ImageShelf(Context context, Of of)
    : View(std::move(context), kImageMemory, Access::kReadWrite, nullptr, static_cast<std::uint64_t>(of)) {}

TENON_INLINE ImageShelf& ImageShelf::of(const Memory& memory, const Context& context, Of of) {
  const View* view = memory.find_view(*context, kImageMemory, Access::kReadWrite, static_cast<std::uint64_t>(of));
  if (!view) view = &memory.add_view(std::make_unique<ImageShelf>(context, of));
  // Only this class has these keys.
  return const_cast<ImageShelf&>(static_cast<const ImageShelf&>(*view));
}

TENON_INLINE Ref<const ImageView> ImageShelf::find(const ImageLayout& layout, const cl_image_format& format) {
  std::lock_guard lock(mutex_);
  return look_up(layout, format);
}

TENON_INLINE Ref<const ImageView> ImageShelf::keep(Ref<const ImageView> made) {
  Ref<const ImageView> dropped;  // Released outside the lock.
  std::lock_guard lock(mutex_);
  if (Ref<const ImageView> known = look_up(made->layout(), made->format())) return known;
  Place& oldest =
      *std::min_element(places_.begin(), places_.end(), [](const Place& a, const Place& b) { return a.used < b.used; });
  dropped = std::exchange(oldest.image, made);
  oldest.used = ++clock_;
  note_view_made();
  return made;
}

TENON_INLINE Ref<const ImageView> ImageShelf::look_up(const ImageLayout& layout, const cl_image_format& format) {
  for (Place& place : places_) {
    if (!place.image || !(place.image->layout() == layout)) continue;
    const cl_image_format& known = place.image->format();
    if (known.image_channel_order != format.image_channel_order ||
        known.image_channel_data_type != format.image_channel_data_type)
      continue;
    place.used = ++clock_;
    return place.image;
  }
  return nullptr;
}

/// An image over the bytes of a buffer, on devices with cl_khr_image2d_from_buffer.
class BufferToImage final : public Edge {
 public:
  std::string_view name() const override { return "opencl.buffer->opencl.image"; }
  MemoryKind from() const override { return kBufferMemory; }
  MemoryKind to() const override { return kImageMemory; }

  Step step(const Description& from, const Context& to, Access) const override {
    const Native* source = native_of(from.context);
    const auto* images = to.as<ImageContext>();
    if (!source || !images) return Refusal{"source or target is not a context of this framework"};
    const Device& device = images->native().device;
    if (source->context.get() != images->native().context.get())
      return Refusal{"the buffer belongs to another cl_context"};
    if (!device.image_from_buffer) return Refusal{device.name + " lacks cl_khr_image2d_from_buffer"};
    if (auto refused = refuses_rows(from, *images)) return *std::move(refused);
    if (from.offset % device.base_alignment != 0)
      return Refusal{"the picture begins at byte " + std::to_string(from.offset) +
                     " of its buffer, and sub-buffers of " + device.name + " begin at multiples of " +
                     std::to_string(device.base_alignment)};
    Reached reached = shared_in_place(from, to, kImageMemory, 2'000);
    reached.result.alignment = 1;
    reached.result.host_addressable = false;
    return reached;
  }

  Tensor map(const Tensor& source, const Context& to, const MapOptions& options) const override {
    check_step(*this, source, to, options);
    const Memory& memory = *source.memory();
    const auto [layout, format] = rows_of_image(source);
    ImageShelf& shelf = ImageShelf::of(memory, to, ImageShelf::Of::kBuffer);
    Ref<const ImageView> image = shelf.find(layout, format);
    if (!image) {
      const auto& target = *to.as<ImageContext>();
      const Access access = memory.read_only() ? Access::kRead : Access::kReadWrite;
      image = shelf.keep(make_ref<ImageView>(to, access, target.native_ref(),
                                             make_image(source, target.native(), layout, format), layout, format));
    }
    const ImageView* const view = image.get();
    return source.through(view).with_lease(ImageLease::over(source, std::move(image)));
  }

 private:
  static Handle<cl_mem> make_image(const Tensor& source, const Native& native, const ImageLayout& layout,
                                   const cl_image_format& format) {
    // The image keeps a reference to the sub-buffer, which keeps the buffer.
    Handle<cl_mem> region;
    cl_mem bytes = opencl::buffer(source);
    if (source.offset() != 0) {
      region = make_region(source, layout.pitch * layout.height_px);
      bytes = region.get();
    }
    cl_image_desc desc{};
    desc.image_type = CL_MEM_OBJECT_IMAGE2D;
    desc.image_width = layout.width_px;
    desc.image_height = layout.height_px;
    desc.image_row_pitch = layout.pitch;
    desc.mem_object = bytes;
    return Handle<cl_mem>(create(
        "clCreateImage", [&] { return "an image over " + to_string(source); }, clCreateImage, native.context.get(),
        cl_mem_flags{CL_MEM_READ_WRITE}, &format, static_cast<const cl_image_desc*>(&desc),
        static_cast<void*>(nullptr)));
  }
};

/// The entry that detours are booked under: pixels that had to be laid out anew before an image, or after it.
TENON_INLINE EdgeId image_rows() {
  static const EdgeId entry = register_edge("opencl.image rows");
  return entry;
}

/// Copies an image's pixels into new host memory: only the driver knows their layout in the image.
class ImageToCpu final : public Edge {
 public:
  std::string_view name() const override { return "opencl.image->cpu"; }
  MemoryKind from() const override { return kImageMemory; }
  MemoryKind to() const override { return kCpuMemory; }

  Step step(const Description& from, const Context& to, Access) const override {
    const Native* native = native_of(from.context);
    if (!native) return Refusal{"the source is not memory of this framework"};
    Reached reached = copied(from, to, kCpuMemory, 50'000, native->device.host_unified ? 0.2 : 0.3);
    reached.result.host_addressable = true;
    reached.result.alignment = 64;
    return reached;
  }

  Tensor map(const Tensor& source, const Context& to, const MapOptions& options) const override {
    check_step(*this, source, to, options);
    const Native& native = source.context().as<FacetContext>()->native();
    Tensor copy(source.element_type(), source.shape());
    if (copy.size_bytes() == 0) return copy;
    if (const auto region = region_of(source, *image_and_layout(source).layout)) {
      source.memory()->wait_for(Access::kRead, deadline_of(options), &ledger_of(options));
      read_pixels(native, source, *region, copy.memory(), deadline_of(options));
    } else {
      const std::span<std::byte> out{static_cast<std::byte*>(copy.data()), copy.size_bytes()};
      ledger_of(options).book_copied(image_rows(),
                                     read_image(native, source, out, deadline_of(options), &ledger_of(options)));
    }
    if (!native.device.host_unified) ledger_of(options).book_transferred(id(), source.size_bytes());
    return copy;
  }
};

/// Copies a picture in host memory into a new image.
class CpuToImage final : public Edge {
 public:
  std::string_view name() const override { return "cpu->opencl.image"; }
  MemoryKind from() const override { return kCpuMemory; }
  MemoryKind to() const override { return kImageMemory; }

  Step step(const Description& from, const Context& to, Access) const override {
    const auto* images = to.as<ImageContext>();
    if (!images) return Refusal{"the target is not a context of this framework"};
    if (auto refused = images->refusal(from.info.type, from.info.shape, Samples::kNormalised)) return *refused;
    return copied(from, to, kImageMemory, 50'000, images->native().device.host_unified ? 0.2 : 0.3);
  }

  Tensor map(const Tensor& source, const Context& to, const MapOptions& options) const override {
    check_step(*this, source, to, options);
    const Native& native = to.as<FacetContext>()->native();
    source.memory()->wait_for(Access::kRead, deadline_of(options), &ledger_of(options));
    Tensor copy = allocate_image(to, source.element_type(), source.shape());
    const ImageRegion whole = region_of(copy, *image_and_layout(copy).layout).value();
    Tensor rows = source;
    if (!has_packed_rows(source)) {
      rows = Tensor(source.element_type(), source.shape());
      source.copy_to(rows);
      ledger_of(options).book_copied(image_rows(), source.size_bytes());
    }
    write_pixels(native, copy, whole, rows, static_cast<std::size_t>(rows.byte_strides()[0]), deadline_of(options));
    if (!native.device.host_unified) ledger_of(options).book_transferred(id(), source.size_bytes());
    return copy;
  }

 private:
  /// Whether OpenCL can take the rows of this picture as they lie: pixels side by side, rows at whole pixels.
  static bool has_packed_rows(const Tensor& source) {
    const Picture picture = picture_of(source.shape()).value();
    const auto element = static_cast<std::ptrdiff_t>(size_bytes(source.element_type()));
    const auto pixel = element * static_cast<std::ptrdiff_t>(picture.channels);
    const ByteStrides& strides = source.byte_strides();
    return strides[1] == pixel && (strides.size() == 2 || strides[2] == element) && strides[0] % pixel == 0 &&
           strides[0] >= pixel * static_cast<std::ptrdiff_t>(picture.width_px);
  }
};

TENON_INLINE const Edge& buffer_to_image() {
  static const BufferToImage edge;
  return edge;
}

TENON_INLINE const Edge& image_to_cpu() {
  static const ImageToCpu edge;
  return edge;
}

TENON_INLINE const Edge& cpu_to_image() {
  static const CpuToImage edge;
  return edge;
}

}  // namespace detail
}  // namespace opencl
}  // namespace v1
}  // namespace tenon
