// SPDX-License-Identifier: Apache-2.0
// Objects that exist once and outlive static destructors.
#pragma once

#include <cstddef>
#include <new>
#include <type_traits>

namespace tenon {
inline namespace v1 {

/// The one object of a type, made at the first call and never destroyed, so that static objects may use it while the process ends. It lies in
/// memory that is there: where the constructor cannot fail, this cannot, and functions that must not fail may call it.
/// @thread any.
template <typename T>
T& immortal() noexcept(std::is_nothrow_default_constructible_v<T>) {
  alignas(T) static std::byte room[sizeof(T)];
  static T* const one = ::new (room) T;
  return *one;
}

}  // namespace v1
}  // namespace tenon
