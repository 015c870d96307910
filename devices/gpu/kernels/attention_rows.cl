// Attention of few queries, over a part of the keys for each group, so that a long past keeps the whole device busy. Queries of
// SHARED neighbouring batches see the same keys; a group has ROWS of these SHARED * M rows. TEAM work-items have a key and its value,
// 8 columns each, and AT_ONCE of these are asked for before the first is used. Each team sums up for itself, and what it has shrinks
// when a greater score comes: until the group's teams join at the end, nothing but a key's score is waited for.
// QUERY8(batch, m, d, to), KEY8(batch, n, d, to), VALUE8(batch, n, d, to): 8 columns, with zeros behind the last one.
// MASK_AT(batch, m, n), a MASK_T; SCORE_OF(value, mask, m, n): scaled and masked. FIRST_TOP(batch, m), FIRST_TOTAL(batch, m): before
// any key. STORE_AT(value, batch, m, d).
// With HAS_PARTS the groups leave in PART, PARTS for each set of rows, sums of ROWS rows of VALUES, their greatest scores, and the
// sums of their weights; COUNTERS, a zero for each set of rows before and after, says which group comes last and joins them.
// EARLY_KEY(batch, n), EARLY_VALUE(batch, n), EARLY_BYTES: see early_nvidia.cl.
#define TEAMS (LANES / TEAM)
#define STEP (TEAMS * AT_ONCE)
#define BATCH_OF(row) (M == 1 ? (row) : (row) / M)
#define ROW_OF(row) (M == 1 ? 0 : (row) % M)
// Neighbouring teams that join by themselves, and what they have in local memory, of so many rows at a time: a little more than there
// is for each column, so that columns lie in different banks.
#define SPAN SPAN_OF(TEAM)
#define SPANS (LANES / SPAN)
#define JOINED_ROWS (ROWS < 4 ? ROWS : 4)
#define PITCH (SPANS * TEAM + 4)
#define JOINED_SIZE (JOINED_ROWS * 8 * PITCH > MEETING(AT_ONCE * ROWS) ? JOINED_ROWS * 8 * PITCH : MEETING(AT_ONCE * ROWS))
#define PART_SIZE (ROWS * (VALUES + 2))
#define RESULTS (ROWS * VALUES)
// Results of a work-item, and parts of them that are read at once.
#define ITEMS ((RESULTS + LANES - 1) / LANES)
#define AT_A_TIME (ITEMS > 2 ? 4 : ITEMS > 1 ? 8 : 16)
#define EACH_ROW _Pragma("unroll") for (int r = 0; r < ROWS; ++r)
#define EACH_COLUMN _Pragma("unroll") for (int j = 0; j < 8; ++j)
#define EACH_KEY _Pragma("unroll") for (int u = 0; u < AT_ONCE; ++u)
#define EACH_SPAN _Pragma("unroll") for (int s = 0; s < SPANS; ++s)
#define EACH_ITEM _Pragma("unroll") for (int i = 0; i < ITEMS; ++i)
#define EACH_PART _Pragma("unroll") for (int p = 0; p < AT_A_TIME; ++p)
// What had this greatest score shrinks to the next one.
#define SHRINK(before, next) ((before) == -INFINITY ? 0 : exp((before) - (next)))
KERNEL {
#if HAS_PARTS
  __local uint before;
#endif
  __local float joined[JOINED_SIZE], span_top[SPANS * ROWS], span_total[SPANS * ROWS];
  const int lane = (int)get_local_id(0), team = lane / TEAM, column = lane % TEAM * 8;
  const int part = (int)get_group_id(0), first = (int)get_group_id(1) * ROWS, set = (int)get_group_id(2) * SHARED;
  const int begin = part * PART_KEYS, end = min(begin + PART_KEYS, N);
#ifdef EARLY_KEY
  for (int n = begin + lane; n < end; n += LANES) {
    READ_EARLY(EARLY_KEY(set, n), EARLY_BYTES, 0, 1)
    READ_EARLY(EARLY_VALUE(set, n), EARLY_BYTES, 0, 1)
  }
  WAIT_FOR_KERNELS();
#endif
  float query[ROWS][8], sums[ROWS][8], top[ROWS], total[ROWS];
  EACH_ROW {
    const int row = first + r;
    // What parts have seen is added up.
    const bool begins = part == 0 && team == 0 && row < SHARED * M;
    top[r] = begins ? FIRST_TOP((set + BATCH_OF(row)), (ROW_OF(row))) : -INFINITY;
    total[r] = begins ? FIRST_TOTAL((set + BATCH_OF(row)), (ROW_OF(row))) : 0;
    EACH_COLUMN query[r][j] = sums[r][j] = 0;
    if (row < SHARED * M && column < COLUMNS) { QUERY8((set + BATCH_OF(row)), (ROW_OF(row)), column, query[r]) }
  }
  for (int n0 = begin; n0 < end; n0 += STEP) {
    float key[AT_ONCE][8], value[AT_ONCE][8], score[AT_ONCE * ROWS];
    MASK_T mask[AT_ONCE * ROWS];
    EACH_KEY {
      const int n = min(n0 + u * TEAMS + team, N - 1);
      EACH_COLUMN key[u][j] = value[u][j] = 0;
      if (column < COLUMNS) { KEY8(set, n, column, key[u]) }
      if (column < VALUES) { VALUE8(set, n, column, value[u]) }
      EACH_ROW {
        const int row = min(first + r, SHARED * M - 1);
        mask[u * ROWS + r] = MASK_AT((set + BATCH_OF(row)), (ROW_OF(row)), n);
      }
    }
    EACH_KEY EACH_ROW {
      float dot = 0;
      EACH_COLUMN dot = fma(query[r][j], key[u][j], dot);
      score[u * ROWS + r] = dot;
    }
    JOIN_TEAMS(score, AT_ONCE * ROWS, TEAM, joined)
    EACH_ROW {
      const int row = first + r;
      float next = top[r];
      EACH_KEY {
        const int n = n0 + u * TEAMS + team, at = u * ROWS + r;
        score[at] = row < SHARED * M && n < end ? SCORE_OF(score[at], mask[at], (ROW_OF(row)), n) : -INFINITY;
        next = tn_greater(next, score[at]);
      }
      const float by = SHRINK(top[r], next);
      top[r] = next;
      total[r] *= by;
      EACH_COLUMN sums[r][j] *= by;
      EACH_KEY {
        const float own = score[u * ROWS + r], weight = next == -INFINITY ? 0 : SHRINK(own, next);
        total[r] += weight;
        EACH_COLUMN sums[r][j] = fma(weight, value[u][j], sums[r][j]);
      }
    }
  }
  EACH_ROW {
    float next = top[r];
    JOIN_APART(&next, 1, tn_greater, TEAM)
    const float by = SHRINK(top[r], next);
    top[r] = next;
    total[r] *= by;
    EACH_COLUMN sums[r][j] *= by;
    JOIN_APART(&total[r], 1, ADDED, TEAM)
    JOIN_APART(sums[r], 8, ADDED, TEAM)
    if (lane % SPAN == 0) {
      span_top[lane / SPAN * ROWS + r] = top[r];
      span_total[lane / SPAN * ROWS + r] = total[r];
    }
  }
#if HAS_PARTS
  const int rows = (int)(get_group_id(2) * get_num_groups(1) + get_group_id(1)), parts_at = rows * PARTS * PART_SIZE,
            part_at = parts_at + part * PART_SIZE;
#endif
  for (int r0 = 0; r0 < ROWS; r0 += JOINED_ROWS) {
    barrier(CLK_LOCAL_MEM_FENCE);
    if (lane % SPAN < TEAM) EACH_ROW
        if (r >= r0 && r < r0 + JOINED_ROWS) EACH_COLUMN
            joined[((r - r0) * 8 + j) * PITCH + lane / SPAN * TEAM + lane % TEAM] = sums[r][j];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int i = lane; i < JOINED_ROWS * VALUES; i += LANES) {
      const int r = i / VALUES, d = i % VALUES, row = first + r0 + r;
      float most = -INFINITY, sum = 0, all = 0;
      EACH_SPAN most = tn_greater(most, span_top[s * ROWS + r0 + r]);
      EACH_SPAN {
        const float by = SHRINK(span_top[s * ROWS + r0 + r], most);
        sum = fma(by, joined[(r * 8 + d % 8) * PITCH + s * TEAM + d / 8], sum);
        all = fma(by, span_total[s * ROWS + r0 + r], all);
      }
#if HAS_PARTS
      PART_SET(part_at + (r0 + r) * VALUES + d, sum);
      if (d > 0) continue;
      PART_SET(part_at + RESULTS + r0 + r, most);
      PART_SET(part_at + RESULTS + ROWS + r0 + r, all);
#else
      if (row < SHARED * M) STORE_AT((all == 0 ? 0 : sum / all), (set + BATCH_OF(row)), (ROW_OF(row)), d);
#endif
    }
  }
#if HAS_PARTS
  ALL_WRITTEN();
  barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
  if (lane == 0) {
    uint count;
    COUNT_GROUP((volatile __global int*)COUNTERS_p + rows, count)
    if (count == PARTS - 1) COUNTERS_p[rows] = 0;
    before = count;
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  if (before != PARTS - 1) return;
  SEE_WRITES();
  // What other groups left comes from memory that all share: as much as possible is asked for before the first is waited for, and it
  // is added always in the same order.
  __global const volatile float* const parts = (__global const volatile float*)PART_p + parts_at;
  float most[ITEMS], sum[ITEMS], all[ITEMS];
  EACH_ITEM most[i] = -INFINITY, sum[i] = all[i] = 0;
  for (int p0 = 0; p0 < PARTS; p0 += AT_A_TIME) {
    float own[ITEMS][AT_A_TIME], tops[ITEMS][AT_A_TIME], totals[ITEMS][AT_A_TIME];
    EACH_ITEM EACH_PART {
      const int result = min(lane + i * LANES, RESULTS - 1), at = min(p0 + p, PARTS - 1) * PART_SIZE;
      own[i][p] = parts[at + result];
      tops[i][p] = parts[at + RESULTS + result / VALUES];
      totals[i][p] = parts[at + RESULTS + ROWS + result / VALUES];
    }
    EACH_ITEM {
      float next = most[i];
      EACH_PART next = tn_greater(next, tops[i][p]);  // The last one again changes nothing.
      const float by = SHRINK(most[i], next);
      most[i] = next;
      sum[i] *= by;
      all[i] *= by;
      EACH_PART {
        const float weight = p0 + p < PARTS ? SHRINK(tops[i][p], next) : 0;
        sum[i] = fma(weight, own[i][p], sum[i]);
        all[i] = fma(weight, totals[i][p], all[i]);
      }
    }
  }
  EACH_ITEM {
    const int result = lane + i * LANES, row = first + result / VALUES;
    if (result < RESULTS && row < SHARED * M)
      STORE_AT((all[i] == 0 ? 0 : sum[i] / all[i]), (set + BATCH_OF(row)), (ROW_OF(row)), (result % VALUES));
  }
#endif
}
#undef TEAMS
#undef STEP
#undef BATCH_OF
#undef ROW_OF
#undef SPAN
#undef SPANS
#undef JOINED_ROWS
#undef PITCH
#undef JOINED_SIZE
#undef PART_SIZE
#undef RESULTS
#undef ITEMS
#undef AT_A_TIME
#undef EACH_ROW
#undef EACH_COLUMN
#undef EACH_KEY
#undef EACH_SPAN
#undef EACH_ITEM
#undef EACH_PART
#undef SHRINK
