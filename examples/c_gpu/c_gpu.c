/* SPDX-License-Identifier: Apache-2.0 */
/* OpenVINO's document on remote tensors of the GPU, section by section, in C: contexts of the core, of a model, and of
 * the application's cl_context and queue; tensors over its cl_mem and its shared pointer; memory that the device allocates. The
 * model runs on each in place. Exits with 77 if there is no OpenCL device. */
#include <CL/cl_ext.h>

#include "../support/check_cl.h"
#include "../support/relu.h"

static const size_t kShape[] = {1, kElements};

/* Memory of one address on host and device, which the application allocates: USM, or SVM where the platform has no USM. */
struct shared {
  float* data; /* NULL: the platform has neither. */
  clMemBlockingFreeINTEL_fn free_usm;
};

static struct shared allocate_shared(cl_context context, cl_device_id device) {
  struct shared made = {NULL, NULL};
  cl_platform_id platform = NULL;
  check_cl(clGetDeviceInfo(device, CL_DEVICE_PLATFORM, sizeof platform, &platform, NULL), "clGetDeviceInfo");
  clHostMemAllocINTEL_fn allocate = NULL;
  *(void**)&allocate = clGetExtensionFunctionAddressForPlatform(platform, "clHostMemAllocINTEL");
  cl_int code = CL_SUCCESS;
  if (allocate) made.data = allocate(context, NULL, kElements * sizeof(float), 0, &code);
  if (made.data)
    *(void**)&made.free_usm = clGetExtensionFunctionAddressForPlatform(platform, "clMemBlockingFreeINTEL");
  else
    made.data = clSVMAlloc(context, CL_MEM_READ_WRITE, kElements * sizeof(float), 0);
  return made;
}

static void free_shared(cl_context context, struct shared memory) {
  if (memory.free_usm)
    memory.free_usm(context, memory.data);
  else if (memory.data)
    clSVMFree(context, memory.data);
}

/* Infers on the input, which is in the device's memory, and counts wrong values. */
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
  tenon_remote_context_t *own = context_of(core, "GPU"), *of_model = NULL, *context = NULL;
  char* params = NULL;
  size_t count = 0;
  print_params("default context from core", tenon_remote_context_get_params(own, &count, &params), &params);

  struct pipeline pipeline = open_pipeline(device_of(own)); /* The application's own. */
  cl_context cl = pipeline.context;
  cl_int code = CL_SUCCESS;
  tenon_model_t* model = NULL;
  check(tenon_core_read_model_from_memory(core, kRelu, sizeof kRelu - 1, NULL, &model), "model");
  check(tenon_core_create_context(core, "GPU", 6, &context, "CONTEXT_TYPE", "OCL", "OCL_CONTEXT", cl, "OCL_QUEUE",
                                  pipeline.queue),
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
  const struct shared shared = allocate_shared(cl, device_of(own));
  if (shared.data) {
    check(tenon_remote_context_create_tensor(context, TENON_TYPE_F32, 2, kShape, 4, &input, "SHARED_MEM_TYPE",
                                             "USM_USER_BUFFER", "MEM_HANDLE", shared.data),
          "over a pointer");
    wrong += run(request, "wrap pointer", input);
  }

  const unsigned long long copied = copied_bytes(request);
  printf("%d wrong, copied %llu B\n", wrong, copied);

  tenon_infer_request_free(request);
  tenon_compiled_model_free(compiled);
  tenon_model_free(model);
  tenon_remote_context_free(of_model);
  tenon_remote_context_free(context);
  tenon_remote_context_free(own);
  tenon_core_free(core);
  free_shared(cl, shared);
  clReleaseMemObject(memory);
  close_pipeline(pipeline);
  return wrong || copied ? 1 : 0;
}
