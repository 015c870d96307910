// A convolution of each channel by itself, channels last, for devices whose work-items are CPU cores' loops: each computes LINES lines of
// a vector of WIDE channels. X_p, W_p: filters [rows, columns, CHANNELS]; STORE_WIDE(value, image, pixel, channel).
#define TAP(ky, kx) sum = fma(*(__global const FLOATS*)(at + (kx) * DW * X_PIXEL), *(__global const FLOATS*)(taps + (kx) * CHANNELS), sum)
KERNEL {
  const int channel = (int)get_global_id(0) * WIDE, image = (int)get_global_id(2);
  const int end = min(((int)get_global_id(1) + 1) * LINES, OH);
  // Pixels whose windows lie within the line.
  const int first = min((PW + SW - 1) / SW, OW), last = max(min((IW - 1 - (KW - 1) * DW + PW) / SW + 1, OW), first);
  for (int oy = (int)get_global_id(1) * LINES; oy < end; ++oy)
    for (int ox = 0; ox < OW; ++ox) {
      const int x = ox * SW - PW;
      const int is_inside = ox >= first && ox < last;
      FLOATS sum = 0;
#pragma unroll
      for (int ky = 0; ky < KH; ++ky) {
        const int y = oy * SH - PH + ky * DH;
        if (y < 0 || y >= IH) continue;
        __global const float* const at = X_p + image * X_IMAGE + y * X_LINE + x * X_PIXEL + channel;
        __global const float* const taps = W_p + ky * KW * CHANNELS + channel;
        if (is_inside) {
#pragma unroll
          for (int kx = 0; kx < KW; ++kx) TAP(ky, kx);
        } else {
          for (int kx = 0; kx < KW; ++kx)
            if ((uint)(x + kx * DW) < (uint)IW) TAP(ky, kx);
        }
      }
      STORE_WIDE(sum, image, oy * OW + ox, channel);
    }
}
#undef TAP
