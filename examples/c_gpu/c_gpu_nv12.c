/* SPDX-License-Identifier: Apache-2.0 */
/* Pictures of a decoder on the GPU, in C: two NV12 planes in the application's images, of one surface and of a batch,
 * which inference reads in place. Exits with 77 if there is no OpenCL device. */
#include <string.h>

#include "../support/check_cl.h"
#include "../support/decoder_request.h"

enum { kWidth = 64, kHeight = 48 };

/* y = x, a picture [batch, 3, 48, 64] of BGR; its two shapes differ in the batch alone. */
#define PICTURE(batch) "<dim>" batch "</dim><dim>3</dim><dim>48</dim><dim>64</dim>"
#define MODEL(batch) \
  "<?xml version=\"1.0\"?><net name=\"picture\" version=\"11\"><layers>"                                         \
  "<layer id=\"0\" name=\"picture\" type=\"Parameter\" version=\"opset1\"><data shape=\"" batch                  \
  ",3,48,64\" element_type=\"f32\"/><output><port id=\"0\" precision=\"FP32\" names=\"picture\">" PICTURE(batch) \
  "</port></output></layer>"                                                                                     \
  "<layer id=\"1\" name=\"relu\" type=\"ReLU\" version=\"opset1\"><input><port id=\"0\" precision=\"FP32\">"     \
  PICTURE(batch) "</port></input><output><port id=\"1\" precision=\"FP32\" names=\"colours\">" PICTURE(batch)    \
  "</port></output></layer>"                                                                                     \
  "<layer id=\"2\" name=\"result\" type=\"Result\" version=\"opset1\"><input><port id=\"0\" precision=\"FP32\">" \
  PICTURE(batch) "</port></input></layer></layers>"                                                              \
  "<edges><edge from-layer=\"0\" from-port=\"0\" to-layer=\"1\" to-port=\"0\"/>"                                 \
  "<edge from-layer=\"1\" from-port=\"1\" to-layer=\"2\" to-port=\"0\"/></edges></net>"

/* A surface of the decoder, of one colour. Chroma is CL_RG, or CL_R with U and V side by side if the platform has no
 * CL_RG. */
struct surface {
  cl_mem y, uv;
};

static cl_mem make_image(cl_context context, cl_channel_order order, size_t width, size_t height, const void* pixels) {
  const cl_image_format format = {order, CL_UNORM_INT8};
  cl_image_desc desc;
  memset(&desc, 0, sizeof desc);
  desc.image_type = CL_MEM_OBJECT_IMAGE2D;
  desc.image_width = width;
  desc.image_height = height;
  const cl_mem_flags flags = CL_MEM_READ_WRITE | (pixels ? CL_MEM_COPY_HOST_PTR : 0);
  return clCreateImage(context, flags, &format, &desc, (void*)pixels, NULL);
}

static struct surface decode(cl_context context, unsigned char luma, unsigned char u, unsigned char v) {
  unsigned char y[kHeight * kWidth], uv[kHeight / 2 * kWidth];
  memset(y, luma, sizeof y);
  for (size_t i = 0; i < sizeof uv; i += 2) uv[i] = u, uv[i + 1] = v;
  struct surface made;
  made.y = make_image(context, CL_R, kWidth, kHeight, y);
  made.uv = make_image(context, CL_RG, kWidth / 2, kHeight / 2, uv);
  if (!made.uv) made.uv = make_image(context, CL_R, kWidth, kHeight / 2, uv);
  if (!made.y || !made.uv) {
    fprintf(stderr, "the platform has no images of bytes\n");
    exit(1);
  }
  return made;
}
static void drop(struct surface surface) {
  clReleaseMemObject(surface.y);
  clReleaseMemObject(surface.uv);
}

static tenon_tensor_t* image_tensor(const tenon_remote_context_t* context, tenon_element_type_t type, size_t height,
                                    size_t width, size_t samples, cl_mem image) {
  const size_t shape[] = {1, height, width, samples};
  tenon_tensor_t* tensor = NULL;
  check(tenon_remote_context_create_tensor(context, type, 4, shape, 4, &tensor, "SHARED_MEM_TYPE", "OCL_IMAGE2D",
                                           "MEM_HANDLE", image),
        "a tensor over an image");
  return tensor;
}

/* True if picture `item` of the result has this colour, within 1.5 steps of 255. */
static int has_colour(tenon_infer_request_t* request, size_t item, const float bgr[3]) {
  tenon_tensor_t* output = NULL;
  void* data = NULL;
  check(tenon_infer_request_get_tensor(request, "colours", &output), "output");
  check(tenon_tensor_data(output, &data), "its values");
  int is_right = 1;
  for (size_t channel = 0; channel < 3; ++channel) {
    const float found = ((const float*)data)[(item * 3 + channel) * kHeight * kWidth + 100];
    printf(" %.0f", found);
    is_right &= found > bgr[channel] - 1.5f && found < bgr[channel] + 1.5f;
  }
  printf(is_right ? "\n" : ", which is wrong\n");
  tenon_tensor_free(output);
  return is_right;
}

int main(void) {
  static const float kRed[] = {0, 0, 255}, kBlue[] = {255, 0, 0}; /* 81, 90, 240 and 41, 240, 110 in BT.601. */
  tenon_core_t* core = NULL;
  check(tenon_core_create(&core), "core");
  tenon_remote_context_t *own = context_of(core, "GPU"), *context = NULL;
  struct pipeline pipeline = open_pipeline(device_of(own));
  check(tenon_core_create_context(core, "GPU", 4, &context, "CONTEXT_TYPE", "OCL", "OCL_CONTEXT", pipeline.context),
        "context");
  const struct surface red = decode(pipeline.context, 81, 90, 240), blue = decode(pipeline.context, 41, 240, 110);
  tenon_tensor_t* y[] = {image_tensor(context, TENON_TYPE_U8, kHeight, kWidth, 1, red.y),
                         image_tensor(context, TENON_TYPE_U8, kHeight, kWidth, 1, blue.y)};
  tenon_tensor_t* uv[] = {image_tensor(context, TENON_TYPE_U8, kHeight / 2, kWidth / 2, 2, red.uv),
                          image_tensor(context, TENON_TYPE_U8, kHeight / 2, kWidth / 2, 2, blue.uv)};
  char* params = NULL;
  size_t count = 0;
  print_params("a plane", tenon_remote_tensor_get_params(y[0], &count, &params), &params);

  tenon_infer_request_t* one = request_for(core, context, MODEL("1"));
  check(tenon_infer_request_set_tensor(one, "picture/y", y[0]), "luma");
  check(tenon_infer_request_set_tensor(one, "picture/uv", uv[0]), "chroma");
  check(tenon_infer_request_infer(one), "infer");
  printf("one surface:");
  int is_right = has_colour(one, 0, kRed);

  tenon_infer_request_t* two = request_for(core, context, MODEL("2"));
  check(tenon_infer_request_set_tensors(two, "picture/y", (const tenon_tensor_t* const*)y, 2), "luma of two");
  check(tenon_infer_request_set_tensors(two, "picture/uv", (const tenon_tensor_t* const*)uv, 2), "chroma of two");
  check(tenon_infer_request_infer(two), "infer");
  printf("a batch of two surfaces:");
  is_right &= has_colour(two, 0, kRed);
  printf("                        ");
  is_right &= has_colour(two, 1, kBlue);
  const unsigned long long copied = copied_bytes(one) + copied_bytes(two);
  printf("copied %llu B\n", copied);

  for (int i = 0; i < 2; ++i) {
    tenon_tensor_free(y[i]);
    tenon_tensor_free(uv[i]);
  }
  tenon_infer_request_free(one);
  tenon_infer_request_free(two);
  tenon_remote_context_free(context);
  tenon_remote_context_free(own);
  tenon_core_free(core);
  drop(red);
  drop(blue);
  close_pipeline(pipeline);
  return is_right && copied == 0 ? 0 : 1;
}
