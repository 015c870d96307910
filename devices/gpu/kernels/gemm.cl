// A product of matrices, [M, K] by [K, N], BATCH of them. A group of LANES work-items computes TILE_M x TILE_N elements
// from tiles that it keeps in local memory; each work-item has PER_M x PER_N of them in registers.
// LEFT(batch, m, k), RIGHT(batch, k, n): elements within the matrices. STORE_AT(value, batch, m, n).
#define ACROSS (TILE_N / PER_N)
#define DOWN (TILE_M / PER_M)
#define LANES (ACROSS * DOWN)
KERNEL {
  __local float left[STEP][TILE_M + 1];
  __local float right[STEP][TILE_N + 1];
  const int lane = (int)get_local_id(0), batch = (int)get_group_id(2);
  const int m0 = (int)get_group_id(1) * TILE_M, n0 = (int)get_group_id(0) * TILE_N;
  const int y = lane / ACROSS, x = lane % ACROSS;
  float sum[PER_M][PER_N];
  for (int i = 0; i < PER_M; ++i)
    for (int j = 0; j < PER_N; ++j) sum[i][j] = 0;
  for (int k0 = 0; k0 < K; k0 += STEP) {
    // Neighbours read neighbouring addresses: along k where the left side's rows lie so.
    for (int at = lane; at < STEP * TILE_M; at += LANES) {
      const int k = LEFT_ROWS ? at % STEP : at / TILE_M, m = LEFT_ROWS ? at / STEP : at % TILE_M;
      left[k][m] = k0 + k < K && m0 + m < M ? LEFT(batch, m0 + m, k0 + k) : 0;
    }
    for (int at = lane; at < STEP * TILE_N; at += LANES) {
      const int k = RIGHT_COLUMNS ? at % STEP : at / TILE_N, n = RIGHT_COLUMNS ? at / STEP : at % TILE_N;
      right[k][n] = k0 + k < K && n0 + n < N ? RIGHT(batch, k0 + k, n0 + n) : 0;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int k = 0; k < STEP; ++k) {
      float a[PER_M], b[PER_N];
      for (int i = 0; i < PER_M; ++i) a[i] = left[k][y + i * DOWN];
      for (int j = 0; j < PER_N; ++j) b[j] = right[k][x + j * ACROSS];
      for (int i = 0; i < PER_M; ++i)
        for (int j = 0; j < PER_N; ++j) sum[i][j] = fma(a[i], b[j], sum[i][j]);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  for (int i = 0; i < PER_M; ++i)
    for (int j = 0; j < PER_N; ++j) {
      const int m = m0 + y + i * DOWN, n = n0 + x + j * ACROSS;
      if (m < M && n < N) STORE_AT(sum[i][j], batch, m, n);
    }
}
#undef ACROSS
#undef DOWN
#undef LANES
