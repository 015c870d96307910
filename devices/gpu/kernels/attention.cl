// Attention in one kernel: softmax(Q K^T * SCALE + mask) V, of f16 with sums in f32, without the scores in memory. A group
// computes TILE_M queries, each warp WARP_M of them; TILE_N keys and their values at a time go through local memory, the next
// ones while these are multiplied. WARPS_N warps share a row of queries: each has WARP_N of the keys, and their sums are joined at the end.
// Scores and weights stay with the work-items that have summed them: of a row, four neighbours. Heads have at most STEP columns.
// Q_p, K_p, V_p with rows Q_ROW, K_ROW, V_ROW apart; Q_BATCH(batch)...: where a batch begins.
// SCORE_OF(value, mask, m, n): scaled by SCALE_NOW and masked by a MASK_T, MASK_AT(batch, m, n); FIRST_TOP(batch, m), FIRST_TOTAL(batch, m): a
// row's greatest score and sum of weights before any key. STORE8_AT(v, batch, m, n).
#define KEYS_AT(slot) (TILE_M * 128 + (slot)*TILE_N * 256)
#define VALUES_AT(slot) (KEYS_AT(slot) + TILE_N * 128)
#define COPY_ROWS(to, from, row_step, first, count, total)                                                \
  for (int i = at; i < (count)*CHUNKS; i += LANES) {                                                      \
    const int r = i / CHUNKS, c = i % CHUNKS;                                                             \
    COPY16(tiles + (to) + PLACE(r, c), (from) + ((first) + r) * (row_step) + c * 8, (first) + r < (total) && c * 8 < D); \
  }
#define EACH_ROW _Pragma("unroll") for (int i = 0; i < PARTS_M; ++i) _Pragma("unroll") for (int h = 0; h < 2; ++h)
#define VALUE_PARTS (STEP / 8)
#define RESULTS_BYTES (TILE_M * (OUT_ROW + 2) * 4)
#define LOG2_E 1.44269504f
// What sums beside a greatest score of `before` are multiplied by where it is `next`.
#define SHRINK(before, next) native_exp2(fma(before, LOG2_E, (next) == -INFINITY ? 0 : -(next)*LOG2_E))
KERNEL {
  __local uchar tiles[KEYS_AT(2) > RESULTS_BYTES ? KEYS_AT(2) : RESULTS_BYTES] __attribute__((aligned(1024)));
  QUADS
  const int at = (int)get_local_id(0), lane = at & 31, warp = at >> 5, warp_m = warp % WARPS_M, warp_n = warp / WARPS_M;
  const int warp_row = WARP_ROW, first_row = warp_row + (lane >> 2);
  const int value_column = (lane & 3) * 2, first_column = warp_n * WARP_N + value_column;  // Of values, and of keys.
  const float scale = SCALE_NOW;
#undef SCALE_NOW
#define SCALE_NOW scale
  const int m0 = (int)get_group_id(0) * TILE_M, batch = (int)get_group_id(2);
  const bool is_idle = IS_IDLE_WARP(m0 + warp_row >= M);
  __global const half* const queries = Q_p + Q_BATCH(batch);
  __global const half* const keys = K_p + K_BATCH(batch);
  __global const half* const values = V_p + V_BATCH(batch);
  float out[PARTS_M][VALUE_PARTS][4], largest[PARTS_M][2], total[PARTS_M][2];
  EACH_ROW {
    const int m = m0 + first_row + i * 16 + h * 8;
    largest[i][h] = m < M && warp_n == 0 ? FIRST_TOP(batch, m) : -INFINITY;
    total[i][h] = m < M && warp_n == 0 && (lane & 3) == 0 ? FIRST_TOTAL(batch, m) : 0;  // A row's four are added up.
  }
#pragma unroll
  for (int i = 0; i < PARTS_M; ++i)
#pragma unroll
    for (int j = 0; j < VALUE_PARTS; ++j) out[i][j][0] = out[i][j][1] = out[i][j][2] = out[i][j][3] = 0;
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
    // On their way while keys and values are.
    MASK_T mask[PARTS_M][PARTS_N][4];
#pragma unroll
    for (int i = 0; i < PARTS_M; ++i)
#pragma unroll
      for (int j = 0; j < PARTS_N; ++j)
#pragma unroll
        for (int c = 0; c < 4; ++c)
          mask[i][j][c] = MASK_AT(batch, (min(m0 + first_row + i * 16 + c / 2 * 8, M - 1)), (min(n0 + first_column + j * 8 + c % 2, N - 1)));
    COPIES_WAIT_BUT(1);
    barrier(CLK_LOCAL_MEM_FENCE);
    if (!is_idle) {
      float sum[PARTS_M][PARTS_N][4], top[PARTS_M][2];
#pragma unroll
      for (int i = 0; i < PARTS_M; ++i)
#pragma unroll
        for (int j = 0; j < PARTS_N; ++j) sum[i][j][0] = sum[i][j][1] = sum[i][j][2] = sum[i][j][3] = 0;
      MULTIPLY_TILES_UP_TO(sum, tiles, (tiles + KEYS_AT(slot)), N - n0 - warp_n * WARP_N);
      EACH_ROW {
        const int m = m0 + first_row + i * 16 + h * 8;
        top[i][h] = -INFINITY;
#pragma unroll
        for (int j = 0; j < PARTS_N; ++j)
#pragma unroll
          for (int c = 0; c < 2; ++c) {
            const int n = n0 + first_column + j * 8 + c;
            const float score = n < N && m < M ? SCORE_OF(sum[i][j][2 * h + c], mask[i][j][2 * h + c], m, n) : -INFINITY;
            sum[i][j][2 * h + c] = score;
            top[i][h] = max(top[i][h], score);
          }
      }
      JOIN_QUADS(top, max);
      EACH_ROW {
        const float next = max(largest[i][h], top[i][h]), shift = next == -INFINITY ? 0 : next * LOG2_E;
        const float shrink = SHRINK(largest[i][h], next);
        largest[i][h] = next;
        total[i][h] *= shrink;
#pragma unroll
        for (int j = 0; j < PARTS_N; ++j)
#pragma unroll
          for (int c = 0; c < 2; ++c) {
            const float weight = native_exp2(fma(sum[i][j][2 * h + c], LOG2_E, -shift));
            sum[i][j][2 * h + c] = weight;
            total[i][h] += weight;
          }
#pragma unroll
        for (int j = 0; j < VALUE_PARTS; ++j) out[i][j][2 * h] *= shrink, out[i][j][2 * h + 1] *= shrink;
      }
      MULTIPLY_WEIGHTS(out, sum, (tiles + KEYS_AT(slot)), (tiles + VALUES_AT(slot)), N - n0 - warp_n * WARP_N);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  JOIN_QUADS(total, SUM_OF);
  __local float* const results = (__local float*)tiles;
#if WARPS_N > 1
  // The second warp of a row leaves its part to the first one.
  __local float* const parts = results + TILE_M * OUT_ROW;
  EACH_ROW {
    const int row = first_row + i * 16 + h * 8;
    if (warp_n == 1) {
      parts[row * 2] = largest[i][h];
      parts[row * 2 + 1] = total[i][h];
#pragma unroll
      for (int j = 0; j < VALUE_PARTS; ++j)
#pragma unroll
        for (int c = 0; c < 2; ++c) results[row * OUT_ROW + value_column + j * 8 + c] = out[i][j][2 * h + c];
    }
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  EACH_ROW {
    const int row = first_row + i * 16 + h * 8;
    if (warp_n == 0) {
      const float next = max(largest[i][h], parts[row * 2]), by = SHRINK(largest[i][h], next), other = SHRINK(parts[row * 2], next);
      total[i][h] = total[i][h] * by + parts[row * 2 + 1] * other;
#pragma unroll
      for (int j = 0; j < VALUE_PARTS; ++j)
#pragma unroll
        for (int c = 0; c < 2; ++c)
          out[i][j][2 * h + c] = out[i][j][2 * h + c] * by + results[row * OUT_ROW + value_column + j * 8 + c] * other;
    }
  }
#endif
  EACH_ROW {
    if (warp_n > 0) continue;
    const float scale_of_row = total[i][h] == 0 ? 0 : 1 / total[i][h];
#pragma unroll
    for (int j = 0; j < VALUE_PARTS; ++j) {
      __local float* const to = results + (first_row + i * 16 + h * 8) * OUT_ROW + value_column + j * 8;
      to[0] = out[i][j][2 * h] * scale_of_row;
      to[1] = out[i][j][2 * h + 1] * scale_of_row;
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
#undef VALUE_PARTS
#undef RESULTS_BYTES
#undef LOG2_E
#undef SHRINK
