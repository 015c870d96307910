// SPDX-License-Identifier: Apache-2.0
// Pools that decoders write into.
#include <tenon/frameworks/ffmpeg/pool.hpp>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <unordered_map>
#include <variant>

#include <tenon/core/edge.hpp>
#include <tenon/core/element_type.hpp>
#include <tenon/core/error.hpp>
#include <tenon/core/host.hpp>
#include <tenon/core/tensor.hpp>
#include <tenon/frameworks/cpu/shared_memory.hpp>
#include <tenon/frameworks/ffmpeg/context.hpp>
#include <tenon/frameworks/ffmpeg/pixel_format.hpp>

namespace tenon {
inline namespace v1 {
namespace ffmpeg {

TENON_INLINE PoolLayout PoolLayout::make(AVPixelFormat format, int width, int height, int aligned_width,
                                         int aligned_height, const int* alignments, const Requirements& wanted) {
  PoolLayout layout{format, width, height, 0, 0, {}, {}};
  const std::string what =
      "decoder pool for " + ffmpeg::to_string(format) + " " + std::to_string(width) + "x" + std::to_string(height);
  const std::size_t align = std::max<std::size_t>(64, wanted.pitch_alignment);
  int linesize[4] = {};
  int padded = aligned_width;
  // Widened until all planes' rows are aligned, as FFmpeg does, so that chroma rows stay half of luma rows.
  for (bool aligned = false; !aligned; padded += aligned ? 0 : padded & -padded) {
    if (const int error = av_image_fill_linesizes(linesize, format, padded); error < 0) {
      throw detail::make_error(error, what, "av_image_fill_linesizes");
    }
    aligned = true;
    for (int p = 0; p < 4; ++p) {
      aligned =
          aligned &&
          linesize[p] % static_cast<int>(std::max<std::size_t>(align, static_cast<std::size_t>(alignments[p]))) == 0;
    }
    if (!aligned && padded > (1 << 28))
      throw Error(Code::kInvalidArgument, what + ": no row size meets an alignment of " + std::to_string(align));
  }
  const auto rows = static_cast<int>((static_cast<std::size_t>(aligned_height) + wanted.height_alignment - 1) /
                                     wanted.height_alignment * wanted.height_alignment);
  std::size_t sizes[4] = {};
  const std::ptrdiff_t pitches[4] = {linesize[0], linesize[1], linesize[2], linesize[3]};
  if (const int error = av_image_fill_plane_sizes(sizes, format, rows, pitches); error < 0) {
    throw detail::make_error(error, what, "av_image_fill_plane_sizes");
  }
  // Motion compensation reads a little past a plane's last row, and SIMD writes there: FFmpeg's own pools leave so much
  // behind each plane. Where that makes a gap, the next plane begins where devices can begin a sub-buffer.
  constexpr std::size_t kRoom = 64 + 16, kPlaneAlignment = 512;
  std::size_t end = 0;
  for (std::size_t p = 0; p < 4 && sizes[p] != 0; ++p) {
    if (static_cast<std::size_t>(linesize[p]) > wanted.max_pitch) {
      throw Error(Code::kFailedPrecondition, what + ": the decoder needs rows of " + std::to_string(linesize[p]) +
                                                 " bytes, the consumer takes at most " +
                                                 std::to_string(wanted.max_pitch));
    }
    layout.planes = p + 1;
    layout.pitch[p] = linesize[p];
    const std::size_t plane_align = std::max(align, kPlaneAlignment);
    layout.offset[p] = p == 0 ? 0 : (end + kRoom + plane_align - 1) / plane_align * plane_align;
    end = layout.offset[p] + sizes[p];
  }
  layout.size_bytes = std::max(end + std::max(wanted.tail_padding, kRoom), wanted.size_bytes);
  return layout;
}

namespace detail {

/// Buffers of live pools, by address. An entry is removed before its memory is freed, so an address found here is ours
/// and not recycled.
class PoolRegistry {
 public:
  static PoolRegistry& process() {
    static PoolRegistry* registry = new PoolRegistry;
    return *registry;
  }
  void add(const void* base, PoolView& view) {
    std::unique_lock lock(mutex_);
    views_[base] = &view;
    count_.store(views_.size(), std::memory_order_release);
  }
  void remove(const void* base) {
    std::unique_lock lock(mutex_);
    views_.erase(base);
    count_.store(views_.size(), std::memory_order_release);
  }
  PoolView* find(const void* base) const {
    if (count_.load(std::memory_order_acquire) == 0) return nullptr;
    std::shared_lock lock(mutex_);
    const auto found = views_.find(base);
    return found == views_.end() ? nullptr : found->second;
  }

 private:
  mutable std::shared_mutex mutex_;
  std::unordered_map<const void*, PoolView*> views_;
  std::atomic<std::size_t> count_{0};
};

TENON_INLINE PoolView::PoolView(const Context& context, MemoryKind kind, Memory& memory)
    : View(context, kind, Access::kReadWrite, memory.host()), memory_(memory), base_(memory.host()) {
  PoolRegistry::process().add(base_, *this);
}

TENON_INLINE PoolView::~PoolView() { PoolRegistry::process().remove(base_); }

TENON_INLINE void PoolView::begin(const Lease& use, const Lease& write) {
  use->add_ref();
  use_ = use.get();
  if (!write) return;
  write->add_ref();
  write_.store(write.get(), std::memory_order_release);
}

TENON_INLINE void PoolView::end_write() noexcept {
  if (!write_.load(std::memory_order_relaxed)) return;
  if (LeaseState* write = write_.exchange(nullptr, std::memory_order_acq_rel)) write->release();
}

TENON_INLINE void PoolView::end() noexcept {
  LeaseState* use = use_;
  end_write();
  use->release();
}

TENON_INLINE PoolView* pooled_at(const void* base) { return PoolRegistry::process().find(base); }

/// Begins the decoder's access to memory that the CPU may use only within one: a dma-buf. Its context's edge to the CPU
/// knows how, and the lease of what it maps ends the access. Empty where nothing is to be ended.
/// @errors those of the edge
TENON_INLINE Lease begin_write(const Ref<Memory>& memory, Deadline deadline, Ledger* ledger) {
  if (memory->fd_kind() != FdKind::kDmabuf || memory->kind() == kCpuMemory) return {};
  const Tensor bytes({ElementType::kU8, {memory->size_bytes()}, {}}, memory);
  MapOptions options;
  options.access = Access::kReadWrite;  // Later pictures are predicted from this one.
  options.deadline = deadline;
  options.ledger = ledger;
  for (const Edge* edge : memory->context()->edges()) {
    if (!(edge->from() == memory->kind()) || !(edge->to() == kCpuMemory)) continue;
    const Step step = edge->step(describe(bytes), host_context(), options.access);
    const auto* reached = std::get_if<Reached>(&step);
    if (reached && !reached->copies) return edge->map(bytes, host_context(), options).lease();
  }
  return {};
}

TENON_INLINE DecodePool::DecodePool(const PoolLayout& layout, const Requirements& wanted, const Context& allocator,
                                    std::size_t limit)
    : layout_(layout),
      pool_(complete(layout, wanted), limit, [allocator](const Requirements& r) { return allocate(allocator, r); }) {}

TENON_INLINE void DecodePool::fill(AVFrame& frame, Deadline deadline, Ledger* ledger) {
  cpu::PooledBuffer pooled = pool_.acquire(deadline, ledger);
  auto* base = static_cast<std::uint8_t*>(pooled.memory->host());
  const Lease write = begin_write(pooled.memory, deadline, ledger);
  PoolView* const view = pooled_at(base);
  AVBufferRef* buffer = av_buffer_create(base, layout_.size_bytes, &DecodePool::give_back, view, 0);
  if (!buffer) throw make_error(AVERROR(ENOMEM), "decoder pool: no AVBuffer", "av_buffer_create");
  view->begin(pooled.lease, write);  // Held by the AVBuffer; give_back() ends it.
  frame.buf[0] = buffer;
  for (std::size_t p = 0; p < layout_.planes; ++p) {
    frame.data[p] = base + layout_.offset[p];
    frame.linesize[p] = layout_.pitch[p];
  }
  frame.extended_data = frame.data;
}

TENON_INLINE Requirements DecodePool::complete(const PoolLayout& layout, Requirements wanted) {
  wanted.size_bytes = layout.size_bytes;
  wanted.tail_padding = 0;  // Already part of the layout.
  wanted.alignment = std::max<std::size_t>(wanted.alignment, 64);
  wanted.host_access = true;
  return wanted;
}

TENON_INLINE Ref<Memory> DecodePool::allocate(const Context& allocator, const Requirements& wanted) {
  Ref<Memory> memory = allocator == host_context() ? cpu::allocate_memory(wanted) : allocator->allocate(wanted);
  if (!memory->host()) {
    throw Error(Code::kFailedPrecondition, "decoder pool: memory of " + std::string(allocator->name()) +
                                               " has no host address, and a software decoder writes with the CPU");
  }
  if (!memory->fd_kind().serves(wanted.fd)) {
    throw Error(Code::kFailedPrecondition, "decoder pool: " + std::string(allocator->name()) +
                                               " gave memory without the descriptor asked for (" +
                                               std::string(wanted.fd.name()) + "); give use_pool() another allocator");
  }
  if (memory->read_only())
    throw Error(Code::kFailedPrecondition,
                "decoder pool: " + std::string(allocator->name()) + " gave read-only memory");
  memory->add_view(std::make_unique<PoolView>(ffmpeg::context(), kFfmpegMemory, *memory));
  return memory;
}

}  // namespace detail
}  // namespace ffmpeg
}  // namespace v1
}  // namespace tenon
