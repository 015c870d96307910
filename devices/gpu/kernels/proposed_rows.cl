// Rows of the boxes that are kept, picture by picture, one work-item for each place. KEPT(i), KEPT_SCORE(i) of [CLASSES, MOST],
// PROPOSED(i); ROIS_SET, SCORES_SET, NUMBERS_SET (of each picture), TOTAL_SET.
KERNEL {
  const int at = (int)get_global_id(0), picture = at / MOST, slot = at % MOST;
  if (at == 0) {
    int total = 0;
    for (int i = 0; i < CLASSES; ++i) {
      const int own = better(KEPT_SCORE_p + i * MOST, MOST, -INFINITY, false);
      NUMBERS_SET(i, own);
      total += own;
    }
    TOTAL_SET(0, total);
  }
  if (picture >= CLASSES || KEPT_SCORE(at) == -INFINITY) return;
  int row = slot;
  for (int i = 0; i < picture; ++i) row += better(KEPT_SCORE_p + i * MOST, MOST, -INFINITY, false);
  const int box = 4 * (picture * BOXES + KEPT(at));
  for (int i = 0; i < 4; ++i) ROIS_SET(4 * row + i, PROPOSED(box + i));
  SCORES_SET(row, KEPT_SCORE(at));
}
