// SPDX-License-Identifier: Apache-2.0
// The first thread, and functions that exit() calls before it ends the other threads.
#include <tenon/core/platform/process.hpp>

#include <tenon/core/platform/windows/api.hpp>

#include <cstdlib>

namespace tenon {
inline namespace v1 {
namespace platform {
namespace detail {

inline const DWORD main_thread = ::GetCurrentThreadId();

using Function = void (*)();
/// What the C library calls in exit(). It calls what a DLL's own atexit() has registered when the DLL is unloaded, without the other threads.
/// The library is the one that this DLL was linked with.
TENON_INLINE bool register_with_program(Function function) noexcept {
  const auto find = [](const wchar_t* library, const char* name) {
    const HMODULE module = ::GetModuleHandleW(library);
    return module ? reinterpret_cast<void*>(::GetProcAddress(module, name)) : nullptr;
  };
#ifdef _UCRT
  using AtExit = int(__cdecl*)(Function);
  const auto at_exit = reinterpret_cast<AtExit>(find(L"ucrtbase.dll", "_crt_atexit"));
  return at_exit && at_exit(function) == 0;
#else
  using OnExit = Function(__cdecl*)(Function);
  const auto on_exit = reinterpret_cast<OnExit>(find(L"msvcrt.dll", "_onexit"));
  return on_exit && on_exit(function) != nullptr;
#endif
}

}  // namespace detail

TENON_INLINE bool is_main_thread() noexcept { return ::GetCurrentThreadId() == detail::main_thread; }
TENON_INLINE bool at_exit(void (*function)()) noexcept {
  return detail::register_with_program(function) || std::atexit(function) == 0;
}
TENON_INLINE std::optional<Limit> memory_limit() noexcept { return std::nullopt; }
TENON_INLINE std::optional<Limit> thread_limit() noexcept { return std::nullopt; }

}  // namespace platform
}  // namespace v1
}  // namespace tenon
