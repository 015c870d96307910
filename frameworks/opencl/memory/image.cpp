// SPDX-License-Identifier: Apache-2.0
// Images as memory: formats, copies of their pixels, and frames of them.
#include <tenon/frameworks/opencl/image.hpp>

#include <algorithm>
#include <cstring>

#include <tenon/core/error.hpp>
#include <tenon/core/export.hpp>
#include <tenon/core/pixel_format.hpp>
#include <tenon/frameworks/opencl/buffer.hpp>
#include <tenon/frameworks/opencl/device.hpp>
#include <tenon/frameworks/opencl/event.hpp>

namespace tenon {
inline namespace v1 {
namespace opencl {
namespace detail {

TENON_INLINE cl_image_format format_of(ElementType type, std::size_t channels, Samples samples) {
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

TENON_INLINE std::pair<ElementType, std::size_t> elements_of(const cl_image_format& format) {
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

TENON_INLINE std::optional<Picture> picture_of(const Shape& shape) {
  if (shape.size() != 2 && shape.size() != 3) return std::nullopt;
  return Picture{shape[1], shape[0], shape.size() == 3 ? shape[2] : 1};
}

}  // namespace detail

TENON_INLINE ImageMemory::ImageMemory(Context context, const Properties& properties, Ref<detail::Native> native,
                                      detail::Handle<cl_mem> image, const detail::ImageLayout& layout)
    : Memory(std::move(context), kImageMemory, properties),
      native_(std::move(native)),
      image_(std::move(image)),
      layout_(layout) {}

TENON_INLINE ImageMemory::~ImageMemory() { drop_views(); }

TENON_INLINE ImageView::ImageView(Context context, Access access, Ref<detail::Native> native,
                                  detail::Handle<cl_mem> image, const detail::ImageLayout& layout,
                                  const cl_image_format& format)
    : View(std::move(context), kImageMemory, access, nullptr),
      native_(std::move(native)),
      image_(std::move(image)),
      layout_(layout),
      format_(format) {}

namespace detail {

TENON_INLINE ImageAndLayout image_and_layout(const Tensor& tensor) {
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

TENON_INLINE std::optional<ImageRegion> region_of(const Tensor& tensor, const ImageLayout& layout) {
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
TENON_INLINE void finish_over(cl_event event, const Ref<Memory>& host, Deadline deadline) {
  const Ref<EventTimeline> done = EventTimeline::over(Handle<cl_event>(event));
  try {
    done->wait(1, deadline);
  } catch (...) {
    keep_until(done->event(), host);
    throw;
  }
}

TENON_INLINE void read_pixels(const Native& native, const Tensor& tensor, const ImageRegion& region,
                              const Ref<Memory>& into, Deadline deadline) {
  cl_event event = nullptr;
  check(call(clEnqueueReadImage, native.transfers.get(), image_and_layout(tensor).image, cl_bool{CL_FALSE},
             region.origin.data(), region.size.data(), std::size_t{0}, std::size_t{0}, into->host(), cl_uint{0},
             static_cast<const cl_event*>(nullptr), &event),
        "clEnqueueReadImage", [&] { return "reading " + to_string(tensor); });
  finish_over(event, into, deadline);
}

TENON_INLINE void write_pixels(const Native& native, const Tensor& tensor, const ImageRegion& region,
                               const Tensor& rows, std::size_t pitch, Deadline deadline) {
  cl_event event = nullptr;
  check(call(clEnqueueWriteImage, native.transfers.get(), image_and_layout(tensor).image, cl_bool{CL_FALSE},
             region.origin.data(), region.size.data(), pitch, std::size_t{0}, static_cast<const void*>(rows.data()),
             cl_uint{0}, static_cast<const cl_event*>(nullptr), &event),
        "clEnqueueWriteImage", [&] { return "writing " + to_string(tensor); });
  finish_over(event, rows.memory(), deadline);
}

TENON_INLINE std::size_t read_image(const Native& native, const Tensor& tensor, std::span<std::byte> out,
                                    Deadline deadline, Ledger* ledger) {
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
TENON_INLINE Handle<cl_event> write_image(const Native& native, const Tensor& tensor, std::span<const std::byte> in,
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

TENON_INLINE ImageContext::ImageContext(Ref<detail::Native> native, const std::string& device_name)
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

TENON_INLINE std::variant<Offer, Refusal> ImageContext::offer(const Requirements& wanted) const {
  if (wanted.fd != FdKind::kNone || wanted.host_access || wanted.alignment > 4096)
    return Refusal{
        "images have no descriptor, no address for the host and no alignment; allocate a buffer and map it here, or "
        "ask for less"};
  return Offer{1, FdKind::kNone, 0, false};
}

TENON_INLINE Ref<Memory> ImageContext::allocate(const Requirements& wanted) {
  check_offer(wanted);
  const std::size_t size = std::max<std::size_t>(wanted.size_bytes + wanted.tail_padding, 1);
  const std::size_t width = std::min({size, native().device.max_width, std::size_t{4096}});
  return make(width, (size + width - 1) / width, bytes_format(), 1);
}

TENON_INLINE void ImageContext::read(const Tensor& tensor, std::span<std::byte> out) const {
  detail::read_image(native(), tensor, out, default_deadline());
}

TENON_INLINE void ImageContext::write(const Tensor& tensor, std::span<const std::byte> in) const {
  if (tensor.size_bytes() == 0) return;
  detail::finish(detail::write_image(native(), tensor, in, default_deadline()), default_deadline());
}

TENON_INLINE std::optional<Refusal> ImageContext::refusal(ElementType type, const Shape& shape, Samples samples) const {
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
                   " of " + std::string(tenon::v1::name(type)) + (samples == Samples::kInteger ? " as integers" : "") +
                   "; use a buffer"};
  if (picture->width_px == 0 || picture->height_px == 0)
    return Refusal{"the picture has no pixels, and OpenCL has no empty images"};
  if (picture->width_px > native().device.max_width || picture->height_px > native().device.max_height)
    return Refusal{what + " exceeds the largest image of " + native().device.name + ", " +
                   std::to_string(native().device.max_width) + "x" + std::to_string(native().device.max_height)};
  return std::nullopt;
}

TENON_INLINE Ref<Memory> ImageContext::make(std::size_t width, std::size_t height, const cl_image_format& format,
                                            std::size_t pixel_bytes) {
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

TENON_INLINE Ref<Memory> ImageContext::over(detail::Handle<cl_mem> image, const detail::ImageLayout& layout) {
  Memory::Properties properties;
  properties.size_bytes = layout.row_bytes() * layout.height_px;
  properties.identity = {MemoryIdentity::Kind::kHandle, 0, reinterpret_cast<std::uintptr_t>(image.get())};
  return make_ref<ImageMemory>(Context(Ref<ContextImpl>(this)), properties, native_ref(), std::move(image), layout);
}

TENON_INLINE bool ImageContext::supports(const cl_image_format& format) const {
  for (const cl_image_format& known : formats_) {
    if (known.image_channel_order == format.image_channel_order &&
        known.image_channel_data_type == format.image_channel_data_type)
      return true;
  }
  return false;
}

TENON_INLINE cl_image_format ImageContext::bytes_format() const {
  for (Samples samples : {Samples::kInteger, Samples::kNormalised}) {
    const cl_image_format format = detail::format_of(ElementType::kU8, 1, samples);
    if (supports(format)) return format;
  }
  throw Error(Code::kUnimplemented, std::string(name()) + ": no image format of single bytes");
}

TENON_INLINE cl_mem image(const Tensor& tensor) { return detail::image_and_layout(tensor).image; }

TENON_INLINE Context images(const Context& context) {
  if (context.as<ImageContext>()) return context;
  return detail::buffers(context, "images").sibling(0, [](const Ref<detail::Native>& native, const std::string& name) {
    return Context(make_ref<ImageContext>(native, name));
  });
}

namespace detail {

TENON_INLINE ImageContext& image_context(const Context& context, const char* function) {
  auto* images = context.as<ImageContext>();
  if (!images)
    throw Error(Code::kInvalidArgument,
                std::string("opencl::") + function + ": the context is none of images; pass opencl::images(context)");
  return *images;
}

}  // namespace detail

TENON_INLINE Tensor allocate_image(const Context& context, ElementType type, const Shape& shape, Samples samples) {
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

TENON_INLINE ImageContents contents_of(cl_mem image, const char* what) {
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

TENON_INLINE Tensor image_tensor(ImageContext& images, Handle<cl_mem> image, const char* what) {
  const ImageContents contents = contents_of(image.get(), what);
  return Tensor(contents.info, images.over(std::move(image), contents.layout));
}

}  // namespace detail

TENON_INLINE Tensor wrap_image(const Context& context, cl_mem image) {
  ImageContext& images = detail::image_context(context, "wrap_image");
  detail::check_mem(images.native(), image, CL_MEM_OBJECT_IMAGE2D, "wrap_image");
  return detail::image_tensor(images, detail::Handle<cl_mem>::retain(image, "wrapping an image"), "wrap_image");
}

TENON_INLINE Tensor adopt_image(const Context& context, cl_mem image) {
  detail::Handle<cl_mem> owned(image);
  ImageContext& images = detail::image_context(context, "adopt_image");
  detail::check_mem(images.native(), image, CL_MEM_OBJECT_IMAGE2D, "adopt_image");
  return detail::image_tensor(images, std::move(owned), "adopt_image");
}

TENON_INLINE Frame allocate_image_frame(const Context& context, const FrameInfo& info, Samples samples) {
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

TENON_INLINE Frame allocate_frame(const Context& context, const FrameInfo& info, Samples samples) {
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
