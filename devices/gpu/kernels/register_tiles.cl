// A convolution over channels last, for devices whose work-items are CPU cores' loops: each computes TILES tiles of ROWS x PIXELS
// pixels by BLOCKS vectors of WIDE channels, whose sums stay in registers. The picture has its padding around it, so that no tap is
// outside. X_p; W_p: filters [blocks, taps, IC, WIDE]; STORE_WIDE(value, image, pixel, channel) of whole vectors (IS_WHOLE), else
// STORE(value, image, pixel, channel). Tiles at the end of a line lie over others, and write the same.
// A transposed convolution whose windows do not overlap is one of single pixels with UP_Y x UP_X times VECTORS vectors of channels,
// which lie beside each other in the larger picture; else UP_Y and UP_X are 1.
KERNEL {
  const int image = (int)get_global_id(2), block = (int)get_global_id(1) * BLOCKS;
  const int end = min(((int)get_global_id(0) + 1) * TILES, ACROSS * DOWN);
  for (int tile = (int)get_global_id(0) * TILES; tile < end; ++tile) {
    const int y0 = min(tile / ACROSS * ROWS, OH - ROWS), x0 = min(tile % ACROSS * PIXELS, OW - PIXELS);
    __global const float* const from = X_p + image * X_IMAGE + y0 * SH * X_LINE + x0 * SW * X_PIXEL;
    __global const float* weights = W_p + block * (KH * KW * IC * WIDE);
    FLOATS sum[ROWS * PIXELS][BLOCKS];
#pragma unroll
    for (int i = 0; i < ROWS * PIXELS; ++i)
#pragma unroll
      for (int j = 0; j < BLOCKS; ++j) sum[i][j] = 0;
    for (int ky = 0; ky < KH; ++ky)
      for (int kx = 0; kx < KW; ++kx) {
        __global const float* const at = from + ky * DH * X_LINE + kx * DW * X_PIXEL;
#pragma unroll 1
        for (int c = 0; c < IC; ++c, weights += WIDE) {
          FLOATS right[BLOCKS];
#pragma unroll
          for (int j = 0; j < BLOCKS; ++j) right[j] = *(__global const FLOATS*)(weights + j * (KH * KW * IC * WIDE));
#pragma unroll
          for (int i = 0; i < ROWS * PIXELS; ++i) {
            const FLOATS left = (FLOATS)(at[c + i / PIXELS * SH * X_LINE + i % PIXELS * SW * X_PIXEL]);
#pragma unroll
            for (int j = 0; j < BLOCKS; ++j) sum[i][j] = fma(left, right[j], sum[i][j]);
          }
        }
      }
#pragma unroll
    for (int i = 0; i < ROWS * PIXELS; ++i) {
      const int pixel = ((y0 + i / PIXELS) * UP_Y + block / VECTORS / UP_X) * (OW * UP_X) + (x0 + i % PIXELS) * UP_X +
                        block / VECTORS % UP_X;
#pragma unroll
      for (int j = 0; j < BLOCKS; ++j) {
        const int channel = (block % VECTORS + j) * WIDE;
#if IS_WHOLE
        STORE_WIDE(sum[i][j], image, pixel, channel);
#else
        float values[WIDE];
        *(FLOATS*)values = sum[i][j];
        for (int k = 0; k < min(WIDE, OC - channel); ++k) STORE(values[k], image, pixel, channel + k);
#endif
      }
    }
  }
}
