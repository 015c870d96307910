// Rows of class, score and box, one work-item for each place. KEPT(i), KEPT_SCORE(i) of [CLASSES, MOST], IN_CLASS(i);
// BOX_OF(picture, category, box),
// PLACE_OF(picture, category, box); ROWS_SET, PLACES_SET, NUMBERS_SET (of each picture), PUT_COUNT(value). ACROSS: pictures are sorted together.
#define BETTER(other) min((int)IN_CLASS(other), better(KEPT_SCORE_p + (other)*MOST, MOST, score, (other) < class))
KERNEL {
  const int at = (int)get_global_id(0);
  if (at < PICTURES) {
    int count = 0;
    for (int i = 0; i < IN_PICTURE; ++i) count += IN_CLASS(at * IN_PICTURE + i);
    NUMBERS_SET(at, count);
  }
  if (at == 0) {
    int count = 0;
    for (int i = 0; i < CLASSES; ++i) count += IN_CLASS(i);
    PUT_COUNT(count);
  }
  const int class = at / MOST, slot = at % MOST;
  if (class >= CLASSES || slot >= IN_CLASS(class)) return;
  const int picture = class / IN_PICTURE, category = class % IN_PICTURE;
  const float score = KEPT_SCORE(at);
  int row = slot;
  for (int other = 0; other < CLASSES; ++other) {
    if (other == class) continue;
    const int of_picture = other / IN_PICTURE, of_category = other % IN_PICTURE;
    if (ACROSS ? !BY_CLASS : of_picture == picture && !BY_CLASS)
      row += BETTER(other);
    else if (ACROSS ? of_category < category || (of_category == category && of_picture < picture) : other < class)
      row += IN_CLASS(other);
  }
  const int box = BOX_OF(picture, category, KEPT(at));
  ROWS_SET(6 * row, (float)category);
  ROWS_SET(6 * row + 1, score);
  for (int i = 0; i < 4; ++i) ROWS_SET(6 * row + 2 + i, (float)BOX(4 * box + i));
  PLACES_SET(row, PLACE_OF(picture, category, KEPT(at)));
}
#undef BETTER
