// SPDX-License-Identifier: Apache-2.0
// Affinities of threads, which are of one group of up to 64 processors.
#include <tenon/core/platform/processors.hpp>

#include <tenon/core/platform/windows/api.hpp>

namespace tenon {
inline namespace v1 {
namespace platform {

TENON_INLINE ProcessorSet processors_of_thread() noexcept {
  GROUP_AFFINITY affinity{};
  ProcessorSet found;
  if (::GetThreadGroupAffinity(::GetCurrentThread(), &affinity) && affinity.Group < found.words.size())
    found.words[affinity.Group] = affinity.Mask;
  return found;
}
TENON_INLINE bool keep_thread_on(const ProcessorSet& processors) noexcept {
  for (std::size_t group = 0; group < processors.words.size(); ++group) {
    if (processors.words[group] == 0) continue;
    GROUP_AFFINITY wanted{};
    wanted.Group = static_cast<WORD>(group);
    wanted.Mask = processors.words[group];
    return ::SetThreadGroupAffinity(::GetCurrentThread(), &wanted, nullptr) != 0;
  }
  return false;
}

}  // namespace platform
}  // namespace v1
}  // namespace tenon
