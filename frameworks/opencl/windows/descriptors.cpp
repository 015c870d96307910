// SPDX-License-Identifier: Apache-2.0
// Windows has handles where POSIX has descriptors, and no device that this framework knows imports one: import_obstacle() says so.
#include <tenon/frameworks/opencl/external.hpp>

#include <tenon/core/export.hpp>

namespace tenon {
inline namespace v1 {
namespace opencl {
namespace detail {

TENON_INLINE Handle<cl_mem> import_buffer(const Native& native, int /*fd*/, FdKind kind, std::size_t /*size*/,
                                          const ImportedRows* /*rows*/) {
  throw Error(Code::kUnimplemented,
              "opencl: " + native.device.name + " imports nothing by " + std::string(kind.name()) +
                  " on Windows: cl_khr_external_memory_win32 is not among what Tenon knows; copy by the host");
}

TENON_INLINE MemoryIdentity identity_of_file(int /*fd*/, const MemoryIdentity& otherwise) { return otherwise; }

TENON_INLINE void judge_dmabufs(Native& native) { native.dmabuf_obstacle = "dma-bufs are of Linux, which this is not"; }

}  // namespace detail
}  // namespace opencl
}  // namespace v1
}  // namespace tenon
