// Attention of few queries, over a part of the keys for each group, so that a long past keeps the whole device busy. Queries of
// SHARED neighbouring batches see the same keys, which are read once for ROWS of these SHARED * M rows. Scores of TILE keys at a
// time lie in local memory, and what was summed so far shrinks when a greater one comes.
// QUERY(batch, m, d); KEY8(batch, n, d, to), VALUE8(batch, n, d, to): 8 columns, with zeros behind the last one.
// SCORE(value, batch, m, n): scaled and masked. FIRST_TOP(batch, m), FIRST_TOTAL(batch, m): before any key. STORE_AT(value, batch, m, d).
// With HAS_PARTS the groups leave in PART, PARTS for each row of queries, rows of VALUES + 2: sums, the greatest score, and the sum of
// the weights; COUNTERS, a zero for each set of rows before and after, says which group comes last and joins them.
#define KEY_LANES (LANES / TILE)
#define WARPS (LANES / 32)
#define EACH_ROW _Pragma("unroll") for (int r = 0; r < ROWS; ++r)
KERNEL {
  WARPS_MEET
#if HAS_PARTS
  __local int is_last;
#endif
  __local float query[ROWS * COLUMNS], score[ROWS][TILE], joined[LANES * 8], shrink[ROWS], total[ROWS], top[ROWS];
  const int lane = (int)get_local_id(0), warp = lane / 32;
  const int part = (int)get_group_id(0), first = (int)get_group_id(1) * ROWS, set = (int)get_group_id(2) * SHARED;
  const int begin = part * PART_KEYS, end = min(begin + PART_KEYS, N);
  for (int i = lane; i < ROWS * COLUMNS; i += LANES) {
    const int row = first + i / COLUMNS, d = i % COLUMNS;
    query[i] = row < SHARED * M && d < D ? QUERY((set + row / M), (row % M), d) : 0;
  }
  if (lane < ROWS) {
    const int row = first + lane;
    const bool begins = part == 0 && row < SHARED * M;  // What parts have seen is added up.
    top[lane] = begins ? FIRST_TOP((set + row / M), (row % M)) : -INFINITY;
    total[lane] = begins ? FIRST_TOTAL((set + row / M), (row % M)) : 0;
  }
  const int value_column = lane % VALUE_LANES * 8;
  float sums[ROWS][8];
  EACH_ROW for (int j = 0; j < 8; ++j) sums[r][j] = 0;
  for (int n0 = begin; n0 < end; n0 += TILE) {
    barrier(CLK_LOCAL_MEM_FENCE);
    {
      const int n = n0 + lane % TILE;
      float dot[ROWS];
      EACH_ROW dot[r] = 0;
      if (n < end)
        for (int d = lane / TILE * 8; d < COLUMNS; d += KEY_LANES * 8) {
          float key[8];
          KEY8(set, n, d, key)
          EACH_ROW
#pragma unroll
            for (int j = 0; j < 8; ++j) dot[r] = fma(query[r * COLUMNS + d + j], key[j], dot[r]);
        }
      EACH_ROW joined[r * LANES + lane] = dot[r];
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int r0 = 0; r0 < ROWS; r0 += WARPS) {
      // A warp for each row.
      const int r = min(r0 + warp, ROWS - 1), row = first + r;
      float own[TILE / 32], most = -INFINITY, weight = 0;
#pragma unroll
      for (int i = 0; i < TILE / 32; ++i) {
        const int k = i * 32 + lane % 32, n = n0 + k;
        float dot = 0;
        for (int j = 0; j < KEY_LANES; ++j) dot += joined[r * LANES + j * TILE + k];
        own[i] = row < SHARED * M && n < end ? SCORE(dot, (set + row / M), (row % M), n) : -INFINITY;
        most = tn_greater(most, own[i]);
      }
      JOIN_WARP(most, tn_greater)
      const float before = top[r], next = tn_greater(before, most);
#pragma unroll
      for (int i = 0; i < TILE / 32; ++i) {
        own[i] = next == -INFINITY || own[i] == -INFINITY ? 0 : exp(own[i] - next);
        weight += own[i];
      }
      JOIN_WARP(weight, ADDED)
      if (r0 + warp < ROWS) {
#pragma unroll
        for (int i = 0; i < TILE / 32; ++i) score[r][i * 32 + lane % 32] = own[i];
        if (lane % 32 == 0) {
          const float by = before == -INFINITY ? 0 : exp(before - next);
          shrink[r] = by;
          total[r] = total[r] * by + weight;
          top[r] = next;
        }
      }
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    EACH_ROW for (int j = 0; j < 8; ++j) sums[r][j] *= shrink[r];
    if (value_column < VALUES)
      for (int k = lane / VALUE_LANES; k < min(TILE, end - n0); k += LANES / VALUE_LANES) {
        float value[8];
        VALUE8(set, (n0 + k), value_column, value)
        EACH_ROW
#pragma unroll
          for (int j = 0; j < 8; ++j) sums[r][j] = fma(score[r][k], value[j], sums[r][j]);
      }
  }
  EACH_ROW {
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int j = 0; j < 8; ++j) joined[lane * 8 + j] = sums[r][j];
    barrier(CLK_LOCAL_MEM_FENCE);
    const int row = first + r;
    for (int d = lane; d < VALUES && row < SHARED * M; d += LANES) {
      float sum = 0;
      for (int i = 0; i < LANES / VALUE_LANES; ++i) sum += joined[i * VALUE_LANES * 8 + d];
#if HAS_PARTS
      PART_SET(((set * M + row) * PARTS + part) * (VALUES + 2) + d, sum);
#else
      STORE_AT((total[r] == 0 ? 0 : sum / total[r]), (set + row / M), (row % M), d);
#endif
    }
#if HAS_PARTS
    if (lane == 0 && row < SHARED * M) {
      const int at = ((set * M + row) * PARTS + part) * (VALUES + 2) + VALUES;
      PART_SET(at, top[r]);
      PART_SET(at + 1, total[r]);
    }
#endif
  }
#if HAS_PARTS
  mem_fence(CLK_GLOBAL_MEM_FENCE);
  barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
  if (lane == 0) {
    const int rows = (int)(get_group_id(2) * get_num_groups(1) + get_group_id(1));
    RELEASE_WRITES();
    is_last = atomic_inc((volatile __global int*)COUNTERS_p + rows) == PARTS - 1;
    if (is_last) COUNTERS_p[rows] = 0;
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  if (!is_last) return;
  RELEASE_WRITES();
  // Many loads are asked for before the first is waited for: what other groups left comes from memory that all share.
  for (int i = lane; i < ROWS * PARTS; i += LANES) {
    if (first + i / PARTS >= SHARED * M) continue;
    const int at = ((set * M + first) * PARTS + i) * (VALUES + 2) + VALUES;
    joined[2 * i] = ((__global const volatile float*)PART_p)[at];
    joined[2 * i + 1] = ((__global const volatile float*)PART_p)[at + 1];
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  // Always in the same order.
  for (int i = lane; i < ROWS * VALUES; i += LANES) {
    const int row = first + i / VALUES, d = i % VALUES;
    if (row >= SHARED * M) continue;
    __global const volatile float* const parts = PART_p + (set * M + row) * PARTS * (VALUES + 2) + d;
    __local const float* const weights = joined + 2 * (i / VALUES) * PARTS;
    float most = -INFINITY, sum = 0, all = 0;
    for (int p = 0; p < PARTS; ++p) most = tn_greater(most, weights[2 * p]);
    for (int p0 = 0; p0 < PARTS; p0 += 8) {
      float own[8];
#pragma unroll
      for (int j = 0; j < 8; ++j) own[j] = p0 + j < PARTS ? parts[(p0 + j) * (VALUES + 2)] : 0;
#pragma unroll
      for (int j = 0; j < 8; ++j) {
        const float top_of_part = p0 + j < PARTS ? weights[2 * (p0 + j)] : -INFINITY;
        const float by = top_of_part == -INFINITY ? 0 : exp(top_of_part - most);
        sum += by * own[j];
        all += by == 0 ? 0 : by * weights[2 * (p0 + j) + 1];
      }
    }
    STORE_AT((all == 0 ? 0 : sum / all), (set + row / M), (row % M), d);
  }
#endif
}
#undef KEY_LANES
#undef WARPS
#undef EACH_ROW
