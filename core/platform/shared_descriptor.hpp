// SPDX-License-Identifier: Apache-2.0
// What the system's own shareable memory is handed on by: a memfd's descriptor, or the NT handle of a section.
#pragma once

#ifdef _WIN32
#include <tenon/core/handle.hpp>
#else
#include <tenon/core/fd.hpp>
#endif
#include <tenon/core/requirements.hpp>

namespace tenon {
inline namespace v1 {
namespace platform {

#ifdef _WIN32
using SharedDescriptor = UniqueHandle;
inline constexpr FdKind kSharedKind = FdKind::kNtSection;
inline int number_of(const SharedDescriptor& descriptor) noexcept { return UniqueHandle::number_of(descriptor.get()); }
#else
using SharedDescriptor = UniqueFd;
inline constexpr FdKind kSharedKind = FdKind::kMemfd;
/// As Memory::borrow_fd() gives it.
inline int number_of(const SharedDescriptor& descriptor) noexcept { return descriptor.get(); }
#endif

}  // namespace platform
}  // namespace v1
}  // namespace tenon
