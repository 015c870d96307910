// The K first of each long line in the order of their indices, by a group of LANES work-items: digit by digit the key
// is found of which fewer than K are greater; of its equals the first are taken. X(i); VALUES_SET(i, v), INDICES_SET(i, v).
// Keys are whole numbers in the order that is asked for, greatest first; NaN counts as the largest value.
#define ORDERED(bits) ((bits) & 0x80000000u ? ~(bits) : (bits) | 0x80000000u)
#if IS_REAL
#define ASCENDING(x) (isnan(x) ? 0xffffffffu : ORDERED(as_uint((float)(x) + 0.0f)))
#elif IS_SIGNED
#define ASCENDING(x) (as_uint((int)(x)) ^ 0x80000000u)
#else
#define ASCENDING(x) ((uint)(x))
#endif
#if IS_MAX
#define KEY(i) ASCENDING(X(begin + (i) * INNER))
#else
#define KEY(i) (~ASCENDING(X(begin + (i) * INNER)))
#endif
KERNEL {
  __local uint counts[256], key_found, still_wanted;
  __local int places[LANES], equals[LANES];
  const int lane = (int)get_local_id(0), line = (int)get_group_id(0);
  const int begin = line / INNER * EXTENT * INNER + line % INNER;
  if (lane == 0) key_found = 0, still_wanted = K;
  for (int shift = 24; shift >= 0; shift -= 8) {
    for (int i = lane; i < 256; i += LANES) counts[i] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    const uint known = shift == 24 ? 0 : 0xffffffffu << (shift + 8), found = key_found;
    for (int i = lane; i < EXTENT; i += LANES) {
      const uint key = KEY(i);
      if ((key & known) == found) atomic_inc(&counts[key >> shift & 255]);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (lane == 0) {
      int digit = 255;
      uint wanted = still_wanted;
      while (digit > 0 && counts[digit] < wanted) wanted -= counts[digit--];
      key_found = found | (uint)digit << shift;
      still_wanted = wanted;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  // Each work-item has a run of the line, so that the order of indices stays.
  const uint last = key_found;
  const int run = (EXTENT + LANES - 1) / LANES, first = lane * run, end = min(first + run, EXTENT);
  int greater = 0, equal = 0;
  for (int i = first; i < end; ++i) {
    const uint key = KEY(i);
    greater += key > last;
    equal += key == last;
  }
  places[lane] = greater;
  equals[lane] = equal;
  barrier(CLK_LOCAL_MEM_FENCE);
  int place = 0, taken = 0;
  for (int i = 0; i < lane; ++i) place += places[i], taken += equals[i];
  const int most = (int)still_wanted;
  place += min(taken, most);
  for (int i = first; i < end; ++i) {
    const uint key = KEY(i);
    if (key < last || (key == last && taken++ >= most)) continue;
    const int to = (line / INNER * K + place++) * INNER + line % INNER;
    VALUES_SET(to, X(begin + i * INNER));
    INDICES_SET(to, i);
  }
}
#undef ORDERED
#undef ASCENDING
#undef KEY
