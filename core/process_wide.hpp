// SPDX-License-Identifier: Apache-2.0
// Objects that exist once per process, even if it consists of several modules.
#pragma once

#include <string_view>

#include <tenon/core/export.hpp>

namespace tenon {
inline namespace v1 {
namespace detail {
TENON_API void* process_wide(std::string_view name, void* (*make)());
}

/// The process's only T of this name, created by the first call and never destroyed. A static of an inline function is
/// not enough: modules that were loaded with RTLD_LOCAL, or built with hidden symbols, each have their own.
/// @param name  Must change whenever T's layout does: modules of different releases then have different objects.
/// @thread any. @cost a lock and a look-up; callers keep the reference.
template <typename T>
T& process_wide(std::string_view name) {
  return *static_cast<T*>(detail::process_wide(name, [] { return static_cast<void*>(new T); }));
}

}  // namespace v1
}  // namespace tenon
