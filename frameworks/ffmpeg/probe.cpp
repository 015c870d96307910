// SPDX-License-Identifier: Apache-2.0
// Compiled and linked at configuration to check that the FFmpeg found has what the framework needs (5.1 and later).
extern "C" {
#include <libavcodec/avcodec.h>
#include <libavdevice/version.h>
#include <libavformat/avformat.h>
#include <libavutil/pixdesc.h>
#include <libswscale/swscale.h>
}

int main() {
  AVCodecContext* context = avcodec_alloc_context3(nullptr);
  const int known = av_pix_fmt_desc_get(AV_PIX_FMT_NV12) && sws_isSupportedInput(AV_PIX_FMT_NV12) && avformat_version();
  avcodec_free_context(&context);
  return known ? 0 : 1;
}
