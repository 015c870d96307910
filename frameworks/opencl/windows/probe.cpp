// SPDX-License-Identifier: Apache-2.0
// As posix/probe.cpp: the headers are those of OpenCL 3.0. What is linked is OpenCL 1.2; newer_calls.cpp looks for the rest at run time.
#define CL_TARGET_OPENCL_VERSION 300
#include <CL/cl.h>
#include <CL/cl_ext.h>

int main() {
  decltype(&clCreateBufferWithProperties) newer = nullptr;
  cl_uint platforms = 0;
  const cl_mem_properties properties = CL_DEVICE_UUID_KHR;
  return newer || clGetPlatformIDs(0, nullptr, &platforms) == static_cast<cl_int>(properties) ? 1 : 0;
}
