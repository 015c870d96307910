// A product of matrices, [M, K] by [K, N], BATCH of them. A group of LANES work-items computes TILE_M x TILE_N elements
// from tiles that it keeps in local memory; each work-item has 4 x 4 blocks of them in registers, BLOCKS_M x BLOCKS_N.
// LEFT(batch, m, k), RIGHT(batch, k, n): elements within the matrices. STORE_AT(value, batch, m, n).
#define ACROSS (TILE_N / (4 * BLOCKS_N))
#define DOWN (TILE_M / (4 * BLOCKS_M))
#define LANES (ACROSS * DOWN)
KERNEL {
  __local float left[STEP][TILE_M] __attribute__((aligned(16)));
  __local float right[STEP][TILE_N] __attribute__((aligned(16)));
  const int lane = (int)get_local_id(0), batch = (int)get_group_id(2);
  const int m0 = (int)get_group_id(1) * TILE_M, n0 = (int)get_group_id(0) * TILE_N;
  const int y = lane / ACROSS * 4, x = lane % ACROSS * 4;
  float4 sum[4 * BLOCKS_M][BLOCKS_N];
  for (int i = 0; i < 4 * BLOCKS_M; ++i)
    for (int j = 0; j < BLOCKS_N; ++j) sum[i][j] = 0;
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
#pragma unroll
    for (int k = 0; k < STEP; ++k) {
      float4 b[BLOCKS_N];
#pragma unroll
      for (int j = 0; j < BLOCKS_N; ++j) b[j] = vload4(0, &right[k][j * 4 * ACROSS + x]);
#pragma unroll
      for (int i = 0; i < BLOCKS_M; ++i) {
        const float4 a = vload4(0, &left[k][i * 4 * DOWN + y]);
#pragma unroll
        for (int j = 0; j < BLOCKS_N; ++j) {
          sum[4 * i][j] = fma((float4)(a.x), b[j], sum[4 * i][j]);
          sum[4 * i + 1][j] = fma((float4)(a.y), b[j], sum[4 * i + 1][j]);
          sum[4 * i + 2][j] = fma((float4)(a.z), b[j], sum[4 * i + 2][j]);
          sum[4 * i + 3][j] = fma((float4)(a.w), b[j], sum[4 * i + 3][j]);
        }
      }
    }
    barrier(CLK_LOCAL_MEM_FENCE);
  }
#pragma unroll
  for (int i = 0; i < 4 * BLOCKS_M; ++i)
#pragma unroll
    for (int j = 0; j < BLOCKS_N; ++j) {
      const int m = m0 + i / 4 * 4 * DOWN + y + i % 4, n = n0 + j * 4 * ACROSS + x;
      if (m >= M) continue;
      if (n < N) STORE_AT(sum[i][j].x, batch, m, n);
      if (n + 1 < N) STORE_AT(sum[i][j].y, batch, m, (n + 1));
      if (n + 2 < N) STORE_AT(sum[i][j].z, batch, m, (n + 2));
      if (n + 3 < N) STORE_AT(sum[i][j].w, batch, m, (n + 3));
    }
}
#undef ACROSS
#undef DOWN
#undef LANES
