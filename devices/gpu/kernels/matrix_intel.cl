// What matrix.cl needs of a device with cl_intel_subgroup_matrix_multiply_accumulate beside matrix_portable.cl: sub-groups of
// SUB_GROUP work-items, 8 or 16 as the device has them, multiply 8 rows of 16 columns by as many columns as they are. Of a part
// of 16 rows and a pair of parts of columns, each sub-group of a warp has 8 rows; each work-item has one column of these.
#ifndef TN_MATRIX_INTEL
#define TN_MATRIX_INTEL
// What a work-item brings of 8 rows of the left side: one column of each with 16 work-items, two with 8.
#if SUB_GROUP == 16
#define LEFT_ROWS short8
#define LEFT_OF(left, row, k, lane) (*(__local const short*)((left) + PLACE(row, 2 * (k) + ((lane) >> 3 & 1)) + ((lane) & 7) * 2))
#else
#define LEFT_ROWS int8
#define LEFT_OF(left, row, k, lane) (*(__local const int*)((left) + PLACE(row, 2 * (k) + ((lane) >> 2 & 1)) + ((lane) & 3) * 4))
#endif
#define LEFT_ROWS_OF(left, row, k, lane)                                                                            \
  (LEFT_ROWS)(LEFT_OF(left, row, k, lane), LEFT_OF(left, row + 1, k, lane), LEFT_OF(left, row + 2, k, lane),        \
              LEFT_OF(left, row + 3, k, lane), LEFT_OF(left, row + 4, k, lane), LEFT_OF(left, row + 5, k, lane),    \
              LEFT_OF(left, row + 6, k, lane), LEFT_OF(left, row + 7, k, lane))
#if IMITATES_SUB_GROUPS
// For tests on devices without the extension: each work-item reads what the others of its sub-group would bring.
#define MULTIPLY_SUB_GROUP(part, left, row, k, b)                                                                   \
  {                                                                                                                 \
    const int8 own = b;                                                                                             \
    float sums[8];                                                                                                  \
    vstore8(part, 0, sums);                                                                                         \
    for (int c = 0; c < 16; ++c) {                                                                                  \
      const LEFT_ROWS brought = LEFT_ROWS_OF(left, row, k, (lane - lane % SUB_GROUP + c * SUB_GROUP / 16));         \
      for (int r = 0; r < 8; ++r)                                                                                   \
        sums[r] = fma(vload_half(SUB_GROUP == 16 ? r : 2 * r + c % 2, (const half*)&brought),                       \
                      vload_half(c, (const half*)&own), sums[r]);                                                   \
    }                                                                                                               \
    part = vload8(0, sums);                                                                                         \
  }
#else
#define MULTIPLY_SUB_GROUP(part, left, row, k, b) \
  part = intel_sub_group_f16_f16_matrix_mad_k16(LEFT_ROWS_OF(left, row, k, lane), b, part)
#endif
#define MULTIPLY_SUB_GROUPS(sum, left, right)                                                                     \
  _Pragma("unroll") for (int k = 0; k < STEP / 16; ++k) {                                                         \
    int8 b[PARTS_N / 2];                                                                                          \
    _Pragma("unroll") for (int j = 0; j < PARTS_N / 2; ++j) b[j] =                                                \
        (int8)(*(__local const int4*)(right + PLACE(SUM_COLUMN(2 * j, 0), 2 * k)),                                \
               *(__local const int4*)(right + PLACE(SUM_COLUMN(2 * j, 0), 2 * k + 1)));                           \
    _Pragma("unroll") for (int i = 0; i < PARTS_M; ++i) _Pragma("unroll") for (int j = 0; j < PARTS_N / 2; ++j) { \
      float8 part = (float8)(vload4(0, sum[i][2 * j]), vload4(0, sum[i][2 * j + 1]));                             \
      MULTIPLY_SUB_GROUP(part, left, SUM_ROW(i, 0, 0), k, b[j]);                                                  \
      vstore4(part.lo, 0, sum[i][2 * j]);                                                                         \
      vstore4(part.hi, 0, sum[i][2 * j + 1]);                                                                     \
    }                                                                                                             \
  }
#endif
