// A product whose left side has up to 8 rows of f16, by matrix hardware: as fast as the right side is read. A group has 16 columns, which
// are the rows of a fragment; the left side's rows are its columns. SHARE warps share them: each has every SHARE-th step along k. Within
// a step four neighbours have a chunk of WIDE bytes of the same two rows each, so that a fragment's places along k are any, the same on
// both sides. With two SIDES there are two products of one left side, and STORE_AT sees the second one's value as `second`.
// A_READ8(i), A_BATCH(batch), A_PLACE(m); of the right sides, EARLY_ROW(batch, n) and SECOND_EARLY_ROW(batch, n): where rows of numbers of BITS
// bits begin (early_nvidia.cl). STORE_AT(value, batch, m, n).
// HAS_SCALES: sums of a step are multiplied by GROUP_SCALE(n, k). Numbers are moved to be unsigned by FLIP, and lose ZERO_LOW, a pair of
// 1024 and what they count from, or ZERO_HIGH, a pair of 64 and that, negative. HAS_ZEROS: sums lose GROUP_ZERO(n, k) times the
// sum of the left side's numbers.
// AHEAD: so many of a warp's STEPS are on their way at any time, the first ones before the kernel waits for the one before it; all warps
// have ALL_STEPS. The left side goes through local memory, staged[], since all warps read it.
// HAS_NORM: as in matrix_rows.cl. HAS_GAIN: GAIN_READ8(k); rows are divided before they are multiplied by it, so that they stay within f16.
// MULTIPLY_PAIRS(sum, a, a8, p, b0, b1) and what makes pairs: fragments_nvidia.cl, fragments_portable.cl.
// shared[], squares[]: the sums of a group's warps.
#define WORDS (WIDE / 4)
#define EIGHTS (WIDE / BITS)
#define EACH_SIDE _Pragma("unroll") for (int s = 0; s < SIDES; ++s)
#define EACH_HALF _Pragma("unroll") for (int h = 0; h < 2; ++h)
#if WIDE == 16
#define READ_CHUNK(to, from)                                  \
  {                                                           \
    const uint4 chunk = *(__global const uint4*)(from);       \
    to[0] = chunk.x, to[1] = chunk.y, to[2] = chunk.z, to[3] = chunk.w; \
  }
#elif WIDE == 8
#define READ_CHUNK(to, from)                            \
  {                                                     \
    const uint2 chunk = *(__global const uint2*)(from); \
    to[0] = chunk.x, to[1] = chunk.y;                   \
  }
#else
#define READ_CHUNK(to, from) to[0] = *(__global const uint*)(from);
#endif
// 8 neighbours along k as four pairs: of 4 bits, those that are 4 apart.
#if BITS == 16
#define PAIRS(to, words, e) _Pragma("unroll") for (int p = 0; p < 4; ++p)(to)[p] = (words)[p];
#elif BITS == 8
#define PAIRS(to, words, e)                                          \
  _Pragma("unroll") for (int p = 0; p < 4; ++p) {                    \
    uint pair;                                                       \
    const uint word = (words)[2 * (e) + p / 2] ^ FLIP;               \
    if (p % 2 == 0)                                                  \
      TAKE_BYTES(pair, word, 0x64646464, 0x4140);                    \
    else                                                             \
      TAKE_BYTES(pair, word, 0x64646464, 0x4342);                    \
    SUBTRACT_PAIR((to)[p], pair, ZERO_LOW);                          \
  }
#else
#define PAIRS(to, words, e)                                          \
  _Pragma("unroll") for (int p = 0; p < 4; ++p) {                    \
    uint pair;                                                       \
    const uint word = ((words)[e] ^ FLIP) >> p / 2 * 8;              \
    if (p % 2 == 0) {                                                \
      CUT_PAIR(pair, word, 0x000f000f);                              \
      SUBTRACT_PAIR((to)[p], pair, ZERO_LOW);                        \
    } else {                                                         \
      CUT_PAIR(pair, word, 0x00f000f0);                              \
      MULTIPLY_ADD_PAIR((to)[p], pair, 0x2c002c00, ZERO_HIGH);       \
    }                                                                \
  }
#endif
#if BITS == 4
#define LEFT_PAIRS(to, from)                         \
  TAKE_BYTES((to)[0], (from).x, (from).z, 0x5410);   \
  TAKE_BYTES((to)[1], (from).x, (from).z, 0x7632);   \
  TAKE_BYTES((to)[2], (from).y, (from).w, 0x5410);   \
  TAKE_BYTES((to)[3], (from).y, (from).w, 0x7632);
#else
#define LEFT_PAIRS(to, from) (to)[0] = (from).x, (to)[1] = (from).y, (to)[2] = (from).z, (to)[3] = (from).w;
#endif
// What steps have of the right sides.
#define DECLARE_STEPS(name, count)                     \
  uint name##_words[count][SIDES][2][WORDS];           \
  float name##_scale[count][SIDES][2], name##_zero[count][SIDES][2];
#if HAS_SCALES
#if SIDES > 1
#define SCALE_OF(s, n, k) ((s) == 0 ? GROUP_SCALE(n, k) : SECOND_GROUP_SCALE(n, k))
#else
#define SCALE_OF(s, n, k) GROUP_SCALE(n, k)
#endif
#define READ_SCALE(to, s, h, k) (to) = SCALE_OF(s, (row[h]), k);
#else
#define READ_SCALE(to, s, h, k)
#endif
#if HAS_ZEROS
#if SIDES > 1
#define ZERO_OF(s, n, k) ((s) == 0 ? GROUP_ZERO(n, k) : SECOND_GROUP_ZERO(n, k))
#else
#define ZERO_OF(s, n, k) GROUP_ZERO(n, k)
#endif
#define READ_ZERO(to, s, h, k) (to) = ZERO_OF(s, (row[h]), k);
#else
#define READ_ZERO(to, s, h, k)
#endif
#define READ_STEP(name, at, i)                                                                 \
  {                                                                                            \
    const int step = min((i) * SHARE + warp, ALL_STEPS - 1);                                   \
    EACH_SIDE EACH_HALF {                                                                      \
      READ_CHUNK(name##_words[at][s][h], right[s][h] + (step * 4 + place) * WIDE)              \
      READ_SCALE(name##_scale[at][s][h], s, h, (step * 32 * EIGHTS))                           \
      READ_ZERO(name##_zero[at][s][h], s, h, (step * 32 * EIGHTS))                             \
    }                                                                                          \
  }
#define MULTIPLY_STEP(name, at, i)                                                             \
  {                                                                                            \
    const int step = (i) * SHARE + warp;                                                       \
    const bool is_there = quad < ROWS && (ALL_STEPS % SHARE == 0 || step < ALL_STEPS);         \
    float part[SIDES][4], ones[4] = {0, 0, 0, 0};                                              \
    EACH_SIDE part[s][0] = part[s][1] = part[s][2] = part[s][3] = 0;                           \
    _Pragma("unroll") for (int e = 0; e < EIGHTS; ++e) {                                       \
      uint4 rows = (uint4)(0);                                                                 \
      if (is_there) rows = ((__local const uint4*)staged)[quad * CHUNKS + (step * 4 + place) * EIGHTS + e]; \
      uint left[4];                                                                            \
      LEFT_PAIRS(left, rows)                                                                   \
      EACH_SIDE {                                                                              \
        uint a[4], a8[4];                                                                      \
        PAIRS(a, name##_words[at][s][0], e)                                                    \
        PAIRS(a8, name##_words[at][s][1], e)                                                   \
        MULTIPLY_PAIRS(INTO(s, part[s], 0), a, a8, 0, left[0], left[1])                        \
        MULTIPLY_PAIRS(INTO(s, part[s], 1), a, a8, 2, left[2], left[3])                        \
      }                                                                                        \
      TAKE_ONES(left)                                                                          \
    }                                                                                          \
    ADD_PARTS(name##_scale[at], name##_zero[at])                                               \
  }
#if HAS_ZEROS
#define TAKE_ONES(left)                                                                        \
  {                                                                                            \
    const uint one[4] = {0x3c003c00, 0x3c003c00, 0x3c003c00, 0x3c003c00};                      \
    MULTIPLY_PAIRS(ones, one, one, 0, left[0], left[1])                                        \
    MULTIPLY_PAIRS(ones, one, one, 2, left[2], left[3])                                        \
  }
#define WITHOUT_ZERO(zero, s, c) (part[s][c] - (zero)[s][(c) / 2] * ones[c])
#else
#define TAKE_ONES(left)
#define WITHOUT_ZERO(zero, s, c) part[s][c]
#endif
#if HAS_SCALES
#define INTO(s, part, chain) part
#define ADD_PARTS(scale, zero)                                                                 \
  EACH_SIDE _Pragma("unroll") for (int c = 0; c < 4; ++c) sum[s][0][c] =                       \
      fma((scale)[s][c / 2], WITHOUT_ZERO(zero, s, c), sum[s][0][c]);
#else
#define INTO(s, part, chain) sum[s][chain]
#define ADD_PARTS(scale, zero)
#endif
#if HAS_NORM
#define TAKE_SQUARES(rows, m)                                                                  \
  {                                                                                            \
    float reals[8];                                                                            \
    reals8_f16(rows, reals);                                                                   \
    _Pragma("unroll") for (int j = 0; j < 8; ++j) square[m] = fma(reals[j], reals[j], square[m]); \
  }
// What a row is multiplied by.
#define FIND_SPREAD(by, m)                                                                     \
  {                                                                                            \
    float mean = 0;                                                                            \
    _Pragma("unroll") for (int w = 0; w < SHARE; ++w) mean += squares[w * ROWS + (m)];         \
    by = 1 / SPREAD(mean / K);                                                                 \
  }
#else
#define TAKE_SQUARES(rows, m)
#endif
// Chunks of a row of the left side, and those of a work-item.
#define CHUNKS (ALL_STEPS * 4 * EIGHTS)
#define LANES (SHARE * 32)
#define PIECES ((CHUNKS + LANES - 1) / LANES)
#define SHARED_AT(warp, s, n, m) ((((warp) * SIDES + (s)) * 16 + (n)) * ROWS + (m))
KERNEL {
  const int lane = (int)get_local_id(0) & 31, warp = (int)get_local_id(0) >> 5, batch = (int)get_group_id(1);
  const int n0 = GROUP * 16, quad = lane >> 2, place = lane & 3;
  int row[2];
  __global const uchar* right[SIDES][2];
  EACH_HALF {
    row[h] = min(n0 + quad + h * 8, N - 1);
    right[0][h] = EARLY_ROW(batch, row[h]);
#if SIDES > 1
    right[1][h] = SECOND_EARLY_ROW(batch, row[h]);
#endif
  }
  DECLARE_STEPS(ahead, AHEAD)
#pragma unroll
  for (int i = 0; i < AHEAD; ++i) READ_STEP(ahead, i, i)
  const int at = (int)get_local_id(0);
#if HAS_GAIN
  uint4 gain[PIECES];
#pragma unroll
  for (int p = 0; p < PIECES; ++p) gain[p] = GAIN_READ8(min(at + p * LANES, CHUNKS - 1) * 8);
#endif
  WAIT_FOR_KERNELS();
  const int left_at = A_BATCH(batch);
  float square[ROWS];
#pragma unroll
  for (int m = 0; m < ROWS; ++m) {
    square[m] = 0;
    uint4 rows[PIECES];
#pragma unroll
    for (int p = 0; p < PIECES; ++p) {
      const int chunk = at + p * LANES;
      rows[p] = (uint4)(0);
      if (m < M && (CHUNKS % LANES == 0 || chunk < CHUNKS)) rows[p] = A_READ8(left_at + A_PLACE(m) + chunk * 8);
    }
#pragma unroll
    for (int p = 0; p < PIECES; ++p) {
      const int chunk = at + p * LANES;
      TAKE_SQUARES(rows[p], m)
      if (CHUNKS % LANES == 0 || chunk < CHUNKS) ((__local uint4*)staged)[m * CHUNKS + chunk] = rows[p];
    }
  }
#if HAS_NORM
  JOIN_WARPS(square, ROWS)
  if (lane == 0) {
#pragma unroll
    for (int m = 0; m < ROWS; ++m) squares[warp * ROWS + m] = square[m];
  }
#endif
  barrier(CLK_LOCAL_MEM_FENCE);
#if HAS_GAIN
  for (int m = 0; m < M; ++m) {
    float by;
    FIND_SPREAD(by, m)
#pragma unroll
    for (int p = 0; p < PIECES; ++p) {
      const int chunk = at + p * LANES;
      if (CHUNKS % LANES != 0 && chunk >= CHUNKS) continue;
      __local uint4* const row_chunk = (__local uint4*)staged + m * CHUNKS + chunk;
      float reals[8], gains[8];
      uint words[4];
      reals8_f16(*row_chunk, reals);
      reals8_f16(gain[p], gains);
#pragma unroll
      for (int j = 0; j < 4; ++j) TAKE_REALS(words[j], reals[2 * j] * by * gains[2 * j], reals[2 * j + 1] * by * gains[2 * j + 1]);
      *row_chunk = (uint4)(words[0], words[1], words[2], words[3]);
    }
  }
  barrier(CLK_LOCAL_MEM_FENCE);
#endif
  float sum[SIDES][2][4];
#pragma unroll
  for (int c = 0; c < 8; ++c) EACH_SIDE sum[s][c / 4][c % 4] = 0;
  for (int first = 0; first < STEPS; first += AHEAD) {
#pragma unroll
    for (int i = 0; i < AHEAD; ++i) {
      if (STEPS % AHEAD != 0 && first + i >= STEPS) break;
      MULTIPLY_STEP(ahead, i, first + i)
      if (first + i + AHEAD < STEPS) READ_STEP(ahead, i, first + i + AHEAD)
    }
  }
#pragma unroll
  for (int c = 0; c < 4; ++c) {
    const int m = place * 2 + (c & 1);
    if (m < ROWS) {
      EACH_SIDE shared[SHARED_AT(warp, s, quad + c / 2 * 8, m)] = sum[s][0][c] + sum[s][1][c];
    }
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int i = at; i < 16 * ROWS; i += LANES) {
    const int m = i / 16, n = i % 16;
    if (m >= M || n0 + n >= N) continue;
    float value = 0;
#pragma unroll
    for (int w = 0; w < SHARE; ++w) value += shared[SHARED_AT(w, 0, n, m)];
#if SIDES > 1
    float second = 0;
#pragma unroll
    for (int w = 0; w < SHARE; ++w) second += shared[SHARED_AT(w, 1, n, m)];
#endif
#if HAS_NORM && !HAS_GAIN
    float by;
    FIND_SPREAD(by, m)
    value *= by;
#if SIDES > 1
    second *= by;
#endif
#endif
    STORE_AT(value, batch, m, (n0 + n));
  }
}
#undef WORDS
#undef EIGHTS
#undef EACH_SIDE
#undef EACH_HALF
#undef READ_CHUNK
#undef PAIRS
#undef LEFT_PAIRS
#undef DECLARE_STEPS
#undef SCALE_OF
#undef READ_SCALE
#undef ZERO_OF
#undef READ_ZERO
#undef READ_STEP
#undef MULTIPLY_STEP
#undef TAKE_SQUARES
#undef FIND_SPREAD
#undef TAKE_ONES
#undef WITHOUT_ZERO
#undef INTO
#undef ADD_PARTS
#undef CHUNKS
#undef LANES
#undef PIECES
#undef SHARED_AT
