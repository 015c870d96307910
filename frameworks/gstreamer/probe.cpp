// SPDX-License-Identifier: Apache-2.0
// Compiled and linked at configuration to check that the GStreamer found has what the framework needs (1.20 and later).
#include <gst/allocators/gstdmabuf.h>
#include <gst/audio/audio.h>
#include <gst/gst.h>
#include <gst/video/video.h>

int main() {
  GstVideoInfo video;
  gst_video_info_init(&video);
  GstAudioInfo audio;
  gst_audio_info_init(&audio);
  const bool known = gst_video_format_get_info(GST_VIDEO_FORMAT_RGBP) != nullptr && !gst_is_dmabuf_memory(nullptr);
  return known ? 0 : 1;
}
