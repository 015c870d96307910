// SPDX-License-Identifier: Apache-2.0
// Affinities of threads, where the system has them.
#include <tenon/core/platform/processors.hpp>

#include <sched.h>

#include <cstring>

namespace tenon {
inline namespace v1 {
namespace platform {

#ifdef __linux__
static_assert(sizeof(cpu_set_t) == sizeof(ProcessorSet::words) && CPU_SETSIZE == ProcessorSet::kMost);

TENON_INLINE ProcessorSet processors_of_thread() noexcept {
  cpu_set_t all;
  ProcessorSet found;
  if (::sched_getaffinity(0, sizeof all, &all) == 0) std::memcpy(found.words.data(), &all, sizeof all);
  return found;
}
TENON_INLINE bool keep_thread_on(const ProcessorSet& processors) noexcept {
  cpu_set_t wanted;
  std::memcpy(&wanted, processors.words.data(), sizeof wanted);
  return ::sched_setaffinity(0, sizeof wanted, &wanted) == 0;
}
#else
TENON_INLINE ProcessorSet processors_of_thread() noexcept { return {}; }
TENON_INLINE bool keep_thread_on(const ProcessorSet& /*processors*/) noexcept { return false; }
#endif

}  // namespace platform
}  // namespace v1
}  // namespace tenon
