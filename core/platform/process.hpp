// SPDX-License-Identifier: Apache-2.0
// The process: its first thread, its end, its limits.
#pragma once

#include <cstdint>
#include <optional>

#include <tenon/core/export.hpp>

namespace tenon {
inline namespace v1 {
namespace platform {

/// Whether this is the thread that runs main(). Windows: the thread that loaded this library, which is the same where a program is linked
/// with it.
TENON_API bool is_main_thread() noexcept;

/// Calls `function` in exit(), before the functions that were registered earlier, and while other threads still run. Windows ends those
/// before the functions that std::atexit() of a DLL has registered, so there it is registered as the program's.
/// @return false: no memory. @thread any.
TENON_API bool at_exit(void (*function)()) noexcept;

/// A limit of this process that its user has set.
struct Limit {
  const char* name;  ///< "RLIMIT_AS".
  std::uint64_t value;
};
/// @name Bytes of addresses, and threads of this user. Nothing where there is no limit; Windows has none of this kind.
TENON_API std::optional<Limit> memory_limit() noexcept;
TENON_API std::optional<Limit> thread_limit() noexcept;

}  // namespace platform
}  // namespace v1
}  // namespace tenon
