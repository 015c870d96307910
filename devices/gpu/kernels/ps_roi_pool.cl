// Regions of pictures, pooled, each cell from channels of its own: one work-item for each cell and channel of the result. X(i), ROI(i):
// picture, x0, y0, x1, y1; LISTED(0): regions before one of no picture, which ends them; STORE(value, at). The rules are those of
// ps_roi_pool() in graph/ops/roi_pooling.hpp; a region that is not finite gives 0.
KERNEL {
  const int item = (int)get_global_id(0);
  if (item >= COUNT) return;
  const int at = ELEMENT(item), cell[2] = {at % SIDE, at / SIDE % SIDE}, extents[2] = {IW, IH};
  const int channel = at / (SIDE * SIDE) % CHANNELS, roi = at / (SIDE * SIDE * CHANNELS);
  const float picture = ROI(roi * 5);
  const REAL first[2] = {ROI(roi * 5 + 1), ROI(roi * 5 + 2)}, last[2] = {ROI(roi * 5 + 3), ROI(roi * 5 + 4)};
  const int is_there = roi < LISTED(0) && picture >= 0 && picture < PICTURES && IH > 0 && IW > 0 &&
                       isfinite(first[0] + first[1] + last[0] + last[1]);
  const int plane = IH * IW, begin = is_there ? (int)picture * IC * plane : 0;
  REAL sum = 0;
#if IS_AVERAGE
  int low[2] = {0, 0}, high[2] = {0, 0};
  for (int axis = 0; is_there && axis < 2; ++axis) {
    const REAL from = round(first[axis]) * SCALE, to = (round(last[axis]) + 1) * SCALE, all = to - from,
               length = (all > (REAL)0.1 ? all : (REAL)0.1) / SIDE;
    low[axis] = (int)clamp(floor(from + cell[axis] * length), (REAL)0, (REAL)extents[axis]);
    high[axis] = (int)clamp(ceil(from + (cell[axis] + 1) * length), (REAL)0, (REAL)extents[axis]);
  }
  const int own = begin + ((channel * SIDE + cell[1]) * SIDE + cell[0]) * plane,
            count = max(high[0] - low[0], 0) * max(high[1] - low[1], 0);
  for (int y = low[1]; y < high[1]; ++y)
    for (int x = low[0]; x < high[0]; ++x) sum += X(own + y * IW + x);
#else
  const int bins[2] = {BINS_X, BINS_Y}, count = BINS_X * BINS_Y;
  for (int bin = 0; is_there && bin < count; ++bin) {
    const int place[2] = {bin % BINS_X, bin / BINS_X};
    int low[2], high[2], is_inside = 1;
    REAL rest[2];
    for (int axis = 0; axis < 2; ++axis) {
      const REAL length = (last[axis] - first[axis]) * SCALE / bins[axis], most = extents[axis] - 1,
                 from = first[axis] * SCALE + place[axis] * length;
      const REAL where = SIDE > 1 ? cell[axis] * length * most / (SIDE - 1) + from * most : (from + length / 2) * most;
      is_inside = is_inside && where >= 0 && where <= most;
      low[axis] = is_inside ? (int)where : 0;
      high[axis] = min(low[axis] + 1, extents[axis] - 1);
      rest[axis] = is_inside ? where - low[axis] : 0;
    }
    if (!is_inside) continue;
    const int own = begin + (bin * CHANNELS + channel) * plane, upper = own + low[1] * IW, lower = own + high[1] * IW;
    const REAL top = X(upper + low[0]) * (1 - rest[0]) + X(upper + high[0]) * rest[0],
               bottom = X(lower + low[0]) * (1 - rest[0]) + X(lower + high[0]) * rest[0];
    sum += top * (1 - rest[1]) + bottom * rest[1];
  }
#endif
  STORE(count > 0 ? (float)(sum / count) : 0, at);
}
