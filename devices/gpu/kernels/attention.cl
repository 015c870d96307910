// Attention in one kernel: softmax(Q K^T * SCALE + mask) V, of f16 with sums in f32, without the scores in memory. A group
// computes TILE_M queries, each warp WARP_M of them; TILE_N keys and their values at a time go through local memory, the next
// ones while these are multiplied. Scores and weights stay with the work-items that have summed them: of a row, four
// neighbours. Heads have at most STEP columns.
// Q_p, K_p, V_p with rows Q_ROW, K_ROW, V_ROW apart; Q_BATCH(batch)...: where a batch begins.
// SCORE(value, batch, m, n): scaled and masked; FIRST_TOP(batch, m), FIRST_TOTAL(batch, m): a row's greatest score and sum of weights before
// any key. STORE8_AT(v, batch, m, n).
#define KEYS_AT(slot) (TILE_M * 128 + (slot)*TILE_N * 256)
#define VALUES_AT(slot) (KEYS_AT(slot) + TILE_N * 128)
#define COPY_ROWS(to, from, row_step, first, count, total)                                                \
  for (int i = at; i < (count)*CHUNKS; i += LANES) {                                                      \
    const int r = i / CHUNKS, c = i % CHUNKS;                                                             \
    COPY16(tiles + (to) + PLACE(r, c), (from) + ((first) + r) * (row_step) + c * 8, (first) + r < (total) && c * 8 < D); \
  }
#define EACH_ROW _Pragma("unroll") for (int i = 0; i < PARTS_M; ++i) _Pragma("unroll") for (int h = 0; h < 2; ++h)
#define LOG2_E 1.44269504f
KERNEL {
  __local uchar tiles[KEYS_AT(2) > TILE_M * OUT_ROW * 4 ? KEYS_AT(2) : TILE_M * OUT_ROW * 4] __attribute__((aligned(1024)));
  QUADS
  const int at = (int)get_local_id(0), lane = at & 31, warp = at >> 5, warp_n = 0;
  const int warp_row = WARP_ROW, first_row = warp_row + (lane >> 2), first_column = (lane & 3) * 2;
  const int m0 = (int)get_group_id(0) * TILE_M, batch = (int)get_group_id(2);
  const bool is_idle = IS_IDLE_WARP(m0 + warp_row >= M);
  __global const half* const queries = Q_p + Q_BATCH(batch);
  __global const half* const keys = K_p + K_BATCH(batch);
  __global const half* const values = V_p + V_BATCH(batch);
  float out[PARTS_M][PARTS_N][4], largest[PARTS_M][2], total[PARTS_M][2];
  EACH_ROW {
    const int m = m0 + first_row + i * 16 + h * 8;
    largest[i][h] = m < M ? FIRST_TOP(batch, m) : -INFINITY;
    total[i][h] = m < M && (lane & 3) == 0 ? FIRST_TOTAL(batch, m) : 0;  // A row's four are added up.
  }
#pragma unroll
  for (int i = 0; i < PARTS_M; ++i)
#pragma unroll
    for (int j = 0; j < PARTS_N; ++j) out[i][j][0] = out[i][j][1] = out[i][j][2] = out[i][j][3] = 0;
  COPY_ROWS(0, queries, Q_ROW, m0, TILE_M, M)
  COPY_ROWS(KEYS_AT(0), keys, K_ROW, 0, TILE_N, N)
  COPY_ROWS(VALUES_AT(0), values, V_ROW, 0, TILE_N, N)
  COPIES_END();
  for (int n0 = 0, slot = 0; n0 < N; n0 += TILE_N, slot ^= 1) {
    if (n0 + TILE_N < N) {
      COPY_ROWS(KEYS_AT(slot ^ 1), keys, K_ROW, n0 + TILE_N, TILE_N, N)
      COPY_ROWS(VALUES_AT(slot ^ 1), values, V_ROW, n0 + TILE_N, TILE_N, N)
    }
    COPIES_END();
    COPIES_WAIT_BUT(1);
    barrier(CLK_LOCAL_MEM_FENCE);
    if (!is_idle) {
      float sum[PARTS_M][PARTS_N][4], top[PARTS_M][2];
#pragma unroll
      for (int i = 0; i < PARTS_M; ++i)
#pragma unroll
        for (int j = 0; j < PARTS_N; ++j) sum[i][j][0] = sum[i][j][1] = sum[i][j][2] = sum[i][j][3] = 0;
      MULTIPLY_TILES_UP_TO(sum, tiles, (tiles + KEYS_AT(slot)), N - n0);
      EACH_ROW {
        const int m = m0 + first_row + i * 16 + h * 8;
        top[i][h] = -INFINITY;
#pragma unroll
        for (int j = 0; j < PARTS_N; ++j)
#pragma unroll
          for (int c = 0; c < 2; ++c) {
            const int n = n0 + first_column + j * 8 + c;
            const float score = n < N && m < M ? SCORE(sum[i][j][2 * h + c], batch, m, n) : -INFINITY;
            sum[i][j][2 * h + c] = score;
            top[i][h] = max(top[i][h], score);
          }
      }
      JOIN_QUADS(top, max);
      EACH_ROW {
        const float next = max(largest[i][h], top[i][h]), shift = next == -INFINITY ? 0 : next * LOG2_E;
        const float shrink = native_exp2(fma(largest[i][h], LOG2_E, -shift));
        largest[i][h] = next;
        total[i][h] *= shrink;
#pragma unroll
        for (int j = 0; j < PARTS_N; ++j)
#pragma unroll
          for (int c = 0; c < 2; ++c) {
            const float weight = native_exp2(fma(sum[i][j][2 * h + c], LOG2_E, -shift));
            sum[i][j][2 * h + c] = weight;
            total[i][h] += weight;
            out[i][j][2 * h + c] *= shrink;
          }
      }
      MULTIPLY_WEIGHTS(out, sum, (tiles + KEYS_AT(slot)), (tiles + VALUES_AT(slot)), N - n0);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  JOIN_QUADS(total, SUM_OF);
  __local float* const results = (__local float*)tiles;
  EACH_ROW {
    const float scale = total[i][h] == 0 ? 0 : 1 / total[i][h];
#pragma unroll
    for (int j = 0; j < PARTS_N; ++j) {
      __local float* const to = results + (first_row + i * 16 + h * 8) * OUT_ROW + first_column + j * 8;
      to[0] = out[i][j][2 * h] * scale;
      to[1] = out[i][j][2 * h + 1] * scale;
    }
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int i = at; i < TILE_M * (D / 8); i += LANES) {
    const int r = i / (D / 8), n = i % (D / 8) * 8;
    if (m0 + r >= M) continue;
    float v[8];
#pragma unroll
    for (int j = 0; j < 8; ++j) v[j] = results[r * OUT_ROW + n + j];
    STORE8_AT(v, batch, m0 + r, n);
  }
}
#undef KEYS_AT
#undef VALUES_AT
#undef COPY_ROWS
#undef EACH_ROW
#undef LOG2_E
