// SPDX-License-Identifier: Apache-2.0
// Copies of parts of textures.
#include <tenon/frameworks/egl/texture.hpp>

#include <algorithm>
#include <cstring>
#include <vector>

#include <tenon/core/error.hpp>
#include <tenon/core/rows.hpp>

namespace tenon {
inline namespace v1 {
namespace egl {
namespace detail {

TENON_INLINE std::optional<TexturePlace> find_texture(const Tensor& tensor) {
  if (!tensor) return std::nullopt;
  if (tensor.view()) {
    const auto* view = dynamic_cast<const TextureView*>(tensor.view());
    return view ? std::optional(TexturePlace{view->texture(), &view->layout()}) : std::nullopt;
  }
  const auto* memory = dynamic_cast<const TextureMemory*>(tensor.memory().get());
  return memory ? std::optional(TexturePlace{memory->texture(), &memory->layout()}) : std::nullopt;
}

TENON_INLINE std::optional<Picture> picture_of(const Shape& shape) {
  if (shape.size() != 2 && shape.size() != 3) return std::nullopt;
  return Picture{shape[1], shape[0], shape.size() == 3 ? shape[2] : 1};
}

/// A rectangle of pixels.
struct Rectangle {
  std::size_t x = 0, y = 0, width = 0, height = 0;
};

/// The pixels that are exactly `tensor`; nothing if it begins or ends within a pixel, or does not run along the rows.
TENON_INLINE std::optional<Rectangle> rectangle_of(const Tensor& tensor, const TextureLayout& layout) {
  const auto picture = picture_of(tensor.shape());
  const std::size_t element = size_bytes(tensor.element_type());
  if (!picture || element == 0 || tensor.byte_strides().empty() || tensor.offset() < layout.base) return std::nullopt;
  const std::size_t pixel = element * picture->channels, row = pixel * picture->width_px;
  const ByteStrides& strides = tensor.byte_strides();
  if ((picture->width_px > 1 && static_cast<std::size_t>(strides[1]) != pixel) ||
      (strides.size() == 3 && picture->channels > 1 && static_cast<std::size_t>(strides[2]) != element) ||
      (picture->height_px > 1 && static_cast<std::size_t>(strides[0]) != layout.pitch))
    return std::nullopt;
  const std::size_t begin = tensor.offset() - layout.base, left = begin % layout.pitch;
  if (left % layout.pixel_bytes != 0 || row % layout.pixel_bytes != 0 || left + row > layout.row_bytes())
    return std::nullopt;
  return Rectangle{left / layout.pixel_bytes, begin / layout.pitch, row / layout.pixel_bytes, picture->height_px};
}

/// The whole rows of a texture that a tensor touches.
struct TextureRows {
  const TextureLayout& layout;
  std::size_t first = 0, count = 0;
  std::vector<std::byte> bytes;

  TextureRows(const Tensor& tensor, const TextureLayout& of) : layout(of) {
    const std::size_t begin = tensor.offset() - layout.base;
    first = begin / layout.pitch;
    count = (begin + checked_extent_bytes(tensor.info()).value() - 1) / layout.pitch - first + 1;
    count = std::min(count, layout.height_px - first);
    bytes.resize(count * layout.row_bytes());
  }
  /// Calls run(byte in the rows, byte in the packed tensor, size).
  template <typename Run>
  void for_each(const Tensor& tensor, Run run) const {
    for_each_block(tensor, [&](const Rows& rows) {
      for (std::size_t row = 0; row < rows.count; ++row) {
        const std::size_t at = rows.offset + row * rows.pitch - layout.base;
        // A run crosses rows only where rows have no padding; both sides then count alike.
        run((at / layout.pitch - first) * layout.row_bytes() + at % layout.pitch, rows.packed + row * rows.width,
            rows.width);
      }
    });
  }
};

TENON_INLINE void read_elements(Native& native, const Tensor& tensor, std::byte* packed) {
  if (tensor.size_bytes() == 0) return;
  const TexturePlace place = find_texture(tensor).value();
  const TextureLayout& layout = *place.layout;
  if (const auto part = rectangle_of(tensor, layout))
    return read_rectangle(native, place.texture, *layout.format, part->x, part->y, part->width, part->height, packed);
  TextureRows rows(tensor, layout);
  read_rectangle(native, place.texture, *layout.format, 0, rows.first, layout.width_px, rows.count, rows.bytes.data());
  rows.for_each(tensor, [&](std::size_t at, std::size_t to, std::size_t size) {
    std::memcpy(packed + to, rows.bytes.data() + at, size);
  });
}

TENON_INLINE void write_elements(Native& native, const Tensor& tensor, const std::byte* packed) {
  if (tensor.size_bytes() == 0) return;
  const TexturePlace place = find_texture(tensor).value();
  const TextureLayout& layout = *place.layout;
  if (const auto part = rectangle_of(tensor, layout))
    return write_rectangle(native, place.texture, *layout.format, part->x, part->y, part->width, part->height, packed);
  TextureRows rows(tensor, layout);
  // What lies beside the tensor in its rows stays.
  read_rectangle(native, place.texture, *layout.format, 0, rows.first, layout.width_px, rows.count, rows.bytes.data());
  rows.for_each(tensor, [&](std::size_t at, std::size_t from, std::size_t size) {
    std::memcpy(rows.bytes.data() + at, packed + from, size);
  });
  write_rectangle(native, place.texture, *layout.format, 0, rows.first, layout.width_px, rows.count, rows.bytes.data());
}

}  // namespace detail

TENON_INLINE TextureMemory::~TextureMemory() {
  drop_views();
  if (release_) release_();
}

TENON_INLINE GLuint texture(const Tensor& tensor) {
  const auto place = detail::find_texture(tensor);
  if (!place)
    throw Error(Code::kInvalidArgument,
                "egl::texture of " + to_string(tensor) + ": it is no egl.texture; map it to a context of egl");
  return place->texture;
}

}  // namespace egl
}  // namespace v1
}  // namespace tenon
