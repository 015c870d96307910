// SPDX-License-Identifier: Apache-2.0
// What this framework uses of CUDA's driver API, declared here so that building needs none of CUDA's headers.
#pragma once

#include <cstddef>
#include <cstdint>

// The tags that cuda.h uses: programs that include it pass their handles as they are.
struct CUctx_st;
struct CUstream_st;
struct CUevent_st;
struct CUmod_st;
struct CUfunc_st;
struct CUgraph_st;
struct CUgraphNode_st;
struct CUgraphExec_st;
struct CUextMemory_st;

namespace tenon {
inline namespace v1 {
namespace cuda::abi {

using Result = int;  ///< CUresult.
using Device = int;  ///< CUdevice: an ordinal.
using ContextHandle = CUctx_st*;
using Stream = CUstream_st*;
using Event = CUevent_st*;
using Module = CUmod_st*;
using Function = CUfunc_st*;
using Graph = CUgraph_st*;
using GraphNode = CUgraphNode_st*;
using GraphExec = CUgraphExec_st*;
using DevicePointer = unsigned long long;     ///< CUdeviceptr.
using AllocationHandle = unsigned long long;  ///< CUmemGenericAllocationHandle.
using External = CUextMemory_st*;             ///< CUexternalMemory.

inline constexpr Result kSuccess = 0, kInvalidValue = 1, kOutOfMemory = 2, kNotInitialized = 3, kDeinitialized = 4,
                        kNoDevice = 100, kInvalidDevice = 101, kInvalidContext = 201,
                        kHostMemoryAlreadyRegistered = 712, kNotPermitted = 800, kNotSupported = 801, kNotReady = 600,
                        kInvalidHandle = 400, kContextIsDestroyed = 709, kLaunchFailed = 719, kIllegalAddress = 700,
                        kEccUncorrectable = 214, kSystemDriverMismatch = 803, kSystemNotReady = 802, kUnknown = 999;

/// CUdevice_attribute.
enum DeviceAttribute : int {
  kIntegrated = 18,
  kPciBusId = 33,
  kPciDeviceId = 34,
  kUnifiedAddressing = 41,
  kPciDomainId = 50,
  kManagedMemory = 83,
  kConcurrentManagedAccess = 89,
  kMostSharedBytes = 97,  ///< A block may ask for so many (MAX_SHARED_MEMORY_PER_BLOCK_OPTIN).
  kHostRegisterSupported = 99,
  kVirtualMemoryManagement = 102,
  kPosixFdSupported = 103,
};

/// CUfunction_attribute MAX_DYNAMIC_SHARED_SIZE_BYTES.
inline constexpr int kMostDynamicSharedBytes = 8;

/// CUpointer_attribute.
enum PointerAttribute : int {
  kMemoryType = 2,
  kIsManaged = 8,
  kDeviceOrdinal = 9,
  kRangeStart = 11,
  kRangeSize = 12,
  kAllowedHandleTypes = 14,
  kMappingSize = 18,
  kMappingBase = 19,
};
inline constexpr unsigned kMemoryTypeHost = 1, kMemoryTypeDevice = 2, kMemoryTypeUnified = 4;

inline constexpr unsigned kEventDisableTiming = 2;  ///< CU_EVENT_DISABLE_TIMING.
inline constexpr unsigned kStreamNonBlocking = 1;   ///< CU_STREAM_NON_BLOCKING.
inline constexpr unsigned kWaitValueEqual = 1;      ///< CU_STREAM_WAIT_VALUE_EQ.
inline constexpr unsigned kHostAllocPortable = 1;   ///< CU_MEMHOSTALLOC_PORTABLE.
inline constexpr unsigned kRegisterPortable = 1;    ///< CU_MEMHOSTREGISTER_PORTABLE.
inline constexpr unsigned kAttachGlobal = 1;        ///< CU_MEM_ATTACH_GLOBAL.
inline constexpr int kHandleTypePosixFd = 1;        ///< CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR.
inline constexpr int kGranularityMinimum = 0;       ///< CU_MEM_ALLOC_GRANULARITY_MINIMUM.

struct Uuid {
  std::uint8_t bytes[16];
};

struct MemoryLocation {
  int type = 1;  ///< CU_MEM_LOCATION_TYPE_DEVICE.
  int id = 0;
};
/// CUmemAllocationProp.
struct AllocationProperties {
  int type = 1;  ///< CU_MEM_ALLOCATION_TYPE_PINNED.
  int handle_types = 0;
  MemoryLocation location;
  void* win32_metadata = nullptr;
  struct {
    std::uint8_t compression = 0, rdma = 0;
    std::uint16_t usage = 0;
    std::uint8_t reserved[4] = {};
  } flags;
};
/// CUmemAccessDesc.
struct AccessDescriptor {
  MemoryLocation location;
  int flags = 3;  ///< CU_MEM_ACCESS_FLAGS_PROT_READWRITE.
};
/// CUDA_MEMCPY2D.
struct Copy2D {
  std::size_t src_x = 0, src_y = 0;
  unsigned src_type = 0;
  const void* src_host = nullptr;
  DevicePointer src_device = 0;
  void* src_array = nullptr;
  std::size_t src_pitch = 0;
  std::size_t dst_x = 0, dst_y = 0;
  unsigned dst_type = 0;
  void* dst_host = nullptr;
  DevicePointer dst_device = 0;
  void* dst_array = nullptr;
  std::size_t dst_pitch = 0;
  std::size_t width_bytes = 0, height = 0;
};

/// CUDA_EXTERNAL_MEMORY_HANDLE_DESC, of a descriptor that Vulkan exported on the device.
struct ExternalMemory {
  int type = 1;  ///< CU_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD.
  struct {
    alignas(8) int fd = -1;
    const void* name = nullptr;
  } handle;
  unsigned long long size = 0;
  unsigned flags = 0, reserved[16] = {};
};
/// CUDA_EXTERNAL_MEMORY_BUFFER_DESC.
struct ExternalBuffer {
  unsigned long long offset = 0, size = 0;
  unsigned flags = 0, reserved[16] = {};
};

/// CUDA_KERNEL_NODE_PARAMS_v1.
struct KernelNode {
  Function function = nullptr;
  unsigned groups[3] = {1, 1, 1}, local[3] = {1, 1, 1};
  unsigned shared_bytes = 0;
  void** arguments = nullptr;
  void** extra = nullptr;
};
static_assert(sizeof(KernelNode) == 56);

/// CUgraphEdgeData: by default, the second node begins when the first is over.
struct GraphEdge {
  std::uint8_t from_port = 0, to_port = 0, type = 0, reserved[5] = {};
  /// The second node begins when the first one's groups have said that it may (griddepcontrol.launch_dependents), and waits itself.
  static constexpr GraphEdge programmatic() { return {1, 0, 1}; }
};

static_assert(sizeof(void*) == 8, "the ABI of 64-bit systems, the only ones that CUDA supports");
static_assert(sizeof(MemoryLocation) == 8 && sizeof(AccessDescriptor) == 12 && sizeof(Uuid) == 16);
static_assert(sizeof(AllocationProperties) == 32 && offsetof(AllocationProperties, location) == 8 &&
              offsetof(AllocationProperties, win32_metadata) == 16 && offsetof(AllocationProperties, flags) == 24);
static_assert(sizeof(ExternalMemory) == 104 && offsetof(ExternalMemory, handle) == 8 &&
              offsetof(ExternalMemory, size) == 24 && sizeof(ExternalBuffer) == 88);
static_assert(sizeof(Copy2D) == 128 && offsetof(Copy2D, src_host) == 24 && offsetof(Copy2D, src_pitch) == 48 &&
              offsetof(Copy2D, dst_x) == 56 && offsetof(Copy2D, dst_host) == 80 &&
              offsetof(Copy2D, width_bytes) == 112);

}  // namespace cuda::abi

// The calls: name, symbol in libcuda.so.1, parameters. All return a CUresult.
#define TENON_CUDA_CALLS(X)                                                                                            \
  X(cuInit, cuInit, unsigned)                                                                                          \
  X(cuDriverGetVersion, cuDriverGetVersion, int*)                                                                      \
  X(cuGetErrorName, cuGetErrorName, abi::Result, const char**)                                                         \
  X(cuGetErrorString, cuGetErrorString, abi::Result, const char**)                                                     \
  X(cuDeviceGetCount, cuDeviceGetCount, int*)                                                                          \
  X(cuDeviceGet, cuDeviceGet, abi::Device*, int)                                                                       \
  X(cuDeviceGetName, cuDeviceGetName, char*, int, abi::Device)                                                         \
  X(cuDeviceGetUuid, cuDeviceGetUuid, abi::Uuid*, abi::Device)                                                         \
  X(cuDeviceGetAttribute, cuDeviceGetAttribute, int*, int, abi::Device)                                                \
  X(cuDevicePrimaryCtxRetain, cuDevicePrimaryCtxRetain, abi::ContextHandle*, abi::Device)                              \
  X(cuDevicePrimaryCtxRelease, cuDevicePrimaryCtxRelease_v2, abi::Device)                                              \
  X(cuCtxPushCurrent, cuCtxPushCurrent_v2, abi::ContextHandle)                                                         \
  X(cuCtxPopCurrent, cuCtxPopCurrent_v2, abi::ContextHandle*)                                                          \
  X(cuCtxGetDevice, cuCtxGetDevice, abi::Device*)                                                                      \
  X(cuMemAlloc, cuMemAlloc_v2, abi::DevicePointer*, std::size_t)                                                       \
  X(cuMemFree, cuMemFree_v2, abi::DevicePointer)                                                                       \
  X(cuMemAllocManaged, cuMemAllocManaged, abi::DevicePointer*, std::size_t, unsigned)                                  \
  X(cuMemHostAlloc, cuMemHostAlloc, void**, std::size_t, unsigned)                                                     \
  X(cuMemFreeHost, cuMemFreeHost, void*)                                                                               \
  X(cuMemHostRegister, cuMemHostRegister_v2, void*, std::size_t, unsigned)                                             \
  X(cuMemHostUnregister, cuMemHostUnregister, void*)                                                                   \
  X(cuMemHostGetDevicePointer, cuMemHostGetDevicePointer_v2, abi::DevicePointer*, void*, unsigned)                     \
  X(cuPointerGetAttribute, cuPointerGetAttribute, void*, int, abi::DevicePointer)                                      \
  X(cuMemGetAllocationGranularity, cuMemGetAllocationGranularity, std::size_t*, const abi::AllocationProperties*, int) \
  X(cuMemCreate, cuMemCreate, abi::AllocationHandle*, std::size_t, const abi::AllocationProperties*,                   \
    unsigned long long)                                                                                                \
  X(cuMemRelease, cuMemRelease, abi::AllocationHandle)                                                                 \
  X(cuMemAddressReserve, cuMemAddressReserve, abi::DevicePointer*, std::size_t, std::size_t, abi::DevicePointer,       \
    unsigned long long)                                                                                                \
  X(cuMemAddressFree, cuMemAddressFree, abi::DevicePointer, std::size_t)                                               \
  X(cuMemMap, cuMemMap, abi::DevicePointer, std::size_t, std::size_t, abi::AllocationHandle, unsigned long long)       \
  X(cuMemUnmap, cuMemUnmap, abi::DevicePointer, std::size_t)                                                           \
  X(cuMemSetAccess, cuMemSetAccess, abi::DevicePointer, std::size_t, const abi::AccessDescriptor*, std::size_t)        \
  X(cuMemRetainAllocationHandle, cuMemRetainAllocationHandle, abi::AllocationHandle*, void*)                           \
  X(cuMemExportToShareableHandle, cuMemExportToShareableHandle, void*, abi::AllocationHandle, int, unsigned long long) \
  X(cuMemcpyAsync, cuMemcpyAsync, abi::DevicePointer, abi::DevicePointer, std::size_t, abi::Stream)                    \
  X(cuMemcpy2DAsync, cuMemcpy2DAsync_v2, const abi::Copy2D*, abi::Stream)                                              \
  X(cuStreamCreate, cuStreamCreate, abi::Stream*, unsigned)                                                            \
  X(cuStreamDestroy, cuStreamDestroy_v2, abi::Stream)                                                                  \
  X(cuStreamQuery, cuStreamQuery, abi::Stream)                                                                         \
  X(cuStreamGetCtx, cuStreamGetCtx, abi::Stream, abi::ContextHandle*)                                                  \
  X(cuStreamWaitEvent, cuStreamWaitEvent, abi::Stream, abi::Event, unsigned)                                           \
  X(cuStreamWaitValue32, cuStreamWaitValue32_v2, abi::Stream, abi::DevicePointer, std::uint32_t, unsigned)             \
  X(cuEventCreate, cuEventCreate, abi::Event*, unsigned)                                                               \
  X(cuEventRecord, cuEventRecord, abi::Event, abi::Stream)                                                             \
  X(cuEventQuery, cuEventQuery, abi::Event)                                                                            \
  X(cuEventDestroy, cuEventDestroy_v2, abi::Event)                                                                     \
  X(cuModuleLoadData, cuModuleLoadData, abi::Module*, const void*)                                                     \
  X(cuModuleUnload, cuModuleUnload, abi::Module)                                                                       \
  X(cuModuleGetFunction, cuModuleGetFunction, abi::Function*, abi::Module, const char*)                                \
  X(cuFuncSetAttribute, cuFuncSetAttribute, abi::Function, int, int)                                                   \
  X(cuGraphCreate, cuGraphCreate, abi::Graph*, unsigned)                                                               \
  X(cuGraphDestroy, cuGraphDestroy, abi::Graph)                                                                        \
  X(cuGraphAddKernelNode, cuGraphAddKernelNode, abi::GraphNode*, abi::Graph, const abi::GraphNode*, std::size_t,       \
    const abi::KernelNode*)                                                                                            \
  X(cuGraphInstantiate, cuGraphInstantiateWithFlags, abi::GraphExec*, abi::Graph, unsigned long long)                  \
  X(cuGraphExecDestroy, cuGraphExecDestroy, abi::GraphExec)                                                            \
  X(cuGraphExecKernelNodeSetParams, cuGraphExecKernelNodeSetParams, abi::GraphExec, abi::GraphNode,                    \
    const abi::KernelNode*)                                                                                            \
  X(cuGraphLaunch, cuGraphLaunch, abi::GraphExec, abi::Stream)

/// Calls that older drivers lack, null there.
#define TENON_CUDA_NEWER_CALLS(X)                                                                                \
  X(cuImportExternalMemory, cuImportExternalMemory, abi::External*, const abi::ExternalMemory*)                  \
  X(cuExternalMemoryGetMappedBuffer, cuExternalMemoryGetMappedBuffer, abi::DevicePointer*, abi::External,        \
    const abi::ExternalBuffer*)                                                                                  \
  X(cuDestroyExternalMemory, cuDestroyExternalMemory, abi::External)                                             \
  X(cuGraphAddDependencies, cuGraphAddDependencies_v2, abi::Graph, const abi::GraphNode*, const abi::GraphNode*, \
    const abi::GraphEdge*, std::size_t)                                                                          \
  X(cuGraphUpload, cuGraphUpload, abi::GraphExec, abi::Stream)                                                   \
  X(cuStreamWriteValue32, cuStreamWriteValue32_v2, abi::Stream, abi::DevicePointer, std::uint32_t, unsigned)

}  // namespace v1
}  // namespace tenon
