// SPDX-License-Identifier: Apache-2.0
// Threads, atexit and limits of resources.
#include <tenon/core/platform/process.hpp>

#include <sys/resource.h>
#include <unistd.h>

#include <cstdlib>

namespace tenon {
inline namespace v1 {
namespace platform {
namespace detail {

TENON_INLINE std::optional<Limit> limit_of(const char* name, decltype(RLIMIT_AS) which) noexcept {
  rlimit limit{};
  if (::getrlimit(which, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return std::nullopt;
  return Limit{name, static_cast<std::uint64_t>(limit.rlim_cur)};
}

}  // namespace detail

TENON_INLINE bool is_main_thread() noexcept { return ::getpid() == ::gettid(); }
TENON_INLINE bool at_exit(void (*function)()) noexcept { return std::atexit(function) == 0; }
TENON_INLINE std::optional<Limit> memory_limit() noexcept { return detail::limit_of("RLIMIT_AS", RLIMIT_AS); }
TENON_INLINE std::optional<Limit> thread_limit() noexcept { return detail::limit_of("RLIMIT_NPROC", RLIMIT_NPROC); }

}  // namespace platform
}  // namespace v1
}  // namespace tenon
