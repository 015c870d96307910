// SPDX-License-Identifier: Apache-2.0
// The kinds of memory: an open set of names.
#pragma once

#include <tenon/core/hashed_name.hpp>

namespace tenon {
inline namespace v1 {

/// Kind of memory. Each framework defines its own: there is no central list and no registration.
class MemoryKind : public NameOf<MemoryKind> {
 public:
  using NameOf::NameOf;
};

/// Host memory: addressable by any thread of the process.
inline constexpr MemoryKind kCpuMemory{"cpu"};

}  // namespace v1
}  // namespace tenon
