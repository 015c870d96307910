// A product whose left side has few rows: as fast as the right side is read. A warp computes COLUMNS columns of all ROWS rows, or
// SHARE warps of a group share them, each of which has every SHARE-th run of k.
// A_p, A_BATCH(batch), A_PLACE(m); RIGHT8(batch, n, k, to): 8 neighbours along k. STORE_AT(value, batch, m, n).
// EARLY_ROW(batch, n), EARLY_BYTES: see early_nvidia.cl. meeting: see lanes_portable.cl. shared[]: the sums of a group's warps.
KERNEL {
  const int lane = (int)get_local_id(0) & 31, warp = (int)get_local_id(0) >> 5, batch = (int)get_group_id(1);
  const int n0 = (GROUP * (LANES / 32) + warp) / SHARE * COLUMNS;
#ifdef EARLY_ROW
#pragma unroll
  for (int c = 0; c < COLUMNS; ++c) READ_EARLY(EARLY_ROW(batch, min(n0 + c, N - 1)), EARLY_BYTES, warp % SHARE * 32 + lane, SHARE * 32)
  WAIT_FOR_KERNELS();
#endif
  const int a0 = A_BATCH(batch);
  float sum[ROWS][COLUMNS];
#pragma unroll
  for (int m = 0; m < ROWS; ++m)
#pragma unroll
    for (int c = 0; c < COLUMNS; ++c) sum[m][c] = 0;
#pragma unroll UNROLL
  for (int k = (warp % SHARE * 32 + lane) * 8; k < K; k += SHARE * 256) {
    float right[COLUMNS][8];
#pragma unroll
    for (int c = 0; c < COLUMNS; ++c) {
      const int n = min(n0 + c, N - 1);
      RIGHT8(batch, n, k, right[c])
    }
#pragma unroll
    for (int m = 0; m < ROWS; ++m) {
      float left[8];
      const int row = min(m, M - 1), place = a0 + A_PLACE(row) + k;
      A_LOAD8(place, left);
#pragma unroll
      for (int c = 0; c < COLUMNS; ++c)
#pragma unroll
        for (int j = 0; j < 8; ++j) sum[m][c] = fma(left[j], right[c][j], sum[m][c]);
    }
  }
#pragma unroll
  for (int m = 0; m < ROWS; ++m)
#pragma unroll
    for (int c = 0; c < COLUMNS; ++c) {
      JOIN_WARP(sum[m][c], ADDED)
#if SHARE > 1
      if (lane == 0) shared[(warp * ROWS + m) * COLUMNS + c] = sum[m][c];
#endif
    }
#if SHARE > 1
  barrier(CLK_LOCAL_MEM_FENCE);
  if (warp % SHARE != 0) return;
#endif
  for (int i = lane; i < ROWS * COLUMNS; i += 32) {
    const int m = i / COLUMNS, c = i % COLUMNS;
    if (m >= M || n0 + c >= N) continue;
    float value = 0;
#if SHARE > 1
    for (int w = 0; w < SHARE; ++w) value += shared[((warp + w) * ROWS + m) * COLUMNS + c];
#else
#pragma unroll
    for (int at = 0; at < ROWS * COLUMNS; ++at)
      if (at == i) value = sum[at / COLUMNS][at % COLUMNS];
#endif
    STORE_AT(value, batch, m, (n0 + c));
  }
}
