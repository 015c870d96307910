// Rows of picture, class and box, one work-item for each place. KEPT(i), KEPT_SCORE(i) of [CLASSES, MOST]; INDICES_SET,
// SCORES_SET of rows, PUT_COUNT(value).
KERNEL {
  const int at = (int)get_global_id(0);
  if (at == 0) {
    int count = 0;
    for (int other = 0; other < CLASSES; ++other) count += better(KEPT_SCORE_p + other * MOST, MOST, -INFINITY, false);
    PUT_COUNT(count);
  }
  if (at >= CLASSES * MOST) return;
  const float score = KEPT_SCORE(at);
  if (score == -INFINITY) return;
  const int class = at / MOST;
  int row = at % MOST;
  for (int other = 0; other < CLASSES; ++other)
    if (other != class && (SORTS || other < class))
      row += better(KEPT_SCORE_p + other * MOST, MOST, SORTS ? score : -INFINITY, SORTS ? other < class : false);
  const int picture = class / IN_PICTURE, category = class % IN_PICTURE;
  INDICES_SET(3 * row, picture);
  INDICES_SET(3 * row + 1, category);
  INDICES_SET(3 * row + 2, KEPT(at));
#if HAS_SCORES
  SCORES_SET(3 * row, (float)picture);
  SCORES_SET(3 * row + 1, (float)category);
  SCORES_SET(3 * row + 2, score);
#endif
}
