// SPDX-License-Identifier: Apache-2.0
// Tenon buffers that decoders write into, and how to recognise them in an AVFrame.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include <tenon/core/context.hpp>
#include <tenon/core/ledger.hpp>
#include <tenon/core/memory.hpp>
#include <tenon/core/memory_kind.hpp>
#include <tenon/core/policy.hpp>
#include <tenon/core/ref_counted.hpp>
#include <tenon/core/requirements.hpp>
#include <tenon/frameworks/cpu/pool.hpp>
#include <tenon/frameworks/ffmpeg/av.hpp>

namespace tenon {
inline namespace v1 {
namespace ffmpeg {

/// Layout of a decoded picture's planes in one pool buffer. Bytes.
struct PoolLayout {
  AVPixelFormat format = AV_PIX_FMT_NONE;
  int width_px = 0, height_px = 0;  ///< The coded size that the decoder writes, before cropping.
  std::size_t size_bytes = 0;
  std::size_t planes = 0;
  std::array<int, 4> pitch{};
  std::array<std::size_t, 4> offset{};

  friend bool operator==(const PoolLayout&, const PoolLayout&) = default;

  /// Makes the layout that decoder and consumers both accept.
  /// @param alignments  What line sizes are aligned to, from avcodec_align_dimensions2, like the extents aligned_*.
  /// @errors kFailedPrecondition naming the requirement that no decoder can meet; kInvalidArgument: a size that
  /// overflows.
  static PoolLayout make(AVPixelFormat format, int width, int height, int aligned_width, int aligned_height,
                         const int* alignments, const Requirements& wanted);
};

namespace detail {

/// The memory's view in FFmpeg's context, and the state of its use by a decoder; removes the registry's entry when the
/// memory dies.
class PoolView final : public View {
 public:
  PoolView(const Context& context, MemoryKind kind, Memory& memory);
  ~PoolView() override;

  Memory& memory() const { return memory_; }
  /// A decoder gets the buffer: `use` lasts until its AVBuffer is freed, `write` until end_write().
  void begin(const Lease& use, const Lease& write);
  /// The picture is finished and given out: other devices may read it. @thread any, repeatedly.
  void end_write() noexcept;
  /// The AVBuffer is freed. The memory may be gone when this returns.
  void end() noexcept;

 private:
  Memory& memory_;
  const void* base_;
  LeaseState* use_ = nullptr;
  std::atomic<LeaseState*> write_{nullptr};
};

/// The buffer of a live pool at `base`, or null. Precondition: the caller holds a reference to the AVBuffer there, so that
/// it cannot be freed now.
PoolView* pooled_at(const void* base);

/// Pool buffers of one layout. @thread any: a decoder's frame threads take and return buffers.
class DecodePool final : public RefCounted {
 public:
  /// @errors kFailedPrecondition: requirements on which `wanted` and a decoder conflict.
  DecodePool(const PoolLayout& layout, const Requirements& wanted, const Context& allocator, std::size_t limit);

  const PoolLayout& layout() const { return layout_; }
  /// Buffers made so far.
  std::size_t size() const { return pool_.size(); }

  /// Gives `frame` a buffer that is no longer read; waits for a device that still reads it, and books that in `ledger`.
  /// The CPU's access to a dma-buf lasts from here until the frame is wrapped (frame.hpp), or freed before that.
  /// On failure `frame` has none. @errors those of the allocator; kDeadlineExceeded: at the limit, or a device is late.
  void fill(AVFrame& frame, Deadline deadline, Ledger* ledger = nullptr);

 private:
  static void give_back(void* view, std::uint8_t*) { static_cast<PoolView*>(view)->end(); }

  static Requirements complete(const PoolLayout& layout, Requirements wanted);
  static Ref<Memory> allocate(const Context& allocator, const Requirements& wanted);

  PoolLayout layout_;
  cpu::Pool pool_;
};

}  // namespace detail
}  // namespace ffmpeg
}  // namespace v1
}  // namespace tenon
