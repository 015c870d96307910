// SPDX-License-Identifier: Apache-2.0
// Host memory as tensors and frames: allocated here, borrowed, or adopted with a release callback.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <tenon/core/context.hpp>
#include <tenon/core/element_type.hpp>
#include <tenon/core/frame.hpp>
#include <tenon/core/host.hpp>
#include <tenon/core/shape.hpp>
#include <tenon/core/tensor.hpp>

namespace tenon {
inline namespace v1 {
namespace cpu {

/// The context of host memory: the same as host_context(), under the name that every framework uses.
Context context();
/// The contexts of this framework on this machine: always host memory, nothing else.
std::vector<Context> contexts();

/// Whether a wrapped pointer may be written through.
enum class Wrapped : std::uint8_t { kWritable, kReadOnly };

/// New packed host memory, 64-byte aligned, uninitialised. @errors kInvalidArgument: size overflow; kResourceExhausted.
Tensor allocate(ElementType type, const Shape& shape);

/// Borrows `data`: the caller keeps it alive and in place as long as any tensor over it lives. Empty `info.strides`
/// means packed.
/// @errors kInvalidArgument: null data for a shape that is not empty, bad or overflowing strides.
/// @thread any. @cost one allocation for the memory object; no bytes are touched.
Tensor wrap(void* data, const TensorInfo& info, Wrapped access = Wrapped::kWritable);
/// As above, read-only because the pointer is const.
Tensor wrap(const void* data, const TensorInfo& info);

/// Takes ownership of `data`: `release` is called exactly once, from the thread that drops the last tensor, or before
/// this call throws. It must not throw. @errors as wrap().
Tensor adopt(void* data, const TensorInfo& info, HostMemory::Release release, Wrapped access = Wrapped::kWritable);

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
Frame wrap_frame(const FrameInfo& info, std::span<const PlaneData> planes, HostMemory::Release release = {},
                 Wrapped access = Wrapped::kWritable);

}  // namespace cpu
}  // namespace v1
}  // namespace tenon
