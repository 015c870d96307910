// What matrix.cl needs of a device, by PTX for compute capability 8.0 and later.
#ifndef TN_MATRIX_NVIDIA
#define TN_MATRIX_NVIDIA
#define LOCAL_ADDRESS(pointer) ((uint)(ulong)(pointer))
// Of 0 bytes read, 16 zeros are written.
#define COPY16(to, from, is_valid)                                                                          \
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(LOCAL_ADDRESS(to)), "l"(from), "r"((is_valid) ? 16 : 0) \
               : "memory")
// Of this work-item and of those that it has met at a barrier, to all groups.
#define RELEASE_WRITES() asm volatile("fence.acq_rel.gpu;" ::: "memory")
#define COPIES_END() asm volatile("cp.async.commit_group;" ::: "memory")
#define ALL_COPIES_WAIT() asm volatile("cp.async.wait_all;" ::: "memory")
// All but the latest STAGES - 2 groups.
#define COPIES_WAIT() asm volatile("cp.async.wait_group %0;" ::"n"(STAGES - 2) : "memory")
#define LOAD_FRAGMENTS(to, from)                                                                \
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"                  \
               : "=r"((to)[0]), "=r"((to)[1]), "=r"((to)[2]), "=r"((to)[3])                     \
               : "r"(LOCAL_ADDRESS(from))                                                       \
               : "memory")
#define LOAD_FRAGMENTS_TURNED(to, from)                                                         \
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"            \
               : "=r"((to)[0]), "=r"((to)[1]), "=r"((to)[2]), "=r"((to)[3])                     \
               : "r"(LOCAL_ADDRESS(from))                                                       \
               : "memory")
#define MULTIPLY_FRAGMENTS(sum, a, b0, b1)                                                                        \
  asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};" \
               : "+f"((sum)[0]), "+f"((sum)[1]), "+f"((sum)[2]), "+f"((sum)[3])                                   \
               : "r"((a)[0]), "r"((a)[1]), "r"((a)[2]), "r"((a)[3]), "r"(b0), "r"(b1))
#define MULTIPLY_TILES(sum, left, right)                                                                        \
  _Pragma("unroll") for (int k = 0; k < STEP / 16; ++k) {                                                       \
    uint a[PARTS_M][4], b[PARTS_N / 2][4];                                                                      \
    _Pragma("unroll") for (int i = 0; i < PARTS_M; ++i)                                                         \
        LOAD_FRAGMENTS(a[i], left + PLACE(warp_m * WARP_M + i * 16 + (lane & 15), 2 * k + (lane >> 4)));        \
    _Pragma("unroll") for (int j = 0; j < PARTS_N / 2; ++j) LOAD_FRAGMENTS(                                     \
        b[j], right + PLACE(warp_n * WARP_N + j * 16 + (lane & 7) + (lane >> 4) * 8, 2 * k + (lane >> 3 & 1))); \
    _Pragma("unroll") for (int i = 0; i < PARTS_M; ++i) _Pragma("unroll") for (int j = 0; j < PARTS_N; ++j)     \
        MULTIPLY_FRAGMENTS(sum[i][j], a[i], b[j / 2][j % 2 * 2], b[j / 2][j % 2 * 2 + 1]);                      \
  }
// The right side as it lies, [K, N].
#define MULTIPLY_TILES_TURNED(sum, left, right)                                                                    \
  _Pragma("unroll") for (int k = 0; k < STEP / 16; ++k) {                                                          \
    uint a[PARTS_M][4], b[PARTS_N / 2][4];                                                                         \
    _Pragma("unroll") for (int i = 0; i < PARTS_M; ++i)                                                            \
        LOAD_FRAGMENTS(a[i], left + PLACE(warp_m * WARP_M + i * 16 + (lane & 15), 2 * k + (lane >> 4)));           \
    _Pragma("unroll") for (int j = 0; j < PARTS_N / 2; ++j) LOAD_FRAGMENTS_TURNED(                                 \
        b[j], right + PLACE(k * 16 + (lane & 7) + (lane >> 3 & 1) * 8, warp_n * WARP_N / 8 + 2 * j + (lane >> 4))); \
    _Pragma("unroll") for (int i = 0; i < PARTS_M; ++i) _Pragma("unroll") for (int j = 0; j < PARTS_N; ++j)        \
        MULTIPLY_FRAGMENTS(sum[i][j], a[i], b[j / 2][j % 2 * 2], b[j / 2][j % 2 * 2 + 1]);                         \
  }
#endif
