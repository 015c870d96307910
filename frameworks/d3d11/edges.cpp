// SPDX-License-Identifier: Apache-2.0
// Edges with host memory: staging, which is booked as copied.
#include <algorithm>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <tenon/core/error.hpp>
#include <tenon/core/export.hpp>
#include <tenon/core/host_edge.hpp>
#include <tenon/frameworks/d3d11/context.hpp>
#include <tenon/frameworks/d3d11/memory.hpp>

namespace tenon {
inline namespace v1 {
namespace d3d11 {
namespace detail {

inline constexpr double kCallNs = 30'000, kNsPerByte = 0.2;

TENON_INLINE const D3D11Context* context_of(const Context& context, MemoryKind kind) {
  const auto* known = context ? context.as<D3D11Context>() : nullptr;
  return known && known->kind() == kind ? known : nullptr;
}

TENON_INLINE Tensor packed(const Tensor& source) {
  if (source.is_contiguous()) return source;
  Tensor made(source.element_type(), source.shape());
  source.copy_to(made);
  return made;
}

TENON_INLINE std::span<const std::byte> bytes_of(const Tensor& packed) {
  return {static_cast<const std::byte*>(packed.data()), packed.size_bytes()};
}

/// CopySubresourceRegion into staging memory, and Map.
class ToCpu final : public Edge {
 public:
  ToCpu(std::string_view name, MemoryKind from) : name_(name), from_(from) {}
  std::string_view name() const override { return name_; }
  MemoryKind from() const override { return from_; }
  MemoryKind to() const override { return kCpuMemory; }
  Step step(const Description& from, const Context& to, Access) const override {
    if (!context_of(from.context, from_)) return Refusal{"the source is not in a context of d3d11"};
    return packed_copy(from, to, kCpuMemory, kCallNs, kNsPerByte, 64, true);
  }
  Tensor map(const Tensor& source, const Context& to, const MapOptions& options) const override {
    check_step(*this, source, to, options);
    source.memory()->wait_for(Access::kRead, deadline_of(options), &ledger_of(options));
    Tensor copy(source.element_type(), source.shape());
    source.context()->read(source, {static_cast<std::byte*>(copy.data()), copy.size_bytes()});
    return copy;
  }

 private:
  std::string_view name_;
  MemoryKind from_;
};

/// UpdateSubresource into a new buffer.
class CpuToBuffer final : public Edge {
 public:
  std::string_view name() const override { return "cpu->d3d11.buffer"; }
  MemoryKind from() const override { return kCpuMemory; }
  MemoryKind to() const override { return kBufferMemory; }
  Step step(const Description& from, const Context& to, Access) const override {
    if (!context_of(to, kBufferMemory)) return Refusal{"the target is not a context of d3d11"};
    if (!from.host_addressable) return Refusal{"it takes a host address, and this memory has none"};
    Reached reached = packed_copy(from, to, kBufferMemory, kCallNs, kNsPerByte, 1, false);
    reached.result.memory_bytes = (std::max<std::size_t>(reached.result.memory_bytes, 1) + 15) / 16 * 16;
    return reached;
  }
  Tensor map(const Tensor& source, const Context& to, const MapOptions& options) const override {
    check_step(*this, source, to, options);
    source.memory()->wait_for(Access::kRead, deadline_of(options), &ledger_of(options));
    Requirements wanted;
    wanted.size_bytes = source.size_bytes();
    const Tensor made({source.element_type(), source.shape(), {}}, to->allocate(wanted));
    if (source.size_bytes() != 0) to->write(made, bytes_of(packed(source)));
    return made;
  }
};

/// A frame into a new texture of its format, all planes together.
class CpuToTexture final : public Edge {
 public:
  std::string_view name() const override { return "cpu->d3d11.texture"; }
  MemoryKind from() const override { return kCpuMemory; }
  MemoryKind to() const override { return kTextureMemory; }
  bool takes_single_planes() const override { return false; }
  Step step(const Description&, const Context&, Access) const override {
    return Refusal{"a texture has a pixel format: it takes frames, or tensors to a context of d3d11 buffers"};
  }
  Tensor map(const Tensor& source, const Context& to, const MapOptions& options) const override {
    throw Error(Code::kFailedPrecondition,
                "d3d11: " + std::get<Refusal>(step(describe(source), to, options.access)).reason);
  }

  FrameStep step_frame(const FrameDescription& from, const Context& to, Access) const override {
    const D3D11Context* const target = context_of(to, kTextureMemory);
    if (!target) return Refusal{"the target is not a context of d3d11 for textures"};
    const TextureFormat* const format = find_texture_format(from.info.format);
    if (!format) return Refusal{"Direct3D 11 has no texture of format " + to_string(from.info.format)};
    UINT support = 0;
    if (FAILED(target->device_ref()->get()->CheckFormatSupport(format->dxgi, &support)) ||
        !(support & D3D11_FORMAT_SUPPORT_TEXTURE2D))
      return Refusal{"this device has no textures of format " + to_string(from.info.format)};
    if (from.plane_count > 1 && (from.info.width_px % 2 != 0 || from.info.height_px % 2 != 0))
      return Refusal{"textures of " + to_string(from.info.format) + " have even extents"};
    ReachedFrame reached{from, true, 0};
    const std::size_t pitch = plane_extent(from.info, 0).row_bytes;
    std::size_t offset = 0;
    for (std::size_t p = 0; p < from.plane_count; ++p) {
      if (!from.planes[p].host_addressable) return Refusal{"it takes host addresses, and a plane has none"};
      const Reached plane = packed_copy(from.planes[p], to, kTextureMemory, kCallNs, kNsPerByte, 1, false);
      reached.cost_ns += plane.total_ns();
      reached.result.planes[p] = plane.result;
      reached.result.planes[p].info.strides[0] = static_cast<std::ptrdiff_t>(pitch);
      reached.result.planes[p].offset = offset;
      offset += pitch * plane_extent(from.info, p).height_px;
    }
    for (std::size_t p = 0; p < from.plane_count; ++p) reached.result.planes[p].memory_bytes = offset;
    reached.result.first_in_memory = {};
    return reached;
  }
  Frame map_frame(const Frame& source, const Context& to, const MapOptions& options) const override {
    const FrameStep judged = step_frame(describe(source), to, options.access);
    if (const auto* refusal = std::get_if<Refusal>(&judged))
      throw Error(Code::kFailedPrecondition, std::string(name()) + ": " + refusal->reason);
    const Frame made = allocate_frame(to, source.info());
    for (std::size_t p = 0; p < source.plane_count(); ++p) {
      source.plane(p).memory()->wait_for(Access::kRead, deadline_of(options), &ledger_of(options));
      to->write(made.plane(p), bytes_of(packed(source.plane(p))));
    }
    std::vector<Tensor> planes(made.planes().begin(), made.planes().end());
    return source.with_planes(planes);
  }
};

}  // namespace detail

TENON_INLINE std::span<const Edge* const> D3D11Context::edges() const {
  // Never destroyed: they outlive every router.
  static const Edge* const buffers[] = {new detail::ToCpu("d3d11.buffer->cpu", kBufferMemory), new detail::CpuToBuffer};
  static const Edge* const textures[] = {new detail::ToCpu("d3d11.texture->cpu", kTextureMemory),
                                         new detail::CpuToTexture};
  return kind_ == kBufferMemory ? std::span<const Edge* const>(buffers) : std::span<const Edge* const>(textures);
}

}  // namespace d3d11
}  // namespace v1
}  // namespace tenon
