// Pooling over channels last: a work-item computes 8 channels of a pixel. X_LOAD8(i, to); STORE8(v, image, pixel, channel).
KERNEL {
  const int at = (int)get_global_id(0), chunk = at % (CHANNELS / 8), pixel = at / (CHANNELS / 8), image = (int)get_global_id(1);
  if (pixel >= OH * OW) return;
  const int y0 = pixel / OW * SH - PH, x0 = pixel % OW * SW - PW;
  float v[8];
  for (int j = 0; j < 8; ++j) v[j] = IS_MAX ? -INFINITY : 0;
  int inside = 0;
  for (int ky = 0; ky < KH; ++ky) {
    const int y = y0 + ky * DH;
    if (y < 0 || y >= IH) continue;
    for (int kx = 0; kx < KW; ++kx) {
      const int x = x0 + kx * DW;
      if (x < 0 || x >= IW) continue;
      float in[8];
      X_LOAD8(image * X_IMAGE + y * X_LINE + x * X_PIXEL + chunk * 8, in);
#pragma unroll
      for (int j = 0; j < 8; ++j) v[j] = !IS_MAX ? v[j] + in[j] : in[j] > v[j] ? in[j] : v[j];
      ++inside;
    }
  }
#if IS_MAX
  for (int j = 0; j < 8; ++j) v[j] = inside == 0 ? -MAXFLOAT : v[j];
#else
  const int count = EXCLUDES_PAD ? inside : KH * KW;
  for (int j = 0; j < 8; ++j) v[j] = count > 0 ? v[j] / count : 0;
#endif
  STORE8(v, image, pixel, chunk * 8);
}
