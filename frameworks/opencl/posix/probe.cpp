// SPDX-License-Identifier: Apache-2.0
// Compiled and linked at configuration to check that headers and ICD loader are those of OpenCL 3.0. Platforms are
// looked up at run time.
#define CL_TARGET_OPENCL_VERSION 300
#include <CL/cl.h>
#include <CL/cl_ext.h>

int main() {
  cl_int status = CL_DEVICE_SVM_CAPABILITIES;
  cl_uint platforms = 0;
  cl_mem memory = clCreateBufferWithProperties(nullptr, nullptr, CL_MEM_READ_WRITE, 1, nullptr, &status);
  clSVMFree(nullptr, nullptr);
  const cl_mem_properties properties = CL_DEVICE_UUID_KHR;
  return memory || clGetPlatformIDs(0, nullptr, &platforms) == static_cast<cl_int>(properties) ? 1 : 0;
}
