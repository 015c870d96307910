// SPDX-License-Identifier: Apache-2.0
// What a context of textures offers, allocates and wraps.
#include <tenon/frameworks/egl/context.hpp>

#include <algorithm>
#include <cctype>
#include <vector>

#include <tenon/core/pixel_format.hpp>
#include <tenon/core/pointer_edges.hpp>
#include <tenon/frameworks/cpu/client.hpp>

namespace tenon {
inline namespace v1 {
namespace egl {
namespace detail {

TENON_INLINE EglContext& egl_context(const Context& context, const char* function) {
  auto* found = context.as<EglContext>();
  if (!found)
    throw Error(Code::kInvalidArgument, std::string("egl::") + function + ": " +
                                            (context ? std::string(context->name()) : std::string("a null context")) +
                                            " is not a context of egl");
  return *found;
}

/// "llvmpipe (LLVM 15.0.6, 256 bits)" gives "llvmpipe".
TENON_INLINE std::string typable(const std::string& name) {
  std::string text;
  for (const char c : name) {
    if (c == '(' || c == '/') break;
    if (std::isalnum(static_cast<unsigned char>(c)))
      text += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    else if (!text.empty() && text.back() != '-')
      text += '-';
  }
  while (!text.empty() && text.back() == '-') text.pop_back();
  return text;
}

}  // namespace detail

TENON_INLINE EglContext::EglContext(Ref<detail::Native> native)
    : native_(std::move(native)), name_("egl:" + detail::typable(native_->device().renderer)) {}

TENON_INLINE DeviceIdentity EglContext::device() const {
  DeviceIdentity identity;
  if (native_->device().is_cpu) identity.set(kHostCpu, std::uint8_t{1});
  return identity;
}

TENON_INLINE std::variant<Offer, Refusal> EglContext::offer(const Requirements& wanted) const {
  if (wanted.fd != FdKind::kNone || wanted.host_access || wanted.alignment > 4096)
    return Refusal{
        "textures have no descriptor, no address for the host and no alignment; allocate with frameworks/cpu or "
        "frameworks/dmabuf, and map that here"};
  return Offer{1, FdKind::kNone, 0, false};
}

TENON_INLINE Ref<Memory> EglContext::allocate(const Requirements& wanted) {
  check_offer(wanted);
  constexpr std::size_t kWidth = 4096;
  const std::size_t size = std::max<std::size_t>(wanted.size_bytes + wanted.tail_padding, 1);
  const std::size_t height = (size + kWidth - 1) / kWidth;
  if (const auto refused = refusal(ElementType::kU8, {height, kWidth}))
    throw Error(Code::kResourceExhausted,
                name_ + ": a texture of " + std::to_string(size) + " bytes: " + refused->reason);
  return make(*detail::format_of(ElementType::kU8, 1), kWidth, height);
}

TENON_INLINE void EglContext::read(const Tensor& tensor, std::span<std::byte> out) const {
  read_staged(tensor, out, [&](const Ref<Memory>& packed) {
    detail::read_elements(*native_, tensor, static_cast<std::byte*>(packed->host()));
  });
}

TENON_INLINE void EglContext::write(const Tensor& tensor, std::span<const std::byte> in) const {
  write_staged("egl", tensor, in, [&](const Ref<Memory>& packed) {
    detail::write_elements(*native_, tensor, static_cast<const std::byte*>(packed->host()));
  });
}

TENON_INLINE std::optional<Refusal> EglContext::refusal(ElementType type, const Shape& shape) const {
  const auto picture = detail::picture_of(shape);
  const std::string what = std::string(tenon::v1::name(type)) + " " + to_string(shape);
  if (!picture) return Refusal{what + " is not a picture: textures are [height, width] or [height, width, channels]"};
  const detail::Format* format = detail::format_of(type, picture->channels);
  const Device& device = native_->device();
  if (!format)
    return Refusal{"there is no texture of " + std::to_string(picture->channels) + " channels of " +
                   std::string(tenon::v1::name(type)) + "; there are 1, 2 and 4 of u8, f16 and f32"};
  if (!native_->has(*format))
    return Refusal{device.renderer + " does not read textures of " + std::to_string(picture->channels) +
                   " channels of " + std::string(tenon::v1::name(type)) + " back as they are"};
  if (picture->width_px == 0 || picture->height_px == 0)
    return Refusal{"the picture has no pixels, and OpenGL ES has no empty textures"};
  if (std::max(picture->width_px, picture->height_px) > device.largest_texture_px)
    return Refusal{what + " exceeds the largest texture of " + device.renderer + ", " +
                   std::to_string(device.largest_texture_px) + " px a side"};
  return std::nullopt;
}

namespace detail {

TENON_INLINE TextureLayout packed_layout(const Format& format, std::size_t width, std::size_t height) {
  const std::size_t pixel = size_bytes(format.type) * format.channels;
  return {&format, width, height, pixel, 0, width * pixel};
}

TENON_INLINE Ref<Memory> memory_over(const Context& context, const Ref<Native>& native, OwnedTexture owned,
                                     GLuint texture, const TextureLayout& layout, std::function<void()> release) {
  Memory::Properties properties;
  properties.size_bytes = layout.end();
  // Names are those of a share group, and other APIs' handles may have the same value.
  properties.identity = {MemoryIdentity::Kind::kHandle,
                         kTextureMemory.hash() ^ reinterpret_cast<std::uintptr_t>(native.get()), texture};
  return make_ref<TextureMemory>(context, properties, native, std::move(owned), texture, layout, std::move(release));
}

}  // namespace detail

TENON_INLINE Ref<Memory> EglContext::make(const detail::Format& format, std::size_t width, std::size_t height) {
  detail::OwnedTexture owned = detail::make_texture(native_, format, width, height);
  const GLuint texture = owned.get();
  return detail::memory_over(Context(Ref<ContextImpl>(this)), native_, std::move(owned), texture,
                             detail::packed_layout(format, width, height), {});
}

TENON_INLINE Context make_context() { return Context(make_ref<EglContext>(detail::Native::make())); }

TENON_INLINE Context wrap(EGLDisplay display, EGLContext context) {
  return Context(make_ref<EglContext>(detail::Native::over(display, context)));
}

TENON_INLINE EGLDisplay display(const Context& context) {
  return detail::egl_context(context, "display").native().display();
}
TENON_INLINE EGLContext share_group(const Context& context) {
  return detail::egl_context(context, "share_group").native().context();
}
TENON_INLINE const Device& device(const Context& context) {
  return detail::egl_context(context, "device").native().device();
}

TENON_INLINE Tensor allocate(const Context& context, ElementType type, const Shape& shape) {
  EglContext& egl = detail::egl_context(context, "allocate");
  if (const auto refused = egl.refusal(type, shape))
    throw Error(detail::picture_of(shape) ? Code::kUnimplemented : Code::kInvalidArgument,
                "egl::allocate: " + refused->reason);
  const detail::Picture picture = detail::picture_of(shape).value();
  return Tensor(TensorInfo{type, shape, {}},
                egl.make(*detail::format_of(type, picture.channels), picture.width_px, picture.height_px));
}

TENON_INLINE Frame allocate_frame(const Context& context, const FrameInfo& info) {
  const PixelFormatInfo& format = format_info(info.format);
  std::vector<Tensor> planes;
  for (std::size_t p = 0; p < format.plane_count; ++p) {
    try {
      planes.push_back(allocate(context, format.sample, plane_shape(info, p)));
    } catch (const Error& error) {
      if (error.code() != Code::kUnimplemented) throw;
      throw Error(Code::kUnimplemented, "plane " + std::to_string(p) + " of " + std::string(format.name) +
                                            " cannot be a texture: " + error.what());
    }
  }
  return Frame(info, std::move(planes));
}

TENON_INLINE Tensor adopt(const Context& context, GLuint texture, std::function<void()> release) {
  cpu::client::ReleaseGuard guard(release ? std::move(release) : [] {});
  EglContext& egl = detail::egl_context(context, "wrap");
  const std::string prefix = "egl::wrap of texture " + std::to_string(texture) + ": ";
  GLint width = 0, height = 0, internal = 0;
  egl.native().run([&] {
    const detail::Calls& c = detail::calls();
    if (!c.glIsTexture(texture))
      throw Error(Code::kInvalidArgument,
                  prefix + "the share group has no such texture (one that was never bound is none, too)");
    c.glBindTexture(GL_TEXTURE_2D, texture);
    detail::gl_step(
        "glGetTexLevelParameteriv", [&] { return prefix + "asking what it is (a 2-D one?)"; },
        [&] {
          c.glGetTexLevelParameteriv(GL_TEXTURE_2D, 0, GL_TEXTURE_WIDTH, &width);
          c.glGetTexLevelParameteriv(GL_TEXTURE_2D, 0, GL_TEXTURE_HEIGHT, &height);
          c.glGetTexLevelParameteriv(GL_TEXTURE_2D, 0, GL_TEXTURE_INTERNAL_FORMAT, &internal);
        });
  });
  const detail::Format* format = detail::format_of(static_cast<GLenum>(internal));
  if (!format)
    throw Error(Code::kUnimplemented, prefix + "internal format " + std::to_string(internal) +
                                          " has no element type; R8, RG8, RGBA8 and their f16 and f32 forms have");
  if (!egl.native().has(*format))
    throw Error(Code::kUnimplemented,
                prefix + egl.native().device().renderer + " does not read its format back as it is");
  if (width <= 0 || height <= 0) throw Error(Code::kInvalidArgument, prefix + "it has no pixels");
  const auto columns = static_cast<std::size_t>(width), rows = static_cast<std::size_t>(height);
  Ref<Memory> memory = detail::memory_over(context, egl.native_ref(), {}, texture,
                                           detail::packed_layout(*format, columns, rows), guard.get());
  guard.disarm();
  const Shape shape = format->channels == 1 ? Shape{rows, columns} : Shape{rows, columns, format->channels};
  return Tensor({format->type, shape, {}}, std::move(memory));
}

TENON_INLINE Tensor wrap(const Context& context, GLuint texture) { return adopt(context, texture, {}); }

}  // namespace egl
}  // namespace v1
}  // namespace tenon
