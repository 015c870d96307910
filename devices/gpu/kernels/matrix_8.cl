// For 8-bit numbers, by any device's DOT: whole chunks from local memory.
#ifndef TN_MATRIX_8
#define TN_MATRIX_8
#define MULTIPLY_TILES_8(sum, left, right)                                                                                \
  _Pragma("unroll") for (int c = 0; c < CHUNKS; ++c) {                                                                    \
    uint4 a[PARTS_M * 2], b[PARTS_N * 2];                                                                                 \
    _Pragma("unroll") for (int i = 0; i < PARTS_M * 2; ++i) a[i] =                                                        \
        *(__local const uint4*)(left + PLACE(first_row + i * 8, c));                                                      \
    _Pragma("unroll") for (int j = 0; j < PARTS_N * 2; ++j) b[j] =                                                        \
        *(__local const uint4*)(right + PLACE(first_column + j / 2 * 8 + j % 2, c));                                      \
    _Pragma("unroll") for (int i = 0; i < PARTS_M * 2; ++i) _Pragma("unroll") for (int j = 0; j < PARTS_N * 2; ++j)       \
        sum[i / 2][j / 2][i % 2 * 2 + j % 2] =                                                                            \
            DOT(a[i].w, b[j].w, DOT(a[i].z, b[j].z, DOT(a[i].y, b[j].y, DOT(a[i].x, b[j].x, sum[i / 2][j / 2][i % 2 * 2 + j % 2])))); \
  }
#endif
