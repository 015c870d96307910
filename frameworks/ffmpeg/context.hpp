// SPDX-License-Identifier: Apache-2.0
// FFmpeg as a context of Tenon: its buffers as memory, and the edges between them and host memory.
#pragma once

#include <algorithm>
#include <climits>
#include <new>

#include <tenon/core/host_edge.hpp>
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

/// AVBuffers are host memory: the same bytes, shared.
class FfmpegToCpu final : public HostEdge {
 public:
  std::string_view name() const override { return "ffmpeg->cpu"; }
  MemoryKind from() const override { return kFfmpegMemory; }
  MemoryKind to() const override { return kCpuMemory; }
};

/// Host memory as FFmpeg sees it; av_frame() makes the AVFrame.
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
