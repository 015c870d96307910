/* SPDX-License-Identifier: Apache-2.0
   Surfaces of VA-API in C: a context of a VADisplay, the planes of a surface as tensors, a model on them, and what is refused. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <va/va.h>
#include <va/va_drm.h>

#include "remote.h"

static const int64_t kLuma[] = {1, 16, 32, 1}, kChroma[] = {1, 8, 16, 2};

struct decoder {
  int node;
  VADisplay display;
  VASurfaceID surface;
};
static struct decoder open_decoder(void) {
  struct decoder made;
  VASurfaceAttrib format;
  int major, minor;
  made.node = open("/dev/dri/renderD128", O_RDWR | O_CLOEXEC);
  made.display = vaGetDisplayDRM(made.node);
  CHECK(made.node >= 0 && made.display && vaInitialize(made.display, &major, &minor) == VA_STATUS_SUCCESS);
  format.type = VASurfaceAttribPixelFormat;
  format.flags = VA_SURFACE_ATTRIB_SETTABLE;
  format.value.type = VAGenericValueTypeInteger;
  format.value.value.i = VA_FOURCC_NV12;
  CHECK(vaCreateSurfaces(made.display, VA_RT_FORMAT_YUV420, 32, 16, &made.surface, 1, &format, 1) == VA_STATUS_SUCCESS);
  return made;
}
static void close_decoder(struct decoder* decoder) {
  vaDestroySurfaces(decoder->display, &decoder->surface, 1);
  vaTerminate(decoder->display);
  close(decoder->node);
}
/* As a decoder leaves it: a picture of one colour. */
static void decode(const struct decoder* decoder, unsigned char luma, unsigned char u, unsigned char v) {
  VAImage image;
  void* mapped = NULL;
  unsigned char* row;
  unsigned x, y;
  CHECK(vaDeriveImage(decoder->display, decoder->surface, &image) == VA_STATUS_SUCCESS);
  CHECK(vaMapBuffer(decoder->display, image.buf, &mapped) == VA_STATUS_SUCCESS);
  for (y = 0; y < 16; ++y) memset((unsigned char*)mapped + image.offsets[0] + y * image.pitches[0], luma, 32);
  for (y = 0; y < 8; ++y) {
    row = (unsigned char*)mapped + image.offsets[1] + y * image.pitches[1];
    for (x = 0; x < 32; ++x) row[x] = x % 2 ? v : u;
  }
  CHECK(vaUnmapBuffer(decoder->display, image.buf) == VA_STATUS_SUCCESS);
  CHECK(vaDestroyImage(decoder->display, image.image_id) == VA_STATUS_SUCCESS);
  CHECK(vaSyncSurface(decoder->display, decoder->surface) == VA_STATUS_SUCCESS);
}

/* What an inference on both planes gives, for two pictures; the tensors are the caller's. */
static void infer(const ov_core_t* core, const ov_remote_context_t* context, const struct decoder* decoder,
                  const ov_tensor_t* luma, const ov_tensor_t* chroma) {
  static const unsigned char colours[][3] = {{126, 128, 128}, {81, 90, 240}, {41, 240, 110}};
  ov_model_t* model = picture_model(core, "1,3,16,32");
  ov_compiled_model_t* compiled = NULL;
  ov_infer_request_t* request = NULL;
  ov_tensor_t* result = NULL;
  float* bgr = NULL;
  size_t i;
  MUST(ov_core_compile_model_with_context(core, model, context, 2, &compiled, ov_property_key_hint_inference_precision,
                                          "f32"));
  MUST(ov_compiled_model_create_infer_request(compiled, &request));
  MUST(ov_infer_request_set_input_tensor_by_index(request, 0, luma));
  MUST(ov_infer_request_set_input_tensor_by_index(request, 1, chroma));
  for (i = 0; i < sizeof(colours) / sizeof(colours[0]); ++i) {
    decode(decoder, colours[i][0], colours[i][1], colours[i][2]);
    MUST(ov_infer_request_start_async(request));
    MUST(ov_infer_request_wait(request));
    MUST(ov_infer_request_get_output_tensor(request, &result));
    MUST(ov_tensor_data(result, (void**)&bgr));
    say("blue %d, green %d, red %d", (int)(bgr[511] + 0.5F), (int)(bgr[1023] + 0.5F), (int)(bgr[1535] + 0.5F));
    ov_tensor_free(result);
  }
  ov_infer_request_free(request);
  ov_compiled_model_free(compiled);
  ov_model_free(model);
}

static ov_remote_context_t* context_of(const ov_core_t* core, const struct decoder* decoder) {
  ov_remote_context_t* context = NULL;
  MUST(ov_core_create_context(core, "GPU", 4, &context, ov_property_key_intel_gpu_context_type, "VA_SHARED",
                              ov_property_key_intel_gpu_va_device, decoder->display));
  return context;
}

static void contexts(void) {
  struct decoder decoder = open_decoder();
  ov_core_t* core = NULL;
  ov_remote_context_t *context, *none = NULL;
  size_t count = 0;
  char* text = NULL;
  MUST(ov_core_create(&core));
  context = context_of(core, &decoder);
  MUST(ov_remote_context_get_device_name(context, &text));
  say("on %.3s", text);
  ov_free(text);
  MUST(ov_remote_context_get_params(context, &count, &text));
  say("the display's %d, a cl_context %d", address_in(text, "VA_DEVICE") == decoder.display,
      address_in(text, "OCL_CONTEXT") != NULL);
  say_params("of a display", text);
  ov_remote_context_free(context);
  fails("no display", ov_core_create_context(core, "GPU", 4, &none, ov_property_key_intel_gpu_context_type, "VA_SHARED",
                                             ov_property_key_intel_gpu_va_device, NULL));
  fails("no handle",
        ov_core_create_context(core, "GPU", 2, &none, ov_property_key_intel_gpu_context_type, "VA_SHARED"));
  ov_core_free(core);
  close_decoder(&decoder);
}

static void surfaces(void) {
  struct decoder decoder = open_decoder();
  ov_shape_t luma = shape_of(4, kLuma), chroma = shape_of(4, kChroma);
  ov_core_t* core = NULL;
  ov_remote_context_t* context;
  ov_tensor_t *y = NULL, *uv = NULL, *none = NULL;
  ov_property_t list[3];
  char id[16], wrong[16];
  size_t count = 0;
  char* text = NULL;
  MUST(ov_core_create(&core));
  context = context_of(core, &decoder);
  snprintf(id, sizeof(id), "%u", decoder.surface);
  snprintf(wrong, sizeof(wrong), "%u", decoder.surface + 1000);
  /* Arguments one by one, and as an array. */
  MUST(ov_remote_context_create_tensor(context, U8, luma, 6, &y, ov_property_key_intel_gpu_shared_mem_type,
                                       "VA_SURFACE", ov_property_key_intel_gpu_dev_object_handle, id,
                                       ov_property_key_intel_gpu_va_plane, "0"));
  list[0].key = ov_property_key_intel_gpu_shared_mem_type;
  list[0].value = "VA_SURFACE";
  list[1].key = ov_property_key_intel_gpu_dev_object_handle;
  list[1].value = id;
  list[2].key = ov_property_key_intel_gpu_va_plane;
  list[2].value = "1";
  MUST(ov_remote_context_create_tensor_props(context, U8, chroma, 3, list, &uv));
  say_shape("luma", &luma);
  say_shape("chroma", &chroma);
  MUST(ov_remote_tensor_get_params(y, &count, &text));
  say("%s %s %s", strstr(text, "SHARED_MEM_TYPE:VA_SURFACE") ? "a surface" : text,
      strstr(text, "VA_PLANE:0") ? "its plane 0" : text, strstr(text, id) ? "its number" : text);
  ov_free(text);
  infer(core, context, &decoder, y, uv);
  fails("no such surface",
        ov_remote_context_create_tensor(context, U8, luma, 6, &none, ov_property_key_intel_gpu_shared_mem_type,
                                        "VA_SURFACE", ov_property_key_intel_gpu_dev_object_handle, wrong,
                                        ov_property_key_intel_gpu_va_plane, "0"));
  fails("no such plane", ov_remote_context_create_tensor(
                             context, U8, luma, 6, &none, ov_property_key_intel_gpu_shared_mem_type, "VA_SURFACE",
                             ov_property_key_intel_gpu_dev_object_handle, id, ov_property_key_intel_gpu_va_plane, "7"));
  fails("no surface", ov_remote_context_create_tensor(context, U8, luma, 2, &none,
                                                      ov_property_key_intel_gpu_shared_mem_type, "VA_SURFACE"));
  ov_tensor_free(uv);
  ov_tensor_free(y);
  ov_remote_context_free(context);
  ov_core_free(core);
  ov_shape_free(&chroma);
  ov_shape_free(&luma);
  close_decoder(&decoder);
}

/* The documentation passes the VASurfaceID and the plane as they are. */
static void numbers(void) {
  struct decoder decoder = open_decoder();
  ov_shape_t luma = shape_of(4, kLuma), chroma = shape_of(4, kChroma);
  ov_core_t* core = NULL;
  ov_remote_context_t* context;
  ov_tensor_t *y = NULL, *uv = NULL;
  MUST(ov_core_create(&core));
  context = context_of(core, &decoder);
  MUST(ov_remote_context_create_tensor(context, U8, luma, 6, &y, ov_property_key_intel_gpu_shared_mem_type,
                                       "VA_SURFACE", ov_property_key_intel_gpu_dev_object_handle, decoder.surface,
                                       ov_property_key_intel_gpu_va_plane, 0));
  MUST(ov_remote_context_create_tensor(context, U8, chroma, 6, &uv, ov_property_key_intel_gpu_shared_mem_type,
                                       "VA_SURFACE", ov_property_key_intel_gpu_dev_object_handle, decoder.surface,
                                       ov_property_key_intel_gpu_va_plane, 1));
  infer(core, context, &decoder, y, uv);
  ov_tensor_free(uv);
  ov_tensor_free(y);
  ov_remote_context_free(context);
  ov_core_free(core);
  ov_shape_free(&chroma);
  ov_shape_free(&luma);
  close_decoder(&decoder);
}

void va(void) {
  section("VA: contexts", contexts);
  section("VA: surfaces", surfaces);
}
void va_numbers(void) { section("VA: numbers", numbers); }
