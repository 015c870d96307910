/* SPDX-License-Identifier: Apache-2.0
   Remote tensors of the NPU in C: the driver's memory, a descriptor's, a model on them, parameters, and what is refused. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "remote.h"

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

static void of_the_driver(void) {
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
  model = relu_model(core, "1,8");
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
  say("in place: %g %g", memory(y)[0], memory(y)[7]);
  MUST(ov_remote_context_create_host_tensor(context, F32, shape, &host));
  MUST(ov_tensor_data(host, &data));
  for (i = 0; i < 8; ++i) ((float*)data)[i] = (float)(i - 4);
  MUST(ov_infer_request_set_tensor(request, "x", host));
  MUST(ov_infer_request_start_async(request));
  MUST(ov_infer_request_wait(request));
  say("of the host: %g %g", memory(y)[0], memory(y)[7]);
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
}

/* A descriptor's memory, which stays the program's. */
static void descriptors(void) {
  const int64_t dims[] = {1, 8};
  ov_shape_t shape = shape_of(2, dims);
  const int fds[2] = {memfd_create("in", MFD_CLOEXEC), memfd_create("out", MFD_CLOEXEC)};
  float* mapped[2];
  ov_core_t* core = NULL;
  ov_model_t* model;
  ov_remote_context_t* context = NULL;
  ov_compiled_model_t* compiled = NULL;
  ov_infer_request_t* request = NULL;
  ov_tensor_t* tensors[2] = {NULL, NULL};
  ov_tensor_t* none = NULL;
  int i, round;
  MUST(ov_core_create(&core));
  MUST(ov_core_get_default_context(core, "NPU", &context));
  model = relu_model(core, "1,8");
  MUST(ov_core_compile_model(core, model, "NPU", 0, &compiled));
  MUST(ov_compiled_model_create_infer_request(compiled, &request));
  for (i = 0; i < 2; ++i) {
    size_t count = 0;
    char* text = NULL;
    CHECK(fds[i] >= 0 && ftruncate(fds[i], 4096) == 0);
    mapped[i] = (float*)mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fds[i], 0);
    CHECK(mapped[i] != MAP_FAILED);
    MUST(ov_remote_context_create_tensor(context, F32, shape, 4, &tensors[i], "MEM_TYPE", "SHARED_BUF", "MEM_HANDLE",
                                         (void*)(intptr_t)fds[i]));
    close(fds[i]); /* The driver has its own. */
    MUST(ov_remote_tensor_get_params(tensors[i], &count, &text));
    say_params("a descriptor", text);
    MUST(ov_infer_request_set_tensor(request, i ? "y" : "x", tensors[i]));
  }
  for (round = 0; round < 2; ++round) {
    for (i = 0; i < 8; ++i) mapped[0][i] = (float)(i * (round ? -1 : 1));
    MUST(ov_infer_request_infer(request));
    say("in place: %g %g", mapped[1][0], mapped[1][7]);
  }
  fails("no descriptor", ov_remote_context_create_tensor(context, F32, shape, 4, &none, "MEM_TYPE", "SHARED_BUF",
                                                         "MEM_HANDLE", (void*)(intptr_t)(1 << 20)));
  for (i = 0; i < 2; ++i) {
    ov_tensor_free(tensors[i]);
    munmap(mapped[i], 4096);
  }
  ov_infer_request_free(request);
  ov_compiled_model_free(compiled);
  ov_model_free(model);
  ov_remote_context_free(context);
  ov_core_free(core);
  ov_shape_free(&shape);
}

void npu(void) {
  section("NPU: of the driver", of_the_driver);
  section("NPU: descriptors", descriptors);
}
