// A transposed convolution: each work-item gathers what the input's pixels add to one element. X(i), W(i);
// STORE(value, n, c, pixel). Weights are [GROUPS, IC, OC, window].
KERNEL {
  const int pixel = (int)get_global_id(0), channel = (int)get_global_id(1), image = (int)get_global_id(2);
  if (pixel >= OD * OH * OW) return;
  const int ox = pixel % OW, oy = pixel / OW % OH, oz = pixel / (OW * OH);
  const int group = channel / OC, c_out = channel % OC;
  ACC sum = 0;
  for (int kz = 0; kz < KD; ++kz) {
    const int z = oz + PD - kz * DD;
    if (z < 0 || z % SD != 0 || z / SD >= ID) continue;
    for (int ky = 0; ky < KH; ++ky) {
      const int y = oy + PH - ky * DH;
      if (y < 0 || y % SH != 0 || y / SH >= IH) continue;
      for (int kx = 0; kx < KW; ++kx) {
        const int x = ox + PW - kx * DW;
        if (x < 0 || x % SW != 0 || x / SW >= IW) continue;
        const int from = ((image * GROUPS * IC + group * IC) * ID + z / SD) * IH * IW + y / SH * IW + x / SW;
        const int taps = (((group * IC) * OC + c_out) * KD + kz) * KH * KW + ky * KW + kx;
        for (int c = 0; c < IC; ++c)
          sum += (ACC)X(from + c * ID * IH * IW) * (ACC)W(taps + c * OC * KD * KH * KW);
      }
    }
  }
  STORE(sum, image, channel, pixel);
}
