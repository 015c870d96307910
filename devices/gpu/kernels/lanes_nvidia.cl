// 32 neighbouring work-items, a warp, join a value.
#ifndef TN_LANES
#define TN_LANES
#define ADDED(a, b) ((a) + (b))
#define WARPS_MEET
#define JOIN_WARP(value, of)                                                                                 \
  _Pragma("unroll") for (int width = 16; width > 0; width /= 2) {                                            \
    float other;                                                                                             \
    asm volatile("shfl.sync.bfly.b32 %0, %1, %2, 0x1f, 0xffffffff;" : "=f"(other) : "f"(value), "r"(width)); \
    value = of(value, other);                                                                                \
  }
#endif
