// SPDX-License-Identifier: Apache-2.0
// Compiled at configuration to check that the kernel's headers have what the framework needs (Linux 5.19 and later).
#include <linux/videodev2.h>

int main() {
  v4l2_create_buffers buffers{};
  return V4L2_PIX_FMT_P010 && V4L2_PIX_FMT_RGBX32 && VIDIOC_EXPBUF && !buffers.capabilities ? 0 : 1;
}
