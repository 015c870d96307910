// SPDX-License-Identifier: Apache-2.0
// The table of formats, and what is wrapped.
#include <tenon/frameworks/d3d11/memory.hpp>

#include <array>
#include <string>
#include <utility>
#include <vector>

#include <tenon/core/error.hpp>
#include <tenon/core/export.hpp>

namespace tenon {
inline namespace v1 {
namespace d3d11 {
namespace detail {

/// @source The memory order of DXGI_FORMAT's names is that of their bytes: B8G8R8A8 is B, G, R, A.
inline constexpr TextureFormat kFormats[] = {
    {DXGI_FORMAT_B8G8R8A8_UNORM, kBgra}, {DXGI_FORMAT_R8G8B8A8_UNORM, kRgba}, {DXGI_FORMAT_B8G8R8X8_UNORM, kBgrx},
    {DXGI_FORMAT_R8_UNORM, kGray8},      {DXGI_FORMAT_R16_UNORM, kGray16},    {DXGI_FORMAT_NV12, kNv12},
    {DXGI_FORMAT_P010, kP010},           {DXGI_FORMAT_YUY2, kYuy2},
};

TENON_INLINE std::string formats_known() {
  std::string text;
  for (const TextureFormat& each : kFormats) text += (text.empty() ? "" : ", ") + to_string(each.pixels);
  return text;
}

TENON_INLINE std::uint64_t number_of(const void* object) { return reinterpret_cast<std::uintptr_t>(object); }

/// The device of a context of this kind; throws where the context is another's or its device did not make `child`.
TENON_INLINE const Device& device_of(const Context& context, MemoryKind kind, ID3D11DeviceChild* child,
                                     const std::string& what) {
  const auto* known = context ? context.as<D3D11Context>() : nullptr;
  if (!known || known->kind() != kind)
    throw Error(Code::kInvalidArgument, "d3d11: " + what + ": the context " +
                                            (context ? "'" + std::string(context->name()) + "'" : std::string("null")) +
                                            " is not one of d3d11 for " + std::string(kind.name()));
  if (!child) throw Error(Code::kInvalidArgument, "d3d11: " + what + ": the pointer is null");
  Com<ID3D11Device> made;
  child->GetDevice(made.out());
  if (made.get() != known->device_ref()->get())
    throw Error(Code::kInvalidArgument, "d3d11: " + what + ": another device made it than that of '" +
                                            std::string(context->name()) + "'; wrap it in a context of its own device");
  return *known->device_ref();
}

}  // namespace detail

TENON_INLINE std::span<const TextureFormat> texture_formats() { return detail::kFormats; }
TENON_INLINE const TextureFormat* find_texture_format(DXGI_FORMAT format) {
  for (const TextureFormat& each : detail::kFormats)
    if (each.dxgi == format) return &each;
  return nullptr;
}
TENON_INLINE const TextureFormat* find_texture_format(PixelFormat format) {
  for (const TextureFormat& each : detail::kFormats)
    if (each.pixels == format) return &each;
  return nullptr;
}

TENON_INLINE Ref<BufferMemory> BufferMemory::over(const Context& context, Com<ID3D11Buffer> buffer) {
  return Ref<BufferMemory>(new BufferMemory(context, std::move(buffer)));
}
TENON_INLINE Memory::Properties BufferMemory::properties_of(const Context& context, ID3D11Buffer* buffer) {
  detail::device_of(context, kBufferMemory, buffer, "wrapping a buffer");
  D3D11_BUFFER_DESC description{};
  buffer->GetDesc(&description);
  Properties properties;
  properties.size_bytes = description.ByteWidth;
  properties.read_only = description.Usage == D3D11_USAGE_IMMUTABLE;
  // The reference keeps the address from being used again.
  properties.identity = {MemoryIdentity::Kind::kHandle, 0, detail::number_of(buffer)};
  return properties;
}

TENON_INLINE FrameInfo TextureMemory::info() const {
  return {find_texture_format(description_.Format)->pixels, description_.Width, description_.Height};
}

TENON_INLINE Ref<TextureMemory> TextureMemory::over(const Context& context, Com<ID3D11Texture2D> texture, UINT slice) {
  return Ref<TextureMemory>(new TextureMemory(context, std::move(texture), slice));
}
TENON_INLINE TextureMemory::Picture TextureMemory::picture_of(const Context& context, ID3D11Texture2D* texture,
                                                              UINT slice) {
  detail::device_of(context, kTextureMemory, texture, "wrapping a texture");
  D3D11_TEXTURE2D_DESC description{};
  texture->GetDesc(&description);
  const std::string what = "d3d11: wrapping a texture of " + std::to_string(description.Width) + "x" +
                           std::to_string(description.Height) + ", " + std::to_string(description.ArraySize) +
                           " slices: ";
  if (slice >= description.ArraySize)
    throw Error(Code::kInvalidArgument, what + "slice " + std::to_string(slice) + " is none of it");
  if (description.SampleDesc.Count != 1)
    throw Error(Code::kInvalidArgument, what + "it has " + std::to_string(description.SampleDesc.Count) +
                                            " samples for a pixel; resolve it first (ResolveSubresource)");
  const TextureFormat* const format = find_texture_format(description.Format);
  if (!format)
    throw Error(Code::kUnimplemented, what + "DXGI_FORMAT " + std::to_string(description.Format) +
                                          " is none of these: " + detail::formats_known());
  const FrameInfo info{format->pixels, description.Width, description.Height};
  Properties properties;
  const std::size_t pitch = plane_extent(info, 0).row_bytes;
  for (std::size_t p = 0; p < format_info(info.format).plane_count; ++p)
    properties.size_bytes += pitch * plane_extent(info, p).height_px;
  properties.read_only = description.Usage == D3D11_USAGE_IMMUTABLE;
  properties.identity = {MemoryIdentity::Kind::kHandle, slice, detail::number_of(texture)};
  return {description, pitch, properties};
}

TENON_INLINE Tensor adopt_buffer(const Context& context, ID3D11Buffer* buffer, const TensorInfo& info,
                                 std::size_t offset) {
  return Tensor(info, BufferMemory::over(context, Com<ID3D11Buffer>(buffer)), offset);
}
TENON_INLINE Tensor wrap_buffer(const Context& context, ID3D11Buffer* buffer, const TensorInfo& info,
                                std::size_t offset) {
  return Tensor(info, BufferMemory::over(context, Com<ID3D11Buffer>::share(buffer)), offset);
}

TENON_INLINE ID3D11Buffer* buffer(const Tensor& tensor) {
  const auto* memory = tensor && !tensor.view() ? dynamic_cast<const BufferMemory*>(tensor.memory().get()) : nullptr;
  if (!memory)
    throw Error(Code::kInvalidArgument,
                "d3d11::buffer of " + to_string(tensor) +
                    ": it is no d3d11.buffer; map it to a context of d3d11 with a Router first");
  return memory->buffer();
}

namespace detail {

TENON_INLINE Frame frame_over(const Ref<TextureMemory>& memory) {
  const FrameInfo info = memory->info();
  std::array<PlanePlace, 4> places;
  const std::size_t count = format_info(info.format).plane_count;
  std::size_t offset = 0;
  for (std::size_t p = 0; p < count; ++p) {
    places[p] = {memory, offset, memory->pitch_bytes()};
    offset += memory->pitch_bytes() * plane_extent(info, p).height_px;
  }
  return Frame(info, std::span(places).first(count));
}

}  // namespace detail

TENON_INLINE Frame wrap_texture(const Context& context, ID3D11Texture2D* texture, UINT slice) {
  return detail::frame_over(TextureMemory::over(context, Com<ID3D11Texture2D>::share(texture), slice));
}
TENON_INLINE Frame adopt_texture(const Context& context, ID3D11Texture2D* texture, UINT slice) {
  return detail::frame_over(TextureMemory::over(context, Com<ID3D11Texture2D>(texture), slice));
}

TENON_INLINE TextureSlice texture(const Tensor& plane) {
  const auto* memory = plane && !plane.view() ? dynamic_cast<const TextureMemory*>(plane.memory().get()) : nullptr;
  if (!memory)
    throw Error(Code::kInvalidArgument,
                "d3d11::texture of " + to_string(plane) +
                    ": it is no d3d11.texture; map it to a context of d3d11 with a Router first");
  return {memory->texture(), memory->slice()};
}

TENON_INLINE Frame allocate_frame(const Context& context, const FrameInfo& info) {
  const auto* known = context ? context.as<D3D11Context>() : nullptr;
  const std::string what = "d3d11: a texture of " + std::to_string(info.width_px) + "x" +
                           std::to_string(info.height_px) + ", " + to_string(info.format);
  if (!known || known->kind() != kTextureMemory)
    throw Error(Code::kInvalidArgument, what + ": the context is not one of d3d11 for textures: d3d11::textures()");
  const TextureFormat* const format = find_texture_format(info.format);
  if (!format) throw Error(Code::kUnimplemented, what + ": textures have these formats: " + detail::formats_known());
  constexpr std::uint32_t kMax = D3D11_REQ_TEXTURE2D_U_OR_V_DIMENSION;
  if (info.width_px == 0 || info.height_px == 0 || info.width_px > kMax || info.height_px > kMax)
    throw Error(Code::kInvalidArgument, what + ": extents are 1 to " + std::to_string(kMax));
  if (format_info(info.format).plane_count > 1 && (info.width_px % 2 != 0 || info.height_px % 2 != 0))
    throw Error(Code::kInvalidArgument, what + ": both extents of this format are even");
  D3D11_TEXTURE2D_DESC wanted{};
  wanted.Width = info.width_px;
  wanted.Height = info.height_px;
  wanted.MipLevels = wanted.ArraySize = wanted.SampleDesc.Count = 1;
  wanted.Format = format->dxgi;
  wanted.Usage = D3D11_USAGE_DEFAULT;
  wanted.BindFlags = D3D11_BIND_SHADER_RESOURCE;
  UINT support = 0;
  ID3D11Device* const device = known->device_ref()->get();
  if (FAILED(device->CheckFormatSupport(format->dxgi, &support)) || !(support & D3D11_FORMAT_SUPPORT_TEXTURE2D))
    throw Error(Code::kUnimplemented, what + ": the device '" + known->device_ref()->name() + "' has no such textures");
  Com<ID3D11Texture2D> made;
  native::call("CreateTexture2D", what, device, [&] { return device->CreateTexture2D(&wanted, nullptr, made.out()); });
  const Frame frame = detail::frame_over(TextureMemory::over(context, std::move(made), 0));
  std::array<Tensor, 4> planes;
  for (std::size_t p = 0; p < frame.plane_count(); ++p) planes[p] = frame.plane(p);
  return Frame(info, std::vector<Tensor>(planes.begin(), planes.begin() + static_cast<long>(frame.plane_count())));
}

}  // namespace d3d11
}  // namespace v1
}  // namespace tenon
