// A product of matrices of f16 or f32 with sums in f32, or of 8-bit numbers with sums in int (TOTAL): rows of the left side (STORED)
// by rows of the right one (STORED_RIGHT), [M, K] by [N, K]. The
// left side's rows lie in memory (IS_PLAIN), or are the windows of a convolution over channels last: K counts channels
// within taps. 16 bytes, a chunk, are read at once; CHANNELS, and K of the right side, are whole chunks.
// A group of WARPS_M x WARPS_N warps of 32 work-items computes TILE_M x TILE_N elements: of PARTS_M parts of 16 rows, PART_ROWS
// apart, a warp has PARTS_N parts of 8 columns. STEP columns of both sides are copied to one of STAGES slots of local memory
// while earlier ones are multiplied, by MULTIPLY, or from MULTIPLY_BEGIN on until then. OUT_ROWS rows at a time are written.
// Element c of a work-item's part i, j is of the row SUM_ROW(i, j, c) of the tile and of its column SUM_COLUMN(j, c).
// With SPLITS > 1 as many groups share a tile: PARTS holds their sums, COUNTERS a zero for each of a SET's TILES_OF_SET tiles, before and
// after.
// A_p, B_p; A_PLACE(m): where a row begins, IS_PLAIN; A_BATCH(batch), B_BATCH(batch): where a batch begins. STORE8_AT(v, batch, m, n) writes 8 neighbours along n,
// STORE_AT(value, batch, m, n) one. EARLY_ROW(batch, n): see early_nvidia.cl.
// HAS_GRAPHS_MEMORY: slots lie in more local memory than OpenCL lends a group, behind what the text declares (twin/ptx.hpp), so
// that they are known by numbers.
#if HAS_GRAPHS_MEMORY
#define TILES graphs_memory
#define TILES_BYTES (OUT_ROWS * OUT_ROW * 4)
#define SLOT_PLACE uint
#define SLOT(step) (LOCAL_ADDRESS(TILES) + (step) % STAGES * SLOT_BYTES)
#else
#define TILES tiles
#define TILES_BYTES (STAGES * SLOT_BYTES > OUT_ROWS * OUT_ROW * 4 ? STAGES * SLOT_BYTES : OUT_ROWS * OUT_ROW * 4)
#define SLOT_PLACE __local uchar*
#define SLOT(step) (TILES + (step) % STAGES * SLOT_BYTES)
#endif
#define SUMS_OF_ITEM (PARTS_M * PARTS_N * 4)
#define COPIES(rows) (((rows) + ROWS_AT_ONCE - 1) / ROWS_AT_ONCE)
#define IS_COPIED(i, rows) ((rows) % ROWS_AT_ONCE == 0 || row + (i) * ROWS_AT_ONCE < (rows))
KERNEL {
  __local uchar TILES[TILES_BYTES] __attribute__((aligned(1024)));
  const int at = (int)get_local_id(0), lane = at & 31, warp = at >> 5;
  const int warp_m = warp % WARPS_M, warp_n = warp / WARPS_M, batch = GROUP_Z / SPLITS;
  const int m0 = (int)get_group_id(1) * TILE_M, n0 = (int)get_group_id(0) * TILE_N;
  const int warp_row = WARP_ROW, first_row = warp_row + (lane >> 2), first_column = warp_n * WARP_N + (lane & 3) * 2;
  const int row = at / CHUNKS, chunk = at % CHUNKS;
  // Where several groups share a tile, each adds up a part of K.
  const int split = GROUP_Z % SPLITS, all_steps = (K + STEP - 1) / STEP;
  const int first_step = split * all_steps / SPLITS, steps = (split + 1) * all_steps / SPLITS - first_step;
#ifdef EARLY_ROW
  // Groups that read the same rows share them.
  const int early = ((int)get_group_id(1) * LANES + at) / TILE_N, sharing = max((int)get_num_groups(1) * LANES / TILE_N, 1);
  READ_EARLY(EARLY_ROW(batch, min(n0 + at % TILE_N, N - 1)) + first_step * ROW_BYTES, steps * ROW_BYTES, early, sharing)
  WAIT_FOR_KERNELS();
#endif
  __global const STORED* const left = A_p + A_BATCH(batch);
  __global const STORED_RIGHT* const right = B_p + B_BATCH(batch);
  // Of each row that this work-item copies: where its first tap lies, and which taps lie within the picture.
  int places[COPIES(TILE_M)];
  uint taps[COPIES(TILE_M)];
#pragma unroll
  for (int i = 0; i < COPIES(TILE_M); ++i) {
    const int m = m0 + row + i * ROWS_AT_ONCE;
#if IS_PLAIN
    places[i] = m < M ? A_PLACE(m) : 0;
    taps[i] = m < M;
#else
    const int image = m / (OH * OW), pixel = m - image * (OH * OW), oy = pixel / OW, ox = pixel - oy * OW;
    const int y = oy * SH - PH, x = ox * SW - PW;
    places[i] = image * A_IMAGE + y * A_LINE + x * A_PIXEL;
    taps[i] = 0;
    if (m < M)
      for (int ky = 0; ky < KH; ++ky)
        for (int kx = 0; kx < KW; ++kx)
          taps[i] |= (uint)((uint)(y + ky * DH) < (uint)IH && (uint)(x + kx * DW) < (uint)IW) << (ky * KW + kx);
#endif
  }
  TOTAL sum[PARTS_M][PARTS_N][4];
#pragma unroll
  for (int i = 0; i < PARTS_M; ++i)
#pragma unroll
    for (int j = 0; j < PARTS_N; ++j) sum[i][j][0] = sum[i][j][1] = sum[i][j][2] = sum[i][j][3] = 0;
  for (int step = 1 - STAGES; step < steps; ++step) {
    // What the slot before held is multiplied when all are here.
    if (step >= 0) {
      COPIES_WAIT();
      COPIES_READY();
      barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (step >= 0) MULTIPLY_BEGIN(sum, SLOT(step), (SLOT(step) + TILE_M * ROW_BYTES));
    const int next = step + STAGES - 1;
    if (next < steps) {
      const SLOT_PLACE to = SLOT(next);
      const int k = (first_step + next) * STEP + chunk * PER_CHUNK;
#if IS_PLAIN
      const int tap = 0, offset = k;
#else
      const int tap = k / CHANNELS, ky = tap / KW;
      const int offset = k - tap * CHANNELS + ky * DH * A_LINE + (tap - ky * KW) * DW * A_PIXEL;
#endif
#pragma unroll
      for (int i = 0; i < COPIES(TILE_M); ++i)
        if (IS_COPIED(i, TILE_M)) COPY16(to + PLACE(row + i * ROWS_AT_ONCE, chunk), left + places[i] + offset, k < K && (taps[i] >> tap & 1));
#pragma unroll
      for (int i = 0; i < COPIES(TILE_N); ++i) {
        const int n = n0 + row + i * ROWS_AT_ONCE;
        if (IS_COPIED(i, TILE_N)) COPY16(to + TILE_M * ROW_BYTES + PLACE(row + i * ROWS_AT_ONCE, chunk), right + n * B_ROW + k, k < K && n < N);
      }
    }
    COPIES_END();
    if (step < 0) continue;
    const SLOT_PLACE slot = SLOT(step);
    MULTIPLY(sum, slot, (slot + TILE_M * ROW_BYTES));
  }
  barrier(CLK_LOCAL_MEM_FENCE);
#if SPLITS > 1
  // All leave their parts; the group that comes last adds them, always in the same order.
  const int tile = ((int)get_group_id(1) * (int)get_num_groups(0) + (int)get_group_id(0)) +
                   batch * (int)(get_num_groups(0) * get_num_groups(1));
  __global int* const counter = COUNTERS_p + SET * TILES_OF_SET + tile;
  __global TOTAL* const mine = PARTS_p + (tile * SPLITS + split) * TILE_M * TILE_N + at;
#pragma unroll
  for (int i = 0; i < SUMS_OF_ITEM; ++i) mine[i * LANES] = sum[i / (PARTS_N * 4)][i / 4 % PARTS_N][i % 4];
  ALL_WRITTEN();
  barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
  __local int* const is_last = (__local int*)TILES;
  if (at == 0) {
    uint count;
    COUNT_GROUP((volatile __global int*)counter, count)
    *is_last = count == SPLITS - 1;
    if (*is_last) *counter = 0;
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  if (!*is_last) return;
  SEE_WRITES();
  // All of a part is asked for before the first is waited for.
  __global const volatile TOTAL* const parts = PARTS_p + tile * SPLITS * TILE_M * TILE_N + at;
  TOTAL all[SUMS_OF_ITEM];
#pragma unroll
  for (int i = 0; i < SUMS_OF_ITEM; ++i) all[i] = 0;
#pragma unroll
  for (int part = 0; part < SPLITS; ++part) {
    TOTAL own[SUMS_OF_ITEM];
#pragma unroll
    for (int i = 0; i < SUMS_OF_ITEM; ++i) own[i] = parts[part * TILE_M * TILE_N + i * LANES];
#pragma unroll
    for (int i = 0; i < SUMS_OF_ITEM; ++i) all[i] += own[i];
  }
#pragma unroll
  for (int i = 0; i < SUMS_OF_ITEM; ++i) sum[i / (PARTS_N * 4)][i / 4 % PARTS_N][i % 4] = all[i];
  barrier(CLK_LOCAL_MEM_FENCE);
#endif
  // Through local memory, so that neighbours along n are written together.
  __local TOTAL* const results = (__local TOTAL*)TILES;
#pragma unroll
  for (int rows = 0; rows < TILE_M; rows += OUT_ROWS) {
    if (rows > 0) barrier(CLK_LOCAL_MEM_FENCE);
#pragma unroll
    for (int i = 0; i < PARTS_M; ++i) {
      if ((uint)(warp_row + i * PART_ROWS - rows) >= OUT_ROWS) continue;
#pragma unroll
      for (int j = 0; j < PARTS_N; ++j)
#pragma unroll
        for (int c = 0; c < 4; ++c) results[(SUM_ROW(i, j, c) - rows) * OUT_ROW + SUM_COLUMN(j, c)] = sum[i][j][c];
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int i = at; i < OUT_ROWS * TILE_N / 8; i += LANES) {
      const int m = m0 + rows + i / (TILE_N / 8), n = n0 + i % (TILE_N / 8) * 8;
      if (m >= M || n >= N) continue;
      __local const TOTAL* const from = results + i / (TILE_N / 8) * OUT_ROW + i % (TILE_N / 8) * 8;
#if IS_WIDE
      TOTAL v[8];
#pragma unroll
      for (int j = 0; j < 8; ++j) v[j] = from[j];
      STORE8_AT(v, batch, m, n);
#else
      for (int j = 0; j < min(8, N - n); ++j) STORE_AT(from[j], batch, m, (n + j));
#endif
    }
  }
}
#undef TILES
#undef TILES_BYTES
#undef SLOT_PLACE
#undef SLOT
#undef SUMS_OF_ITEM
#undef COPIES
#undef IS_COPIED
