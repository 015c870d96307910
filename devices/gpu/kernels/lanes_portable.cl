// 32 neighbouring work-items join values in local memory; or TEAM of them. All of the group come to the barriers. Teams do not join here.
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
#define JOIN_WARPS(values, count) \
  for (int at = 0; at < (count); ++at) JOIN_WARP((values)[at], ADDED)
#define JOIN_TEAMS(values, count, team, memory)                                                 \
  {                                                                                             \
    barrier(CLK_LOCAL_MEM_FENCE);                                                               \
    for (int at = 0; at < (count); ++at) memory[at * LANES + get_local_id(0)] = (values)[at];   \
    barrier(CLK_LOCAL_MEM_FENCE);                                                               \
    for (int at = 0; at < (count); ++at) {                                                      \
      __local const float* const all = memory + at * LANES + get_local_id(0) / (team) * (team); \
      (values)[at] = all[0];                                                                    \
      for (int other = 1; other < (team); ++other) (values)[at] += all[other];                  \
    }                                                                                           \
  }
#define JOIN_APART(values, count, of, team)
#define SPAN_OF(team) (team)
#define MEETING(count) ((count) * LANES)
#endif
