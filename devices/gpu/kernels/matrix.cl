// A product of matrices of f16 with sums in f32: rows of the left side by rows of the right one, [M, K] by [N, K]. The
// left side's rows lie in memory (IS_PLAIN), or are the windows of a convolution over channels last: K counts channels
// within taps. 16 bytes, a chunk, are read at once: CHANNELS, and K of the right side, are multiples of 8.
// A group of WARPS_M x WARPS_N warps of 32 work-items computes TILE_M x TILE_N elements. STEP columns of both sides are
// copied to one of STAGES slots of local memory while earlier ones are multiplied.
// A_p, B_p; A_BATCH(batch), B_BATCH(batch): where a batch begins. STORE8_AT(v, batch, m, n) writes 8 neighbours along n,
// STORE_AT(value, batch, m, n) one.
#define LANES (32 * WARPS_M * WARPS_N)
#define WARP_M (TILE_M / WARPS_M)
#define WARP_N (TILE_N / WARPS_N)
#define PARTS_M (WARP_M / 16)
#define PARTS_N (WARP_N / 8)
#define CHUNKS (STEP / 8)
#define ROWS_AT_ONCE (LANES / CHUNKS)
#define SLOT_BYTES ((TILE_M + TILE_N) * STEP * 2)
#define OUT_ROW (TILE_N + 4)
#define LOCAL_BYTES (STAGES * SLOT_BYTES > TILE_M * OUT_ROW * 4 ? STAGES * SLOT_BYTES : TILE_M * OUT_ROW * 4)
// Chunks of neighbouring rows in different banks.
#if STEP == 32
#define PLACE(row, chunk) ((row) * 64 + (((chunk) ^ ((row) >> 1 & 3)) << 4))
#else
#define PLACE(row, chunk) ((row) * 128 + (((chunk) ^ ((row) & 7)) << 4))
#endif
KERNEL {
  __local uchar tiles[LOCAL_BYTES] __attribute__((aligned(128)));
  const int at = (int)get_local_id(0), lane = at & 31, warp = at >> 5;
  const int warp_m = warp % WARPS_M, warp_n = warp / WARPS_M, batch = (int)get_group_id(2);
  const int m0 = (int)get_group_id(1) * TILE_M, n0 = (int)get_group_id(0) * TILE_N;
  const int first_row = warp_m * WARP_M + (lane >> 2), first_column = warp_n * WARP_N + (lane & 3) * 2;
  const int row = at / CHUNKS, chunk = at % CHUNKS;
  __global const half* const left = A_p + A_BATCH(batch);
  __global const half* const right = B_p + B_BATCH(batch);
  // Of each row that this work-item copies: where its first tap lies, and which taps lie within the picture.
  int places[TILE_M / ROWS_AT_ONCE];
  uint taps[TILE_M / ROWS_AT_ONCE];
#pragma unroll
  for (int i = 0; i < TILE_M / ROWS_AT_ONCE; ++i) {
    const int m = m0 + row + i * ROWS_AT_ONCE;
#if IS_PLAIN
    places[i] = m * A_ROW;
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
  float sum[PARTS_M][PARTS_N][4];
#pragma unroll
  for (int i = 0; i < PARTS_M; ++i)
#pragma unroll
    for (int j = 0; j < PARTS_N; ++j) sum[i][j][0] = sum[i][j][1] = sum[i][j][2] = sum[i][j][3] = 0;
  const int steps = (K + STEP - 1) / STEP;
  for (int step = 1 - STAGES; step < steps; ++step) {
    // What the slot before held is multiplied when all are here.
    if (step >= 0) {
      COPIES_WAIT();
      barrier(CLK_LOCAL_MEM_FENCE);
    }
    const int next = step + STAGES - 1;
    if (next < steps) {
      __local uchar* const slot = tiles + next % STAGES * SLOT_BYTES;
      const int k = next * STEP + chunk * 8;
#if IS_PLAIN
      const int tap = 0, offset = k;
#else
      const int tap = k / CHANNELS, ky = tap / KW;
      const int offset = k - tap * CHANNELS + ky * DH * A_LINE + (tap - ky * KW) * DW * A_PIXEL;
#endif
#pragma unroll
      for (int i = 0; i < TILE_M / ROWS_AT_ONCE; ++i)
        COPY16(slot + PLACE(row + i * ROWS_AT_ONCE, chunk), left + places[i] + offset, k < K && (taps[i] >> tap & 1));
#pragma unroll
      for (int i = 0; i < TILE_N / ROWS_AT_ONCE; ++i) {
        const int n = n0 + row + i * ROWS_AT_ONCE;
        COPY16(slot + TILE_M * STEP * 2 + PLACE(row + i * ROWS_AT_ONCE, chunk), right + n * B_ROW + k, k < K && n < N);
      }
    }
    COPIES_END();
    if (step < 0) continue;
    __local const uchar* const slot = tiles + step % STAGES * SLOT_BYTES;
    MULTIPLY_TILES(sum, slot, (slot + TILE_M * STEP * 2));
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  // Through local memory, so that neighbours along n are written together.
  __local float* const results = (__local float*)tiles;
#pragma unroll
  for (int i = 0; i < PARTS_M; ++i)
#pragma unroll
    for (int j = 0; j < PARTS_N; ++j) {
      __local float* const to = results + (first_row + i * 16) * OUT_ROW + first_column + j * 8;
      to[0] = sum[i][j][0];
      to[1] = sum[i][j][1];
      to[8 * OUT_ROW] = sum[i][j][2];
      to[8 * OUT_ROW + 1] = sum[i][j][3];
    }
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int i = at; i < TILE_M * TILE_N / 8; i += LANES) {
    const int m = m0 + i / (TILE_N / 8), n = n0 + i % (TILE_N / 8) * 8;
    if (m >= M || n >= N) continue;
    __local const float* const from = results + i / (TILE_N / 8) * OUT_ROW + i % (TILE_N / 8) * 8;
#if IS_WIDE
    float v[8];
#pragma unroll
    for (int j = 0; j < 8; ++j) v[j] = from[j];
    STORE8_AT(v, batch, m, n);
#else
    for (int j = 0; j < min(8, N - n); ++j) STORE_AT(from[j], batch, m, (n + j));
#endif
  }
}
#undef LANES
#undef WARP_M
#undef WARP_N
#undef PARTS_M
#undef PARTS_N
#undef CHUNKS
#undef ROWS_AT_ONCE
#undef SLOT_BYTES
#undef OUT_ROW
#undef LOCAL_BYTES
#undef PLACE
