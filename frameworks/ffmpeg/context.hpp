// SPDX-License-Identifier: Apache-2.0
// FFmpeg as a context of Tenon: its buffers as memory, and the edges between them and host memory.
#pragma once

#include <algorithm>
#include <climits>
#include <new>

#include <tenon/core/edge.hpp>
#include <tenon/core/host.hpp>
#include <tenon/frameworks/ffmpeg/av.hpp>

namespace tenon {
inline namespace v1 {
namespace ffmpeg {

/// Bytes of an AVBuffer that FFmpeg or a user of it allocated.
inline constexpr MemoryKind kFfmpegMemory{"ffmpeg"};

inline Context context();

/// Memory over an AVBufferRef. It has no identity: FFmpeg recycles buffers and tells nobody, so that each wrapping is
/// afresh. Buffers of a Tenon pool are not wrapped in this class: there, the pool's own memory comes out again.
class BufferMemory final : public Memory {
 public:
  /// Owns `buffer`. @errors none
  static Ref<BufferMemory> adopt(AVBufferRef* buffer) {
    return Ref<BufferMemory>(
        new BufferMemory(buffer->data, buffer->size, av_buffer_is_writable(buffer) == 0, buffer, {}));
  }
  /// The bytes of `buffer`, which `keeper` keeps alive.
  static Ref<BufferMemory> over(const AVBufferRef* buffer, Lease keeper) {
    return Ref<BufferMemory>(new BufferMemory(buffer->data, buffer->size, false, nullptr, std::move(keeper)));
  }
  ~BufferMemory() override {
    drop_views();
    av_buffer_unref(&buffer_);
  }

 private:
  static Properties properties(std::uint8_t* data, std::size_t size, bool read_only) {
    Properties properties;
    properties.size_bytes = size;
    properties.host = data;
    properties.read_only = read_only;
    return properties;
  }
  BufferMemory(std::uint8_t* data, std::size_t size, bool read_only, AVBufferRef* buffer, Lease keeper)
      : Memory(ffmpeg::context(), kFfmpegMemory, properties(data, size, read_only)),
        buffer_(buffer),
        keeper_(std::move(keeper)) {}

  AVBufferRef* buffer_;
  Lease keeper_;
};

namespace detail {

/// A view of host-addressable memory in another context of the host: the same address under another name.
inline Tensor host_view(const Tensor& source, const Context& to, MemoryKind kind, Access access, EdgeId edge) {
  const Memory& memory = *source.memory();
  if (const View* view = memory.find_view(*to, kind, access)) return source.through(view);
  void* base = source.view() ? source.view()->host() : memory.host();
  // As wide as the memory allows from the start: one view then serves readers and writers. Leases are judged at each
  // map.
  const Access widest = source.view()        ? source.view()->access()
                        : memory.read_only() ? Access::kRead
                                             : Access::kReadWrite;
  auto view = std::make_unique<View>(to, kind, widest, base);
  view->set_standing(edge);
  return source.through(&memory.add_view(std::move(view)));
}

inline Description moved(const Description& from, const Context& to, MemoryKind kind) {
  Description result = from;
  result.context = to;
  result.kind = kind;
  return result;
}

}  // namespace detail

/// AVBuffers are host memory: the same bytes, shared.
class FfmpegToCpu final : public Edge {
 public:
  std::string_view name() const override { return "ffmpeg->cpu"; }
  MemoryKind from() const override { return kFfmpegMemory; }
  MemoryKind to() const override { return kCpuMemory; }
  Step step(const Description& from, const Context& to, Access access) const override {
    if (!from.host_addressable) return Refusal{"the buffer has no host address (a hardware frame); download it first"};
    if (writes(access) && from.read_only) return Refusal{"the buffer is read-only, or FFmpeg still refers to it"};
    return Reached{detail::moved(from, to, kCpuMemory), false, 60, 0};
  }
  Tensor map(const Tensor& source, const Context& to, const MapOptions& options) const override {
    const Step judged = step(describe(source), to, options.access);
    if (auto* refusal = std::get_if<Refusal>(&judged))
      throw Error(Code::kFailedPrecondition, "ffmpeg->cpu: " + refusal->reason);
    return detail::host_view(source, to, kCpuMemory, options.access, id());
  }
};

/// Host memory as FFmpeg sees it; av_frame() makes the AVFrame.
class CpuToFfmpeg final : public Edge {
 public:
  std::string_view name() const override { return "cpu->ffmpeg"; }
  MemoryKind from() const override { return kCpuMemory; }
  MemoryKind to() const override { return kFfmpegMemory; }
  Step step(const Description& from, const Context& to, Access access) const override {
    if (!from.host_addressable) return Refusal{"an AVFrame needs a host address, and this memory has none"};
    if (writes(access) && from.read_only) return Refusal{"the memory is read-only"};
    if (from.info.strides.size() >= 2 && from.info.strides[0] > INT_MAX) {
      return Refusal{"a row of " + std::to_string(from.info.strides[0]) + " bytes does not fit AVFrame.linesize (int)"};
    }
    return Reached{detail::moved(from, to, kFfmpegMemory), false, 60, 0};
  }
  Tensor map(const Tensor& source, const Context& to, const MapOptions& options) const override {
    const Step judged = step(describe(source), to, options.access);
    if (auto* refusal = std::get_if<Refusal>(&judged))
      throw Error(Code::kFailedPrecondition, "cpu->ffmpeg: " + refusal->reason);
    return detail::host_view(source, to, kFfmpegMemory, options.access, id());
  }
};

/// The one FFmpeg context of the process: software frames.
class ContextImpl final : public tenon::ContextImpl {
 public:
  std::string_view name() const override { return "ffmpeg"; }
  MemoryKind kind() const override { return kFfmpegMemory; }
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
  /// An AVBuffer aligned to max(64, wanted.alignment). @errors kResourceExhausted; kUnimplemented for memory with a
  /// descriptor.
  Ref<Memory> allocate(const Requirements& wanted) override {
    if (wanted.fd != FdKind::kNone) {
      throw Error(Code::kUnimplemented,
                  "ffmpeg: AVBuffers have no descriptor; allocate in cpu or dmabuf and map that here");
    }
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
      throw detail::make_error(AVERROR(ENOMEM), "ffmpeg: no AVBuffer of " + std::to_string(bytes) + " bytes",
                               "av_buffer_create");
    }
    return BufferMemory::adopt(buffer);
  }
};

/// The context of FFmpeg's software frames, with the edges ffmpeg->cpu and cpu->ffmpeg.
inline Context context() {
  static Context* context = new Context(make_ref<ContextImpl>());  // Outlives static destructors that hold frames.
  return *context;
}

}  // namespace ffmpeg
}  // namespace v1
}  // namespace tenon
