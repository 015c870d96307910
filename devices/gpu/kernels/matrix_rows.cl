// A product whose left side has few rows: as fast as the right side is read. A warp computes COLUMNS columns of all ROWS rows, or
// SHARE warps of a group share them, each of which has every SHARE-th run of k. With two SIDES there are two products of one left
// side, and STORE_AT sees the second one's value as `second`.
// A_p, A_BATCH(batch), A_PLACE(m); of the right sides, RIGHT_... and SECOND_RIGHT_...: RIGHT_READ(batch, n, k, to) reads 8 neighbours along k as
// they lie, in a RIGHT_T, of which RIGHT_REALS(from, to) makes reals. STORE_AT(value, batch, m, n).
// HAS_SCALES: these reals are to be multiplied by RIGHT_SCALE(from) and PLACE(j). The sums are multiplied by the one, and the left side,
// which several columns read, by the other.
// EARLY_ROW(batch, n), EARLY_BYTES, SECOND_...: see early_nvidia.cl.
// AHEAD: so many steps along k of the right side, which is a constant then, are read before the kernel waits for the one before it.
// IS_AHEAD: these are all.
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
#define EACH_COLUMN _Pragma("unroll") for (int c = 0; c < COLUMNS; ++c)
#define STEP (SHARE * 256)
#if HAS_NORM
#define READ_GAIN(k) \
  float gain[8];     \
  GAIN8(k, gain)
#define TAKE_SQUARES(m)                                                 \
  _Pragma("unroll") for (int j = 0; j < 8; ++j) {                       \
    sum[m][SUMS - 1] = fma(left[j], left[j], sum[m][SUMS - 1]);         \
    left[j] *= gain[j];                                                 \
  }
#else
#define READ_GAIN(k)
#define TAKE_SQUARES(m)
#endif
#if HAS_SCALES
#define TAKE_PLACES() _Pragma("unroll") for (int j = 0; j < 8; ++j) left[j] *= PLACE(j);
#define NUMBERS float right[COLUMNS * SIDES][8], scale[COLUMNS * SIDES];
#define EXPAND(from, c) RIGHT_REALS(from, right[c]) scale[c] = RIGHT_SCALE(from);
#define EXPAND_SECOND(from, c) SECOND_RIGHT_REALS(from, right[c]) scale[c] = SECOND_RIGHT_SCALE(from);
#define ADD_PRODUCTS(m, c)                                                                         \
  float part = left[0] * right[c][0];                                                              \
  _Pragma("unroll") for (int j = 1; j < 8; ++j) part = fma(left[j], right[c][j], part);            \
  sum[m][c] = fma(scale[c], part, sum[m][c]);
#else
#define TAKE_PLACES()
#define NUMBERS float right[COLUMNS * SIDES][8];
#define EXPAND(from, c) RIGHT_REALS(from, right[c])
#define EXPAND_SECOND(from, c) SECOND_RIGHT_REALS(from, right[c])
#define ADD_PRODUCTS(m, c) \
  _Pragma("unroll") for (int j = 0; j < 8; ++j) sum[m][c] = fma(left[j], right[c][j], sum[m][c]);
#endif
#define MULTIPLY(k)                                                            \
  READ_GAIN(k)                                                                 \
  _Pragma("unroll") for (int m = 0; m < ROWS; ++m) {                           \
    float left[8];                                                             \
    const int row = min(m, M - 1), place = a0 + A_PLACE(row) + k;              \
    A_LOAD8(place, left);                                                      \
    TAKE_SQUARES(m)                                                            \
    TAKE_PLACES()                                                              \
    _Pragma("unroll") for (int c = 0; c < COLUMNS * SIDES; ++c) {              \
      ADD_PRODUCTS(m, c)                                                       \
    }                                                                          \
  }
KERNEL {
  const int lane = (int)get_local_id(0) & 31, warp = (int)get_local_id(0) >> 5, batch = (int)get_group_id(1);
  const int n0 = (GROUP * (LANES / 32) + warp) / SHARE * COLUMNS, k0 = (warp % SHARE * 32 + lane) * 8;
#if defined(EARLY_ROW) && !IS_AHEAD
  EACH_COLUMN {
    const int n = min(n0 + c, N - 1), first = warp % SHARE * 32 + lane;
    READ_EARLY(EARLY_ROW(batch, n), EARLY_BYTES, first, SHARE * 32)
#if SIDES > 1
    READ_EARLY(SECOND_EARLY_ROW(batch, n), SECOND_EARLY_BYTES, first, SHARE * 32)
#endif
  }
#endif
#if AHEAD > 0
  RIGHT_T ahead[AHEAD][COLUMNS];
#if SIDES > 1
  SECOND_RIGHT_T second_ahead[AHEAD][COLUMNS];
#endif
#pragma unroll
  for (int i = 0; i < AHEAD; ++i)
    EACH_COLUMN {
      const int n = min(n0 + c, N - 1), k = min(k0 + i * STEP, K - 8);
      RIGHT_READ(batch, n, k, ahead[i][c])
#if SIDES > 1
      SECOND_RIGHT_READ(batch, n, k, second_ahead[i][c])
#endif
    }
#endif
#ifdef EARLY_ROW
  WAIT_FOR_KERNELS();
#endif
  const int a0 = A_BATCH(batch);
  float sum[ROWS][SUMS];
#pragma unroll
  for (int m = 0; m < ROWS; ++m)
#pragma unroll
    for (int c = 0; c < SUMS; ++c) sum[m][c] = 0;
#if AHEAD > 0
#pragma unroll
  for (int i = 0; i < AHEAD; ++i) {
    const int k = k0 + i * STEP;
    if (IS_AHEAD && i == AHEAD - 1 && k >= K) continue;  // Only the last step may be beyond the end.
    NUMBERS
    EACH_COLUMN {
      EXPAND(ahead[i][c], c)
#if SIDES > 1
      EXPAND_SECOND(second_ahead[i][c], COLUMNS + c)
#endif
    }
    MULTIPLY(k)
  }
#endif
#if !IS_AHEAD
#pragma unroll UNROLL
  for (int k = k0 + AHEAD * STEP; k < K; k += STEP) {
    NUMBERS
    EACH_COLUMN {
      const int n = min(n0 + c, N - 1);
      RIGHT_T lies;
      RIGHT_READ(batch, n, k, lies)
      EXPAND(lies, c)
#if SIDES > 1
      SECOND_RIGHT_T second;
      SECOND_RIGHT_READ(batch, n, k, second)
      EXPAND_SECOND(second, COLUMNS + c)
#endif
    }
    MULTIPLY(k)
  }
#endif
#pragma unroll
  for (int m = 0; m < ROWS; ++m) {
    JOIN_WARPS(sum[m], SUMS)
#if SHARE > 1
#pragma unroll
    for (int c = 0; c < SUMS; ++c)
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
#undef EACH_COLUMN
#undef STEP
#undef READ_GAIN
#undef TAKE_SQUARES
#undef TAKE_PLACES
#undef NUMBERS
#undef EXPAND
#undef EXPAND_SECOND
#undef ADD_PRODUCTS
#undef MULTIPLY
