// What matrix.cl needs of a device, for devices whose matrix hardware it does not know: the same tiles, plain arithmetic.
#ifndef TN_MATRIX_PORTABLE
#define TN_MATRIX_PORTABLE
#define COPY16(to, from, is_valid) *(__local uint4*)(to) = (is_valid) ? *(__global const uint4*)(from) : (uint4)(0)
#define COPIES_END()
#define COPIES_WAIT()
#define COPIES_WAIT_BUT(count)
#define HALF_AT(slot, row, k) vload_half((k) & 7, (__local const half*)((slot) + PLACE(row, (k) >> 3)))
#define MULTIPLY_TILES(sum, left, right)                                                                     \
  for (int k = 0; k < STEP; ++k)                                                                             \
    for (int i = 0; i < PARTS_M; ++i)                                                                        \
      for (int half_of = 0; half_of < 2; ++half_of) {                                                        \
        const float a = HALF_AT(left, first_row + i * 16 + half_of * 8, k);                                  \
        for (int j = 0; j < PARTS_N; ++j) {                                                                  \
          sum[i][j][half_of * 2] = fma(a, HALF_AT(right, first_column + j * 8, k), sum[i][j][half_of * 2]);  \
          sum[i][j][half_of * 2 + 1] =                                                                       \
              fma(a, HALF_AT(right, first_column + j * 8 + 1, k), sum[i][j][half_of * 2 + 1]);               \
        }                                                                                                    \
      }
#define MULTIPLY_TILES_UP_TO(sum, left, right, columns) MULTIPLY_TILES(sum, left, right)

// Of attention. Four neighbours have the columns of a row; they meet in local memory, and every warp comes to the barriers.
#define QUADS __local float quads[WARPS_N * TILE_M][4];
#define IS_IDLE_WARP(is_idle) false
#define SUM_OF(x, y) ((x) + (y))
#define JOIN_QUADS(values, of)                                                                        \
  {                                                                                                   \
    barrier(CLK_LOCAL_MEM_FENCE);                                                                     \
    for (int i = 0; i < PARTS_M; ++i)                                                                 \
      for (int h = 0; h < 2; ++h) quads[warp_n * TILE_M + first_row + i * 16 + h * 8][lane & 3] = (values)[i][h];       \
    barrier(CLK_LOCAL_MEM_FENCE);                                                                     \
    for (int i = 0; i < PARTS_M; ++i)                                                                 \
      for (int h = 0; h < 2; ++h) {                                                                   \
        __local const float* const four = quads[warp_n * TILE_M + first_row + i * 16 + h * 8];                          \
        (values)[i][h] = of(of(four[0], four[1]), of(four[2], four[3]));                              \
      }                                                                                               \
  }
// Weights take the place of the keys, WARP_M rows for each warp at a time, as far as there is place.
#define MULTIPLY_WEIGHTS(sum, weights, scratch, values, rows)                                                   \
  for (int i = 0; i < PARTS_M; ++i) {                                                                           \
    barrier(CLK_LOCAL_MEM_FENCE);                                                                               \
    for (int j = 0; j < PARTS_N; ++j)                                                                           \
      for (int c = 0; c < 4; ++c) {                                                                             \
        const int n = first_column + j * 8 + (c & 1);                                                           \
        vstore_half_rte((weights)[i][j][c], n & 7,                                                              \
                        (__local half*)(scratch + PLACE(warp_m * 16 + (lane >> 2) + c / 2 * 8, n >> 3)));         \
      }                                                                                                         \
    barrier(CLK_LOCAL_MEM_FENCE);                                                                               \
    for (int k = warp_n * WARP_N; k < (warp_n + 1) * WARP_N; ++k)                                               \
      for (int h = 0; h < 2; ++h) {                                                                             \
        const float a = HALF_AT(scratch, warp_m * 16 + (lane >> 2) + h * 8, k);                                 \
        for (int j = 0; j < VALUE_PARTS; ++j)                                                                   \
          for (int c = 0; c < 2; ++c)                                                                           \
            (sum)[i][j][2 * h + c] = fma(a, HALF_AT(values, k, value_column + j * 8 + c), (sum)[i][j][2 * h + c]); \
      }                                                                                                         \
  }
#endif
