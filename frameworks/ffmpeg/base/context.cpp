// SPDX-License-Identifier: Apache-2.0
// The context of FFmpeg's buffers, and its edges.
#include <tenon/frameworks/ffmpeg/context.hpp>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <new>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include <tenon/core/edge.hpp>
#include <tenon/core/element_type.hpp>
#include <tenon/core/error.hpp>
#include <tenon/core/host_edge.hpp>
#include <tenon/core/requirements.hpp>
#include <tenon/core/shape.hpp>
#include <tenon/core/tensor.hpp>

namespace tenon {
inline namespace v1 {
namespace ffmpeg {

TENON_INLINE Ref<BufferMemory> BufferMemory::adopt(AVBufferRef* buffer) {
  try {
    return Ref<BufferMemory>(
        new BufferMemory(buffer->data, buffer->size, av_buffer_is_writable(buffer) == 0, buffer, buffer, {}));
  } catch (const std::bad_alloc&) {
    av_buffer_unref(&buffer);
    throw;
  }
}

TENON_INLINE Ref<BufferMemory> BufferMemory::over(const AVBufferRef* buffer, Lease keeper) {
  return Ref<BufferMemory>(new BufferMemory(buffer->data, buffer->size, false, buffer, nullptr, std::move(keeper)));
}

TENON_INLINE BufferMemory::~BufferMemory() {
  drop_views();
  av_buffer_unref(&buffer_);
}

TENON_INLINE Memory::Properties BufferMemory::properties(std::uint8_t* data, std::size_t size, bool read_only) {
  Properties properties;
  properties.size_bytes = size;
  properties.host = data;
  properties.read_only = read_only;
  return properties;
}

TENON_INLINE BufferMemory::BufferMemory(std::uint8_t* data, std::size_t size, bool read_only, const AVBufferRef* source,
                                        AVBufferRef* owned, Lease keeper)
    : Memory(ffmpeg::context(), kFfmpegMemory, properties(data, size, read_only)),
      source_(source),
      buffer_(owned),
      keeper_(std::move(keeper)) {}

namespace detail {

/// The AVBuffer through which FFmpeg reads `tensor`: the original one, else one made over it, as in av_frame().
class BufferOf {
 public:
  explicit BufferOf(const Tensor& tensor) {
    if (const auto* memory = dynamic_cast<const BufferMemory*>(tensor.memory().get())) {
      first_ = memory->buffer()->data + tensor.offset();
      return;
    }
    auto* const base = static_cast<std::uint8_t*>(tensor.data()) - tensor.offset();
    made_ = av_buffer_create(
        base, tensor.memory()->size_bytes(), [](void*, std::uint8_t*) {}, nullptr, 0);
    if (!made_) throw make_error(AVERROR(ENOMEM), "ffmpeg: no AVBuffer over host memory", "av_buffer_create");
    first_ = made_->data + tensor.offset();
  }
  ~BufferOf() { av_buffer_unref(&made_); }
  BufferOf(const BufferOf&) = delete;
  BufferOf& operator=(const BufferOf&) = delete;
  std::uint8_t* first() const { return first_; }

 private:
  AVBufferRef* made_ = nullptr;
  std::uint8_t* first_ = nullptr;
};

/// Copies between `tensor`, at FFmpeg's address, and packed bytes, row by row with FFmpeg's own function.
TENON_INLINE void copy_by_ffmpeg(const Tensor& tensor, std::byte* packed, bool to_packed) {
  const BufferOf buffer(tensor);
  const ByteStrides& strides = tensor.byte_strides();
  const Shape& shape = tensor.shape();
  // Adjacent elements form a row; the next axis has the rows of one plane; the rest are planes.
  std::size_t row = size_bytes(tensor.element_type()), axis = shape.size();
  while (axis > 0 && (shape[axis - 1] == 1 || strides[axis - 1] == static_cast<std::ptrdiff_t>(row)))
    row *= shape[--axis];
  const std::size_t rows = axis > 0 ? shape[axis - 1] : 1;
  const std::ptrdiff_t pitch = axis > 0 ? strides[axis - 1] : static_cast<std::ptrdiff_t>(row);
  std::size_t planes = 1;
  for (std::size_t a = 0; a + 1 < axis; ++a) planes *= shape[a];
  for (std::size_t plane = 0; plane < planes; ++plane) {
    std::ptrdiff_t offset = 0;
    for (std::size_t a = axis - (axis > 0), rest = plane; a-- > 0; rest /= shape[a])
      offset += strides[a] * static_cast<std::ptrdiff_t>(rest % shape[a]);
    auto* const outside = reinterpret_cast<std::uint8_t*>(packed) + plane * rows * row;
    auto* const inside = buffer.first() + offset;
    const auto line = static_cast<int>(pitch), bytes = static_cast<int>(row), count = static_cast<int>(rows);
    if (to_packed)
      av_image_copy_plane(outside, bytes, inside, line, bytes, count);
    else
      av_image_copy_plane(inside, line, outside, bytes, bytes, count);
  }
}

/// Whether FFmpeg's ints can express the layout of `tensor`.
TENON_INLINE bool fits_ffmpeg(const Tensor& tensor) {
  if (size_bytes(tensor.element_type()) == 0 || tensor.size_bytes() > INT_MAX) return false;
  return std::all_of(tensor.byte_strides().begin(), tensor.byte_strides().end(),
                     [](std::ptrdiff_t stride) { return stride >= 0 && stride <= INT_MAX; });
}

/// AVBuffers are host memory: the same bytes, shared.
class FfmpegToCpu final : public HostEdge {
 public:
  std::string_view name() const override { return "ffmpeg->cpu"; }
  MemoryKind from() const override { return kFfmpegMemory; }
  MemoryKind to() const override { return kCpuMemory; }
};

/// Host memory as seen by FFmpeg; av_frame() makes the AVFrame.
class CpuToFfmpeg final : public HostEdge {
 public:
  std::string_view name() const override { return "cpu->ffmpeg"; }
  MemoryKind from() const override { return kCpuMemory; }
  MemoryKind to() const override { return kFfmpegMemory; }

 private:
  std::optional<Refusal> refuses(const Description& from) const override {
    if (from.info.strides.size() >= 2 && from.info.strides[0] > INT_MAX)
      return Refusal{"a row of " + std::to_string(from.info.strides[0]) + " bytes does not fit AVFrame.linesize (int)"};
    return std::nullopt;
  }
};

/// The only FFmpeg context of the process: software frames.
class SoftwareContext final : public ContextImpl {
 public:
  SoftwareContext() { make_immortal(); }
  std::string_view name() const override { return "ffmpeg"; }
  MemoryKind kind() const override { return kFfmpegMemory; }
  DeviceIdentity device() const override { return host_context()->device(); }
  std::span<const Edge* const> edges() const override {
    static const FfmpegToCpu to_cpu;
    static const CpuToFfmpeg from_cpu;
    static const Edge* const all[] = {&to_cpu, &from_cpu};
    return all;
  }
  Requirements requirements() const override {
    Requirements wanted;
    wanted.host_access = true;
    wanted.max_pitch = INT_MAX;
    return wanted;
  }
  std::string_view remedy() const override {
    return "let the decoder write where the consumer reads: Video::use_pool() with what it requires "
           "(CompiledModel::requirements())";
  }
  std::variant<Offer, Refusal> offer(const Requirements& wanted) const override {
    if (wanted.fd != FdKind::kNone)
      return Refusal{"AVBuffers have no descriptor; allocate in cpu or dmabuf and map that here"};
    return Offer{std::max<std::size_t>(wanted.alignment, 64), FdKind::kNone, 0, true};
  }
  /// An AVBuffer aligned to max(64, wanted.alignment). @errors kResourceExhausted; kUnimplemented for memory with a
  /// descriptor.
  Ref<Memory> allocate(const Requirements& wanted) override {
    check_offer(wanted);
    const std::size_t bytes = wanted.size_bytes + wanted.tail_padding;
    const std::size_t alignment = std::max<std::size_t>(wanted.alignment, 64);
    auto* data = static_cast<std::uint8_t*>(
        ::operator new(std::max<std::size_t>(bytes, 1), std::align_val_t(alignment), std::nothrow));
    if (!data) throw Error(Code::kResourceExhausted, "ffmpeg: cannot allocate " + std::to_string(bytes) + " bytes");
    const auto free = [](void* align, std::uint8_t* bytes) {
      ::operator delete(bytes, std::align_val_t(reinterpret_cast<std::uintptr_t>(align)));
    };
    AVBufferRef* buffer = av_buffer_create(data, bytes, free, reinterpret_cast<void*>(alignment), 0);
    if (!buffer) {
      ::operator delete(data, std::align_val_t(alignment));
      throw make_error(AVERROR(ENOMEM), "ffmpeg: no AVBuffer of " + std::to_string(bytes) + " bytes",
                       "av_buffer_create");
    }
    return BufferMemory::adopt(buffer);
  }
  /// Through FFmpeg's pointers, not core's, so that a proof of sharing compares the two.
  void read(const Tensor& tensor, std::span<std::byte> out) const override {
    if (tensor.size_bytes() == 0 || !fits_ffmpeg(tensor)) return ContextImpl::read(tensor, out);
    copy_by_ffmpeg(tensor, out.data(), true);
  }
  void write(const Tensor& tensor, std::span<const std::byte> in) const override {
    if (tensor.size_bytes() == 0 || !fits_ffmpeg(tensor)) return ContextImpl::write(tensor, in);
    copy_by_ffmpeg(tensor, const_cast<std::byte*>(in.data()), false);
  }
};

}  // namespace detail

TENON_INLINE Context context() {
  static Context* context =
      new Context(make_ref<detail::SoftwareContext>());  // Outlives static destructors that hold frames.
  return *context;
}

}  // namespace ffmpeg
}  // namespace v1
}  // namespace tenon
