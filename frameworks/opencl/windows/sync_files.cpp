// SPDX-License-Identifier: Apache-2.0
// Windows has no sync files.
#include <tenon/frameworks/opencl/fence.hpp>

#include <tenon/core/export.hpp>

namespace tenon {
inline namespace v1 {
namespace opencl {
namespace detail {

TENON_INLINE Handle<cl_event> wait_for_sync_file(const Native& /*native*/, const TimelinePoint& /*point*/) {
  return {};
}

}  // namespace detail
}  // namespace opencl
}  // namespace v1
}  // namespace tenon
