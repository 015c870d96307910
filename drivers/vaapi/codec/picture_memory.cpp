// SPDX-License-Identifier: Apache-2.0
// Pools for planes outside of surfaces. libavutil's buffers hold surfaces as long as they are references.
#include <tenon/drivers/vaapi/codec/picture_memory.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <new>

extern "C" {
#include <libavutil/common.h>
}

namespace tenon::va {
namespace {

constexpr int kMacroblock_px = 16;
constexpr std::size_t kSpareBytes = 64;  // Vector instructions read beyond a plane's end.

/// Whether a picture's luma can be decoded to a surface. Imported memory is excluded, because it may be slow to read,
/// and references are read.
bool holds_luma(const Surface& surface, const AVFrame& frame, int width_px, int alignment) {
  if (surface.format.pixels != AV_PIX_FMT_NV12 || surface.read_only() || surface.is_imported()) return false;
  const SurfacePlane &luma = surface.planes[0], &chroma = surface.planes[1];
  const auto rows = (chroma.offset - luma.offset) / luma.pitch;
  const auto pitch = static_cast<int>(luma.pitch);
  return pitch >= width_px && pitch % alignment == 0 && luma.offset % static_cast<unsigned>(alignment) == 0 &&
         rows >= static_cast<unsigned>(FFALIGN(frame.height, kMacroblock_px));
}

AVBufferRef* hold(const Ref<Surface>& surface, std::size_t size_bytes) {
  auto* held = new (std::nothrow) Ref<Surface>(surface);
  if (!held) return nullptr;
  const auto release = [](void* opaque, std::uint8_t*) { delete static_cast<Ref<Surface>*>(opaque); };
  AVBufferRef* made = av_buffer_create(surface->pixels().data[0], size_bytes, release, held, 0);
  if (!made) delete held;
  return made;
}

}  // namespace

PictureMemory::~PictureMemory() { free_pools(); }

void PictureMemory::free_pools() {
  av_buffer_pool_uninit(&luma_);  // The pool is freed with the last of its buffers.
  av_buffer_pool_uninit(&chroma_);
}

int PictureMemory::get(AVCodecContext& context, AVFrame& frame, int flags, const Ref<Surface>& target) {
  {
    const std::lock_guard lock(mutex_);
    if (kind_ != Kind{frame.format, frame.width, frame.height}) begin(context, frame, target);
    if (pitch_ > 0) return get_planes(frame, target);
  }
  return avcodec_default_get_buffer2(&context, &frame, flags);
}

void PictureMemory::begin(AVCodecContext& context, const AVFrame& frame, const Ref<Surface>& target) {
  free_pools();
  kind_ = {frame.format, frame.width, frame.height};
  pitch_ = 0;
  if (!target || (frame.format != AV_PIX_FMT_YUV420P && frame.format != AV_PIX_FMT_YUVJ420P)) return;
  int rows = frame.height, alignments[AV_NUM_DATA_POINTERS] = {};
  width_px_ = frame.width;
  avcodec_align_dimensions2(&context, &width_px_, &rows, alignments);
  alignment_ = *std::max_element(std::begin(alignments), std::end(alignments));
  if (!holds_luma(*target, frame, width_px_, alignment_)) return;
  const auto pitch = static_cast<int>(target->planes[0].pitch);
  chroma_pitch_ = FFALIGN(pitch / 2, alignment_);
  chroma_rows_ = FFALIGN(rows, 2) / 2;
  const auto bytes = [](int pitch, int rows) {
    return static_cast<std::size_t>(pitch) * static_cast<std::size_t>(rows);
  };
  luma_ = av_buffer_pool_init(bytes(pitch, rows) + kSpareBytes, av_buffer_allocz);
  chroma_ = av_buffer_pool_init(2 * bytes(chroma_pitch_, chroma_rows_) + kSpareBytes, av_buffer_allocz);
  if (luma_ && chroma_) pitch_ = pitch;
}

int PictureMemory::get_planes(AVFrame& frame, const Ref<Surface>& target) {
  const bool is_there = target && static_cast<int>(target->planes[0].pitch) == pitch_ &&
                        holds_luma(*target, frame, width_px_, alignment_);
  const std::size_t luma_bytes = static_cast<std::size_t>(pitch_) * static_cast<std::size_t>(frame.height);
  frame.buf[0] = is_there ? hold(target, luma_bytes) : av_buffer_pool_get(luma_);
  frame.buf[1] = av_buffer_pool_get(chroma_);
  if (!frame.buf[0] || !frame.buf[1]) {
    av_frame_unref(&frame);
    return AVERROR(ENOMEM);
  }
  frame.data[0] = frame.buf[0]->data;
  frame.data[1] = frame.buf[1]->data;
  frame.data[2] = frame.data[1] + static_cast<std::ptrdiff_t>(chroma_pitch_) * chroma_rows_;
  frame.linesize[0] = pitch_;
  frame.linesize[1] = frame.linesize[2] = chroma_pitch_;
  frame.extended_data = frame.data;
  return 0;
}

}  // namespace tenon::va
