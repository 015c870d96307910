// SPDX-License-Identifier: Apache-2.0
// Host memory as tensors and frames: allocated here, borrowed, or adopted with a release callback.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include <tenon/core/context.hpp>
#include <tenon/core/element_type.hpp>
#include <tenon/core/error.hpp>
#include <tenon/core/frame.hpp>
#include <tenon/core/host.hpp>
#include <tenon/core/pixel_format.hpp>
#include <tenon/core/ref_counted.hpp>
#include <tenon/core/shape.hpp>
#include <tenon/core/tensor.hpp>

namespace tenon {
inline namespace v1 {
namespace cpu {

/// The context of host memory: the same as host_context(), under the name that every framework uses.
inline Context context() { return host_context(); }

/// Whether a wrapped pointer may be written through.
enum class Wrapped : std::uint8_t { kWritable, kReadOnly };

namespace detail {

inline std::size_t checked_extent(const TensorInfo& info, const void* data, const char* what) {
  if (!info.strides.empty() && info.strides.size() != info.shape.size()) {
    throw Error(Code::kInvalidArgument, std::string(what) + " " + to_string(info.shape) + ": got " +
                                            std::to_string(info.strides.size()) +
                                            " byte strides, expected one per axis");
  }
  const auto extent = checked_extent_bytes(info);
  if (!extent) {
    throw Error(Code::kInvalidArgument, std::string(what) + " " + to_string(info.shape) + " with byte strides " +
                                            to_string(info.strides) + ": negative strides, or a size past 63 bits");
  }
  if (!data && *extent != 0) {
    throw Error(Code::kInvalidArgument, std::string(what) + " " + to_string(info.shape) + ": a null pointer, but " +
                                            std::to_string(*extent) + " bytes are described");
  }
  return *extent;
}

/// Runs a release callback once, on destruction, unless it was disarmed.
class ReleaseGuard {
 public:
  explicit ReleaseGuard(HostMemory::Release release) : release_(std::move(release)) {}
  ReleaseGuard(const ReleaseGuard&) = delete;
  ReleaseGuard& operator=(const ReleaseGuard&) = delete;
  ~ReleaseGuard() {
    if (release_) release_();
  }
  /// Copy it into the object that will call it, then disarm().
  const HostMemory::Release& get() const { return release_; }
  void disarm() { release_ = nullptr; }

 private:
  HostMemory::Release release_;
};

}  // namespace detail

/// New packed host memory, 64-byte aligned, uninitialised. @errors kInvalidArgument: size overflow; kResourceExhausted.
inline Tensor allocate(ElementType type, const Shape& shape) { return Tensor(type, shape); }

/// Borrows `data`: the caller keeps it alive and in place as long as any tensor over it lives. Empty `info.strides`
/// means packed.
/// @errors kInvalidArgument: null data for a shape that is not empty, bad or overflowing strides.
/// @thread any. @cost one allocation for the memory object; no bytes are touched.
inline Tensor wrap(void* data, const TensorInfo& info, Wrapped access = Wrapped::kWritable) {
  if (access == Wrapped::kWritable) return Tensor(info.type, info.shape, data, info.strides);
  const std::size_t extent = detail::checked_extent(info, data, "cpu::wrap of");
  return Tensor(info, HostMemory::borrow(data, extent, true));
}
/// As above, read-only because the pointer is const.
inline Tensor wrap(const void* data, const TensorInfo& info) {
  return wrap(const_cast<void*>(data), info, Wrapped::kReadOnly);
}

/// Takes ownership of `data`: `release` is called exactly once, from the thread that drops the last tensor, or before
/// this call throws. It must not throw. @errors as wrap().
inline Tensor adopt(void* data, const TensorInfo& info, HostMemory::Release release,
                    Wrapped access = Wrapped::kWritable) {
  detail::ReleaseGuard guard(std::move(release));
  const std::size_t extent = detail::checked_extent(info, data, "cpu::adopt of");
  Ref<HostMemory> memory = HostMemory::borrow(data, extent, access == Wrapped::kReadOnly, guard.get());
  guard.disarm();
  return Tensor(info, std::move(memory));
}

/// One plane of a foreign picture.
struct PlaneData {
  void* data = nullptr;
  std::size_t pitch_bytes = 0;  ///< Distance between rows; at least a row's bytes.
};

/// Borrows the planes of a picture, wherever each lies. Each plane becomes a memory of its own; one release covers all.
/// For planes of one allocation, prefer one memory (Frame::over, or tensors at offsets in one HostMemory::borrow): they
/// then share one hazard state and one mapping.
/// `release` (may be empty) is called exactly once, when the last plane goes or when this call fails.
/// @errors kInvalidArgument: wrong number of planes for `info.format`, a pitch shorter than a row, null data.
inline Frame wrap_frame(const FrameInfo& info, std::span<const PlaneData> planes, HostMemory::Release release = {},
                        Wrapped access = Wrapped::kWritable) {
  // Shared by all planes, so that it runs when the last one goes.
  auto guard = std::make_shared<detail::ReleaseGuard>(std::move(release));
  const PixelFormatInfo& format = format_info(info.format);
  if (planes.size() != format.plane_count) {
    throw Error(Code::kInvalidArgument, "cpu::wrap_frame " + std::string(format.name) + ": got " +
                                            std::to_string(planes.size()) + " planes, expected " +
                                            std::to_string(format.plane_count));
  }
  std::array<PlanePlace, 4> places;
  for (std::size_t p = 0; p < planes.size(); ++p) {
    const PlaneExtent extent = plane_extent(info, format, p);
    std::size_t bytes = 0;
    if (!planes[p].data || extent.height_px == 0 || planes[p].pitch_bytes < extent.row_bytes ||
        __builtin_mul_overflow(planes[p].pitch_bytes, std::size_t{extent.height_px} - 1, &bytes) || bytes >> 62 != 0) {
      throw Error(Code::kInvalidArgument,
                  "cpu::wrap_frame " + std::string(format.name) + ": plane " + std::to_string(p) +
                      (planes[p].data ? " has" : " is a null pointer with") + " a pitch of " +
                      std::to_string(planes[p].pitch_bytes) + " bytes, and needs " + std::to_string(extent.height_px) +
                      " rows of " + std::to_string(extent.row_bytes));
    }
    places[p] = {HostMemory::borrow(planes[p].data, bytes + extent.row_bytes, access == Wrapped::kReadOnly, [guard] {}),
                 0, planes[p].pitch_bytes};
  }
  return Frame(info, std::span(places).first(planes.size()));
}

}  // namespace cpu
}  // namespace v1
}  // namespace tenon
