// As rows.cl, of rows that 32 work-items hold in registers: EACH runs of 8 neighbours each, read once. LANES / 32 rows a group.
// VALUES8(to, row, at): 8 elements of a row. STORE8(v, row, at).
KERNEL {
  WARPS_MEET
  const int lane = (int)get_local_id(0) & 31, own = (int)(get_global_id(0) / 32), row = min(own, ROWS - 1);
  float v[EACH][8], center = RULE >= 2 ? 0 : -INFINITY, total = 0;
#pragma unroll
  for (int i = 0; i < EACH; ++i) {
    const int at = (i * 32 + lane) * 8;
    if (at >= COUNT) continue;
    VALUES8(v[i], row, at)
#pragma unroll
    for (int j = 0; j < 8; ++j) center = RULE == 3 ? 0 : RULE == 2 ? center + v[i][j] : tn_max(center, v[i][j]);
  }
#if RULE == 2
  JOIN_WARP(center, ADDED)
  center /= COUNT;
#elif RULE != 3
  JOIN_WARP(center, tn_max)
#endif
#pragma unroll
  for (int i = 0; i < EACH; ++i) {
    if ((i * 32 + lane) * 8 >= COUNT) continue;
#pragma unroll
    for (int j = 0; j < 8; ++j) {
      v[i][j] -= center;
      total += RULE >= 2 ? v[i][j] * v[i][j] : exp(v[i][j]);
    }
  }
  JOIN_WARP(total, ADDED)
  if (own >= ROWS) return;
#if RULE == 1
  const float scale = log(total);
#elif RULE >= 2
  const float scale = 1 / (SPREAD(total / COUNT));
#else
  const float scale = 1 / total;
#endif
#pragma unroll
  for (int i = 0; i < EACH; ++i) {
    const int at = (i * 32 + lane) * 8;
    if (at >= COUNT) continue;
#pragma unroll
    for (int j = 0; j < 8; ++j) v[i][j] = RULE == 0 ? exp(v[i][j]) * scale : RULE == 1 ? v[i][j] - scale : v[i][j] * scale;
    STORE8(v[i], row, at)
  }
}
