/* SPDX-License-Identifier: Apache-2.0 */
/* A stand-in for a decoder in the examples over VA-API: a display, and NV12 surfaces of one colour. */
#ifndef TENON_EXAMPLES_SUPPORT_DECODER_VA_H
#define TENON_EXAMPLES_SUPPORT_DECODER_VA_H

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <va/va.h>
#include <va/va_drm.h>

static inline void check_va(VAStatus status, const char* what) {
  if (status == VA_STATUS_SUCCESS) return;
  fprintf(stderr, "%s: %s\n", what, vaErrorStr(status));
  exit(1);
}

struct decoder {
  int node;
  VADisplay display;
};

/* Ends the program with 77 if the machine has no such node, or no driver for it. @param node  "/dev/dri/renderD128". */
static inline struct decoder open_decoder(const char* node) {
  struct decoder made;
  int major = 0, minor = 0;
  made.node = open(node, O_RDWR | O_CLOEXEC);
  made.display = made.node < 0 ? NULL : vaGetDisplayDRM(made.node);
  if (!made.display || vaInitialize(made.display, &major, &minor) != VA_STATUS_SUCCESS) {
    fprintf(stderr, "no VA-API behind %s\n", node);
    exit(77);
  }
  return made;
}
static inline void close_decoder(struct decoder decoder) {
  vaTerminate(decoder.display);
  close(decoder.node);
}

static inline void paint(VADisplay display, VAImage image, unsigned char luma, unsigned char u, unsigned char v) {
  unsigned char* bytes = NULL;
  void* mapped = NULL;
  check_va(vaMapBuffer(display, image.buf, &mapped), "vaMapBuffer");
  for (unsigned y = 0; y < image.height; ++y) {
    bytes = (unsigned char*)mapped + image.offsets[0] + (size_t)y * image.pitches[0];
    for (unsigned x = 0; x < image.width; ++x) bytes[x] = luma;
  }
  for (unsigned y = 0; y < image.height / 2u; ++y) {
    bytes = (unsigned char*)mapped + image.offsets[1] + (size_t)y * image.pitches[1];
    for (unsigned x = 0; x < image.width; ++x) bytes[x] = x % 2 ? v : u;
  }
  check_va(vaUnmapBuffer(display, image.buf), "vaUnmapBuffer");
}

/* A picture of one colour, in the state after vaEndPicture; freed with vaDestroySurfaces. */
static inline VASurfaceID decode(VADisplay display, unsigned width, unsigned height, unsigned char luma,
                                 unsigned char u, unsigned char v) {
  VASurfaceID surface = VA_INVALID_SURFACE;
  VASurfaceAttrib format;
  VAImage image;
  format.type = VASurfaceAttribPixelFormat;
  format.flags = VA_SURFACE_ATTRIB_SETTABLE;
  format.value.type = VAGenericValueTypeInteger;
  format.value.value.i = VA_FOURCC_NV12;
  check_va(vaCreateSurfaces(display, VA_RT_FORMAT_YUV420, width, height, &surface, 1, &format, 1), "vaCreateSurfaces");
  check_va(vaDeriveImage(display, surface, &image), "vaDeriveImage");
  paint(display, image, luma, u, v);
  check_va(vaDestroyImage(display, image.image_id), "vaDestroyImage");
  return surface;
}

#endif
