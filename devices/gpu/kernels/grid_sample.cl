// Samples of pictures at places that a grid names, from -1 to 1. X(i), GRID(i); STORE(value, at). The rules are those of
// graph/ops/grid_sample.hpp.
#define LOW (ALIGNS_CORNERS ? 0.0f : -0.5f)
#define SPAN (ALIGNS_CORNERS ? (float)(extent - 1) : (float)extent)
#define FOLDED(x) ((x)-LOW - 2 * SPAN * floor(((x)-LOW) / (2 * SPAN)))
#if PADDING == 1
#define INSIDE(x) clamp(x, 0.0f, (float)(extent - 1))
#elif PADDING == 2
#define INSIDE(x) (SPAN <= 0 ? 0.0f : clamp(LOW + SPAN - fabs(FOLDED(x) - SPAN), 0.0f, (float)(extent - 1)))
#else
#define INSIDE(x) (x)
#endif
KERNEL {
  const int at = (int)get_global_id(0);
  if (at >= COUNT) return;
  const int pixel = at % PIXELS, plane = at / PIXELS, image = plane / CHANNELS;
  int place[2][TAPS];
  float weight[2][TAPS];
  for (int axis = 0; axis < 2; ++axis) {
    const int extent = axis ? IH : IW;
    const float g = GRID((image * PIXELS + pixel) * 2 + axis);
    float x = ALIGNS_CORNERS ? (g + 1) / 2 * (extent - 1) : ((g + 1) * extent - 1) / 2;
#if TAPS == 1
    x = rint(INSIDE(x));
    const float base = x;
    weight[axis][0] = 1;
#elif TAPS == 2
    x = INSIDE(x);
    const float base = floor(x), t = x - base;
    weight[axis][0] = 1 - t;
    weight[axis][1] = t;
#else
    const float base = floor(x) - 1, t = x - floor(x), a = -0.75f;
    for (int i = 0; i < 4; ++i) {
      const float d = fabs(t + 1 - i);
      weight[axis][i] = i == 1 || i == 2 ? ((a + 2) * d - (a + 3)) * d * d + 1 : ((a * d - 5 * a) * d + 8 * a) * d - 4 * a;
    }
#endif
    for (int i = 0; i < TAPS; ++i) {
      const float there = base + i;
      const float moved = fabs(there) < 1e9f ? rint(INSIDE(there)) : -1;
      place[axis][i] = moved >= 0 && moved < extent ? (int)moved : -1;
    }
  }
  float sum = 0;
  for (int i = 0; i < TAPS; ++i)
    for (int j = 0; j < TAPS; ++j)
      if (place[1][i] >= 0 && place[0][j] >= 0)
        sum += weight[1][i] * weight[0][j] * X((plane * IH + place[1][i]) * IW + place[0][j]);
  STORE(sum, at);
}
#undef LOW
#undef SPAN
#undef FOLDED
#undef INSIDE
