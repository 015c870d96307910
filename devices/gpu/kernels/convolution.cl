// A convolution over channels first, for devices whose work-items are CPU cores' loops: each computes CHANNELS output
// channels of 16 neighbours of a row. X(i), W(i); STORE(value, n, c, pixel).
KERNEL {
  const int blocks_x = (OW + 15) / 16;
  const int x0 = ((int)get_global_id(0) % blocks_x) * 16, row = (int)get_global_id(0) / blocks_x;
  const int c0 = (int)get_global_id(1) * CHANNELS, image = (int)get_global_id(2);
  if (row >= OD * OH || c0 >= GROUPS * OC) return;
  const int oy = row % OH, oz = row / OH, group = c0 / OC;
  const int y0 = oy * SH - PH, z0 = oz * SD - PD, ix0 = x0 * SW - PW;
  float16 sum[CHANNELS];
  for (int i = 0; i < CHANNELS; ++i) sum[i] = 0;
  const int inner_end = ix0 + (KW - 1) * DW + 15 * SW;
  const bool is_inside = ix0 >= 0 && inner_end < IW;
  for (int c = 0; c < IC; ++c) {
    const int plane = (image * GROUPS * IC + group * IC + c) * ID * IH * IW;
    for (int kz = 0; kz < KD; ++kz) {
      const int z = z0 + kz * DD;
      if (z < 0 || z >= ID) continue;
      for (int ky = 0; ky < KH; ++ky) {
        const int y = y0 + ky * DH;
        if (y < 0 || y >= IH) continue;
        const int line = plane + (z * IH + y) * IW;
        const int taps = ((c0 * IC + c) * KD + kz) * KH * KW + ky * KW;
        for (int kx = 0; kx < KW; ++kx) {
          const int x = ix0 + kx * DW;
          float16 in;
          if (SW == 1 && is_inside) {
            in = X_LOAD16(line + x);
          } else {
            float values[16];
            for (int j = 0; j < 16; ++j) {
              const int at = x + j * SW;
              values[j] = at >= 0 && at < IW ? X(line + at) : 0;
            }
            in = vload16(0, values);
          }
#pragma unroll
          for (int i = 0; i < CHANNELS; ++i)
            sum[i] = fma((float16)(W(taps + i * IC * KD * KH * KW + kx)), in, sum[i]);
        }
      }
    }
  }
  for (int i = 0; i < CHANNELS; ++i) {
    float line[16];
    vstore16(sum[i], 0, line);
    for (int j = 0; j < min(16, OW - x0); ++j) STORE(line[j], image, c0 + i, row * OW + x0 + j);
  }
}
