// A product whose left side has few rows: as fast as the right side is read. A warp computes COLUMNS columns of all ROWS rows, or
// SHARE warps of a group share them, each of which has every SHARE-th run of k. With two SIDES there are two products of one left
// side, and STORE_AT sees the second one's value as `second`.
// A_p, A_BATCH(batch), A_PLACE(m); RIGHT8(batch, n, k, to), SECOND_RIGHT8(batch, n, k, to): 8 neighbours along k.
// STORE_AT(value, batch, m, n). EARLY_ROW(batch, n), EARLY_BYTES, SECOND_...: see early_nvidia.cl.
// HAS_NORM: a row is divided by the root of its mean square, SPREAD(mean), and multiplied by GAIN8(k, to) before. The sums are
// divided instead, since all of the row was read by then: its squares are one more sum.
// meeting: see lanes_portable.cl. shared[]: the sums of a group's warps.
#define SUMS (COLUMNS * SIDES + HAS_NORM)
#if SHARE > 1
#define TAKE(value, c) for (int w = 0; w < SHARE; ++w) value += shared[((warp + w) * ROWS + m) * SUMS + (c)];
#else
#define TAKE(value, c)                                                                   \
  _Pragma("unroll") for (int at = 0; at < ROWS * SUMS; ++at) \
    if (at == m * SUMS + (c)) value = sum[at / SUMS][at % SUMS];
#endif
KERNEL {
  const int lane = (int)get_local_id(0) & 31, warp = (int)get_local_id(0) >> 5, batch = (int)get_group_id(1);
  const int n0 = (GROUP * (LANES / 32) + warp) / SHARE * COLUMNS;
#ifdef EARLY_ROW
#pragma unroll
  for (int c = 0; c < COLUMNS; ++c) {
    const int n = min(n0 + c, N - 1), first = warp % SHARE * 32 + lane;
    READ_EARLY(EARLY_ROW(batch, n), EARLY_BYTES, first, SHARE * 32)
#if SIDES > 1
    READ_EARLY(SECOND_EARLY_ROW(batch, n), SECOND_EARLY_BYTES, first, SHARE * 32)
#endif
  }
  WAIT_FOR_KERNELS();
#endif
  const int a0 = A_BATCH(batch);
  float sum[ROWS][SUMS];
#pragma unroll
  for (int m = 0; m < ROWS; ++m)
#pragma unroll
    for (int c = 0; c < SUMS; ++c) sum[m][c] = 0;
#pragma unroll UNROLL
  for (int k = (warp % SHARE * 32 + lane) * 8; k < K; k += SHARE * 256) {
    float right[COLUMNS * SIDES][8];
#pragma unroll
    for (int c = 0; c < COLUMNS; ++c) {
      const int n = min(n0 + c, N - 1);
      RIGHT8(batch, n, k, right[c])
#if SIDES > 1
      SECOND_RIGHT8(batch, n, k, right[COLUMNS + c])
#endif
    }
#if HAS_NORM
    float gain[8];
    GAIN8(k, gain)
#endif
#pragma unroll
    for (int m = 0; m < ROWS; ++m) {
      float left[8];
      const int row = min(m, M - 1), place = a0 + A_PLACE(row) + k;
      A_LOAD8(place, left);
#if HAS_NORM
#pragma unroll
      for (int j = 0; j < 8; ++j) {
        sum[m][SUMS - 1] = fma(left[j], left[j], sum[m][SUMS - 1]);
        left[j] *= gain[j];
      }
#endif
#pragma unroll
      for (int c = 0; c < COLUMNS * SIDES; ++c)
#pragma unroll
        for (int j = 0; j < 8; ++j) sum[m][c] = fma(left[j], right[c][j], sum[m][c]);
    }
  }
#pragma unroll
  for (int m = 0; m < ROWS; ++m)
#pragma unroll
    for (int c = 0; c < SUMS; ++c) {
      JOIN_WARP(sum[m][c], ADDED)
#if SHARE > 1
      if (lane == 0) shared[(warp * ROWS + m) * SUMS + c] = sum[m][c];
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
    TAKE(value, c)
#if SIDES > 1
    float second = 0;
    TAKE(second, COLUMNS + c)
#endif
#if HAS_NORM
    float squares = 0;
    TAKE(squares, SUMS - 1)
    const float by = 1 / SPREAD(squares / K);
    value *= by;
#if SIDES > 1
    second *= by;
#endif
#endif
    STORE_AT(value, batch, m, (n0 + c));
  }
}
#undef SUMS
#undef TAKE
