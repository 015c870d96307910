/* SPDX-License-Identifier: Apache-2.0
   Remote tensors of the GPU in C: contexts of an application's cl_context and queue, all kinds of memory, pictures in images, a model on them, and
   what is refused. */
#define CL_TARGET_OPENCL_VERSION 300
#include <CL/cl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "remote.h"

static const int64_t kDims[] = {1, 8};
static const float kValues[8] = {-4, -3, -2, -1, 1, 2, 3, 4};

/* What an application has before it asks for a model. */
struct opencl {
  cl_platform_id platform;
  cl_device_id device;
  cl_context context;
  cl_command_queue queue;
};
static struct opencl open_opencl(void) {
  struct opencl cl;
  cl_int error;
  CHECK(clGetPlatformIDs(1, &cl.platform, NULL) == CL_SUCCESS);
  CHECK(clGetDeviceIDs(cl.platform, CL_DEVICE_TYPE_ALL, 1, &cl.device, NULL) == CL_SUCCESS);
  cl.context = clCreateContext(NULL, 1, &cl.device, NULL, NULL, &error);
  CHECK(cl.context);
  cl.queue = clCreateCommandQueueWithProperties(cl.context, cl.device, NULL, &error);
  CHECK(cl.queue);
  return cl;
}
static void close_opencl(const struct opencl* cl) {
  clReleaseCommandQueue(cl->queue);
  clReleaseContext(cl->context);
}
static cl_mem buffer_of(const struct opencl* cl, const float* values) {
  cl_int error;
  const cl_mem made = clCreateBuffer(cl->context, CL_MEM_READ_WRITE | (values ? CL_MEM_COPY_HOST_PTR : 0),
                                     sizeof(kValues), (void*)values, &error);
  CHECK(made);
  return made;
}
static void say_buffer(const char* what, const struct opencl* cl, cl_mem buffer) {
  float values[8];
  CHECK(clEnqueueReadBuffer(cl->queue, buffer, CL_TRUE, 0, sizeof(values), values, 0, NULL, NULL) == CL_SUCCESS);
  say("%s: %g %g %g %g %g %g %g %g", what, values[0], values[1], values[2], values[3], values[4], values[5], values[6],
      values[7]);
}
/* A picture of one grey; chroma in pairs, or, where there is no such format, U and V as neighbours. */
static cl_mem image_of(const struct opencl* cl, size_t width, size_t height, bool pairs, unsigned char value) {
  const cl_image_format format = {pairs ? CL_RG : CL_R, CL_UNORM_INT8};
  const size_t origin[3] = {0, 0, 0}, region[3] = {pairs ? width / 2 : width, height, 1};
  unsigned char* pixels = (unsigned char*)malloc(width * height);
  cl_image_desc desc;
  cl_mem made;
  cl_int error;
  memset(&desc, 0, sizeof(desc));
  desc.image_type = CL_MEM_OBJECT_IMAGE2D;
  desc.image_width = region[0];
  desc.image_height = height;
  made = clCreateImage(cl->context, CL_MEM_READ_WRITE, &format, &desc, NULL, &error);
  CHECK(made && pixels);
  memset(pixels, value, width * height);
  CHECK(clEnqueueWriteImage(cl->queue, made, CL_TRUE, origin, region, 0, 0, pixels, 0, NULL, NULL) == CL_SUCCESS);
  clFinish(cl->queue);
  free(pixels);
  return made;
}
static bool has_pairs(const struct opencl* cl) {
  cl_image_format formats[256];
  cl_uint count = 0, i;
  CHECK(clGetSupportedImageFormats(cl->context, CL_MEM_READ_WRITE, CL_MEM_OBJECT_IMAGE2D, 256, formats, &count) ==
        CL_SUCCESS);
  for (i = 0; i < count && i < 256; ++i)
    if (formats[i].image_channel_order == CL_RG && formats[i].image_channel_data_type == CL_UNORM_INT8) return true;
  return false;
}

/* The application's own memory behind a pointer: USM, or SVM where the platform has no USM. */
union extension {
  void* address;
  void* (*allocate)(cl_context, const cl_bitfield*, size_t, cl_uint, cl_int*);
  cl_int (*release)(cl_context, void*);
};
static union extension extension(const struct opencl* cl, const char* name) {
  union extension found;
  found.address = clGetExtensionFunctionAddressForPlatform(cl->platform, name);
  return found;
}
static void* allocate(const struct opencl* cl, size_t bytes) {
  const union extension usm = extension(cl, "clHostMemAllocINTEL");
  void* made = usm.address ? usm.allocate(cl->context, NULL, bytes, 64, NULL)
                           : clSVMAlloc(cl->context, CL_MEM_READ_WRITE, bytes, 64);
  CHECK(made);
  return made;
}
static void release(const struct opencl* cl, void* pointer) {
  const union extension usm = extension(cl, "clMemBlockingFreeINTEL");
  if (usm.address)
    CHECK(usm.release(cl->context, pointer) == CL_SUCCESS);
  else
    clSVMFree(cl->context, pointer);
}

static ov_remote_context_t* context_of(const ov_core_t* core, const struct opencl* cl) {
  ov_remote_context_t* context = NULL;
  MUST(ov_core_create_context(core, "GPU", 6, &context, ov_property_key_intel_gpu_context_type, "OCL",
                              ov_property_key_intel_gpu_ocl_context, cl->context, ov_property_key_intel_gpu_ocl_queue,
                              cl->queue));
  return context;
}
static void say_context(const char* what, const ov_remote_context_t* context, const void* wanted) {
  size_t count = 0;
  char* text = NULL;
  MUST(ov_remote_context_get_params(context, &count, &text));
  say("%s: %d parameters, its own cl_context %d", what, (int)count,
      wanted ? address_in(text, "OCL_CONTEXT") == wanted : address_in(text, "OCL_CONTEXT") != NULL);
  say_params(what, text);
}
static void say_tensor(const char* what, ov_tensor_t* tensor, const void* wanted) {
  ov_shape_t shape;
  size_t count = 0, bytes = 0;
  char* text = NULL;
  MUST(ov_tensor_get_shape(tensor, &shape));
  say_shape(what, &shape);
  ov_shape_free(&shape);
  MUST(ov_tensor_get_byte_size(tensor, &bytes));
  MUST(ov_remote_tensor_get_params(tensor, &count, &text));
  say("%s: %d bytes, %d parameters, its own memory %d", what, (int)bytes, (int)count,
      wanted ? address_in(text, "MEM_HANDLE") == wanted : address_in(text, "MEM_HANDLE") != NULL);
  say_params(what, text);
}

static bool is_at(ov_tensor_t* tensor, const void* address) {
  size_t count = 0;
  char* text = NULL;
  bool same;
  MUST(ov_remote_tensor_get_params(tensor, &count, &text));
  same = address_in(text, "MEM_HANDLE") == address;
  ov_free(text);
  return same;
}

static void contexts(void) {
  const struct opencl cl = open_opencl();
  ov_core_t* core = NULL;
  ov_model_t* model;
  ov_compiled_model_t* compiled = NULL;
  ov_remote_context_t* context = NULL;
  MUST(ov_core_create(&core));
  MUST(ov_core_create_context(core, "GPU", 4, &context, ov_property_key_intel_gpu_context_type, "OCL",
                              ov_property_key_intel_gpu_ocl_context, cl.context));
  say_context("of a cl_context", context, cl.context);
  ov_remote_context_free(context);
  context = context_of(core, &cl);
  say_context("of a queue", context, cl.context);
  ov_remote_context_free(context);
  MUST(ov_core_get_default_context(core, "GPU", &context));
  say_context("of the core", context, NULL);
  ov_remote_context_free(context);
  model = relu_model(core, "1,8");
  MUST(ov_core_compile_model(core, model, "GPU", 2, &compiled, ov_property_key_hint_inference_precision, "f32"));
  MUST(ov_compiled_model_get_context(compiled, &context));
  say_context("of a model", context, NULL);
  ov_remote_context_free(context);
  ov_compiled_model_free(compiled);
  ov_model_free(model);
  fails("no handle", ov_core_create_context(core, "GPU", 2, &context, ov_property_key_intel_gpu_context_type, "OCL"));
  fails("a queue alone", ov_core_create_context(core, "GPU", 4, &context, ov_property_key_intel_gpu_context_type, "OCL",
                                                ov_property_key_intel_gpu_ocl_queue, cl.queue));
  fails("no such type", ov_core_create_context(core, "GPU", 4, &context, ov_property_key_intel_gpu_context_type,
                                               "VULKAN", ov_property_key_intel_gpu_ocl_context, cl.context));
  ov_core_free(core);
  close_opencl(&cl);
}

/* Buffers, an image, pointers of the application's, and what the context allocates. */
static void memory(void) {
  const struct opencl cl = open_opencl();
  const int64_t picture[] = {1, 4, 8, 1};
  ov_shape_t shape = shape_of(2, kDims), rows = shape_of(4, picture);
  const cl_mem in = buffer_of(&cl, kValues), out = buffer_of(&cl, NULL), image = image_of(&cl, 8, 4, false, 7);
  float* own = (float*)allocate(&cl, sizeof(kValues));
  ov_core_t* core = NULL;
  ov_model_t* model;
  ov_remote_context_t* context;
  ov_compiled_model_t* compiled = NULL;
  ov_infer_request_t* request = NULL;
  ov_tensor_t *x = NULL, *y = NULL, *of_image = NULL, *pointer = NULL, *host = NULL, *device = NULL, *none = NULL;
  size_t count = 0;
  char* text = NULL;
  void* data = NULL;
  MUST(ov_core_create(&core));
  model = relu_model(core, "1,8");
  context = context_of(core, &cl);
  MUST(ov_core_compile_model_with_context(core, model, context, 2, &compiled, ov_property_key_hint_inference_precision,
                                          "f32"));
  MUST(ov_compiled_model_create_infer_request(compiled, &request));
  MUST(ov_remote_context_create_tensor(context, F32, shape, 4, &x, ov_property_key_intel_gpu_shared_mem_type,
                                       "OCL_BUFFER", ov_property_key_intel_gpu_mem_handle, in));
  MUST(ov_remote_context_create_tensor(context, F32, shape, 4, &y, ov_property_key_intel_gpu_shared_mem_type,
                                       "OCL_BUFFER", ov_property_key_intel_gpu_mem_handle, out));
  say_tensor("a buffer", x, in);
  MUST(ov_remote_context_create_tensor(context, U8, rows, 4, &of_image, ov_property_key_intel_gpu_shared_mem_type,
                                       "OCL_IMAGE2D", ov_property_key_intel_gpu_mem_handle, image));
  say_tensor("an image", of_image, image);
  MUST(ov_remote_context_create_tensor(context, F32, shape, 4, &pointer, ov_property_key_intel_gpu_shared_mem_type,
                                       "USM_USER_BUFFER", ov_property_key_intel_gpu_mem_handle, own));
  say_tensor("a pointer", pointer, own);
  MUST(ov_remote_context_create_tensor(context, F32, shape, 2, &host, ov_property_key_intel_gpu_shared_mem_type,
                                       "USM_HOST_BUFFER"));
  say_tensor("of the host", host, NULL);
  MUST(ov_remote_context_create_tensor(context, F32, shape, 2, &device, ov_property_key_intel_gpu_shared_mem_type,
                                       "USM_DEVICE_BUFFER"));
  say_tensor("of the device", device, NULL);
  /* The documentation reads it so; the original's remote tensors have no data. */
  CHECK(ov_tensor_data(host, &data) != OK || is_at(host, data));
  fails("the data of the device's", ov_tensor_data(device, &data));
  fails("the data of a buffer's", ov_tensor_data(x, &data));

  MUST(ov_infer_request_set_tensor(request, "x", x));
  MUST(ov_infer_request_set_tensor(request, "y", y));
  MUST(ov_infer_request_infer(request));
  say_buffer("from a buffer into one", &cl, out);
  memcpy(own, kValues, sizeof(kValues));
  own[7] = 40;
  MUST(ov_infer_request_set_tensor(request, "x", pointer));
  MUST(ov_infer_request_set_tensor(request, "y", device));
  MUST(ov_infer_request_infer(request));
  MUST(ov_infer_request_set_tensor(request, "x", device));
  MUST(ov_infer_request_set_tensor(request, "y", host));
  MUST(ov_infer_request_infer(request));
  MUST(ov_remote_tensor_get_params(host, &count, &text));
  data = address_in(text, "MEM_HANDLE");
  ov_free(text);
  say("from a pointer by the device to the host: %g %g", ((float*)data)[0], ((float*)data)[7]);
  ((float*)data)[4] = -1;
  ((float*)data)[5] = 50;
  MUST(ov_infer_request_set_tensor(request, "x", host));
  MUST(ov_infer_request_set_tensor(request, "y", y));
  MUST(ov_infer_request_infer(request));
  say_buffer("from the host", &cl, out);

  fails("no buffer",
        ov_remote_context_create_tensor(context, F32, shape, 4, &none, ov_property_key_intel_gpu_shared_mem_type,
                                        "OCL_BUFFER", ov_property_key_intel_gpu_mem_handle, NULL));
  fails("no pointer",
        ov_remote_context_create_tensor(context, F32, shape, 4, &none, ov_property_key_intel_gpu_shared_mem_type,
                                        "USM_USER_BUFFER", ov_property_key_intel_gpu_mem_handle, NULL));
  fails("no handle", ov_remote_context_create_tensor(context, F32, shape, 2, &none,
                                                     ov_property_key_intel_gpu_shared_mem_type, "USM_USER_BUFFER"));
  fails("no such kind", ov_remote_context_create_tensor(context, F32, shape, 2, &none,
                                                        ov_property_key_intel_gpu_shared_mem_type, "PAPER"));
  fails("a surface in a context without a display",
        ov_remote_context_create_tensor(context, U8, rows, 6, &none, ov_property_key_intel_gpu_shared_mem_type,
                                        "VA_SURFACE", ov_property_key_intel_gpu_dev_object_handle, "1",
                                        ov_property_key_intel_gpu_va_plane, "0"));
  ov_tensor_free(device);
  ov_tensor_free(host);
  ov_tensor_free(pointer);
  ov_tensor_free(of_image);
  ov_tensor_free(y);
  ov_tensor_free(x);
  ov_infer_request_free(request);
  ov_compiled_model_free(compiled);
  ov_remote_context_free(context);
  ov_model_free(model);
  ov_core_free(core);
  release(&cl, own);
  clReleaseMemObject(image);
  clReleaseMemObject(out);
  clReleaseMemObject(in);
  ov_shape_free(&rows);
  ov_shape_free(&shape);
  close_opencl(&cl);
}

/* NV12 as a decoder leaves it: two images a picture. */
static void pictures(void) {
  const struct opencl cl = open_opencl();
  const int64_t luma[] = {1, 4, 4, 1}, chroma[] = {1, 2, 2, 2};
  ov_shape_t shape_y = shape_of(4, luma), shape_uv = shape_of(4, chroma);
  const bool pairs = has_pairs(&cl);
  const unsigned char shades[] = {16, 126, 235};
  ov_core_t* core = NULL;
  ov_model_t* model;
  ov_output_const_port_t* port = NULL;
  ov_remote_context_t* context;
  ov_compiled_model_t* compiled = NULL;
  ov_infer_request_t* request = NULL;
  char* names[2] = {NULL, NULL};
  size_t i;
  MUST(ov_core_create(&core));
  context = context_of(core, &cl);
  model = picture_model(core, "1,3,4,4");
  for (i = 0; i < 2; ++i) {
    MUST(ov_model_const_input_by_index(model, i, &port));
    MUST(ov_port_get_any_name(port, &names[i]));
    say_port("a plane", port);
    ov_output_const_port_free(port);
  }
  MUST(ov_core_compile_model_with_context(core, model, context, 2, &compiled, ov_property_key_hint_inference_precision,
                                          "f32"));
  MUST(ov_compiled_model_create_infer_request(compiled, &request));
  for (i = 0; i < sizeof(shades); ++i) {
    const cl_mem y = image_of(&cl, 4, 4, false, shades[i]), uv = image_of(&cl, 4, 2, pairs, 128);
    ov_tensor_t *remote_y = NULL, *remote_uv = NULL, *result = NULL;
    void* data = NULL;
    MUST(ov_remote_context_create_tensor(context, U8, shape_y, 4, &remote_y, ov_property_key_intel_gpu_shared_mem_type,
                                         "OCL_IMAGE2D", ov_property_key_intel_gpu_mem_handle, y));
    MUST(ov_remote_context_create_tensor(context, U8, shape_uv, 4, &remote_uv,
                                         ov_property_key_intel_gpu_shared_mem_type, "OCL_IMAGE2D",
                                         ov_property_key_intel_gpu_mem_handle, uv));
    if (i == 0) {
      say_tensor("luma", remote_y, y);
      say_tensor("chroma", remote_uv, uv);
    }
    MUST(ov_infer_request_set_tensor(request, names[0], remote_y));
    MUST(ov_infer_request_set_tensor(request, names[1], remote_uv));
    MUST(ov_infer_request_start_async(request));
    MUST(ov_infer_request_wait(request));
    MUST(ov_infer_request_get_output_tensor(request, &result));
    MUST(ov_tensor_data(result, &data));
    say("gray %d", (int)(((float*)data)[0] + 0.5F));
    ov_tensor_free(result);
    ov_tensor_free(remote_uv);
    ov_tensor_free(remote_y);
    clReleaseMemObject(uv);
    clReleaseMemObject(y);
  }
  for (i = 0; i < 2; ++i) ov_free(names[i]);
  ov_infer_request_free(request);
  ov_compiled_model_free(compiled);
  ov_model_free(model);
  ov_remote_context_free(context);
  ov_core_free(core);
  ov_shape_free(&shape_uv);
  ov_shape_free(&shape_y);
  close_opencl(&cl);
}

static void one_model(void) {
  const struct opencl cl = open_opencl();
  const cl_mem in = buffer_of(&cl, kValues), out = buffer_of(&cl, NULL);
  ov_core_t* core = NULL;
  ov_model_t* model = NULL;
  ov_remote_context_t *context = NULL, *other = NULL;
  ov_compiled_model_t* compiled = NULL;
  ov_infer_request_t* request = NULL;
  ov_tensor_t *x = NULL, *y = NULL, *own = NULL, *host = NULL, *none = NULL;
  ov_property_t list[3];
  ov_shape_t shape;
  char* text = NULL;
  void* data = NULL;
  size_t count = 0;
  MUST(ov_core_create(&core));
  model = relu_model(core, "1,8");
  shape = shape_of(2, kDims);
  /* Arguments one by one, and as an array. */
  MUST(ov_core_create_context(core, "GPU", 4, &context, ov_property_key_intel_gpu_context_type, "OCL",
                              ov_property_key_intel_gpu_ocl_context, cl.context));
  list[0].key = ov_property_key_intel_gpu_context_type;
  list[0].value = "OCL";
  list[1].key = ov_property_key_intel_gpu_ocl_context;
  list[1].value = cl.context;
  list[2].key = ov_property_key_intel_gpu_ocl_queue;
  list[2].value = cl.queue;
  MUST(ov_core_create_context_props(core, "GPU", 3, list, &other));
  ov_remote_context_free(other);
  MUST(ov_remote_context_get_device_name(context, &text));
  CHECK(strncmp(text, "GPU", 3) == 0);
  ov_free(text);
  MUST(ov_remote_context_get_params(context, &count, &text));
  CHECK(count == 3 && strstr(text, "{CONTEXT_TYPE:OCL,OCL_CONTEXT:0x"));
  ov_free(text);

  MUST(ov_core_compile_model_with_context(core, model, context, 2, &compiled, ov_property_key_hint_inference_precision,
                                          "f32"));
  MUST(ov_compiled_model_create_infer_request(compiled, &request));
  MUST(ov_remote_context_create_tensor(context, F32, shape, 4, &x, ov_property_key_intel_gpu_shared_mem_type,
                                       "OCL_BUFFER", ov_property_key_intel_gpu_mem_handle, in));
  list[0].key = ov_property_key_intel_gpu_shared_mem_type;
  list[0].value = "OCL_BUFFER";
  list[1].key = ov_property_key_intel_gpu_mem_handle;
  list[1].value = out;
  MUST(ov_remote_context_create_tensor_props(context, F32, shape, 2, list, &y));
  MUST(ov_remote_tensor_get_device_name(x, &text));
  CHECK(strncmp(text, "GPU", 3) == 0);
  ov_free(text);
  MUST(ov_remote_tensor_get_params(x, &count, &text));
  CHECK(count >= 2 && strstr(text, "SHARED_MEM_TYPE:OCL_BUFFER") && strstr(text, "MEM_HANDLE:0x"));
  ov_free(text);
  CHECK(ov_tensor_data(x, &data) != OK);
  MUST(ov_infer_request_set_tensor(request, "x", x));
  MUST(ov_infer_request_set_tensor(request, "y", y));
  MUST(ov_infer_request_infer(request));
  say_buffer("of the buffer", &cl, out);

  /* Memory of the context's own, and of the host. */
  MUST(ov_remote_context_create_tensor(context, F32, shape, 0, &own));
  MUST(ov_remote_context_create_host_tensor(context, F32, shape, &host));
  MUST(ov_tensor_data(host, &data));
  memcpy(data, kValues, sizeof(kValues));
  MUST(ov_infer_request_set_tensor(request, "x", host));
  MUST(ov_infer_request_set_tensor(request, "y", own));
  MUST(ov_infer_request_infer(request));
  MUST(ov_compiled_model_get_context(compiled, &other));
  ov_remote_context_free(other);
  MUST(ov_core_get_default_context(core, "GPU", &other));
  ov_remote_context_free(other);

  CHECK(ov_core_create_context(core, "GPU", 3, &other, "A", "B", "C") == INVALID_C_PARAM);
  CHECK(ov_core_create_context(core, "GPU", 2, &other, "NO_SUCH_KEY", "B") != OK);
  CHECK(ov_core_create_context(core, "GPU", 2, &other, ov_property_key_intel_gpu_context_type, "OCL") != OK);
  CHECK(ov_core_create_context_props(core, "GPU", 1, NULL, &other) == INVALID_C_PARAM);
  CHECK(ov_remote_context_create_tensor(context, F32, shape, 2, &none, ov_property_key_intel_gpu_mem_handle, in) != OK);
  CHECK(ov_remote_context_create_tensor(context, F32, shape, 4, &none, ov_property_key_intel_gpu_shared_mem_type,
                                        "OCL_BUFFER", ov_property_key_intel_gpu_mem_handle, NULL) != OK);
  CHECK(ov_remote_context_create_tensor(context, F64, shape, 4, &none, ov_property_key_intel_gpu_shared_mem_type,
                                        "OCL_BUFFER", ov_property_key_intel_gpu_mem_handle, in) != OK);
  count = 0;
  text = NULL;
  CHECK(ov_remote_tensor_get_params(host, &count, &text) == INVALID_C_PARAM || (count > 0 && text));
  ov_free(text);

  ov_tensor_free(host);
  ov_tensor_free(own);
  ov_tensor_free(y);
  ov_tensor_free(x);
  ov_infer_request_free(request);
  ov_compiled_model_free(compiled);
  ov_remote_context_free(context);
  ov_shape_free(&shape);
  ov_model_free(model);
  ov_core_free(core);
  clReleaseMemObject(out);
  clReleaseMemObject(in);
  close_opencl(&cl);
}

void gpu(void) {
  section("contexts", contexts);
  section("memory", memory);
  section("pictures", pictures);
  section("one model", one_model);
}
