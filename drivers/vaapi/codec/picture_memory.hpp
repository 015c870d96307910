// SPDX-License-Identifier: Apache-2.0
// Memory to which libavcodec decodes. Luma is decoded directly to the surface if its layout is that of the decoder.
#pragma once

#include <mutex>

#include <tenon/drivers/vaapi/objects/display.hpp>

extern "C" {
#include <libavcodec/avcodec.h>
}

namespace tenon::va {

/// Most of a picture is luma, which has the same layout in NV12 and in decoders; chroma, which NV12 interleaves, is
/// copied. The decoder reads references in the surface itself: as with hardware, a client must not write to it.
/// @thread any.
class PictureMemory {
 public:
  PictureMemory() = default;
  ~PictureMemory();
  PictureMemory(const PictureMemory&) = delete;
  PictureMemory& operator=(const PictureMemory&) = delete;

  /// For AVCodecContext::get_buffer2. @param target  The picture's surface; null: memory of its own.
  int get(AVCodecContext& context, AVFrame& frame, int flags, const Ref<Surface>& target);

 private:
  struct Kind {
    int format = AV_PIX_FMT_NONE, width_px = 0, height_px = 0;
    bool operator==(const Kind&) const = default;
  };

  void begin(AVCodecContext& context, const AVFrame& frame, const Ref<Surface>& target);
  int get_planes(AVFrame& frame, const Ref<Surface>& target);
  void free_pools();

  std::mutex mutex_;
  Kind kind_;  ///< Kind of the pictures of this sequence.
  int alignment_ = 0, width_px_ = 0;
  int pitch_ = 0;  ///< Pitch of all luma planes: H.264's decoder reads references with the pitch of the picture. 0: the
                   ///< default.
  int chroma_pitch_ = 0, chroma_rows_ = 0;
  AVBufferPool *luma_ = nullptr, *chroma_ = nullptr;
};

}  // namespace tenon::va
