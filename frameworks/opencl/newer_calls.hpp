// SPDX-License-Identifier: Apache-2.0
// Functions of OpenCL 2.0 and later, which not every ICD loader exports.
#pragma once

#include <tenon/frameworks/opencl/native.hpp>

namespace tenon {
inline namespace v1 {
namespace opencl::detail {

/// Null where the loader has no such function, whatever its platforms say of their versions: Wine's OpenCL.dll ends at 1.2. Everything
/// older is linked.
struct NewerCalls {
  decltype(&::clCreateCommandQueueWithProperties) make_queue = nullptr;
  decltype(&::clCreateBufferWithProperties) make_buffer = nullptr;
  decltype(&::clCreateImageWithProperties) make_image = nullptr;
  decltype(&::clSVMAlloc) allocate_svm = nullptr;
  decltype(&::clEnqueueSVMFree) free_svm = nullptr;
  decltype(&::clEnqueueSVMMemcpy) copy_svm = nullptr;
  decltype(&::clEnqueueSVMMap) map_svm = nullptr;
  decltype(&::clEnqueueSVMUnmap) unmap_svm = nullptr;
  decltype(&::clSetKernelArgSVMPointer) set_svm_argument = nullptr;

  bool has_properties() const { return make_buffer && make_image; }
  bool has_svm() const { return allocate_svm && free_svm && copy_svm && map_svm && unmap_svm && set_svm_argument; }
};

/// Those of this process. @thread any. Made once, in posix/ or windows/.
const NewerCalls& newer_calls();

}  // namespace opencl::detail
}  // namespace v1
}  // namespace tenon
