// SPDX-License-Identifier: Apache-2.0
// 2-D images: formats, cl_mem images as memory, frames whose planes are images.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <tenon/core/context.hpp>
#include <tenon/core/edge.hpp>
#include <tenon/core/element_type.hpp>
#include <tenon/core/frame.hpp>
#include <tenon/core/ledger.hpp>
#include <tenon/core/memory.hpp>
#include <tenon/core/policy.hpp>
#include <tenon/core/ref_counted.hpp>
#include <tenon/core/requirements.hpp>
#include <tenon/core/shape.hpp>
#include <tenon/core/tensor.hpp>
#include <tenon/frameworks/opencl/context.hpp>
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
cl_image_format format_of(ElementType type, std::size_t channels, Samples samples);

/// The reverse; an undefined type if Tenon has none, 0 channels for unknown channel orders.
std::pair<ElementType, std::size_t> elements_of(const cl_image_format& format);

/// [h, w] or [h, w, c] as pixels; nothing for other shapes.
struct Picture {
  std::size_t width_px, height_px, channels;
};
std::optional<Picture> picture_of(const Shape& shape);

}  // namespace detail

/// An image as memory. Its bytes count as packed rows, whatever the driver's layout, and tensors over it are laid out
/// that way.
class ImageMemory : public Memory {
 public:
  ImageMemory(Context context, const Properties& properties, Ref<detail::Native> native, detail::Handle<cl_mem> image,
              const detail::ImageLayout& layout);
  ~ImageMemory() override;
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
            const detail::ImageLayout& layout, const cl_image_format& format);
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
ImageAndLayout image_and_layout(const Tensor& tensor);

/// A rectangle of an image, as its calls take it.
struct ImageRegion {
  std::array<std::size_t, 3> origin{}, size{};
};

/// The pixels that are exactly `tensor`; nothing if it begins or ends within a pixel, or does not run along the rows.
std::optional<ImageRegion> region_of(const Tensor& tensor, const ImageLayout& layout);

/// Reads pixels into packed host memory, without a detour.
void read_pixels(const Native& native, const Tensor& tensor, const ImageRegion& region, const Ref<Memory>& into,
                 Deadline deadline);
/// Writes pixels from the host's `rows`, which are `pitch` bytes apart.
void write_pixels(const Native& native, const Tensor& tensor, const ImageRegion& region, const Tensor& rows,
                  std::size_t pitch, Deadline deadline);

/// @return the bytes that went through a buffer between.
std::size_t read_image(const Native& native, const Tensor& tensor, std::span<std::byte> out, Deadline deadline,
                       Ledger* ledger = nullptr);

}  // namespace detail

/// The context of images over the same cl_context as the buffers.
class ImageContext final : public FacetContext {
 public:
  /// @errors kUnavailable: the device has no images.
  ImageContext(Ref<detail::Native> native, const std::string& device_name);

  std::span<const Edge* const> edges() const override;
  std::variant<Offer, Refusal> offer(const Requirements& wanted) const override;
  /// Images of bytes, in rows of at most 4096 px, for tensors of any shape. See allocate_image() for pictures.
  /// @errors kUnimplemented: descriptors, host access; kResourceExhausted: more than the largest image holds.
  Ref<Memory> allocate(const Requirements& wanted) override;
  void read(const Tensor& tensor, std::span<std::byte> out) const override;
  void write(const Tensor& tensor, std::span<const std::byte> in) const override;

  /// Why pictures of these elements cannot be images here; nothing when they can.
  std::optional<Refusal> refusal(ElementType type, const Shape& shape, Samples samples) const;

  Ref<Memory> make(std::size_t width, std::size_t height, const cl_image_format& format, std::size_t pixel_bytes);
  Ref<Memory> over(detail::Handle<cl_mem> image, const detail::ImageLayout& layout);

 private:
  bool supports(const cl_image_format& format) const;
  cl_image_format bytes_format() const;

  std::vector<cl_image_format> formats_;
};

/// The image of a tensor; it lives as long as the tensor. @errors kInvalidArgument: a tensor of another kind.
cl_mem image(const Tensor& tensor);

/// The context of images over the cl_context of `context`, a context of buffers (or already of images).
/// @errors kUnavailable: the device has none; kInvalidArgument: another context.
Context images(const Context& context);

namespace detail {

/// @errors kInvalidArgument, which names `function`: a context of another kind.
ImageContext& image_context(const Context& context, const char* function);

}  // namespace detail

/// A new image for a picture [h, w] or [h, w, c], c of 1, 2 or 4.
/// @errors kUnimplemented: a format that the platform lacks, named; kInvalidArgument: no picture.
Tensor allocate_image(const Context& context, ElementType type, const Shape& shape,
                      Samples samples = Samples::kNormalised);

namespace detail {

/// What an image holds, as a tensor.
struct ImageContents {
  TensorInfo info;
  ImageLayout layout;
};
/// @errors kUnimplemented: a format without an element type.
ImageContents contents_of(cl_mem image, const char* what);

}  // namespace detail

/// The caller's 2-D image as a tensor [h, w] or [h, w, c]. Takes its own reference.
/// @errors kInvalidArgument: null, no 2-D image, another cl_context; kUnimplemented: a format without an element type.
Tensor wrap_image(const Context& context, cl_mem image);
/// Takes over the caller's reference, also when this fails. @errors as wrap_image().
Tensor adopt_image(const Context& context, cl_mem image);

/// Allocates a frame with one image per plane: NV12 as R8 and RG8. @errors kUnimplemented, naming the plane and the
/// format that the platform lacks; use allocate_frame() then.
Frame allocate_image_frame(const Context& context, const FrameInfo& info, Samples samples = Samples::kNormalised);

/// Allocates a frame for kernels of `context`: images if the platform has the formats of all planes, else one buffer in
/// which each plane and row is aligned so that it can be a sub-buffer, or an image over the buffer.
/// frame.plane(0).kind() tells which.
Frame allocate_frame(const Context& context, const FrameInfo& info, Samples samples = Samples::kNormalised);

}  // namespace opencl
}  // namespace v1
}  // namespace tenon
