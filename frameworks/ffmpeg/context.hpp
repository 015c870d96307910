// SPDX-License-Identifier: Apache-2.0
// FFmpeg as a context of Tenon: its buffers as memory, and the edges between them and host memory.
#pragma once

#include <cstddef>
#include <cstdint>

#include <tenon/core/context.hpp>
#include <tenon/core/memory.hpp>
#include <tenon/core/memory_kind.hpp>
#include <tenon/core/ref_counted.hpp>
#include <tenon/frameworks/ffmpeg/av.hpp>

namespace tenon {
inline namespace v1 {
namespace ffmpeg {

/// Bytes of an AVBuffer allocated by FFmpeg or one of its users.
inline constexpr MemoryKind kFfmpegMemory{"ffmpeg"};

/// Memory over an AVBufferRef. It has no identity, because FFmpeg recycles buffers without notice, so each is wrapped
/// anew. Buffers of a Tenon pool are not wrapped in this class: they come out as the pool's own memory.
class BufferMemory final : public Memory {
 public:
  /// Owns `buffer`, which is given back where this fails. @errors std::bad_alloc
  static Ref<BufferMemory> adopt(AVBufferRef* buffer);
  /// The bytes of `buffer`, kept alive by `keeper`.
  static Ref<BufferMemory> over(const AVBufferRef* buffer, Lease keeper);
  ~BufferMemory() override;
  /// FFmpeg's buffer; belongs to this memory or to its keeper.
  const AVBufferRef* buffer() const { return source_; }

 private:
  static Properties properties(std::uint8_t* data, std::size_t size, bool read_only);
  BufferMemory(std::uint8_t* data, std::size_t size, bool read_only, const AVBufferRef* source, AVBufferRef* owned,
               Lease keeper);

  const AVBufferRef* source_;
  AVBufferRef* buffer_;
  Lease keeper_;
};

/// The process's context of FFmpeg's software frames, with the edges ffmpeg->cpu and cpu->ffmpeg. It allocates AVBuffers
/// aligned to max(64, Requirements::alignment), and none with a descriptor. @thread any.
Context context();

}  // namespace ffmpeg
}  // namespace v1
}  // namespace tenon
