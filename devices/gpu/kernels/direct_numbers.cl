// A convolution of 8-bit numbers in any groups, channels last: a work-item computes one channel of a pixel. Four numbers are
// multiplied at once where their words are whole (HAS_WORDS). ZERO is zero among the left numbers: nothing is read outside.
// X_p, by X_IMAGE, X_LINE and X_PIXEL; W_p: filters [GROUPS * OC, taps, IC]; DOT(left, right, sum); STORE(value, image, pixel, channel).
KERNEL {
  const int pixel = (int)get_global_id(0), channel = (int)get_global_id(1), image = (int)get_global_id(2);
  if (pixel >= OH * OW) return;
  const int y0 = pixel / OW * SH - PH, x0 = pixel % OW * SW - PW;
  int sum = 0;
  for (int ky = 0; ky < KH; ++ky) {
    const int y = y0 + ky * DH;
    if (y < 0 || y >= IH) continue;
    for (int kx = 0; kx < KW; ++kx) {
      const int x = x0 + kx * DW;
      if (x < 0 || x >= IW) continue;
      __global const STORED* const from = X_p + image * X_IMAGE + y * X_LINE + x * X_PIXEL + channel / OC * IC;
      __global const char* const taps = W_p + (channel * KH * KW + ky * KW + kx) * IC;
#if HAS_WORDS
      for (int c = 0; c < IC; c += 4) {
        const uint left = *(__global const uint*)(from + c), right = *(__global const uint*)(taps + c);
        sum = DOT(left, right, sum) - ZERO * DOT_OF_ONES(right);
      }
#else
      for (int c = 0; c < IC; ++c) sum += ((int)from[c] - ZERO) * (int)taps[c];
#endif
    }
  }
  STORE(sum, image, pixel, channel);
}
