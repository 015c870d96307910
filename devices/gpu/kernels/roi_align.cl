// Regions of pictures, sampled, one work-item for each cell and channel. X(i), ROI(i), IMAGE(i); STORE(value, at). The
// rules are those of graph/ops/roi_align.hpp.
KERNEL {
  const int at = (int)get_global_id(0);
  if (at >= COUNT) return;
  const int cell[2] = {at % OW, at / OW % OH};
  const int channel = at / (OW * OH) % CHANNELS, roi = at / (OW * OH * CHANNELS);
  const long picture = (long)IMAGE(roi);
  const int is_there = picture >= 0 && picture < PICTURES;
  const int plane = ((is_there ? (int)picture : 0) * CHANNELS + channel) * IH * IW;
  float begin[2], size[2];
  int samples[2];
  for (int axis = 0; axis < 2; ++axis) {
    const int cells = axis ? OH : OW;
    begin[axis] = (ROI(roi * 4 + axis) + BEFORE) * SCALE + AFTER;
    float length = (ROI(roi * 4 + 2 + axis) + BEFORE) * SCALE + AFTER - begin[axis];
#if IS_A_PIXEL_AT_LEAST
    length = tn_max(length, 1.0f);
#endif
    size[axis] = length / cells;
    samples[axis] = RATIO > 0 ? RATIO : size[axis] > 0 ? (int)tn_min(ceil(size[axis]), MOST_SAMPLES) : 0;
  }
  float result = 0;
  for (int i = 0; i < samples[0] * samples[1]; ++i) {
    const int sample[2] = {i % samples[0], i / samples[0]};
    int low[2], high[2], is_inside = is_there;
    float rest[2];
    for (int axis = 0; axis < 2; ++axis) {
      const int extent = axis ? IH : IW;
      float x = begin[axis] + cell[axis] * size[axis] + (sample[axis] + 0.5f) * size[axis] / samples[axis];
      if (!(x >= -1 && x <= extent)) is_inside = 0;
      x = clamp(x, 0.0f, (float)extent);
      low[axis] = min((int)x, extent - 1);
      high[axis] = min(low[axis] + 1, extent - 1);
      rest[axis] = low[axis] == extent - 1 ? 0 : x - low[axis];
    }
    float sum = 0, greatest = is_inside ? -INFINITY : 0;
    for (int corner = 0; is_inside && corner < 4; ++corner) {
      const int y = corner / 2 ? high[1] : low[1], x = corner % 2 ? high[0] : low[0];
      const float part = (corner / 2 ? rest[1] : 1 - rest[1]) * (corner % 2 ? rest[0] : 1 - rest[0]) * X(plane + y * IW + x);
      sum += part;
      greatest = tn_greater(greatest, part);
    }
#if IS_BY_CORNERS
    result = i == 0 ? greatest : tn_greater(result, greatest);
#elif IS_MAX
    result = tn_greater(result, sum);
#else
    result += sum;
#endif
  }
#if !IS_MAX && !IS_BY_CORNERS
  if (samples[0] * samples[1] > 0) result /= samples[0] * samples[1];
#endif
  STORE(result, at);
}
