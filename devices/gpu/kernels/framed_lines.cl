// A picture, channels last, within a frame of zeros, as channels_last.cl, for devices whose work-items are CPU cores' loops: each
// computes LINES lines. X(i): S_IMAGE, S_CHANNEL, S_LINE, S_PIXEL between elements; a line is RUNS runs of neighbours,
// unless HAS_RUNS is 0. OUT: [images, OUT_H, OUT_W, WIDE] of f32; WIDE is a multiple of 4.
KERNEL {
  const int image = (int)get_global_id(1), end = min(((int)get_global_id(0) + 1) * LINES, OUT_H);
  for (int line = (int)get_global_id(0) * LINES; line < end; ++line) {
    __global float* const to = OUT_p + (image * OUT_H + line) * (OUT_W * WIDE);
    const int y = line - TOP_PAD, is_inside = y >= 0 && y < IN_H;
    const int from = image * S_IMAGE + y * S_LINE;
    const int first = is_inside ? LEFT_PAD * WIDE : OUT_W * WIDE, behind = (LEFT_PAD + IN_W) * WIDE;
    for (int i = 0; i < first; ++i) to[i] = 0;
    if (!is_inside) continue;
#if HAS_RUNS
    for (int run = 0; run < RUNS; ++run)
      for (int i = 0; i < IN_W * WIDE / RUNS; ++i)
        to[LEFT_PAD * WIDE + run * (IN_W * WIDE / RUNS) + i] = X(from + run * S_PIXEL + i);
#else
    for (int c = 0; c < WIDE; c += 4)
      for (int x = 0; x < IN_W; ++x) {
        const int at = from + x * S_PIXEL + c * S_CHANNEL;
        __global float* const place = to + (LEFT_PAD + x) * WIDE + c;
        place[0] = c < CHANNELS ? X(at) : 0;
        place[1] = c + 1 < CHANNELS ? X(at + S_CHANNEL) : 0;
        place[2] = c + 2 < CHANNELS ? X(at + 2 * S_CHANNEL) : 0;
        place[3] = c + 3 < CHANNELS ? X(at + 3 * S_CHANNEL) : 0;
      }
#endif
    for (int i = behind; i < OUT_W * WIDE; ++i) to[i] = 0;
  }
}
