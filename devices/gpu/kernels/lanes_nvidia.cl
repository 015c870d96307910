// 32 neighbouring work-items, a warp, join values; or TEAM of them, a power of two; or, apart, those of a warp's teams that have the
// same place. Each step is asked for all values before the first is waited for.
#ifndef TN_LANES
#define TN_LANES
#define ADDED(a, b) ((a) + (b))
#define WARPS_MEET
#define JOIN_LANES(values, count, of, widest, least)                                                                     \
  _Pragma("unroll") for (int width = (widest) / 2; width >= (least); width /= 2) {                                       \
    float others[count];                                                                                                 \
    _Pragma("unroll") for (int at = 0; at < (count); ++at)                                                               \
      asm volatile("shfl.sync.bfly.b32 %0, %1, %2, 0x1f, 0xffffffff;" : "=f"(others[at]) : "f"((values)[at]), "r"(width)); \
    _Pragma("unroll") for (int at = 0; at < (count); ++at)(values)[at] = of((values)[at], others[at]);                   \
  }
#define JOIN_WARP(value, of) JOIN_LANES(&(value), 1, of, 32, 1)
#define JOIN_WARPS(values, count) JOIN_LANES(values, count, ADDED, 32, 1)
#define JOIN_TEAMS(values, count, team, memory) JOIN_LANES(values, count, ADDED, team, 1)
#define JOIN_APART(values, count, of, team) JOIN_LANES(values, count, of, 32, team)
#define SPAN_OF(team) 32
#define MEETING(count) 0
#endif
