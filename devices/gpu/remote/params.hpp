// SPDX-License-Identifier: Apache-2.0
// Parameters of contexts and remote tensors.
#pragma once

#include <tenon/core/any.hpp>

namespace tenon::inline v1::gpu_device {

/// Null if it is not there.
inline const Any* find(const AnyMap& params, const char* key) {
  const auto found = params.find(key);
  return found == params.end() ? nullptr : &found->second;
}

}  // namespace tenon::inline v1::gpu_device
