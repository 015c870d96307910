// SPDX-License-Identifier: Apache-2.0
// Parameters of contexts and remote tensors, and the kind of memory that not every system has.
#pragma once

#include <tenon/core/any.hpp>
#include <tenon/core/memory_kind.hpp>

namespace tenon::inline v1::gpu_device {

/// That of frameworks/dmabuf, which only Linux has.
inline constexpr MemoryKind kDmabuf{"dmabuf"};

/// Null if it is not there.
inline const Any* find(const AnyMap& params, const char* key) {
  const auto found = params.find(key);
  return found == params.end() ? nullptr : &found->second;
}

}  // namespace tenon::inline v1::gpu_device
