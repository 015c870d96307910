// SPDX-License-Identifier: Apache-2.0
// Tensors and frames over host memory, and shared memory.
#include <tenon/frameworks/cpu/cpu.hpp>

#include <algorithm>
#include <array>
#include <memory>
#include <string>
#include <utility>

#include <tenon/core/error.hpp>
#include <tenon/core/export.hpp>
#include <tenon/core/pixel_format.hpp>
#include <tenon/core/ref_counted.hpp>
#include <tenon/frameworks/cpu/client.hpp>
#include <tenon/frameworks/cpu/shared_memory.hpp>

namespace tenon {
inline namespace v1 {
namespace cpu {

TENON_INLINE Context context() { return host_context(); }
TENON_INLINE std::vector<Context> contexts() { return {context()}; }

namespace detail {

TENON_INLINE std::size_t checked_extent(const TensorInfo& info, const void* data, const char* what) {
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

}  // namespace detail

TENON_INLINE Tensor allocate(ElementType type, const Shape& shape) { return Tensor(type, shape); }

TENON_INLINE Tensor wrap(void* data, const TensorInfo& info, Wrapped access) {
  if (access == Wrapped::kWritable) return Tensor(info.type, info.shape, data, info.strides);
  const std::size_t extent = detail::checked_extent(info, data, "cpu::wrap of");
  return Tensor(info, HostMemory::borrow(data, extent, true));
}
TENON_INLINE Tensor wrap(const void* data, const TensorInfo& info) {
  return wrap(const_cast<void*>(data), info, Wrapped::kReadOnly);
}

TENON_INLINE Tensor adopt(void* data, const TensorInfo& info, HostMemory::Release release, Wrapped access) {
  client::ReleaseGuard guard(std::move(release));
  const std::size_t extent = detail::checked_extent(info, data, "cpu::adopt of");
  Ref<HostMemory> memory = HostMemory::borrow(data, extent, access == Wrapped::kReadOnly, guard.get());
  guard.disarm();
  return Tensor(info, std::move(memory));
}

TENON_INLINE Frame wrap_frame(const FrameInfo& info, std::span<const PlaneData> planes, HostMemory::Release release,
                              Wrapped access) {
  // Shared by all planes, so that it runs when the last one goes.
  auto guard = std::make_shared<client::ReleaseGuard>(std::move(release));
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

TENON_INLINE Ref<Memory> allocate_memory(const Requirements& wanted) { return host_context()->allocate(wanted); }

}  // namespace cpu
}  // namespace v1
}  // namespace tenon
