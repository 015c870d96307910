// Rows of picture, class, score and box, one work-item for each place and for each row. KEPT(i), KEPT_SCORE(i) of
// [CLASSES, MOST], IN_CLASS(i), DECODED(i); ROWS_SET of [ROW_COUNT, 7]: after the last a row of picture -1, then zeros.
KERNEL {
  const int at = (int)get_global_id(0), class = at / MOST, slot = at % MOST;
  int total = 0, before = 0;
  for (int i = 0; i < CLASSES; ++i) {
    total += IN_CLASS(i);
    before += i < class ? IN_CLASS(i) : 0;
  }
  if (at >= total && at < ROW_COUNT)
    for (int i = 0; i < 7; ++i) ROWS_SET(7 * at + i, i == 0 && at == total ? -1.0f : 0.0f);
  const int row = before + slot;
  if (class >= CLASSES || slot >= IN_CLASS(class) || row >= ROW_COUNT) return;
  const int picture = class / IN_PICTURE, label = class % IN_PICTURE;
  const int box = 4 * DECODED_AT(class, KEPT(at));
  ROWS_SET(7 * row, (float)picture);
  ROWS_SET(7 * row + 1, (float)label);
  ROWS_SET(7 * row + 2, KEPT_SCORE(at));
  for (int i = 0; i < 4; ++i) {
    const float edge = DECODED(box + i);
    ROWS_SET(7 * row + 3 + i, CLIPS ? clamp(edge, 0.0f, 1.0f) : edge);
  }
}
