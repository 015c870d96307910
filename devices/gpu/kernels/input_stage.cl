// A decoder's planes to the model's input, one work-item for each pixel of the target: samples between taps, colours,
// normalisation. SAMPLE0(x, y)... give the source's samples; MATRIX, OFFSET, MEAN, SCALE and PAD are lists.
#if CONVERTS_FIRST
// As OpenVINO's NV12toRGB computes a pixel: in this order, so that halves round to the same side.
#define PIXEL(c, y, u, v) @name@_pixel(c, y, u, v)
inline float @name@_pixel(int c, float y, float u, float v) {
  const float matrix[3][3] = MATRIX;
  float value = matrix[c][0] * (y - 16);
  value += matrix[c][1] * (u - 128);
  value += matrix[c][2] * (v - 128);
  value = clamp(value, 0.0f, 255.0f);
  return ROUNDS_FIRST ? rint(value) : value;
}
#endif
KERNEL {
  const int x = (int)get_global_id(0), y = (int)get_global_id(1);
  if (x >= WIDTH) return;
  const float mean[3] = MEAN, scale[3] = SCALE, pad[3] = PAD;
  float channel[3] = {pad[0], pad[1], pad[2]};
  const int column = x - PLACED_X, line = y - PLACED_Y;
  if (column >= 0 && column < PLACED_WIDTH && line >= 0 && line < PLACED_HEIGHT) {
    const int xs[2] = {COLUMN_LOW(column), COLUMN_HIGH(column)}, ys[2] = {LINE_LOW(line), LINE_HIGH(line)};
    const float fx = COLUMN_WEIGHT(column), fy = LINE_WEIGHT(line);
    float corner[4][3];
    for (int i = 0; i < 4; ++i) {
      const int at_x = xs[i & 1], at_y = ys[i >> 1];
      const float s0 = SAMPLE0(at_x, at_y), s1 = SAMPLE1(at_x, at_y), s2 = SAMPLE2(at_x, at_y);
#if CONVERTS_FIRST
      for (int c = 0; c < 3; ++c) corner[i][c] = PIXEL(c, s0, s1, s2);
#else
      corner[i][0] = s0;
      corner[i][1] = s1;
      corner[i][2] = s2;
#endif
    }
    float blended[3];
    for (int k = 0; k < 3; ++k)
      blended[k] = mix(mix(corner[0][k], corner[2][k], fy), mix(corner[1][k], corner[3][k], fy), fx);
#if CONVERTS_FIRST
    for (int c = 0; c < 3; ++c) channel[c] = blended[c];
#else
    const float matrix[3][3] = MATRIX, offset[3] = OFFSET;
    for (int c = 0; c < 3; ++c)
      channel[c] = clamp(
          offset[c] + matrix[c][0] * blended[0] + matrix[c][1] * blended[1] + matrix[c][2] * blended[2], 0.0f, 255.0f);
#endif
  }
  for (int c = 0; c < CHANNELS; ++c) {
    const float value = (channel[c] - mean[c]) / scale[c];
    const int at = IS_PLANAR ? (c * HEIGHT + y) * WIDTH + x : (y * WIDTH + x) * CHANNELS + c;
    OUT_SET(at, IS_BYTES ? rint(clamp(value, 0.0f, 255.0f)) : value);
  }
}
#undef PIXEL
