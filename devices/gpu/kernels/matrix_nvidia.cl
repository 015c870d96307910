// What matrix.cl needs of a device, by PTX for compute capability 8.0 and later.
#ifndef TN_MATRIX_NVIDIA
#define TN_MATRIX_NVIDIA
#define LOCAL_ADDRESS(pointer) ((uint)(ulong)(pointer))
// Of 0 bytes read, 16 zeros are written.
#define COPY16(to, from, is_valid)                                                                          \
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(LOCAL_ADDRESS(to)), "l"(from), "r"((is_valid) ? 16 : 0) \
               : "memory")
#define COPIES_END() asm volatile("cp.async.commit_group;" ::: "memory")
// All but the latest `count` groups.
#define COPIES_WAIT_BUT(count) asm volatile("cp.async.wait_group %0;" ::"n"(count) : "memory")
#define COPIES_WAIT() COPIES_WAIT_BUT(STAGES - 2)
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
#define MULTIPLY_FRAGMENTS_16(sum, a, b0, b1)                                                                     \
  asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};" \
               : "+f"((sum)[0]), "+f"((sum)[1]), "+f"((sum)[2]), "+f"((sum)[3])                                   \
               : "r"((a)[0]), "r"((a)[1]), "r"((a)[2]), "r"((a)[3]), "r"(b0), "r"(b1))
// Of 8-bit numbers, twice as many columns in the same bytes.
#define MULTIPLY_FRAGMENTS_8(sum, a, b0, b1)                                                                      \
  asm volatile("mma.sync.aligned.m16n8k32.row.col.s32." LEFT_NUMBERS ".s8.s32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};" \
               : "+r"((sum)[0]), "+r"((sum)[1]), "+r"((sum)[2]), "+r"((sum)[3])                                   \
               : "r"((a)[0]), "r"((a)[1]), "r"((a)[2]), "r"((a)[3]), "r"(b0), "r"(b1))
#define MULTIPLY_TILES(sum, left, right) MULTIPLY_TILES_UP_TO(sum, left, right, WARP_N)
// Of a warp's columns only those below `columns` are wanted.
#define MULTIPLY_TILES_UP_TO(sum, left, right, columns)                                                        \
  _Pragma("unroll") for (int k = 0; k < ROW_BYTES / 32; ++k) {                                                 \
    uint a[PARTS_M][4], b[PARTS_N / 2][4];                                                                     \
    _Pragma("unroll") for (int i = 0; i < PARTS_M; ++i)                                                        \
        LOAD_FRAGMENTS(a[i], left + PLACE(warp_row + i * PART_ROWS + (lane & 15), 2 * k + (lane >> 4)));            \
    _Pragma("unroll") for (int j = 0; j < PARTS_N / 2; ++j) if (j * 16 < (columns))                            \
        LOAD_FRAGMENTS(b[j], right + PLACE(warp_n * WARP_N + j * 16 + (lane & 7) + (lane >> 4) * 8,            \
                                           2 * k + (lane >> 3 & 1)));                                          \
    _Pragma("unroll") for (int i = 0; i < PARTS_M; ++i) _Pragma("unroll") for (int j = 0; j < PARTS_N; ++j)    \
        if (j / 2 * 16 < (columns))                                                                            \
            MULTIPLY_FRAGMENTS(sum[i][j], a[i], b[j / 2][j % 2 * 2], b[j / 2][j % 2 * 2 + 1]);                 \
  }

// Of f32 by matrices of TF32, whose numbers have 11 bits: each number is the sum of two of these, and of their four products only
// the smallest is left out. Tensor cores cut off what they add, so the products of STEP columns are summed apart, and added
// rounded. Columns are read in any order, the same on both sides: neighbours of four have four each, a chunk of a row of 64 bytes.
#define TWO_PARTS(value, high, low)                            \
  {                                                            \
    const float whole = value;                                 \
    asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(high) : "f"(whole)); \
    low = as_uint(whole - as_float(high));                     \
  }
#define LOAD_TWO_PARTS(high, low, from)             \
  {                                                 \
    const float4 four = *(__local const float4*)(from); \
    TWO_PARTS(four.x, (high)[0], (low)[0])          \
    TWO_PARTS(four.y, (high)[1], (low)[1])          \
    TWO_PARTS(four.z, (high)[2], (low)[2])          \
    TWO_PARTS(four.w, (high)[3], (low)[3])          \
  }
#define MULTIPLY_TF32(sum, a, b, k)                                                                                \
  asm("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"   \
      : "+f"((sum)[0]), "+f"((sum)[1]), "+f"((sum)[2]), "+f"((sum)[3])                                             \
      : "r"((a)[0][2 * (k)]), "r"((a)[1][2 * (k)]), "r"((a)[0][2 * (k) + 1]), "r"((a)[1][2 * (k) + 1]),            \
        "r"((b)[2 * (k)]), "r"((b)[2 * (k) + 1]))
#define MULTIPLY_TILES_IN_PARTS(sum, left, right)                                                                  \
  {                                                                                                                \
    uint b[PARTS_N][4], b_low[PARTS_N][4];                                                                         \
    _Pragma("unroll") for (int j = 0; j < PARTS_N; ++j)                                                            \
        LOAD_TWO_PARTS(b[j], b_low[j], right + PLACE(warp_n * WARP_N + j * 8 + (lane >> 2), (lane & 3)))           \
    _Pragma("unroll") for (int i = 0; i < PARTS_M; ++i) {                                                          \
      uint a[2][4], a_low[2][4];                                                                                   \
      _Pragma("unroll") for (int h = 0; h < 2; ++h)                                                                \
          LOAD_TWO_PARTS(a[h], a_low[h], left + PLACE(first_row + i * PART_ROWS + h * 8, (lane & 3)))              \
      float part[PARTS_N][4];                                                                                      \
      _Pragma("unroll") for (int j = 0; j < PARTS_N; ++j) part[j][0] = part[j][1] = part[j][2] = part[j][3] = 0;   \
      _Pragma("unroll") for (int k = 0; k < 2; ++k) {                                                              \
        _Pragma("unroll") for (int j = 0; j < PARTS_N; ++j) MULTIPLY_TF32(part[j], a_low, b[j], k);                \
        _Pragma("unroll") for (int j = 0; j < PARTS_N; ++j) MULTIPLY_TF32(part[j], a, b_low[j], k);                \
      }                                                                                                            \
      _Pragma("unroll") for (int k = 0; k < 2; ++k)                                                                \
          _Pragma("unroll") for (int j = 0; j < PARTS_N; ++j) MULTIPLY_TF32(part[j], a, b[j], k);                  \
      _Pragma("unroll") for (int j = 0; j < PARTS_N; ++j) _Pragma("unroll") for (int c = 0; c < 4; ++c)            \
          sum[i][j][c] += part[j][c];                                                                              \
    }                                                                                                              \
  }

// Of compute capability 9.0: four warps multiply as one, from local memory, while the next tiles are copied. OpenCL C refuses
// these instructions, so they stand in comments, which program/warpgroups.cpp opens in what the driver has compiled.
#define TO_TENSOR_CORES() asm volatile("fence.proxy.async.shared::cta;" ::: "memory")
#ifdef TN_NO_WARPGROUPS
#define MULTIPLY_WARPGROUPS_BEGIN(sum, left, right)
#define MULTIPLY_WARPGROUPS_END(sum, left, right) MULTIPLY_TILES(sum, left, right)
#else
#define WARPGROUP(text) "/*sm_90a " text " sm_90a*/"
#define SUMS(to, j) SUM_REGISTER((to)[j][0]), SUM_REGISTER((to)[j][1]), SUM_REGISTER((to)[j][2]), SUM_REGISTER((to)[j][3])
#define SUMS_32(to, j)                                                                                              \
  SUMS(to, j), SUMS(to, j + 1), SUMS(to, j + 2), SUMS(to, j + 3), SUMS(to, j + 4), SUMS(to, j + 5), SUMS(to, j + 6), \
      SUMS(to, j + 7)
#define NUMBERS_16 "%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15"
#define NUMBERS_32 "%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15,%16,%17,%18,%19,%20,%21,%22,%23,%24,%25,%26,%27,%28,%29,%30,%31"
#define NUMBERS_64 NUMBERS_32 ",%32,%33,%34,%35,%36,%37,%38,%39,%40,%41,%42,%43,%44,%45,%46,%47,%48,%49,%50,%51,%52,%53,%54,%55,%56,%57,%58,%59,%60,%61,%62,%63"
#define WARPGROUP_32(to, a, b)                                                                                            \
  asm volatile(WARPGROUP("wgmma.mma_async.sync.aligned.m64n32k16.f32.f16.f16 {" NUMBERS_16 "},%16,%17,1,1,1,0,0;")         \
               : SUMS(to, 0), SUMS(to, 1), SUMS(to, 2), SUMS(to, 3) : "l"(a), "l"(b) : "memory")
#define WARPGROUP_64(to, a, b)                                                                                            \
  asm volatile(WARPGROUP("wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 {" NUMBERS_32 "},%32,%33,1,1,1,0,0;")         \
               : SUMS_32(to, 0) : "l"(a), "l"(b) : "memory")
#define WARPGROUP_128(to, a, b)                                                                                           \
  asm volatile(WARPGROUP("wgmma.mma_async.sync.aligned.m64n128k16.f32.f16.f16 {" NUMBERS_64 "},%64,%65,1,1,1,0,0;")        \
               : SUMS_32(to, 0), SUMS_32(to, 8) : "l"(a), "l"(b) : "memory")
#define WARPGROUP_8_32(to, a, b)                                                                                          \
  asm volatile(WARPGROUP("wgmma.mma_async.sync.aligned.m64n32k32.s32." LEFT_NUMBERS ".s8 {" NUMBERS_16 "},%16,%17,1;")     \
               : SUMS(to, 0), SUMS(to, 1), SUMS(to, 2), SUMS(to, 3) : "l"(a), "l"(b) : "memory")
#define WARPGROUP_8_64(to, a, b)                                                                                          \
  asm volatile(WARPGROUP("wgmma.mma_async.sync.aligned.m64n64k32.s32." LEFT_NUMBERS ".s8 {" NUMBERS_32 "},%32,%33,1;")     \
               : SUMS_32(to, 0) : "l"(a), "l"(b) : "memory")
#define WARPGROUP_8_128(to, a, b)                                                                                         \
  asm volatile(WARPGROUP("wgmma.mma_async.sync.aligned.m64n128k32.s32." LEFT_NUMBERS ".s8 {" NUMBERS_64 "},%64,%65,1;")    \
               : SUMS_32(to, 0), SUMS_32(to, 8) : "l"(a), "l"(b) : "memory")
// Of rows of ROW_BYTES that lie as PLACE says: 8 rows are one pattern.
#define TILE_DESCRIPTOR(address)                                                                                 \
  ((ulong)((address) >> 4 & 0x3fff) | (ulong)(ROW_BYTES / 2) << 32 | (ulong)1 << 16 | (ulong)(ROW_BYTES == 128 ? 1 : 2) << 62)
#define MULTIPLY_WARPGROUPS_BEGIN(sum, left, right)                                                              \
  {                                                                                                              \
    const uint a = LOCAL_ADDRESS(left) + (warp >> 2) * PARTS_M * 64 * ROW_BYTES, b = LOCAL_ADDRESS(right);       \
    asm volatile(WARPGROUP("wgmma.fence.sync.aligned;") ::: "memory");                                           \
    _Pragma("unroll") for (int k = 0; k < ROW_BYTES / 32; ++k) _Pragma("unroll") for (int i = 0; i < PARTS_M; ++i) \
        MULTIPLY_WARPGROUP(sum[i], TILE_DESCRIPTOR(a + i * 64 * ROW_BYTES + k * 32), TILE_DESCRIPTOR(b + k * 32)); \
    asm volatile(WARPGROUP("wgmma.commit_group.sync.aligned;") ::: "memory");                                    \
  }
#define MULTIPLY_WARPGROUPS_END(sum, left, right) asm volatile(WARPGROUP("wgmma.wait_group.sync.aligned 0;") ::: "memory")
#endif

// Of attention. Four neighbours have the columns of a row.
#define QUADS
#define IS_IDLE_WARP(is_idle) (is_idle)
#define SUM_OF(x, y) ((x) + (y))
#define JOIN_QUADS(values, of)                                                                            \
  _Pragma("unroll") for (int i = 0; i < PARTS_M; ++i) _Pragma("unroll") for (int h = 0; h < 2; ++h) {     \
    float other;                                                                                          \
    asm volatile("shfl.sync.bfly.b32 %0, %1, 1, 0x1f, 0xffffffff;" : "=f"(other) : "f"((values)[i][h]));  \
    (values)[i][h] = of((values)[i][h], other);                                                           \
    asm volatile("shfl.sync.bfly.b32 %0, %1, 2, 0x1f, 0xffffffff;" : "=f"(other) : "f"((values)[i][h]));  \
    (values)[i][h] = of((values)[i][h], other);                                                           \
  }
#define PAIR(to, low, high) asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(to) : "f"(high), "f"(low))
// Weights as they were summed are the left side as it is multiplied; of a warp's rows of values those from `rows` on weigh nothing.
#define MULTIPLY_WEIGHTS(sum, weights, scratch, values, rows)                                                        \
  _Pragma("unroll") for (int k = 0; k < WARP_N / 16; ++k) if (k * 16 < (rows)) {                                     \
    uint a[PARTS_M][4], b[VALUE_PARTS / 2][4];                                                                       \
    _Pragma("unroll") for (int i = 0; i < PARTS_M; ++i) _Pragma("unroll") for (int part = 0; part < 4; ++part)       \
        PAIR(a[i][part], (weights)[i][2 * k + part / 2][part % 2 * 2], (weights)[i][2 * k + part / 2][part % 2 * 2 + 1]); \
    _Pragma("unroll") for (int j = 0; j < VALUE_PARTS / 2; ++j) LOAD_FRAGMENTS_TURNED(                               \
        b[j], values + PLACE(warp_n * WARP_N + k * 16 + (lane & 7) + (lane >> 3 & 1) * 8, 2 * j + (lane >> 4)));     \
    _Pragma("unroll") for (int i = 0; i < PARTS_M; ++i) _Pragma("unroll") for (int j = 0; j < VALUE_PARTS; ++j)      \
        MULTIPLY_FRAGMENTS((sum)[i][j], a[i], b[j / 2][j % 2 * 2], b[j / 2][j % 2 * 2 + 1]);                         \
  }
#endif
