// Pooling, one work-item for each element. X(i); STORE(value, n, c, pixel), INDEX_SET(i, value).
KERNEL {
  const int pixel = (int)get_global_id(0), plane = (int)get_global_id(1);
  if (pixel >= OD * OH * OW) return;
  const int x0 = FIRST_X(pixel), y0 = FIRST_Y(pixel), z0 = FIRST_Z(pixel);
  const int begin = plane * ID * IH * IW;
  ACC sum = IS_MAX ? (ACC)LOWEST : 0;
  int inside = 0, where = 0;
  for (int kz = 0; kz < KD; ++kz) {
    const int z = z0 + kz * DD;
    if (z < 0 || z >= ID) continue;
    for (int ky = 0; ky < KH; ++ky) {
      const int y = y0 + ky * DH;
      if (y < 0 || y >= IH) continue;
      for (int kx = 0; kx < KW; ++kx) {
        const int x = x0 + kx * DW;
        if (x < 0 || x >= IW) continue;
        const int at = (z * IH + y) * IW + x;
        const ACC value = (ACC)X(begin + at);
#if IS_MAX
        if (inside == 0) where = at;
        if (value > sum) sum = value, where = at;  // Never a NaN.
#else
        sum += value;
#endif
        ++inside;
      }
    }
  }
#if IS_MAX
  if (inside == 0) sum = LEAST;
#else
#if EXCLUDES_PAD
  const int count = inside;
#elif IS_TORCH
  // PyTorch's rounding ignores what lies beyond the padding.
  const int rx = IW + PEND_W - 1 - x0, ry = IH + PEND_H - 1 - y0, rz = ID + PEND_D - 1 - z0;
  const int count = (rx < 0 ? 0 : min(KW, rx / DW + 1)) * (ry < 0 ? 0 : min(KH, ry / DH + 1)) *
                    (rz < 0 ? 0 : min(KD, rz / DD + 1));
#else
  const int count = KD * KH * KW;
#endif
  sum = count > 0 ? sum / count : 0;
#endif
#if HAS_INDICES
  INDEX_SET(plane * OD * OH * OW + pixel, ((long)begin + where) % PER_AXIS);
#endif
  STORE(sum, plane / CHANNELS, plane % CHANNELS, pixel);
}
