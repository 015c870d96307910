// A picture, channels last: CHANNELS of which each place gets WIDE, the rest zeros, within a frame of zeros.
// X(i): S_IMAGE, S_CHANNEL, S_LINE, S_PIXEL between elements. OUT: [images, OUT_H, OUT_W, WIDE] of f16 or f32.
KERNEL {
  const int at = (int)get_global_id(0);
  if (at >= COUNT) return;
  const int x = at % OUT_W - LEFT_PAD, line = at / OUT_W, y = line % OUT_H - TOP_PAD, image = line / OUT_H;
  const int is_inside = x >= 0 && x < IN_W && y >= 0 && y < IN_H;
  const int from = image * S_IMAGE + y * S_LINE + x * S_PIXEL;
  for (int first = 0; first < WIDE; first += 4) {
    float values[4];
    for (int c = 0; c < 4; ++c) values[c] = is_inside && first + c < CHANNELS ? X(from + (first + c) * S_CHANNEL) : 0;
#if IS_HALF
    vstore_half4(vload4(0, values), 0, OUT_p + at * WIDE + first);
#else
    vstore4(vload4(0, values), 0, OUT_p + at * WIDE + first);
#endif
  }
}
