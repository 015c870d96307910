// SPDX-License-Identifier: Apache-2.0
// 2-D images: formats, cl_mem images as memory, frames whose planes are images.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <tenon/core/context.hpp>
#include <tenon/core/edge.hpp>
#include <tenon/core/element_type.hpp>
#include <tenon/core/error.hpp>
#include <tenon/core/frame.hpp>
#include <tenon/core/ledger.hpp>
#include <tenon/core/memory.hpp>
#include <tenon/core/pixel_format.hpp>
#include <tenon/core/policy.hpp>
#include <tenon/core/ref_counted.hpp>
#include <tenon/core/requirements.hpp>
#include <tenon/core/shape.hpp>
#include <tenon/core/tensor.hpp>
#include <tenon/frameworks/opencl/buffer.hpp>
#include <tenon/frameworks/opencl/context.hpp>
#include <tenon/frameworks/opencl/device.hpp>
#include <tenon/frameworks/opencl/event.hpp>
#include <tenon/frameworks/opencl/native.hpp>

namespace tenon {
inline namespace v1 {
namespace opencl {

/// What kernels read from an integer image: values scaled to 0..1, as samplers filter, or the integers themselves.
enum class Samples : std::uint8_t { kNormalised, kInteger };

namespace detail {

/// Pixel layout in a memory: rows of an image from byte `base` on. A separate image is packed from byte 0.
struct ImageLayout {
  std::size_t width_px = 0, height_px = 0, pixel_bytes = 1;
  std::size_t base = 0, pitch = 0;
  std::size_t row_bytes() const { return width_px * pixel_bytes; }
  friend bool operator==(const ImageLayout&, const ImageLayout&) = default;
};

/// The format with `channels` elements per pixel; channel order 0 if OpenCL has none.
inline cl_image_format format_of(ElementType type, std::size_t channels, Samples samples) {
  const bool integers = samples == Samples::kInteger;
  cl_image_format format{};
  switch (type) {
    case ElementType::kU8:
      format.image_channel_data_type = integers ? CL_UNSIGNED_INT8 : CL_UNORM_INT8;
      break;
    case ElementType::kI8:
      format.image_channel_data_type = integers ? CL_SIGNED_INT8 : CL_SNORM_INT8;
      break;
    case ElementType::kU16:
      format.image_channel_data_type = integers ? CL_UNSIGNED_INT16 : CL_UNORM_INT16;
      break;
    case ElementType::kI16:
      format.image_channel_data_type = integers ? CL_SIGNED_INT16 : CL_SNORM_INT16;
      break;
    case ElementType::kU32:
      format.image_channel_data_type = CL_UNSIGNED_INT32;
      break;
    case ElementType::kI32:
      format.image_channel_data_type = CL_SIGNED_INT32;
      break;
    case ElementType::kF16:
      format.image_channel_data_type = CL_HALF_FLOAT;
      break;
    case ElementType::kF32:
      format.image_channel_data_type = CL_FLOAT;
      break;
    default:
      return format;
  }
  format.image_channel_order = channels == 1 ? CL_R : channels == 2 ? CL_RG : channels == 4 ? CL_RGBA : 0;
  return format;
}

/// The reverse; an undefined type if Tenon has none, 0 channels for unknown channel orders.
inline std::pair<ElementType, std::size_t> elements_of(const cl_image_format& format) {
  const std::size_t channels = format.image_channel_order == CL_R || format.image_channel_order == CL_A ||
                                       format.image_channel_order == CL_LUMINANCE ||
                                       format.image_channel_order == CL_INTENSITY
                                   ? 1
                               : format.image_channel_order == CL_RG || format.image_channel_order == CL_RA ? 2
                               : format.image_channel_order == CL_RGBA || format.image_channel_order == CL_BGRA ||
                                       format.image_channel_order == CL_ARGB
                                   ? 4
                                   : 0;
  switch (format.image_channel_data_type) {
    case CL_UNORM_INT8:
    case CL_UNSIGNED_INT8:
      return {ElementType::kU8, channels};
    case CL_SNORM_INT8:
    case CL_SIGNED_INT8:
      return {ElementType::kI8, channels};
    case CL_UNORM_INT16:
    case CL_UNSIGNED_INT16:
      return {ElementType::kU16, channels};
    case CL_SNORM_INT16:
    case CL_SIGNED_INT16:
      return {ElementType::kI16, channels};
    case CL_UNSIGNED_INT32:
      return {ElementType::kU32, channels};
    case CL_SIGNED_INT32:
      return {ElementType::kI32, channels};
    case CL_HALF_FLOAT:
      return {ElementType::kF16, channels};
    case CL_FLOAT:
      return {ElementType::kF32, channels};
    default:
      return {ElementType::kUndefined, channels};
  }
}

/// [h, w] or [h, w, c] as pixels; nothing for other shapes.
struct Picture {
  std::size_t width_px, height_px, channels;
};
inline std::optional<Picture> picture_of(const Shape& shape) {
  if (shape.size() != 2 && shape.size() != 3) return std::nullopt;
  return Picture{shape[1], shape[0], shape.size() == 3 ? shape[2] : 1};
}

}  // namespace detail

/// An image as memory. Its bytes count as packed rows, whatever the driver's layout, and tensors over it are laid out
/// that way.
class ImageMemory : public Memory {
 public:
  ImageMemory(Context context, const Properties& properties, Ref<detail::Native> native, detail::Handle<cl_mem> image,
              const detail::ImageLayout& layout)
      : Memory(std::move(context), kImageMemory, properties),
        native_(std::move(native)),
        image_(std::move(image)),
        layout_(layout) {}
  ~ImageMemory() override { drop_views(); }
  cl_mem image() const { return image_.get(); }
  const detail::ImageLayout& layout() const { return layout_; }

 private:
  Ref<detail::Native> native_;
  detail::Handle<cl_mem> image_;
  detail::ImageLayout layout_;
};

/// An image over a region of a buffer, or over memory of another API. Held by the leases of the tensors that use it, see
/// detail::ImageLease.
class ImageView : public View, public RefCounted {
 public:
  ImageView(Context context, Access access, Ref<detail::Native> native, detail::Handle<cl_mem> image,
            const detail::ImageLayout& layout, const cl_image_format& format)
      : View(std::move(context), kImageMemory, access, nullptr),
        native_(std::move(native)),
        image_(std::move(image)),
        layout_(layout),
        format_(format) {}
  cl_mem image() const { return image_.get(); }
  const detail::ImageLayout& layout() const { return layout_; }
  const cl_image_format& format() const { return format_; }

 private:
  Ref<detail::Native> native_;
  detail::Handle<cl_mem> image_;
  detail::ImageLayout layout_;
  cl_image_format format_;
};

namespace detail {

struct ImageAndLayout {
  cl_mem image;
  const ImageLayout* layout;
};
inline ImageAndLayout image_and_layout(const Tensor& tensor) {
  if (tensor && tensor.view()) {
    if (const auto* view = dynamic_cast<const ImageView*>(tensor.view())) return {view->image(), &view->layout()};
  } else if (tensor) {
    if (const auto* memory = dynamic_cast<const ImageMemory*>(tensor.memory().get()))
      return {memory->image(), &memory->layout()};
  }
  throw Error(Code::kInvalidArgument,
              "opencl::image of " + to_string(tensor) + ": not an opencl.image; map it to opencl::images(context)");
}

/// Copies the rows that a tensor covers between its image and a packed buffer, by device commands.
class ImageRows {
 public:
  ImageRows(const Native& native, const Tensor& tensor) : native_(native), tensor_(tensor) {
    const ImageAndLayout found = image_and_layout(tensor);
    image_ = found.image;
    layout_ = *found.layout;
    const std::size_t begin = tensor.offset() - layout_.base;
    first_ = begin / layout_.pitch;
    rows_ = (begin + checked_extent_bytes(tensor.info()).value() - 1) / layout_.pitch - first_ + 1;
    rows_ = std::min(rows_, layout_.height_px - first_);
    scratch_ = make_buffer(native, CL_MEM_READ_WRITE, bytes(), nullptr, "a scratch buffer");
  }
  std::size_t bytes() const { return rows_ * layout_.row_bytes(); }
  cl_mem scratch() const { return scratch_.get(); }

  Handle<cl_event> fetch() const {
    const std::size_t origin[3] = {0, first_, 0}, region[3] = {layout_.width_px, rows_, 1};
    cl_event event = nullptr;
    check(call(clEnqueueCopyImageToBuffer, native_.transfers.get(), image_, scratch_.get(), &origin[0], &region[0],
               std::size_t{0}, cl_uint{0}, static_cast<const cl_event*>(nullptr), &event),
          "clEnqueueCopyImageToBuffer", [&] { return "reading " + to_string(tensor_); });
    return Handle<cl_event>(event);
  }
  Handle<cl_event> store() const {
    const std::size_t origin[3] = {0, first_, 0}, region[3] = {layout_.width_px, rows_, 1};
    cl_event event = nullptr;
    check(call(clEnqueueCopyBufferToImage, native_.transfers.get(), scratch_.get(), image_, std::size_t{0}, &origin[0],
               &region[0], cl_uint{0}, static_cast<const cl_event*>(nullptr), &event),
          "clEnqueueCopyBufferToImage", [&] { return "writing " + to_string(tensor_); });
    return Handle<cl_event>(event);
  }
  /// Calls run(byte in the scratch rows, byte in the packed tensor, size).
  template <typename Run>
  void for_each(Run run) const {
    for_each_run(tensor_, [&](std::size_t offset, std::size_t packed, std::size_t size) {
      const std::size_t at = offset - layout_.base;
      // A run crosses rows only where rows have no padding; both sides then count alike.
      run((at / layout_.pitch - first_) * layout_.row_bytes() + at % layout_.pitch, packed, size);
    });
  }

 private:
  const Native& native_;
  const Tensor& tensor_;
  cl_mem image_ = nullptr;
  ImageLayout layout_;
  std::size_t first_ = 0, rows_ = 0;
  Handle<cl_mem> scratch_;
};

/// A rectangle of an image, as its calls take it.
struct ImageRegion {
  std::array<std::size_t, 3> origin{}, size{};
};

/// The pixels that are exactly `tensor`; nothing if it begins or ends within a pixel, or does not run along the rows.
inline std::optional<ImageRegion> region_of(const Tensor& tensor, const ImageLayout& layout) {
  const auto picture = picture_of(tensor.shape());
  const std::size_t element = size_bytes(tensor.element_type());
  if (!picture || element == 0 || tensor.size_bytes() == 0) return std::nullopt;
  const std::size_t pixel = element * picture->channels, row = pixel * picture->width_px;
  const ByteStrides& strides = tensor.byte_strides();
  if (static_cast<std::size_t>(strides[1]) != pixel ||
      (strides.size() == 3 && static_cast<std::size_t>(strides[2]) != element) ||
      (picture->height_px > 1 && static_cast<std::size_t>(strides[0]) != layout.pitch))
    return std::nullopt;
  const std::size_t begin = tensor.offset() - layout.base, left = begin % layout.pitch;
  if (left % layout.pixel_bytes != 0 || row % layout.pixel_bytes != 0 || left + row > layout.row_bytes())
    return std::nullopt;
  return ImageRegion{{left / layout.pixel_bytes, begin / layout.pitch, 0},
                     {row / layout.pixel_bytes, picture->height_px, 1}};
}

/// Waits for a command on `host`, which is kept until the command finishes, even if the wait times out.
inline void finish_over(cl_event event, const Ref<Memory>& host, Deadline deadline) {
  const Ref<EventTimeline> done = EventTimeline::over(Handle<cl_event>(event));
  try {
    done->wait(1, deadline);
  } catch (...) {
    keep_until(done->event(), host);
    throw;
  }
}

/// Reads pixels into packed host memory, without a detour.
inline void read_pixels(const Native& native, const Tensor& tensor, const ImageRegion& region, const Ref<Memory>& into,
                        Deadline deadline) {
  cl_event event = nullptr;
  check(call(clEnqueueReadImage, native.transfers.get(), image_and_layout(tensor).image, cl_bool{CL_FALSE},
             region.origin.data(), region.size.data(), std::size_t{0}, std::size_t{0}, into->host(), cl_uint{0},
             static_cast<const cl_event*>(nullptr), &event),
        "clEnqueueReadImage", [&] { return "reading " + to_string(tensor); });
  finish_over(event, into, deadline);
}
/// Writes pixels from the host's `rows`, which are `pitch` bytes apart.
inline void write_pixels(const Native& native, const Tensor& tensor, const ImageRegion& region, const Tensor& rows,
                         std::size_t pitch, Deadline deadline) {
  cl_event event = nullptr;
  check(call(clEnqueueWriteImage, native.transfers.get(), image_and_layout(tensor).image, cl_bool{CL_FALSE},
             region.origin.data(), region.size.data(), pitch, std::size_t{0}, static_cast<const void*>(rows.data()),
             cl_uint{0}, static_cast<const cl_event*>(nullptr), &event),
        "clEnqueueWriteImage", [&] { return "writing " + to_string(tensor); });
  finish_over(event, rows.memory(), deadline);
}

/// @return the bytes that went through a buffer between.
inline std::size_t read_image(const Native& native, const Tensor& tensor, std::span<std::byte> out, Deadline deadline,
                              Ledger* ledger = nullptr) {
  if (tensor.size_bytes() == 0) return 0;
  tensor.memory()->wait_for(Access::kRead, deadline, ledger);
  const ImageRows rows(native, tensor);
  rows.fetch();
  const MappedBuffer mapped(native, rows.scratch(), CL_MAP_READ, 0, rows.bytes(), deadline);
  rows.for_each([&](std::size_t at, std::size_t packed, std::size_t size) {
    std::memcpy(out.data() + packed, mapped.data() + at, size);
  });
  return rows.bytes();
}

/// @return the command after which the image holds the bytes.
inline Handle<cl_event> write_image(const Native& native, const Tensor& tensor, std::span<const std::byte> in,
                                    Deadline deadline, Ledger* ledger = nullptr) {
  if (!tensor.is_writable())
    throw Error(Code::kPermissionDenied, "opencl: writing to " + to_string(tensor) + ": its memory is read-only");
  tensor.memory()->wait_for(Access::kWrite, deadline, ledger);
  const ImageRows rows(native, tensor);
  rows.fetch();  // Keeps what lies beside the tensor in its rows.
  MappedBuffer mapped(native, rows.scratch(), CL_MAP_READ | CL_MAP_WRITE, 0, rows.bytes(), deadline);
  rows.for_each([&](std::size_t at, std::size_t packed, std::size_t size) {
    std::memcpy(mapped.data() + at, in.data() + packed, size);
  });
  mapped.end();
  return rows.store();
}

}  // namespace detail

/// The context of images over the same cl_context as the buffers.
class ImageContext final : public FacetContext {
 public:
  /// @errors kUnavailable: the device has no images.
  ImageContext(Ref<detail::Native> native, const std::string& device_name)
      : FacetContext(std::move(native), kImageMemory, device_name) {
    const Device& device = this->native().device;
    if (device.max_width == 0) throw Error(Code::kUnavailable, "opencl: " + device.name + " has no images");
    cl_uint count = 0;
    const cl_context context = this->native().context.get();
    detail::check(detail::call(clGetSupportedImageFormats, context, cl_mem_flags{CL_MEM_READ_WRITE},
                               cl_mem_object_type{CL_MEM_OBJECT_IMAGE2D}, cl_uint{0},
                               static_cast<cl_image_format*>(nullptr), &count),
                  "clGetSupportedImageFormats", "asking for image formats");
    formats_.resize(count);
    detail::check(
        detail::call(clGetSupportedImageFormats, context, cl_mem_flags{CL_MEM_READ_WRITE},
                     cl_mem_object_type{CL_MEM_OBJECT_IMAGE2D}, count, formats_.data(), static_cast<cl_uint*>(nullptr)),
        "clGetSupportedImageFormats", "asking for image formats");
  }

  std::span<const Edge* const> edges() const override;
  std::variant<Offer, Refusal> offer(const Requirements& wanted) const override {
    if (wanted.fd != FdKind::kNone || wanted.host_access || wanted.alignment > 4096)
      return Refusal{
          "images have no descriptor, no address for the host and no alignment; allocate a buffer and map it here, or "
          "ask for less"};
    return Offer{1, FdKind::kNone, 0, false};
  }
  /// Images of bytes, in rows of at most 4096 px, for tensors of any shape. See allocate_image() for pictures.
  /// @errors kUnimplemented: descriptors, host access; kResourceExhausted: more than the largest image holds.
  Ref<Memory> allocate(const Requirements& wanted) override {
    check_offer(wanted);
    const std::size_t size = std::max<std::size_t>(wanted.size_bytes + wanted.tail_padding, 1);
    const std::size_t width = std::min({size, native().device.max_width, std::size_t{4096}});
    return make(width, (size + width - 1) / width, bytes_format(), 1);
  }
  void read(const Tensor& tensor, std::span<std::byte> out) const override {
    detail::read_image(native(), tensor, out, default_deadline());
  }
  void write(const Tensor& tensor, std::span<const std::byte> in) const override {
    if (tensor.size_bytes() == 0) return;
    detail::finish(detail::write_image(native(), tensor, in, default_deadline()), default_deadline());
  }

  /// Why pictures of these elements cannot be images here; nothing when they can.
  std::optional<Refusal> refusal(ElementType type, const Shape& shape, Samples samples) const {
    const auto picture = detail::picture_of(shape);
    const std::string what = std::string(tenon::v1::name(type)) + " " + to_string(shape);
    if (!picture) return Refusal{what + " is not a picture: images are [height, width] or [height, width, channels]"};
    const cl_image_format format = detail::format_of(type, picture->channels, samples);
    if (format.image_channel_order == 0)
      return Refusal{"OpenCL has no image format of " + std::to_string(picture->channels) + " channels of " +
                     std::string(tenon::v1::name(type)) + "; it has 1, 2 and 4 of integers up to 32 bits, f16 and f32"};
    if (!supports(format))
      return Refusal{native().device.name + " (" + native().device.platform_name + ") lacks the image format " +
                     (picture->channels == 1   ? "R"
                      : picture->channels == 2 ? "RG"
                                               : "RGBA") +
                     " of " + std::string(tenon::v1::name(type)) +
                     (samples == Samples::kInteger ? " as integers" : "") + "; use a buffer"};
    if (picture->width_px == 0 || picture->height_px == 0) return Refusal{detail_empty()};
    if (picture->width_px > native().device.max_width || picture->height_px > native().device.max_height)
      return Refusal{what + " exceeds the largest image of " + native().device.name + ", " +
                     std::to_string(native().device.max_width) + "x" + std::to_string(native().device.max_height)};
    return std::nullopt;
  }

  Ref<Memory> make(std::size_t width, std::size_t height, const cl_image_format& format, std::size_t pixel_bytes) {
    if (width > native().device.max_width || height > native().device.max_height)
      throw Error(Code::kResourceExhausted, std::string(name()) + ": an image of " + std::to_string(width) + "x" +
                                                std::to_string(height) + " px was asked for; the device allows " +
                                                std::to_string(native().device.max_width) + "x" +
                                                std::to_string(native().device.max_height));
    cl_image_desc desc{};
    desc.image_type = CL_MEM_OBJECT_IMAGE2D;
    desc.image_width = width;
    desc.image_height = height;
    detail::Handle<cl_mem> image(detail::create(
        "clCreateImage", [&] { return "an image of " + std::to_string(width) + "x" + std::to_string(height) + " px"; },
        clCreateImage, native().context.get(), cl_mem_flags{CL_MEM_READ_WRITE}, &format,
        static_cast<const cl_image_desc*>(&desc), static_cast<void*>(nullptr)));
    return over(std::move(image), {width, height, pixel_bytes, 0, width * pixel_bytes});
  }
  Ref<Memory> over(detail::Handle<cl_mem> image, const detail::ImageLayout& layout) {
    Memory::Properties properties;
    properties.size_bytes = layout.row_bytes() * layout.height_px;
    properties.identity = {MemoryIdentity::Kind::kHandle, 0, reinterpret_cast<std::uintptr_t>(image.get())};
    return make_ref<ImageMemory>(Context(Ref<ContextImpl>(this)), properties, native_ref(), std::move(image), layout);
  }

 private:
  static const char* detail_empty() { return "the picture has no pixels, and OpenCL has no empty images"; }
  bool supports(const cl_image_format& format) const {
    for (const cl_image_format& known : formats_) {
      if (known.image_channel_order == format.image_channel_order &&
          known.image_channel_data_type == format.image_channel_data_type)
        return true;
    }
    return false;
  }
  cl_image_format bytes_format() const {
    for (Samples samples : {Samples::kInteger, Samples::kNormalised}) {
      const cl_image_format format = detail::format_of(ElementType::kU8, 1, samples);
      if (supports(format)) return format;
    }
    throw Error(Code::kUnimplemented, std::string(name()) + ": no image format of single bytes");
  }

  std::vector<cl_image_format> formats_;
};

/// The image of a tensor; it lives as long as the tensor. @errors kInvalidArgument: a tensor of another kind.
inline cl_mem image(const Tensor& tensor) { return detail::image_and_layout(tensor).image; }

/// The context of images over the cl_context of `context`, a context of buffers (or already of images).
/// @errors kUnavailable: the device has none; kInvalidArgument: another context.
inline Context images(const Context& context) {
  if (context.as<ImageContext>()) return context;
  return detail::buffers(context, "images").sibling(0, [](const Ref<detail::Native>& native, const std::string& name) {
    return Context(make_ref<ImageContext>(native, name));
  });
}

namespace detail {

inline ImageContext& image_context(const Context& context, const char* function) {
  auto* images = context.as<ImageContext>();
  if (!images)
    throw Error(Code::kInvalidArgument,
                std::string("opencl::") + function + ": the context is none of images; pass opencl::images(context)");
  return *images;
}

}  // namespace detail

/// A new image for a picture [h, w] or [h, w, c], c of 1, 2 or 4.
/// @errors kUnimplemented: a format that the platform lacks, named; kInvalidArgument: no picture.
inline Tensor allocate_image(const Context& context, ElementType type, const Shape& shape,
                             Samples samples = Samples::kNormalised) {
  ImageContext& images = detail::image_context(context, "allocate_image");
  if (const auto refused = images.refusal(type, shape, samples))
    throw Error(detail::picture_of(shape) ? Code::kUnimplemented : Code::kInvalidArgument,
                "opencl::allocate_image: " + refused->reason);
  const detail::Picture picture = detail::picture_of(shape).value();
  return Tensor(TensorInfo{type, shape, {}},
                images.make(picture.width_px, picture.height_px, detail::format_of(type, picture.channels, samples),
                            size_bytes(type) * picture.channels));
}

namespace detail {

/// What an image holds, as a tensor.
struct ImageContents {
  TensorInfo info;
  ImageLayout layout;
};
/// @errors kUnimplemented: a format without an element type.
inline ImageContents contents_of(cl_mem image, const char* what) {
  const auto format = info<cl_image_format>(clGetImageInfo, "clGetImageInfo", image, CL_IMAGE_FORMAT);
  const auto [type, channels] = elements_of(format);
  if (type == ElementType::kUndefined || channels == 0)
    throw Error(Code::kUnimplemented, std::string("opencl::") + what + ": channel order " +
                                          std::to_string(format.image_channel_order) + " of data type " +
                                          std::to_string(format.image_channel_data_type) +
                                          " has no element type; convert it in a kernel");
  const auto width = info<std::size_t>(clGetImageInfo, "clGetImageInfo", image, CL_IMAGE_WIDTH);
  const auto height = info<std::size_t>(clGetImageInfo, "clGetImageInfo", image, CL_IMAGE_HEIGHT);
  const std::size_t pixel = size_bytes(type) * channels;
  const Shape shape = channels == 1 ? Shape{height, width} : Shape{height, width, channels};
  return {{type, shape, {}}, {width, height, pixel, 0, width * pixel}};
}

inline Tensor image_tensor(ImageContext& images, Handle<cl_mem> image, const char* what) {
  const ImageContents contents = contents_of(image.get(), what);
  return Tensor(contents.info, images.over(std::move(image), contents.layout));
}

}  // namespace detail

/// The caller's 2-D image as a tensor [h, w] or [h, w, c]. Takes its own reference.
/// @errors kInvalidArgument: null, no 2-D image, another cl_context; kUnimplemented: a format without an element type.
inline Tensor wrap_image(const Context& context, cl_mem image) {
  ImageContext& images = detail::image_context(context, "wrap_image");
  detail::check_mem(images.native(), image, CL_MEM_OBJECT_IMAGE2D, "wrap_image");
  return detail::image_tensor(images, detail::Handle<cl_mem>::retain(image, "wrapping an image"), "wrap_image");
}
/// Takes over the caller's reference, also when this fails. @errors as wrap_image().
inline Tensor adopt_image(const Context& context, cl_mem image) {
  detail::Handle<cl_mem> owned(image);
  ImageContext& images = detail::image_context(context, "adopt_image");
  detail::check_mem(images.native(), image, CL_MEM_OBJECT_IMAGE2D, "adopt_image");
  return detail::image_tensor(images, std::move(owned), "adopt_image");
}

/// Allocates a frame with one image per plane: NV12 as R8 and RG8. @errors kUnimplemented, naming the plane and the
/// format that the platform lacks; use allocate_frame() then.
inline Frame allocate_image_frame(const Context& context, const FrameInfo& info,
                                  Samples samples = Samples::kNormalised) {
  const PixelFormatInfo& format = format_info(info.format);
  std::vector<Tensor> planes;
  for (std::size_t p = 0; p < format.plane_count; ++p) {
    try {
      planes.push_back(allocate_image(context, format.sample, plane_shape(info, p), samples));
    } catch (const Error& error) {
      if (error.code() != Code::kUnimplemented) throw;
      throw Error(Code::kUnimplemented, "plane " + std::to_string(p) + " of " + std::string(format.name) +
                                            " cannot be an image: " + error.what());
    }
  }
  return Frame(info, std::move(planes));
}

/// Allocates a frame for kernels of `context`: images if the platform has the formats of all planes, else one buffer in
/// which each plane and row is aligned so that it can be a sub-buffer, or an image over the buffer.
/// frame.plane(0).kind() tells which.
inline Frame allocate_frame(const Context& context, const FrameInfo& info, Samples samples = Samples::kNormalised) {
  BufferContext& buffers = detail::buffers(context, "allocate_frame");
  if (buffers.native().device.max_width != 0) {
    const Context image_context = images(context);
    const ImageContext& known = detail::image_context(image_context, "allocate_frame");
    const PixelFormatInfo& format = format_info(info.format);
    bool all = true;
    for (std::size_t p = 0; p < format.plane_count; ++p)
      all = all && !known.refusal(format.sample, plane_shape(info, p), samples);
    if (all) return allocate_image_frame(image_context, info, samples);
  }
  Requirements wanted;
  wanted.pitch_alignment = buffers.native().device.base_alignment;  // So planes begin at multiples of it too.
  wanted.size_bytes = Frame::size_bytes_for(info, wanted);
  return Frame::over(info, buffers.allocate(wanted), wanted);
}

}  // namespace opencl
}  // namespace v1
}  // namespace tenon
