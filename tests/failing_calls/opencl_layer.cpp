// SPDX-License-Identifier: Apache-2.0
// A layer of the OpenCL loader (OPENCL_LAYERS) whose calls fail when a test says so. It passes the others on.
#include <tenon/frameworks/opencl/testing/layer.hpp>

#include <tuple>
#include <type_traits>

#include <tenon/tests/failing_calls/interposer.hpp>

namespace {

/// What a call gives back where it fails, after its last argument got the code, if it takes one.
template <typename Result, typename... Arguments>
Result failure(Arguments... arguments) {
  if constexpr (std::is_same_v<Result, cl_int>) {
    return CL_OUT_OF_HOST_MEMORY;
  } else {
    if constexpr (sizeof...(Arguments) > 0) {
      const auto last = std::get<sizeof...(Arguments) - 1>(std::tuple(arguments...));
      if constexpr (std::is_same_v<std::remove_const_t<decltype(last)>, cl_int*>)
        if (last) *last = CL_OUT_OF_HOST_MEMORY;
    }
    return nullptr;
  }
}

template <auto Entry>
struct Call;
template <typename Result, typename... Arguments, Result (CL_API_CALL* cl_icd_dispatch::*Entry)(Arguments...)>
struct Call<Entry> {
  static inline const char* function;
  static Result CL_API_CALL run(Arguments... arguments) {
    if (tenon_test::entry_point_fails(tenon_test::CallKind::kOpenCl, function)) return failure<Result>(arguments...);
    return (layer::next->*Entry)(arguments...);
  }
};

}  // namespace

/// Not those that release, nor clSetUserEventStatus: where a driver does not let go of what it made, or of those that wait, its client can do
/// nothing.
static void layer::install() {
  table = *next;
#define TENON_FAILS(entry)                           \
  Call<& cl_icd_dispatch::entry>::function = #entry; \
  table.entry = &Call<&cl_icd_dispatch::entry>::run;
  TENON_FAILS(clGetPlatformIDs)
  TENON_FAILS(clGetPlatformInfo)
  TENON_FAILS(clGetDeviceIDs)
  TENON_FAILS(clGetDeviceInfo)
  TENON_FAILS(clCreateSubDevices)
  TENON_FAILS(clRetainDevice)
  TENON_FAILS(clCreateContext)
  TENON_FAILS(clRetainContext)
  TENON_FAILS(clGetContextInfo)
  TENON_FAILS(clCreateCommandQueue)
  TENON_FAILS(clCreateCommandQueueWithProperties)
  TENON_FAILS(clRetainCommandQueue)
  TENON_FAILS(clGetCommandQueueInfo)
  TENON_FAILS(clCreateBuffer)
  TENON_FAILS(clCreateBufferWithProperties)
  TENON_FAILS(clCreateSubBuffer)
  TENON_FAILS(clCreateImage)
  TENON_FAILS(clRetainMemObject)
  TENON_FAILS(clGetMemObjectInfo)
  TENON_FAILS(clGetImageInfo)
  TENON_FAILS(clGetSupportedImageFormats)
  TENON_FAILS(clSetMemObjectDestructorCallback)
  TENON_FAILS(clSVMAlloc)
  TENON_FAILS(clCreateProgramWithSource)
  TENON_FAILS(clCreateProgramWithBinary)
  TENON_FAILS(clBuildProgram)
  TENON_FAILS(clCompileProgram)
  TENON_FAILS(clLinkProgram)
  TENON_FAILS(clGetProgramInfo)
  TENON_FAILS(clGetProgramBuildInfo)
  TENON_FAILS(clCreateKernel)
  TENON_FAILS(clCloneKernel)
  TENON_FAILS(clSetKernelArg)
  TENON_FAILS(clSetKernelArgSVMPointer)
  TENON_FAILS(clGetKernelInfo)
  TENON_FAILS(clGetKernelWorkGroupInfo)
  TENON_FAILS(clGetKernelSubGroupInfo)
  TENON_FAILS(clCreateUserEvent)
  TENON_FAILS(clRetainEvent)
  TENON_FAILS(clGetEventInfo)
  TENON_FAILS(clGetEventProfilingInfo)
  TENON_FAILS(clSetEventCallback)
  TENON_FAILS(clWaitForEvents)
  TENON_FAILS(clFlush)
  TENON_FAILS(clFinish)
  TENON_FAILS(clEnqueueReadBuffer)
  TENON_FAILS(clEnqueueReadBufferRect)
  TENON_FAILS(clEnqueueWriteBuffer)
  TENON_FAILS(clEnqueueWriteBufferRect)
  TENON_FAILS(clEnqueueFillBuffer)
  TENON_FAILS(clEnqueueCopyBuffer)
  TENON_FAILS(clEnqueueCopyBufferRect)
  TENON_FAILS(clEnqueueReadImage)
  TENON_FAILS(clEnqueueWriteImage)
  TENON_FAILS(clEnqueueCopyImage)
  TENON_FAILS(clEnqueueCopyImageToBuffer)
  TENON_FAILS(clEnqueueCopyBufferToImage)
  TENON_FAILS(clEnqueueMapBuffer)
  TENON_FAILS(clEnqueueMapImage)
  TENON_FAILS(clEnqueueNDRangeKernel)
  TENON_FAILS(clEnqueueMarkerWithWaitList)
  TENON_FAILS(clEnqueueBarrierWithWaitList)
  TENON_FAILS(clEnqueueSVMMap)
  TENON_FAILS(clEnqueueSVMUnmap)
  TENON_FAILS(clEnqueueSVMMemcpy)
  TENON_FAILS(clEnqueueSVMMemFill)
  TENON_FAILS(clGetExtensionFunctionAddressForPlatform)
#undef TENON_FAILS
}
