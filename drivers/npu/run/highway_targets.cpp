// SPDX-License-Identifier: Apache-2.0
// The two Highway library functions that its kernels' dispatch calls. With them the driver needs no shared libhwy;
// distributions ship no static one.
#include <cstdint>

#include <hwy/targets.h>

#if HWY_ARCH_X86
#include <cpuid.h>
#endif
#ifndef HWY_SSE2  // Since Highway 1.0.4.
#define HWY_SSE2 0
#endif

namespace hwy {

ChosenTarget& GetChosenTarget() {
  static ChosenTarget chosen;
  return chosen;
}

// Each instruction set is tested by those of its extensions that a processor or its system may lack.
#if HWY_ARCH_X86
namespace {

/// A bit of ECX in a CPUID leaf, for extensions that some compilers' builtins do not know.
bool has_ecx_bit(unsigned leaf, unsigned bit) {
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
  return __get_cpuid_count(leaf, 0, &eax, &ebx, &ecx, &edx) != 0 && (ecx >> bit & 1u) != 0;
}

}  // namespace

int64_t SupportedTargets() {
  __builtin_cpu_init();
  const bool has_f16c = has_ecx_bit(1, 29), has_vaes = has_ecx_bit(7, 9), has_lzcnt = has_ecx_bit(0x80000001, 5);
  int64_t targets = HWY_SSE2 | HWY_EMU128 | HWY_SCALAR;
  if (!__builtin_cpu_supports("ssse3")) return targets;
  targets |= HWY_SSSE3;
  if (!__builtin_cpu_supports("sse4.1") || !__builtin_cpu_supports("sse4.2") || !__builtin_cpu_supports("aes") ||
      !__builtin_cpu_supports("pclmul"))
    return targets;
  targets |= HWY_SSE4;
  if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("bmi") || !__builtin_cpu_supports("bmi2") ||
      !has_lzcnt || !__builtin_cpu_supports("fma") || !has_f16c)
    return targets;
  targets |= HWY_AVX2;
  if (!__builtin_cpu_supports("avx512f") || !__builtin_cpu_supports("avx512vl") ||
      !__builtin_cpu_supports("avx512dq") || !__builtin_cpu_supports("avx512bw") || !__builtin_cpu_supports("avx512cd"))
    return targets;
  targets |= HWY_AVX3;
  if (__builtin_cpu_supports("avx512vnni") && __builtin_cpu_supports("vpclmulqdq") &&
      __builtin_cpu_supports("avx512vbmi") && __builtin_cpu_supports("avx512vbmi2") && has_vaes &&
      __builtin_cpu_supports("avx512vpopcntdq") && __builtin_cpu_supports("avx512bitalg") &&
      __builtin_cpu_supports("gfni"))
    targets |= HWY_AVX3_DL;
  return targets;
}
#else
int64_t SupportedTargets() { return HWY_STATIC_TARGET | HWY_EMU128 | HWY_SCALAR; }
#endif

}  // namespace hwy
