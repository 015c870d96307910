/* SPDX-License-Identifier: Apache-2.0
   Remote tensors in C, for OpenVINO and for Tenon: remote gpu|npu. An application's cl_context and buffers on the GPU, the driver's memory on the NPU,
   a model on them, parameters, and what is refused. */
#define CL_TARGET_OPENCL_VERSION 300
#include <CL/cl.h>
#include <openvino/c/openvino.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MUST(call)                                                                            \
  do {                                                                                        \
    if ((call) != OK) {                                                                       \
      const char* why = ov_get_last_err_msg();                                                \
      fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #call, why ? why : "(no text)"); \
      exit(1);                                                                                \
    }                                                                                         \
  } while (0)
#define CHECK(condition)                                                            \
  do {                                                                              \
    if (!(condition)) {                                                             \
      fprintf(stderr, "%s:%d: %s does not hold\n", __FILE__, __LINE__, #condition); \
      exit(1);                                                                      \
    }                                                                               \
  } while (0)

static const char kModel[] =
    "<?xml version=\"1.0\"?><net name=\"m\" version=\"11\"><layers>"
    "<layer id=\"0\" name=\"x\" type=\"Parameter\" version=\"opset1\"><data shape=\"1,8\" "
    "element_type=\"f32\"/><output>"
    "<port id=\"0\" precision=\"FP32\" names=\"x\"><dim>1</dim><dim>8</dim></port></output></layer>"
    "<layer id=\"1\" name=\"relu\" type=\"ReLU\" version=\"opset1\"><input><port id=\"0\" "
    "precision=\"FP32\"><dim>1</dim><dim>8</dim></port></input>"
    "<output><port id=\"1\" precision=\"FP32\" names=\"y\"><dim>1</dim><dim>8</dim></port></output></layer>"
    "<layer id=\"2\" name=\"y\" type=\"Result\" version=\"opset1\"><input><port id=\"0\" "
    "precision=\"FP32\"><dim>1</dim><dim>8</dim></port></input></layer>"
    "</layers><edges><edge from-layer=\"0\" from-port=\"0\" to-layer=\"1\" to-port=\"0\"/>"
    "<edge from-layer=\"1\" from-port=\"1\" to-layer=\"2\" to-port=\"0\"/></edges></net>";

static int gpu(void) {
  cl_platform_id platform;
  cl_device_id device;
  cl_context opencl;
  cl_command_queue queue;
  cl_mem in, out;
  cl_int error;
  ov_core_t* core = NULL;
  ov_model_t* model = NULL;
  ov_remote_context_t *context = NULL, *other = NULL;
  ov_compiled_model_t* compiled = NULL;
  ov_infer_request_t* request = NULL;
  ov_tensor_t *x = NULL, *y = NULL, *own = NULL, *host = NULL, *none = NULL;
  ov_property_t list[3];
  ov_shape_t shape;
  const int64_t dims[] = {1, 8};
  const float values[8] = {-4, -3, -2, -1, 1, 2, 3, 4};
  float results[8];
  char* text = NULL;
  void* data = NULL;
  size_t count = 0;
  int i;
  CHECK(clGetPlatformIDs(1, &platform, NULL) == CL_SUCCESS);
  CHECK(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL) == CL_SUCCESS);
  opencl = clCreateContext(NULL, 1, &device, NULL, NULL, &error);
  CHECK(opencl);
  queue = clCreateCommandQueueWithProperties(opencl, device, NULL, &error);
  CHECK(queue);
  in = clCreateBuffer(opencl, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, sizeof(values), (void*)values, &error);
  out = clCreateBuffer(opencl, CL_MEM_READ_WRITE, sizeof(results), NULL, &error);
  CHECK(in && out);

  MUST(ov_core_create(&core));
  MUST(ov_core_read_model_from_memory_buffer(core, kModel, strlen(kModel), NULL, &model));
  MUST(ov_shape_create(2, dims, &shape));
  /* Arguments one by one, and as an array. */
  MUST(ov_core_create_context(core, "GPU", 4, &context, ov_property_key_intel_gpu_context_type, "OCL",
                              ov_property_key_intel_gpu_ocl_context, opencl));
  list[0].key = ov_property_key_intel_gpu_context_type;
  list[0].value = "OCL";
  list[1].key = ov_property_key_intel_gpu_ocl_context;
  list[1].value = opencl;
  list[2].key = ov_property_key_intel_gpu_ocl_queue;
  list[2].value = queue;
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
  CHECK(clEnqueueReadBuffer(queue, out, CL_TRUE, 0, sizeof(results), results, 0, NULL, NULL) == CL_SUCCESS);
  for (i = 0; i < 8; ++i) CHECK(results[i] == (values[i] > 0 ? values[i] : 0));

  /* Memory of the context's own, and of the host. */
  MUST(ov_remote_context_create_tensor(context, F32, shape, 0, &own));
  MUST(ov_remote_context_create_host_tensor(context, F32, shape, &host));
  MUST(ov_tensor_data(host, &data));
  memcpy(data, values, sizeof(values));
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
  clReleaseCommandQueue(queue);
  clReleaseContext(opencl);
  printf("remote tensors of the GPU in C: as expected\n");
  return 0;
}

/* The address of a tensor's memory, which the parameters say. */
static float* memory(const ov_tensor_t* tensor) {
  size_t count = 0;
  char* text = NULL;
  void* address = NULL;
  MUST(ov_remote_tensor_get_params((ov_tensor_t*)tensor, &count, &text));
  CHECK(count == 3 && strstr(text, "MEM_TYPE:L0_INTERNAL_BUF") && strstr(text, "TENSOR_TYPE:") &&
        strstr(text, "MEM_HANDLE:"));
  CHECK(sscanf(strstr(text, "MEM_HANDLE:"), "MEM_HANDLE:%p", &address) == 1 && address);
  ov_free(text);
  return address;
}

static int npu(void) {
  ov_core_t* core = NULL;
  ov_model_t* model = NULL;
  ov_remote_context_t *context = NULL, *other = NULL;
  ov_compiled_model_t* compiled = NULL;
  ov_infer_request_t* request = NULL;
  ov_tensor_t *x = NULL, *y = NULL, *host = NULL, *none = NULL;
  ov_property_t list[2];
  ov_shape_t shape;
  const int64_t dims[] = {1, 8};
  const float values[8] = {-4, -3, -2, -1, 1, 2, 3, 4};
  char* text = NULL;
  void* data = NULL;
  size_t count = 0;
  int i;
  MUST(ov_core_create(&core));
  MUST(ov_core_read_model_from_memory_buffer(core, kModel, strlen(kModel), NULL, &model));
  MUST(ov_shape_create(2, dims, &shape));
  MUST(ov_core_get_default_context(core, "NPU", &context));
  MUST(ov_remote_context_get_device_name(context, &text));
  CHECK(strcmp(text, "NPU") == 0);
  ov_free(text);
  MUST(ov_remote_context_get_params(context, &count, &text));
  CHECK(count == 1 && strstr(text, "L0_CONTEXT:"));
  ov_free(text);
  MUST(ov_core_compile_model(core, model, "NPU", 0, &compiled));
  MUST(ov_compiled_model_create_infer_request(compiled, &request));
  /* Arguments one by one, and as an array. */
  MUST(ov_remote_context_create_tensor(context, F32, shape, 4, &x, "MEM_TYPE", "L0_INTERNAL_BUF", "TENSOR_TYPE",
                                       "INPUT"));
  list[0].key = "MEM_TYPE";
  list[0].value = "L0_INTERNAL_BUF";
  list[1].key = "TENSOR_TYPE";
  list[1].value = "OUTPUT";
  MUST(ov_remote_context_create_tensor_props(context, F32, shape, 2, list, &y));
  MUST(ov_remote_tensor_get_device_name(x, &text));
  CHECK(strcmp(text, "NPU") == 0);
  ov_free(text);
  memcpy(memory(x), values, sizeof(values));
  MUST(ov_infer_request_set_tensor(request, "x", x));
  MUST(ov_infer_request_set_tensor(request, "y", y));
  MUST(ov_infer_request_infer(request));
  for (i = 0; i < 8; ++i) CHECK(memory(y)[i] == (values[i] > 0 ? values[i] : 0));
  MUST(ov_remote_context_create_host_tensor(context, F32, shape, &host));
  MUST(ov_tensor_data(host, &data));
  for (i = 0; i < 8; ++i) ((float*)data)[i] = (float)(i - 4);
  MUST(ov_infer_request_set_tensor(request, "x", host));
  MUST(ov_infer_request_start_async(request));
  MUST(ov_infer_request_wait(request));
  CHECK(memory(y)[7] == 3 && memory(y)[0] == 0);
  MUST(ov_compiled_model_get_context(compiled, &other));
  ov_remote_context_free(other);
  CHECK(ov_remote_context_create_tensor(context, F32, shape, 2, &none, "MEM_TYPE", "PAPER") != OK);
  CHECK(ov_remote_context_create_tensor(context, F32, shape, 2, &none, "MEM_TYPE", "SHARED_BUF") != OK);
  CHECK(ov_remote_context_create_tensor(context, F32, shape, 1, &none, "MEM_TYPE") == INVALID_C_PARAM);

  ov_tensor_free(host);
  ov_tensor_free(y);
  ov_tensor_free(x);
  ov_infer_request_free(request);
  ov_compiled_model_free(compiled);
  ov_remote_context_free(context);
  ov_shape_free(&shape);
  ov_model_free(model);
  ov_core_free(core);
  printf("remote tensors of the NPU in C: as expected\n");
  return 0;
}

int main(int argc, char** argv) {
  if (argc == 2 && strcmp(argv[1], "gpu") == 0) return gpu();
  if (argc == 2 && strcmp(argv[1], "npu") == 0) return npu();
  fprintf(stderr, "usage: %s gpu|npu\n", argv[0]);
  return 2;
}
