/* SPDX-License-Identifier: Apache-2.0 */
/* OpenVINO's document on remote tensors of the GPU, section by section, in C: contexts of the core, of a model, and of
 * the application's cl_context and queue; tensors over its cl_mem and its shared pointer; memory that the device allocates. The
 * model runs on each in place. Exits with 77 if there is no OpenCL device. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <CL/cl.h>

#include <tenon/bindings/c/tenon.h>

enum { kElements = 1024, kNoDevice = 77 };
static const size_t kShape[] = {1, kElements};

/* y = relu(x) */
#define DIMS "<dim>1</dim><dim>1024</dim>"
static const char kRelu[] =
    "<?xml version=\"1.0\"?><net name=\"relu\" version=\"11\"><layers>"
    "<layer id=\"0\" name=\"x\" type=\"Parameter\" version=\"opset1\"><data shape=\"1,1024\" element_type=\"f32\"/>"
    "<output><port id=\"0\" precision=\"FP32\" names=\"x\">" DIMS
    "</port></output></layer>"
    "<layer id=\"1\" name=\"relu\" type=\"ReLU\" version=\"opset1\">"
    "<input><port id=\"0\" precision=\"FP32\">" DIMS
    "</port></input>"
    "<output><port id=\"1\" precision=\"FP32\" names=\"y\">" DIMS
    "</port></output></layer>"
    "<layer id=\"2\" name=\"result\" type=\"Result\" version=\"opset1\">"
    "<input><port id=\"0\" precision=\"FP32\">" DIMS
    "</port></input></layer></layers>"
    "<edges><edge from-layer=\"0\" from-port=\"0\" to-layer=\"1\" to-port=\"0\"/>"
    "<edge from-layer=\"1\" from-port=\"1\" to-layer=\"2\" to-port=\"0\"/></edges></net>";

static void check(tenon_status_t status, const char* what) {
  if (status == TENON_OK) return;
  fprintf(stderr, "%s: %s: %s\n", what, tenon_status_name(status), tenon_last_error_message());
  exit(1);
}
static void check_cl(cl_int status, const char* what) {
  if (status == CL_SUCCESS) return;
  fprintf(stderr, "%s gave %d\n", what, status);
  exit(1);
}

/* What tells of a context or a tensor: its handles. */
static void print_params(const char* name, tenon_status_t status, char** params) {
  check(status, name);
  printf("%-28s %s\n", name, *params);
  tenon_string_free(*params);
}

/* Infers on the input, whose memory is the device's, and counts what is wrong. */
static int run(tenon_infer_request_t* request, const char* name, tenon_tensor_t* input) {
  char* params = NULL;
  size_t count = 0;
  print_params(name, tenon_remote_tensor_get_params(input, &count, &params), &params);
  tenon_tensor_t *values = NULL, *output = NULL;
  check(tenon_tensor_create(TENON_TYPE_F32, 2, kShape, &values), "values");
  void* data = NULL;
  check(tenon_tensor_data(values, &data), "their memory");
  float* x = data;
  for (int i = 0; i < kElements; ++i) x[i] = (float)(i % 2 ? -i : i);
  check(tenon_tensor_copy_to(values, input), "filling the input");
  check(tenon_infer_request_set_tensor(request, "x", input), "set input");
  check(tenon_infer_request_infer(request), "infer");
  check(tenon_infer_request_get_tensor(request, "y", &output), "output");
  check(tenon_tensor_copy_to(output, values), "reading the output");
  int wrong = 0;
  for (int i = 0; i < kElements; ++i) wrong += x[i] != (float)(i % 2 ? 0 : i);
  tenon_tensor_free(output);
  tenon_tensor_free(values);
  tenon_tensor_free(input);
  return wrong;
}

int main(void) {
  tenon_core_t* core = NULL;
  check(tenon_core_create(&core), "core");
  tenon_remote_context_t *own = NULL, *of_model = NULL, *context = NULL;
  const tenon_status_t status = tenon_core_get_default_context(core, "GPU", &own);
  if (status == TENON_UNAVAILABLE || status == TENON_NOT_FOUND) {
    printf("no OpenCL device: %s\n", tenon_last_error_message());
    return kNoDevice;
  }
  check(status, "default context from core");
  char* params = NULL;
  size_t count = 0;
  print_params("default context from core", tenon_remote_context_get_params(own, &count, &params), &params);

  /* The application's own: here on the device of the default context. */
  tenon_properties_t* handles = NULL;
  tenon_value_t* handle = NULL;
  void* pointer = NULL;
  check(tenon_remote_context_get_properties(own, &handles), "handles");
  check(tenon_properties_get(handles, "OCL_CONTEXT", &handle), "OCL_CONTEXT");
  check(tenon_value_as_pointer(handle, &pointer), "its value");
  tenon_value_free(handle);
  tenon_properties_free(handles);
  cl_device_id device = NULL;
  cl_int code = clGetContextInfo((cl_context)pointer, CL_CONTEXT_DEVICES, sizeof device, &device, NULL);
  check_cl(code, "clGetContextInfo");
  cl_context cl = clCreateContext(NULL, 1, &device, NULL, NULL, &code);
  check_cl(code, "clCreateContext");
  cl_command_queue queue = clCreateCommandQueueWithProperties(cl, device, NULL, &code);
  check_cl(code, "clCreateCommandQueueWithProperties");

  tenon_model_t* model = NULL;
  check(tenon_core_read_model_from_memory(core, kRelu, sizeof kRelu - 1, NULL, &model), "model");
  check(
      tenon_core_create_context(core, "GPU", 6, &context, "CONTEXT_TYPE", "OCL", "OCL_CONTEXT", cl, "OCL_QUEUE", queue),
      "context from queue");
  tenon_compiled_model_t* compiled = NULL;
  tenon_infer_request_t* request = NULL;
  check(tenon_core_compile_model_in_context(core, model, context, NULL, &compiled), "compile");
  check(tenon_compiled_model_get_context(compiled, &of_model), "context of the model");
  print_params("context of the model", tenon_remote_context_get_params(of_model, &count, &params), &params);
  check(tenon_compiled_model_create_infer_request(compiled, &request), "request");

  int wrong = 0;
  tenon_tensor_t* input = NULL;
  cl_mem memory = clCreateBuffer(cl, CL_MEM_READ_WRITE, kElements * sizeof(float), NULL, &code);
  check_cl(code, "clCreateBuffer");
  check(tenon_remote_context_create_tensor(context, TENON_TYPE_F32, 2, kShape, 4, &input, "SHARED_MEM_TYPE",
                                           "OCL_BUFFER", "MEM_HANDLE", memory),
        "over a cl_mem");
  wrong += run(request, "wrap cl_mem", input);
  check(tenon_remote_context_create_tensor(context, TENON_TYPE_F32, 2, kShape, 0, &input), "a buffer");
  wrong += run(request, "allocate buffer", input);

  /* Pointers: USM, or SVM where the platform has no USM. */
  check(tenon_remote_context_create_tensor(context, TENON_TYPE_F32, 2, kShape, 2, &input, "SHARED_MEM_TYPE",
                                           "USM_DEVICE_BUFFER"),
        "device memory");
  wrong += run(request, "allocate USM device memory", input);
  check(tenon_remote_context_create_tensor(context, TENON_TYPE_F32, 2, kShape, 2, &input, "SHARED_MEM_TYPE",
                                           "USM_HOST_BUFFER"),
        "host memory");
  wrong += run(request, "allocate USM host memory", input);
  void* shared = clSVMAlloc(cl, CL_MEM_READ_WRITE, kElements * sizeof(float), 0);
  if (shared) {
    check(tenon_remote_context_create_tensor(context, TENON_TYPE_F32, 2, kShape, 4, &input, "SHARED_MEM_TYPE",
                                             "USM_USER_BUFFER", "MEM_HANDLE", shared),
          "over a pointer");
    wrong += run(request, "wrap pointer", input);
  }

  tenon_ledger_totals_t totals;
  memset(&totals, 0, sizeof totals);
  totals.struct_size = sizeof totals;
  check(tenon_infer_request_ledger(request, &totals), "ledger");
  printf("%d wrong, copied %llu B\n", wrong, (unsigned long long)totals.copied_bytes);

  tenon_infer_request_free(request);
  tenon_compiled_model_free(compiled);
  tenon_model_free(model);
  tenon_remote_context_free(of_model);
  tenon_remote_context_free(context);
  tenon_remote_context_free(own);
  tenon_core_free(core);
  if (shared) clSVMFree(cl, shared);
  clReleaseMemObject(memory);
  clReleaseCommandQueue(queue);
  clReleaseContext(cl);
  return wrong || totals.copied_bytes ? 1 : 0;
}
