// Updates of single elements along an axis, one work-item for each line of indices, which takes them in their order:
// equal indices never meet. INDEX(i), UPDATE(i), OUT(i), OUT_SET(i, v); FIRST(line): where the line of the data begins.
KERNEL {
  const int line = (int)get_global_id(0);
  if (line >= LINES) return;
  const int from = line / INNER * UPDATES * INNER + line % INNER, begin = FIRST(line);
  for (int i = 0; i < UPDATES; ++i) {
    const int index = place_of(INDEX(from + i * INNER), EXTENT);
    if (index < 0) continue;
    const int to = begin + index * STEP;
    const ACC value = (ACC)UPDATE(from + i * INNER), held = (ACC)OUT(to);
#if !USES_INITIAL || IS_MEAN
    int hits = USES_INITIAL;
    for (int j = 0; j < i; ++j) {
      hits += place_of(INDEX(from + j * INNER), EXTENT) == index;
    }
    OUT_SET(to, hits == 0 ? value : REDUCE(held, value));
#else
    OUT_SET(to, REDUCE(held, value));
#endif
  }
#if IS_MEAN
  // The last of each index divides by how many there were.
  for (int i = 0; i < UPDATES; ++i) {
    const int index = place_of(INDEX(from + i * INNER), EXTENT);
    int hits = USES_INITIAL, is_last = 1;
    if (index < 0) continue;
    for (int j = 0; j < UPDATES; ++j) {
      const int is_same = place_of(INDEX(from + j * INNER), EXTENT) == index;
      hits += is_same;
      if (is_same && j > i) is_last = 0;
    }
    const int to = begin + index * STEP;
    if (is_last) OUT_SET(to, MEAN((ACC)OUT(to), hits));
  }
#endif
}
