// SPDX-License-Identifier: Apache-2.0
// Owns a C release callback: calls it exactly once, when the last owner is destroyed.
#pragma once

#include <memory>

#include <tenon/bindings/c/base.h>
#include <tenon/core/host.hpp>

namespace tenon::c {

/// Null if there is no callback. If no owner can be allocated, the callback has been called.
inline std::shared_ptr<void> owner_of(tenon_release_t release, void* user) {
  if (!release) return nullptr;
  return std::shared_ptr<void>(user, [release](void* pointer) { release(pointer); });
}

inline HostMemory::Release release_of(const std::shared_ptr<void>& owner) {
  if (!owner) return {};
  // The callback lives as long as the memory; calling it releases the owner.
  return [owner = owner]() mutable { owner.reset(); };
}

}  // namespace tenon::c
