// The boxes of one class that are kept, the best first; one group for each class. SCORE(i) of [classes, BOXES];
// IS_CANDIDATE(score), OVERLAP(class, i, j), LIMIT, LIVE(i), HIGHEST(i), KEPT_SET, KEPT_SCORE_SET of [classes, MOST], of
// which WANTED are filled at most: places without a box get -INFINITY.
KERNEL {
  __local float best[LANES];
  __local int where[LANES];
  const int lane = (int)get_local_id(0), class = (int)get_group_id(0), begin = class * BOXES;
  for (int i = lane; i < BOXES; i += LANES) {
    const float score = (float)SCORE(begin + i);
    bool is_in = !IS_LEFT_OUT(class) && IS_CANDIDATE(score);
#if HAS_TOP
    int before = 0;
    for (int j = 0; is_in && j < BOXES; ++j) {
      const float other = (float)SCORE(begin + j);
      before += other > score || (other == score && j < i);
    }
    is_in = is_in && before < TOP;
#endif
    LIVE_SET(begin + i, is_in ? score : -INFINITY);
    HIGHEST_SET(begin + i, 0.0f);
  }
  int kept = 0;
  float limit = LIMIT;
  while (kept < WANTED) {
    barrier(CLK_GLOBAL_MEM_FENCE);
    float top = -INFINITY;
    int at = -1;
    for (int i = lane; i < BOXES; i += LANES) {
      const float score = LIVE(begin + i);
      if (score > top) top = score, at = i;
    }
    best[lane] = top;
    where[lane] = at;
    for (int step = LANES / 2; step > 0; step /= 2) {
      barrier(CLK_LOCAL_MEM_FENCE);
      const int other = lane < step ? where[lane + step] : -1;
      const float score = lane < step ? best[lane + step] : 0;
      if (other >= 0 && (score > best[lane] || (score == best[lane] && (uint)other < (uint)where[lane])))
        best[lane] = score, where[lane] = other;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    top = best[0];
    at = where[0];
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
    if (at < 0) break;
    const bool is_hidden = HIGHEST(begin + at) > limit;
    barrier(CLK_GLOBAL_MEM_FENCE);
    if (lane == 0) LIVE_SET(begin + at, -INFINITY);
    if (is_hidden) continue;
    if (lane == 0) {
      KEPT_SET(class * MOST + kept, at);
      KEPT_SCORE_SET(class * MOST + kept, top);
    }
    ++kept;
    for (int i = lane; i < BOXES; i += LANES) {
      const float score = LIVE(begin + i);
      if (i == at || score == -INFINITY) continue;
      const float overlap = OVERLAP(class, i, at);
#if IS_SOFT
      const float next = overlap <= limit ? score * exp(-0.5f * overlap * overlap / SIGMA) : 0;
      LIVE_SET(begin + i, IS_CANDIDATE(next) ? next : -INFINITY);
#else
      HIGHEST_SET(begin + i, fmax(HIGHEST(begin + i), overlap));
      if (overlap > limit) LIVE_SET(begin + i, -INFINITY);
#endif
    }
    limit = NEXT_LIMIT(limit);
  }
  for (int i = kept + lane; i < MOST; i += LANES) KEPT_SCORE_SET(class * MOST + i, -INFINITY);
}
