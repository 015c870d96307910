// SPDX-License-Identifier: Apache-2.0
// Textures of OpenGL ES as memory: ours, a user's, or pictures in dma-bufs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <utility>

#include <tenon/core/memory.hpp>
#include <tenon/core/memory_kind.hpp>
#include <tenon/core/shape.hpp>
#include <tenon/core/tensor.hpp>
#include <tenon/frameworks/egl/device.hpp>

namespace tenon {
inline namespace v1 {
namespace egl {

/// `Tensor::kind()` of textures.
inline constexpr MemoryKind kTextureMemory{"egl.texture"};

/// Where the rows of a texture count as bytes of its memory. Those of a texture of ours are packed from byte 0.
struct TextureLayout {
  const detail::Format* format = nullptr;
  std::size_t width_px = 0, height_px = 0, pixel_bytes = 1, base = 0, pitch = 0;
  std::size_t row_bytes() const { return width_px * pixel_bytes; }
  std::size_t end() const { return base + pitch * height_px; }
};

/// A 2-D texture as memory.
class TextureMemory final : public Memory {
 public:
  TextureMemory(Context context, const Properties& properties, Ref<detail::Native> native, detail::OwnedTexture owned,
                GLuint texture, const TextureLayout& layout, std::function<void()> release)
      : Memory(std::move(context), kTextureMemory, properties),
        native_(std::move(native)),
        owned_(std::move(owned)),
        texture_(texture),
        layout_(layout),
        release_(std::move(release)) {}
  ~TextureMemory() override;
  GLuint texture() const { return texture_; }
  const TextureLayout& layout() const { return layout_; }

 private:
  Ref<detail::Native> native_;
  detail::OwnedTexture owned_;  // Empty for a user's.
  GLuint texture_;
  TextureLayout layout_;
  std::function<void()> release_;
};

/// A picture in a dma-buf as a texture.
class TextureView final : public View {
 public:
  TextureView(Context context, Access access, detail::OwnedTexture owned, const TextureLayout& layout,
              std::uint64_t key)
      : View(std::move(context), kTextureMemory, access, nullptr, key), owned_(std::move(owned)), layout_(layout) {}
  GLuint texture() const { return owned_.get(); }
  const TextureLayout& layout() const { return layout_; }

 private:
  detail::OwnedTexture owned_;
  TextureLayout layout_;
};

namespace detail {

struct TexturePlace {
  GLuint texture = 0;
  const TextureLayout* layout = nullptr;
};
std::optional<TexturePlace> find_texture(const Tensor& tensor);

/// [h, w] or [h, w, c] as pixels; nothing for other shapes.
struct Picture {
  std::size_t width_px, height_px, channels;
};
std::optional<Picture> picture_of(const Shape& shape);

/// Copies the elements of a texture to packed memory, or from it. The caller has waited for work in flight.
/// @errors those of native calls.
void read_elements(Native& native, const Tensor& tensor, std::byte* packed);
void write_elements(Native& native, const Tensor& tensor, const std::byte* packed);

}  // namespace detail

/// The name of a tensor's texture, in the context's share group: bind it in a context that shares with it. Work on it must be
/// ordered by order(), and reported by wrote() or reads(). @errors kInvalidArgument: a tensor of another kind.
GLuint texture(const Tensor& tensor);

}  // namespace egl
}  // namespace v1
}  // namespace tenon
