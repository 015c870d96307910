// What a deformable convolution's filters are multiplied with: the picture at displaced places, [N, channels, taps,
// pixels]. X(i), OFFSET(i), MASK(i); OUT_SET(i, value).
KERNEL {
  const int pixel = (int)get_global_id(0), row = (int)get_global_id(1), image = (int)get_global_id(2);
  if (pixel >= OH * OW) return;
  const int tap = row % (KH * KW), channel = row / (KH * KW);
  const int at = (image * DEFORMABLE + channel / (CHANNELS / DEFORMABLE)) * KH * KW + tap;
  const float y = pixel / OW * SH - PH + tap / KW * DH + OFFSET(2 * at * OH * OW + pixel);
  const float x = pixel % OW * SW - PW + tap % KW * DW + OFFSET((2 * at + 1) * OH * OW + pixel);
  float sum = 0;
  const int is_near = IS_PADDED ? y > -1 && x > -1 : y >= 0 && x >= 0;
  if (is_near && y < IH && x < IW) {
    const int top = (int)floor(y), left = (int)floor(x);
    for (int corner = 0; corner < 4; ++corner) {
      int line = top + corner / 2, column = left + corner % 2;
      const float weight = (corner / 2 ? y - top : 1 - (y - top)) * (corner % 2 ? x - left : 1 - (x - left));
      if (!IS_PADDED) line = min(line, IH - 1), column = min(column, IW - 1);
      if (line < 0 || line >= IH || column < 0 || column >= IW) continue;
      sum += weight * X(((image * CHANNELS + channel) * IH + line) * IW + column);
    }
  }
#if HAS_MASK
  sum *= MASK(at * OH * OW + pixel);
#endif
  OUT_SET((image * CHANNELS * KH * KW + row) * OH * OW + pixel, sum);
}
