// 32 neighbouring work-items join a value in local memory; all of the group come to the barriers.
#ifndef TN_LANES
#define TN_LANES
#define ADDED(a, b) ((a) + (b))
#define WARPS_MEET __local float meeting[LANES];
#define JOIN_WARP(value, of)                                                                 \
  {                                                                                          \
    barrier(CLK_LOCAL_MEM_FENCE);                                                            \
    meeting[get_local_id(0)] = value;                                                        \
    barrier(CLK_LOCAL_MEM_FENCE);                                                            \
    __local const float* const all = meeting + get_local_id(0) / 32 * 32;                    \
    value = all[0];                                                                          \
    for (int other = 1; other < 32; ++other) value = of(value, all[other]);                  \
  }
#endif
