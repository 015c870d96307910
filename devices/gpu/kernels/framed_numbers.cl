// A picture of 8-bit numbers, channels last: CHANNELS of which each place gets WIDE, within a frame of ZERO.
// X(i): S_IMAGE, S_CHANNEL, S_LINE, S_PIXEL between elements. OUT: [images, OUT_H, OUT_W, WIDE].
KERNEL {
  const int at = (int)get_global_id(0);
  if (at >= COUNT) return;
  const int channel = at % WIDE, place = at / WIDE;
  const int x = place % OUT_W - LEFT_PAD, line = place / OUT_W, y = line % OUT_H - TOP_PAD, image = line / OUT_H;
  const int is_inside = x >= 0 && x < IN_W && y >= 0 && y < IN_H && channel < CHANNELS;
  OUT_SET(at, is_inside ? X(image * S_IMAGE + y * S_LINE + x * S_PIXEL + channel * S_CHANNEL) : ZERO);
}
