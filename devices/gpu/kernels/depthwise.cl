// A convolution of each channel by itself, channels last: a work-item computes 8 channels of a pixel. TOTAL is float, or int for
// 8-bit numbers, of which ZERO is zero.
// X_LOAD8(i, to), W_LOAD8(i, to): filters [rows, columns, channels]; STORE8(v, image, pixel, channel).
KERNEL {
  const int at = (int)get_global_id(0), chunk = at % (CHANNELS / 8), pixel = at / (CHANNELS / 8),
            image = (int)get_global_id(1);
  if (pixel >= OH * OW) return;
  const int y0 = pixel / OW * SH - PH, x0 = pixel % OW * SW - PW;
  TOTAL v[8] = {0, 0, 0, 0, 0, 0, 0, 0};
#pragma unroll
  for (int ky = 0; ky < KH; ++ky) {
    const int y = y0 + ky * DH;
    if (y < 0 || y >= IH) continue;
#pragma unroll
    for (int kx = 0; kx < KW; ++kx) {
      const int x = x0 + kx * DW;
      if (x < 0 || x >= IW) continue;
      TOTAL in[8], taps[8];
      X_LOAD8(image * X_IMAGE + y * X_LINE + x * X_PIXEL + chunk * 8, in);
      W_LOAD8((ky * KW + kx) * CHANNELS + chunk * 8, taps);
#pragma unroll
      for (int j = 0; j < 8; ++j) v[j] = MULTIPLY_ADD(in[j] - ZERO, taps[j], v[j]);
    }
  }
  STORE8(v, image, pixel, chunk * 8);
}
