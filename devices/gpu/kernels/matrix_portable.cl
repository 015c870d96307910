// What matrix.cl needs of a device, for devices whose matrix hardware it does not know: the same tiles, plain arithmetic.
#ifndef TN_MATRIX_PORTABLE
#define TN_MATRIX_PORTABLE
#define COPY16(to, from, is_valid) *(__local uint4*)(to) = (is_valid) ? *(__global const uint4*)(from) : (uint4)(0)
#define COPIES_END()
#define COPIES_WAIT()
#define ALL_COPIES_WAIT()
#if defined(__opencl_c_atomic_order_acq_rel) && defined(__opencl_c_atomic_scope_device) || __OPENCL_C_VERSION__ == 200
#define RELEASE_WRITES() atomic_work_item_fence(CLK_GLOBAL_MEM_FENCE, memory_order_acq_rel, memory_scope_device)
#else
#define RELEASE_WRITES() mem_fence(CLK_GLOBAL_MEM_FENCE)
#endif
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
// The right side as it lies, [K, N].
#define MULTIPLY_TILES_TURNED(sum, left, right)                                                                 \
  for (int k = 0; k < STEP; ++k)                                                                                \
    for (int i = 0; i < PARTS_M; ++i)                                                                           \
      for (int half_of = 0; half_of < 2; ++half_of) {                                                           \
        const float a = HALF_AT(left, first_row + i * 16 + half_of * 8, k);                                     \
        for (int j = 0; j < PARTS_N; ++j)                                                                       \
          for (int next = 0; next < 2; ++next)                                                                  \
            sum[i][j][half_of * 2 + next] =                                                                     \
                fma(a, HALF_AT(right, k, first_column + j * 8 + next), sum[i][j][half_of * 2 + next]);          \
      }
#endif
