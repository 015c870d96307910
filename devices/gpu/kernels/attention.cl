// Attention in one kernel: softmax(Q K^T * SCALE + mask) V, of f16 with sums in f32, without the scores in memory. A group
// computes TILE_M queries; TILE_N keys and their values at a time go through local memory. Heads have at most STEP columns.
// Q_p, K_p, V_p with rows Q_ROW, K_ROW, V_ROW apart; Q_BATCH(batch)...: where a batch begins.
// SCORE(value, batch, m, n): scaled and masked; STORE8_AT(v, batch, m, n).
#define KEYS_AT (TILE_M * 128)
#define VALUES_AT (KEYS_AT + TILE_N * 128)
#define SCORES_AT (VALUES_AT + TILE_N * 128)
#define COPY_ROWS(to, from, row_step, first, count, total)                                                \
  for (int i = at; i < (count)*CHUNKS; i += LANES) {                                                      \
    const int r = i / CHUNKS, c = i % CHUNKS;                                                             \
    COPY16(tiles + (to) + PLACE(r, c), (from) + ((first) + r) * (row_step) + c * 8, (first) + r < (total) && c * 8 < D); \
  }
KERNEL {
  __local uchar tiles[SCORES_AT + TILE_M * OUT_ROW * 4] __attribute__((aligned(128)));
  __local float most[TILE_M][2], factor[TILE_M], totals[TILE_M][2];
  const int at = (int)get_local_id(0), lane = at & 31, warp = at >> 5, warp_m = warp, warp_n = 0;
  const int first_row = warp * WARP_M + (lane >> 2), first_column = (lane & 3) * 2;
  const int m0 = (int)get_group_id(0) * TILE_M, batch = (int)get_group_id(2);
  __global const half* const queries = Q_p + Q_BATCH(batch);
  __global const half* const keys = K_p + K_BATCH(batch);
  __global const half* const values = V_p + V_BATCH(batch);
  __local float* const scores = (__local float*)(tiles + SCORES_AT);
  // Of a row, two work-items have each one half.
  const int row = at >> 1, part = at & 1;
  float out[PARTS_M][PARTS_N][4];
#pragma unroll
  for (int i = 0; i < PARTS_M; ++i)
#pragma unroll
    for (int j = 0; j < PARTS_N; ++j) out[i][j][0] = out[i][j][1] = out[i][j][2] = out[i][j][3] = 0;
  float largest = -INFINITY, total = 0;
  COPY_ROWS(0, queries, Q_ROW, m0, TILE_M, M)
  for (int n0 = 0; n0 < N; n0 += TILE_N) {
    COPY_ROWS(KEYS_AT, keys, K_ROW, n0, TILE_N, N)
    COPY_ROWS(VALUES_AT, values, V_ROW, n0, TILE_N, N)
    ALL_COPIES_WAIT();
    barrier(CLK_LOCAL_MEM_FENCE);
    float sum[PARTS_M][PARTS_N][4];
#pragma unroll
    for (int i = 0; i < PARTS_M; ++i)
#pragma unroll
      for (int j = 0; j < PARTS_N; ++j) sum[i][j][0] = sum[i][j][1] = sum[i][j][2] = sum[i][j][3] = 0;
    MULTIPLY_TILES(sum, tiles, (tiles + KEYS_AT));
#pragma unroll
    for (int i = 0; i < PARTS_M; ++i)
#pragma unroll
      for (int j = 0; j < PARTS_N; ++j) {
        __local float* const to = scores + (first_row + i * 16) * OUT_ROW + first_column + j * 8;
        to[0] = sum[i][j][0];
        to[1] = sum[i][j][1];
        to[8 * OUT_ROW] = sum[i][j][2];
        to[8 * OUT_ROW + 1] = sum[i][j][3];
      }
    barrier(CLK_LOCAL_MEM_FENCE);
    __local float* const mine = scores + row * OUT_ROW + part;
    float top = -INFINITY;
    for (int i = 0; i < TILE_N; i += 2) {
      const int n = n0 + i + part;
      const float score = n < N && m0 + row < M ? SCORE(mine[i], batch, m0 + row, n) : -INFINITY;
      mine[i] = score;
      top = max(top, score);
    }
    most[row][part] = top;
    barrier(CLK_LOCAL_MEM_FENCE);
    const float next = max(largest, max(most[row][0], most[row][1]));
    const float shrink = next == -INFINITY ? 1 : exp(largest - next);
    largest = next;
    total *= shrink;
    if (part == 0) factor[row] = shrink;
    // Weights take the place of the keys.
    for (int i = 0; i < TILE_N; i += 2) {
      const float weight = next == -INFINITY ? 0 : exp(mine[i] - next);
      total += weight;
      const int n = i + part;
      vstore_half_rte(weight, n & 7, (__local half*)(tiles + KEYS_AT + PLACE(row, n >> 3)));
    }
    barrier(CLK_LOCAL_MEM_FENCE);
#pragma unroll
    for (int i = 0; i < PARTS_M; ++i) {
      const float low = factor[first_row + i * 16], high = factor[first_row + i * 16 + 8];
#pragma unroll
      for (int j = 0; j < PARTS_N; ++j) {
        out[i][j][0] *= low;
        out[i][j][1] *= low;
        out[i][j][2] *= high;
        out[i][j][3] *= high;
      }
    }
    MULTIPLY_TILES_TURNED(out, (tiles + KEYS_AT), (tiles + VALUES_AT));
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  totals[row][part] = total;
#pragma unroll
  for (int i = 0; i < PARTS_M; ++i)
#pragma unroll
    for (int j = 0; j < PARTS_N; ++j) {
      __local float* const to = scores + (first_row + i * 16) * OUT_ROW + first_column + j * 8;
      to[0] = out[i][j][0];
      to[1] = out[i][j][1];
      to[8 * OUT_ROW] = out[i][j][2];
      to[8 * OUT_ROW + 1] = out[i][j][3];
    }
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int i = at; i < TILE_M * (D / 8); i += LANES) {
    const int r = i / (D / 8), n = i % (D / 8) * 8;
    if (m0 + r >= M) continue;
    const float all = totals[r][0] + totals[r][1], scale = all > 0 ? 1 / all : 0;
    float v[8];
#pragma unroll
    for (int j = 0; j < 8; ++j) v[j] = scores[r * OUT_ROW + n + j] * scale;
    STORE8_AT(v, batch, m0 + r, n);
  }
}
#undef KEYS_AT
#undef VALUES_AT
#undef SCORES_AT
#undef COPY_ROWS
