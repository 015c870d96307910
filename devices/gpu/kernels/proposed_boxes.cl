// Boxes around anchors, one work-item for each that was selected. ANCHOR(i) of [PLANE, KINDS, 4], DELTA(i) of [PICTURES, KINDS, 4, PLANE],
// INFO(i) of [PICTURES, INFO_SIZE], VALUE(i) and WHERE(i) of [PICTURES, BOXES]; PROPOSED_SET(i, v), PROPOSED_SCORE_SET(i, v):
// -INFINITY for boxes that are too small.
KERNEL {
  const int at = (int)get_global_id(0);
  if (at >= COUNT) return;
  const int picture = at / BOXES, from = WHERE(at), kind = from % KINDS, place = from / KINDS;
  const int delta = (picture * KINDS + kind) * 4 * PLANE + place, info = picture * INFO_SIZE;
  const float2 corner = (float2)(ANCHOR(4 * from), ANCHOR(4 * from + 1));
  const float2 anchor = (float2)(ANCHOR(4 * from + 2), ANCHOR(4 * from + 3)) - corner + MORE;
  const float2 move = (float2)(DELTA(delta), DELTA(delta + PLANE)) * anchor;
  const float2 by = fmin((float2)(DELTA(delta + 2 * PLANE), DELTA(delta + 3 * PLANE)), MOST_LOG);
  const float2 middle = corner + 0.5f * anchor + move, size = exp(by) * anchor;
  const float2 most = (float2)(INFO(info + 1), INFO(info)) - MORE;
  const float2 begin = fmax(0.0f, fmin(middle - 0.5f * size, most));
  const float2 end = fmax(0.0f, fmin(middle + 0.5f * size - MORE, most));
  const float scale_h = INFO(info + 2), scale_w = INFO_SIZE > 3 ? INFO(info + INFO_SIZE - 1) : scale_h;
  const float2 least = LEAST * (float2)(scale_w, scale_h);
  const bool is_large = end.x - begin.x + MORE >= least.x && end.y - begin.y + MORE >= least.y;
  PROPOSED_SET(4 * at, begin.x);
  PROPOSED_SET(4 * at + 1, begin.y);
  PROPOSED_SET(4 * at + 2, end.x);
  PROPOSED_SET(4 * at + 3, end.y);
  PROPOSED_SCORE_SET(at, is_large ? (float)VALUE(at) : -INFINITY);
}
