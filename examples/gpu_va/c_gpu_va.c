/* SPDX-License-Identifier: Apache-2.0 */
/* From a decoder's VASurfaceID to inference, in C: c_gpu_va [node]. Exits with 77 if there is no VA-API, or no OpenCL
 * device that can use its surfaces. */
#include "../support/check.h"
#include "../support/decoder_request.h"
#include "../support/decoder_va.h"

enum { kWidth = 64, kHeight = 48 };

/* y = relu(x), a picture [1, 3, 48, 64] of BGR. */
#define PICTURE "<dim>1</dim><dim>3</dim><dim>48</dim><dim>64</dim>"
static const char kModel[] =
    "<?xml version=\"1.0\"?><net name=\"picture\" version=\"11\"><layers>"
    "<layer id=\"0\" name=\"picture\" type=\"Parameter\" version=\"opset1\"><data shape=\"1,3,48,64\" "
    "element_type=\"f32\"/><output><port id=\"0\" precision=\"FP32\" names=\"picture\">" PICTURE
    "</port></output></layer>"
    "<layer id=\"1\" name=\"relu\" type=\"ReLU\" version=\"opset1\"><input><port id=\"0\" precision=\"FP32\">" PICTURE
    "</port></input><output><port id=\"1\" precision=\"FP32\" names=\"colours\">" PICTURE
    "</port></output></layer>"
    "<layer id=\"2\" name=\"result\" type=\"Result\" version=\"opset1\"><input><port id=\"0\" "
    "precision=\"FP32\">" PICTURE
    "</port></input></layer></layers>"
    "<edges><edge from-layer=\"0\" from-port=\"0\" to-layer=\"1\" to-port=\"0\"/>"
    "<edge from-layer=\"1\" from-port=\"1\" to-layer=\"2\" to-port=\"0\"/></edges></net>";

/* A context over the display; ends the program if no device can use its surfaces. */
static tenon_remote_context_t* context_over(tenon_core_t* core, VADisplay display) {
  tenon_remote_context_t* context = NULL;
  const tenon_status_t status =
      tenon_core_create_context(core, "GPU", 4, &context, "CONTEXT_TYPE", "VA_SHARED", "VA_DEVICE", display);
  if (status == TENON_UNAVAILABLE || status == TENON_UNIMPLEMENTED || status == TENON_NOT_FOUND) {
    printf("no context over the display: %s\n", tenon_last_error_message());
    exit(kNoDevice);
  }
  check(status, "a context over the display");
  return context;
}

/* A plane of the surface: 0 is Y, 1 is UV. Waits until it is decoded. */
static tenon_tensor_t* plane_of(const tenon_remote_context_t* context, VASurfaceID surface, int plane) {
  const size_t shape[] = {1, plane ? kHeight / 2 : kHeight, plane ? kWidth / 2 : kWidth, plane ? 2 : 1};
  tenon_tensor_t* tensor = NULL;
  check(tenon_remote_context_create_tensor(context, TENON_TYPE_U8, 4, shape, 6, &tensor, "SHARED_MEM_TYPE",
                                           "VA_SURFACE", "DEV_OBJECT_HANDLE", surface, "VA_PLANE", plane),
        "a tensor over a surface");
  return tensor;
}

/* True if the whole picture has this colour, within one step of 255. */
static int has_colour(tenon_infer_request_t* request, const float bgr[3]) {
  tenon_tensor_t* output = NULL;
  void* data = NULL;
  check(tenon_infer_request_get_tensor(request, "colours", &output), "output");
  check(tenon_tensor_data(output, &data), "its values");
  int is_right = 1;
  for (size_t i = 0; i < 3 * kHeight * kWidth; ++i) {
    const float found = ((const float*)data)[i], wanted = bgr[i / (kHeight * kWidth)];
    if (i % (kHeight * kWidth) == 0) printf(" %.0f", found);
    is_right &= found > wanted - 1.5f && found < wanted + 1.5f;
  }
  printf(is_right ? "\n" : ", which is wrong\n");
  tenon_tensor_free(output);
  return is_right;
}

int main(int count, char** arguments) {
  static const float kRed[] = {0, 0, 255}; /* 81, 90, 240 in BT.601. */
  const struct decoder source = open_decoder(count > 1 ? arguments[1] : "/dev/dri/renderD128");
  VASurfaceID surface = decode(source.display, kWidth, kHeight, 81, 90, 240);
  tenon_core_t* core = NULL;
  check(tenon_core_create(&core), "core");
  tenon_remote_context_t* context = context_over(core, source.display);
  tenon_infer_request_t* request = request_for(core, context, kModel);
  tenon_tensor_t *y = plane_of(context, surface, 0), *uv = plane_of(context, surface, 1);
  char* params = NULL;
  size_t params_count = 0;
  print_params("a plane", tenon_remote_tensor_get_params(y, &params_count, &params), &params);
  check(tenon_infer_request_set_tensor(request, "picture/y", y), "luma");
  check(tenon_infer_request_set_tensor(request, "picture/uv", uv), "chroma");
  check(tenon_infer_request_infer(request), "infer");
  printf("blue, green, red:");
  const int is_right = has_colour(request, kRed);
  const unsigned long long copied = copied_bytes(request);
  printf("copied %llu B\n", copied);
  tenon_tensor_free(y);
  tenon_tensor_free(uv);
  tenon_infer_request_free(request);
  tenon_remote_context_free(context);
  tenon_core_free(core);
  vaDestroySurfaces(source.display, &surface, 1);
  close_decoder(source);
  return is_right && copied == 0 ? 0 : 1;
}
