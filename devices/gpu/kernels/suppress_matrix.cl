// Scores of one class that decay where its boxes overlap better ones; one group for each class. As suppress.cl;
// ORDER(i) and DECAYED(i) of [classes, MOST]: boxes by score, and what becomes of it.
KERNEL {
  const int lane = (int)get_local_id(0), class = (int)get_group_id(0), begin = class * BOXES, out = class * MOST;
  for (int i = lane; i < MOST; i += LANES) {
    ORDER_SET(out + i, -1);
    KEPT_SCORE_SET(out + i, -INFINITY);
  }
  barrier(CLK_GLOBAL_MEM_FENCE);
  for (int i = lane; i < BOXES; i += LANES) {
    const float score = (float)SCORE(begin + i);
    int before = 0;
    if (IS_LEFT_OUT(class) || !IS_CANDIDATE(score)) continue;
    for (int j = 0; j < BOXES; ++j) {
      const float other = (float)SCORE(begin + j);
      before += other > score || (other == score && j < i);
    }
    if (before < TOP) ORDER_SET(out + before, i);
  }
  barrier(CLK_GLOBAL_MEM_FENCE);
  for (int i = lane; i < MOST; i += LANES) {
    float highest = 0;
    for (int j = 0; ORDER(out + i) >= 0 && j < i; ++j)
      highest = fmax(highest, OVERLAP(class, ORDER(out + i), ORDER(out + j)));
    HIGHEST_SET(out + i, highest);
  }
  barrier(CLK_GLOBAL_MEM_FENCE);
  for (int i = lane; i < MOST; i += LANES) {
    float decay = 1;
    const int box = ORDER(out + i);
    for (int j = 0; box >= 0 && j < i; ++j) {
      const float overlap = OVERLAP(class, box, ORDER(out + j)), most = HIGHEST(out + j);
      decay = fmin(decay, IS_GAUSSIAN ? exp((most * most - overlap * overlap) * SIGMA) : (1 - overlap) / (1 - most));
    }
    const float score = box >= 0 ? (float)SCORE(begin + box) * decay : -INFINITY;
    DECAYED_SET(out + i, score > POST ? score : -INFINITY);
  }
  barrier(CLK_GLOBAL_MEM_FENCE);
  // The best first, equal ones by their place.
  for (int i = lane; i < MOST; i += LANES) {
    const float score = DECAYED(out + i);
    if (score == -INFINITY) continue;
    int before = 0;
    for (int j = 0; j < MOST; ++j) {
      const float other = DECAYED(out + j);
      before += other > score || (other == score && ORDER(out + j) < ORDER(out + i));
    }
    KEPT_SET(out + before, ORDER(out + i));
    KEPT_SCORE_SET(out + before, score);
  }
}
