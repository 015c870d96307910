// SPDX-License-Identifier: Apache-2.0
// Host memory over bytes that it gives back: on every path, also where there is no memory for the object.
#pragma once

#include <cstddef>

#include <tenon/core/host.hpp>
#include <tenon/core/ref_counted.hpp>

namespace tenon {
inline namespace v1 {

/// As HostMemory::borrow(), which leaves the bytes to its caller where it fails; this gives them back then.
/// @param give_back  Called once, without an argument; it must not throw.
template <typename GiveBack>
Ref<HostMemory> adopt_bytes(void* data, std::size_t size_bytes, bool read_only, GiveBack give_back) {
  try {
    return HostMemory::borrow(data, size_bytes, read_only, give_back);
  } catch (...) {
    give_back();
    throw;
  }
}

}  // namespace v1
}  // namespace tenon
