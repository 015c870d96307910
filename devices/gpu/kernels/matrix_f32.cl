// For f32, by any device: 4 columns at a time, whole chunks from local memory.
#ifndef TN_MATRIX_F32
#define TN_MATRIX_F32
#define MULTIPLY_TILES_F32(sum, left, right)                                                                  \
  _Pragma("unroll") for (int c = 0; c < CHUNKS; ++c) {                                                        \
    float4 a[PARTS_M * 2], b[PARTS_N * 2];                                                                    \
    _Pragma("unroll") for (int i = 0; i < PARTS_M * 2; ++i) a[i] =                                            \
        *(__local const float4*)(left + PLACE(first_row + i * 8, c));                                         \
    _Pragma("unroll") for (int j = 0; j < PARTS_N * 2; ++j) b[j] =                                            \
        *(__local const float4*)(right + PLACE(first_column + j / 2 * 8 + j % 2, c));                         \
    _Pragma("unroll") for (int i = 0; i < PARTS_M * 2; ++i) _Pragma("unroll") for (int j = 0; j < PARTS_N * 2; ++j) { \
      float total = sum[i / 2][j / 2][i % 2 * 2 + j % 2];                                                     \
      total = fma(a[i].x, b[j].x, total);                                                                     \
      total = fma(a[i].y, b[j].y, total);                                                                     \
      total = fma(a[i].z, b[j].z, total);                                                                     \
      sum[i / 2][j / 2][i % 2 * 2 + j % 2] = fma(a[i].w, b[j].w, total);                                      \
    }                                                                                                         \
  }
#endif
