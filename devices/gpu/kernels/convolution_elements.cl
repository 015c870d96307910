// A convolution, one work-item for each element. X(i), W(i); STORE(value, n, c, pixel). Weights are [GROUPS * OC, IC,
// window].
KERNEL {
  const int pixel = (int)get_global_id(0), channel = (int)get_global_id(1), image = (int)get_global_id(2);
  if (pixel >= OD * OH * OW) return;
  const int x0 = FIRST_X(pixel), y0 = FIRST_Y(pixel), z0 = FIRST_Z(pixel);
  ACC sum = 0;
  for (int c = 0; c < IC; ++c) {
    const int plane = (image * GROUPS * IC + channel / OC * IC + c) * ID * IH * IW;
    const int taps = (channel * IC + c) * KD * KH * KW;
    for (int kz = 0; kz < KD; ++kz) {
      const int z = z0 + kz * DD;
      if (z < 0 || z >= ID) continue;
      for (int ky = 0; ky < KH; ++ky) {
        const int y = y0 + ky * DH;
        if (y < 0 || y >= IH) continue;
        for (int kx = 0; kx < KW; ++kx) {
          const int x = x0 + kx * DW;
          if (x < 0 || x >= IW) continue;
          sum += (ACC)X(plane + (z * IH + y) * IW + x) * (ACC)W(taps + (kz * KH + ky) * KW + kx);
        }
      }
    }
  }
  STORE(sum, image, channel, pixel);
}
