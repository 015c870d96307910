// SPDX-License-Identifier: Apache-2.0
// A DLL that lacks one function that a program is linked with keeps the program from starting, so these are looked up.
#include <tenon/frameworks/opencl/newer_calls.hpp>

#include <tenon/core/platform/windows/api.hpp>

#include <tenon/core/export.hpp>

namespace tenon {
inline namespace v1 {
namespace opencl {
namespace detail {

template <typename Function>
void look_up_newer(Function& function, const char* name) {
  // Loaded: the older functions are linked.
  function =
      reinterpret_cast<Function>(reinterpret_cast<void*>(::GetProcAddress(::GetModuleHandleW(L"OpenCL.dll"), name)));
}

TENON_INLINE const NewerCalls& newer_calls() {
  static const NewerCalls calls = [] {
    NewerCalls found;
    look_up_newer(found.make_queue, "clCreateCommandQueueWithProperties");
    look_up_newer(found.make_buffer, "clCreateBufferWithProperties");
    look_up_newer(found.make_image, "clCreateImageWithProperties");
    look_up_newer(found.allocate_svm, "clSVMAlloc");
    look_up_newer(found.free_svm, "clEnqueueSVMFree");
    look_up_newer(found.copy_svm, "clEnqueueSVMMemcpy");
    look_up_newer(found.map_svm, "clEnqueueSVMMap");
    look_up_newer(found.unmap_svm, "clEnqueueSVMUnmap");
    look_up_newer(found.set_svm_argument, "clSetKernelArgSVMPointer");
    return found;
  }();
  return calls;
}

}  // namespace detail
}  // namespace opencl
}  // namespace v1
}  // namespace tenon
