// SPDX-License-Identifier: Apache-2.0
// The loader is linked, and probe.cpp has found that it has them.
#include <tenon/frameworks/opencl/newer_calls.hpp>

#include <tenon/core/export.hpp>

namespace tenon {
inline namespace v1 {
namespace opencl {
namespace detail {

TENON_INLINE const NewerCalls& newer_calls() {
  static const NewerCalls calls{&::clCreateCommandQueueWithProperties,
                                &::clCreateBufferWithProperties,
                                &::clCreateImageWithProperties,
                                &::clSVMAlloc,
                                &::clEnqueueSVMFree,
                                &::clEnqueueSVMMemcpy,
                                &::clEnqueueSVMMap,
                                &::clEnqueueSVMUnmap,
                                &::clSetKernelArgSVMPointer};
  return calls;
}

}  // namespace detail
}  // namespace opencl
}  // namespace v1
}  // namespace tenon
