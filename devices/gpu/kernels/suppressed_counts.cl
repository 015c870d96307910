// How many boxes of each class are among the KEEP best of its picture, one work-item for each class.
KERNEL {
  const int class = (int)get_global_id(0), begin = class / IN_PICTURE * IN_PICTURE;
  if (class >= CLASSES) return;
  int slot = 0;
  for (; slot < MOST && KEPT_SCORE(class * MOST + slot) > -INFINITY; ++slot) {
    const float score = KEPT_SCORE(class * MOST + slot);
    int rank = slot;
    for (int other = begin; other < begin + IN_PICTURE; ++other)
      if (other != class) rank += better(KEPT_SCORE_p + other * MOST, MOST, score, other < class);
    if (rank >= KEEP) break;
  }
  IN_CLASS_SET(class, slot);
}
