/* SPDX-License-Identifier: Apache-2.0 */
/* OpenCL in the examples in C: its calls checked, and an application's own context and queue. */
#ifndef TENON_EXAMPLES_SUPPORT_CHECK_CL_H
#define TENON_EXAMPLES_SUPPORT_CHECK_CL_H

#include <CL/cl.h>

#include "check.h"

static inline void check_cl(cl_int status, const char* what) {
  if (status == CL_SUCCESS) return;
  fprintf(stderr, "%s gave %d\n", what, status);
  exit(1);
}

/* The device of the library's own context; an application would have chosen one itself. */
static inline cl_device_id device_of(const tenon_remote_context_t* context) {
  tenon_properties_t* handles = NULL;
  tenon_value_t* handle = NULL;
  void* pointer = NULL;
  check(tenon_remote_context_get_properties(context, &handles), "handles");
  check(tenon_properties_get(handles, "OCL_CONTEXT", &handle), "OCL_CONTEXT");
  check(tenon_value_as_pointer(handle, &pointer), "its value");
  tenon_value_free(handle);
  tenon_properties_free(handles);
  cl_device_id device = NULL;
  check_cl(clGetContextInfo((cl_context)pointer, CL_CONTEXT_DEVICES, sizeof device, &device, NULL), "clGetContextInfo");
  return device;
}

/* The objects that a pipeline with OpenCL already has. */
struct pipeline {
  cl_context context;
  cl_command_queue queue;
};
static inline struct pipeline open_pipeline(cl_device_id device) {
  struct pipeline made;
  cl_int code = CL_SUCCESS;
  made.context = clCreateContext(NULL, 1, &device, NULL, NULL, &code);
  check_cl(code, "clCreateContext");
  made.queue = clCreateCommandQueueWithProperties(made.context, device, NULL, &code);
  check_cl(code, "clCreateCommandQueueWithProperties");
  return made;
}
static inline void close_pipeline(struct pipeline pipeline) {
  clReleaseCommandQueue(pipeline.queue);
  clReleaseContext(pipeline.context);
}

#endif
