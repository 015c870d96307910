// SPDX-License-Identifier: Apache-2.0
// Edges of textures with host memory (copied by GL, and booked) and with dma-bufs (in place, by EGLImage).
#include <tenon/frameworks/egl/edges.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include <tenon/core/error.hpp>
#include <tenon/core/host_edge.hpp>
#include <tenon/core/ledger.hpp>
#include <tenon/core/standing_view.hpp>
#include <tenon/frameworks/dmabuf/client.hpp>
#include <tenon/frameworks/dmabuf/memory.hpp>
#include <tenon/frameworks/egl/context.hpp>

namespace tenon {
inline namespace v1 {
namespace egl {
namespace detail {

inline constexpr const char* kNotOurs = "source or target is not a context of egl";

TENON_INLINE double ns_per_byte(const Native& native) { return native.device().is_cpu ? 0.3 : 0.1; }

/// glReadPixels.
class TextureToCpu final : public Edge {
 public:
  std::string_view name() const override { return "egl.texture->cpu"; }
  MemoryKind from() const override { return kTextureMemory; }
  MemoryKind to() const override { return kCpuMemory; }

  Step step(const Description& from, const Context& to, Access) const override {
    const auto* egl = from.context.as<EglContext>();
    if (!egl) return Refusal{kNotOurs};
    return packed_copy(from, to, kCpuMemory, 60'000, ns_per_byte(egl->native()), 64, true);
  }
  Tensor map(const Tensor& source, const Context& to, const MapOptions& options) const override {
    check_step(*this, source, to, options);
    source.memory()->wait_for(Access::kRead, deadline_of(options), &ledger_of(options));
    Native& native = source.context().as<EglContext>()->native();
    Tensor copy(source.element_type(), source.shape());
    if (source.size_bytes() == 0) return copy;
    read_elements(native, source, static_cast<std::byte*>(copy.data()));
    if (!native.device().is_cpu) ledger_of(options).book_transferred(id(), source.size_bytes());
    return copy;
  }
};

/// glTexSubImage2D into a new texture.
class CpuToTexture final : public Edge {
 public:
  std::string_view name() const override { return "cpu->egl.texture"; }
  MemoryKind from() const override { return kCpuMemory; }
  MemoryKind to() const override { return kTextureMemory; }

  Step step(const Description& from, const Context& to, Access) const override {
    const auto* egl = to.as<EglContext>();
    if (!egl) return Refusal{kNotOurs};
    if (!from.host_addressable) return Refusal{"it takes a host address, and this memory has none"};
    if (auto refused = egl->refusal(from.info.type, from.info.shape)) return *std::move(refused);
    return packed_copy(from, to, kTextureMemory, 60'000, ns_per_byte(egl->native()), 1, false);
  }
  Tensor map(const Tensor& source, const Context& to, const MapOptions& options) const override {
    check_step(*this, source, to, options);
    source.memory()->wait_for(Access::kRead, deadline_of(options), &ledger_of(options));
    Native& native = to.as<EglContext>()->native();
    const Tensor copy = allocate(to, source.element_type(), source.shape());
    Tensor packed = source;
    if (!source.is_contiguous()) {
      packed = Tensor(source.element_type(), source.shape());
      source.copy_to(packed);
    }
    write_elements(native, copy, static_cast<const std::byte*>(packed.data()));
    if (!native.device().is_cpu) ledger_of(options).book_transferred(id(), source.size_bytes());
    return copy;
  }
};

/// A picture in a dma-buf as a texture over it. One EGLImage for each picture of an allocation.
class DmabufToTexture final : public Edge {
 public:
  std::string_view name() const override { return "dmabuf->egl.texture"; }
  MemoryKind from() const override { return dmabuf::kDmabufMemory; }
  MemoryKind to() const override { return kTextureMemory; }

  Step step(const Description& from, const Context& to, Access access) const override {
    const auto* egl = to.as<EglContext>();
    if (!egl) return Refusal{kNotOurs};
    Native& native = egl->native();
    if (const std::string& why = native.dmabuf_obstacle(from.fd != FdKind::kDmabuf); !why.empty()) return Refusal{why};
    if (writes(access) && from.read_only) return Refusal{"the memory is read-only"};
    const auto layout = layout_of(from);
    if (!layout) return Refusal{"it is no picture of 1, 2 or 4 channels of u8 whose pixels lie side by side in rows"};
    if (auto refused = egl->refusal(from.info.type, from.info.shape)) return *std::move(refused);
    if (from.modifier != kModifierLinear && !native.device().modifiers)
      return Refusal{native.device().renderer +
                     " lacks EGL_EXT_image_dma_buf_import_modifiers, and the picture is tiled"};
    if (auto refusal = refuses_import(from, to)) return *std::move(refusal);
    Reached reached = shared_in_place(from, to, kTextureMemory, 50'000);
    reached.result.host_addressable = false;
    reached.result.alignment = 1;
    return reached;
  }
  std::string_view host_wait(const Description&) const override {
    return "a renderer may ignore the fences that others attached to a dma-buf";
  }

  Tensor map(const Tensor& source, const Context& to, const MapOptions& options) const override {
    reach(*this, source, to, options);
    const Memory& memory = *source.memory();
    const dmabuf::client::Place place = dmabuf::client::place_of(source);
    dmabuf::client::wait_for_fences(place.fd, options.access, deadline_of(options), &ledger_of(options));
    const Description from = describe(source);
    const TextureLayout layout = layout_of(from).value();
    const std::uint64_t key = key_of(layout);
    const View* view = memory.find_view(*to, kTextureMemory, options.access, key);
    if (!view) {
      const Ref<Native>& native = to.as<EglContext>()->native_ref();
      view = &memory.add_view(
          std::make_unique<TextureView>(to, memory.read_only() ? Access::kRead : Access::kReadWrite,
                                        import_texture(native, place.fd, *layout.format, layout.width_px,
                                                       layout.height_px, layout.base, layout.pitch, from.modifier),
                                        layout, key));
    }
    return source.through(view);
  }

 private:
  static std::optional<TextureLayout> layout_of(const Description& from) {
    const auto picture = picture_of(from.info.shape);
    const ByteStrides& strides = from.info.strides;
    if (!picture || strides.empty()) return std::nullopt;
    const Format* format = format_of(from.info.type, picture->channels);
    const std::size_t sample = size_bytes(from.info.type), pixel = sample * picture->channels;
    if (!format || format->fourcc == 0 || static_cast<std::size_t>(strides[1]) != pixel ||
        (strides.size() == 3 && static_cast<std::size_t>(strides[2]) != sample) || from.offset > INT32_MAX ||
        static_cast<std::size_t>(strides[0]) < pixel * picture->width_px ||
        static_cast<std::size_t>(strides[0]) > INT32_MAX)
      return std::nullopt;
    return TextureLayout{format, picture->width_px, picture->height_px,
                         pixel,  from.offset,       static_cast<std::size_t>(strides[0])};
  }
  /// Two pictures of one memory that differ have other keys (FNV-1a).
  static std::uint64_t key_of(const TextureLayout& layout) {
    std::uint64_t key = 0xcbf29ce484222325ull;
    for (const std::uint64_t value :
         {std::uint64_t{layout.base}, std::uint64_t{layout.pitch}, std::uint64_t{layout.width_px},
          std::uint64_t{layout.height_px}, std::uint64_t{layout.format->internal}})
      key = (key ^ value) * 0x100000001b3ull;
    return key | 1u;
  }
};

TENON_INLINE const Edge& texture_to_cpu() {
  static const auto* const edge = new TextureToCpu;  // Outlives static destructors.
  return *edge;
}
TENON_INLINE const Edge& cpu_to_texture() {
  static const auto* const edge = new CpuToTexture;
  return *edge;
}
TENON_INLINE const Edge& dmabuf_to_texture() {
  static const auto* const edge = new DmabufToTexture;
  return *edge;
}

}  // namespace detail

TENON_INLINE std::span<const Edge* const> EglContext::edges() const {
  static const Edge* const all[] = {&detail::texture_to_cpu(), &detail::cpu_to_texture(), &detail::dmabuf_to_texture()};
  return all;
}

}  // namespace egl
}  // namespace v1
}  // namespace tenon
