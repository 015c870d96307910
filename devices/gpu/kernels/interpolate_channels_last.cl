// A resize of rows and columns, channels last: a work-item computes 8 channels of a pixel. TAPS_Y and TAPS_X positions and
// weights for each row and column; a negative position counts nothing. X_LOAD8(i, to); STORE8(v, image, pixel, channel).
KERNEL {
  const int at = (int)get_global_id(0), chunk = at % (CHANNELS / 8), pixel = at / (CHANNELS / 8), image = (int)get_global_id(1);
  if (pixel >= OH * OW) return;
  const int oy = pixel / OW, ox = pixel % OW;
  float v[8] = {0, 0, 0, 0, 0, 0, 0, 0};
  for (int ty = 0; ty < TAPS_Y; ++ty) {
    const int y = ROW(oy * TAPS_Y + ty);
    if (y < 0) continue;
    for (int tx = 0; tx < TAPS_X; ++tx) {
      const int x = COLUMN(ox * TAPS_X + tx);
      if (x < 0) continue;
      const float weight = ROW_WEIGHT(oy * TAPS_Y + ty) * COLUMN_WEIGHT(ox * TAPS_X + tx);
      float in[8];
      X_LOAD8(image * X_IMAGE + y * X_LINE + x * X_PIXEL + chunk * 8, in);
#pragma unroll
      for (int j = 0; j < 8; ++j) v[j] = fma(weight, in[j], v[j]);
    }
  }
  STORE8(v, image, pixel, chunk * 8);
}
