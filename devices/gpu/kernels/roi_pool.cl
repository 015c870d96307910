// Regions of pictures, pooled, one work-item for each cell and channel. X(i), ROI(i): picture, x0, y0, x1, y1; LISTED(0): regions
// before one of no picture, which ends them; STORE(value, at). The rules are those of graph/ops/roi_pooling.hpp.
KERNEL {
  const int at = (int)get_global_id(0);
  if (at >= COUNT) return;
  const int cell[2] = {at % OW, at / OW % OH}, cells[2] = {OW, OH}, extents[2] = {IW, IH};
  const int channel = at / (OW * OH) % CHANNELS, roi = at / (OW * OH * CHANNELS);
  const float picture = ROI(roi * 5);
  int is_there = roi < LISTED(0) && picture >= 0 && picture < PICTURES && IH > 0 && IW > 0;
  const int plane = is_there ? ((int)picture * CHANNELS + channel) * IH * IW : 0;
  float result = 0;
#if IS_MAX
  int begin[2], end[2];
  for (int axis = 0; axis < 2; ++axis) {
    const REAL first = round(ROI(roi * 5 + 1 + axis) * SCALE), rest = round(ROI(roi * 5 + 3 + axis) * SCALE) - first + 1,
               length = rest > 1 ? rest : 1, most = extents[axis];
    const int is_known = isfinite(first + length);
    const REAL low = is_known ? first + floor(cell[axis] * length / cells[axis]) : 0,
               high = is_known ? first + ceil((cell[axis] + 1) * length / cells[axis]) : 0;
    begin[axis] = (int)clamp(low, (REAL)0, most);
    end[axis] = (int)clamp(high, (REAL)0, most);
  }
  is_there = is_there && begin[0] < end[0] && begin[1] < end[1];
  if (is_there) result = X(plane + begin[1] * IW + begin[0]);
  for (int y = begin[1]; is_there && y < end[1]; ++y)
    for (int x = begin[0]; x < end[0]; ++x) result = tn_greater(result, X(plane + y * IW + x));
#else
  int low[2], high[2];
  float rest[2];
  for (int axis = 0; axis < 2; ++axis) {
    const REAL first = ROI(roi * 5 + 1 + axis), last = ROI(roi * 5 + 3 + axis), most = extents[axis] - 1;
    const REAL place = cells[axis] > 1 ? first * most + cell[axis] * (last - first) * most / (cells[axis] - 1)
                                       : (first + last) / 2 * most;
    is_there = is_there && place >= 0 && place <= most;
    low[axis] = is_there ? (int)place : 0;
    high[axis] = min(low[axis] + 1, extents[axis] - 1);
    rest[axis] = is_there ? (float)(place - low[axis]) : 0;
  }
  if (is_there) {
    const float top = X(plane + low[1] * IW + low[0]) * (1 - rest[0]) + X(plane + low[1] * IW + high[0]) * rest[0],
                bottom = X(plane + high[1] * IW + low[0]) * (1 - rest[0]) + X(plane + high[1] * IW + high[0]) * rest[0];
    result = top * (1 - rest[1]) + bottom * rest[1];
  }
#endif
  STORE(result, at);
}
