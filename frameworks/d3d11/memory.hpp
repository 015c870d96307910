// SPDX-License-Identifier: Apache-2.0
// Buffers and textures as memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include <tenon/core/context.hpp>
#include <tenon/core/frame.hpp>
#include <tenon/core/memory.hpp>
#include <tenon/core/pixel_format.hpp>
#include <tenon/core/ref_counted.hpp>
#include <tenon/core/tensor.hpp>
#include <tenon/frameworks/d3d11/context.hpp>
#include <tenon/frameworks/d3d11/native.hpp>

namespace tenon {
inline namespace v1 {
namespace d3d11 {

/// A row of the table of formats.
struct TextureFormat {
  DXGI_FORMAT dxgi;
  PixelFormat pixels;
};
/// The formats of textures that frames have here; each device refuses some of them.
std::span<const TextureFormat> texture_formats();
/// Null where the table has none.
const TextureFormat* find_texture_format(DXGI_FORMAT format);
const TextureFormat* find_texture_format(PixelFormat format);

/// An ID3D11Buffer. Devices derive their remote tensors' memory from it.
class BufferMemory : public Memory {
 public:
  /// @errors kInvalidArgument: null, or a buffer of another device
  static Ref<BufferMemory> over(const Context& context, Com<ID3D11Buffer> buffer);
  ~BufferMemory() override { drop_views(); }
  ID3D11Buffer* buffer() const { return buffer_.get(); }

 protected:
  /// @errors as over()
  BufferMemory(const Context& context, Com<ID3D11Buffer> buffer)
      : Memory(context, kBufferMemory, properties_of(context, buffer.get())), buffer_(std::move(buffer)) {}

 private:
  static Properties properties_of(const Context& context, ID3D11Buffer* buffer);
  Com<ID3D11Buffer> buffer_;
};

/// One picture of an ID3D11Texture2D: mip level 0 of an array slice. Tensors over it count as if its rows lay packed, one after another,
/// and the second plane of NV12 and P010 behind the first.
class TextureMemory : public Memory {
 public:
  /// @errors kInvalidArgument: null, a texture of another device, a slice that it lacks, several samples; kUnimplemented: a format that the
  /// table lacks
  static Ref<TextureMemory> over(const Context& context, Com<ID3D11Texture2D> texture, UINT slice);
  ~TextureMemory() override { drop_views(); }
  ID3D11Texture2D* texture() const { return texture_.get(); }
  const D3D11_TEXTURE2D_DESC& description() const { return description_; }
  UINT slice() const { return slice_; }
  UINT subresource() const { return slice_ * description_.MipLevels; }
  FrameInfo info() const;
  std::size_t pitch_bytes() const { return pitch_; }

 protected:
  /// @errors as over()
  TextureMemory(const Context& context, Com<ID3D11Texture2D> texture, UINT slice)
      : TextureMemory(context, std::move(texture), slice, picture_of(context, texture.get(), slice)) {}

 private:
  struct Picture {
    D3D11_TEXTURE2D_DESC description;
    std::size_t pitch;
    Properties properties;
  };
  static Picture picture_of(const Context& context, ID3D11Texture2D* texture, UINT slice);
  /// Takes a reference to `texture`, which the picture is made of before it is moved.
  TextureMemory(const Context& context, Com<ID3D11Texture2D>&& texture, UINT slice, const Picture& picture)
      : Memory(context, kTextureMemory, picture.properties),
        texture_(std::move(texture)),
        description_(picture.description),
        slice_(slice),
        pitch_(picture.pitch) {}
  Com<ID3D11Texture2D> texture_;
  D3D11_TEXTURE2D_DESC description_;
  UINT slice_;
  std::size_t pitch_;
};

/// Wraps the caller's buffer: takes its own reference. @errors those of BufferMemory::over; kOutOfRange: `info` needs more than it has
Tensor wrap_buffer(const Context& context, ID3D11Buffer* buffer, const TensorInfo& info, std::size_t offset = 0);
/// Takes over the caller's reference, which is released once, also when this fails. @errors as wrap_buffer()
Tensor adopt_buffer(const Context& context, ID3D11Buffer* buffer, const TensorInfo& info, std::size_t offset = 0);
/// The buffer of a tensor, valid as long as the tensor, which begins at tensor.offset() in it. @errors kInvalidArgument: none of d3d11
ID3D11Buffer* buffer(const Tensor& tensor);

/// Wraps a picture of the caller's texture, all its planes: takes its own reference. @errors those of TextureMemory::over
Frame wrap_texture(const Context& context, ID3D11Texture2D* texture, UINT slice = 0);
/// As adopt_buffer().
Frame adopt_texture(const Context& context, ID3D11Texture2D* texture, UINT slice = 0);
/// The texture of a plane, and its slice. @errors kInvalidArgument: no plane of a texture
struct TextureSlice {
  ID3D11Texture2D* texture = nullptr;
  UINT slice = 0;
};
TextureSlice texture(const Tensor& plane);

/// A frame in a new texture, bound for shaders. @errors kUnimplemented: a format that the table or this device lacks; kInvalidArgument: no
/// extent, an odd one of NV12 and P010, more than 16384
Frame allocate_frame(const Context& context, const FrameInfo& info);

}  // namespace d3d11
}  // namespace v1
}  // namespace tenon
