// Rows of COLUMNS numbers as words: four numbers of 8 bits each, then a scale and the least number (lower/build/cache_rows.hpp).
// ROW(row, d); STORE(value, row, word). A group of LANES work-items for each row, of which lows[], highs[] and odds[] have what each found.
KERNEL {
  const int lane = (int)get_local_id(0), row = GROUP;
  float low = INFINITY, high = -INFINITY;
  float odd = 0;  // 1: some number is not finite.
  for (int d = lane; d < COLUMNS; d += LANES) {
    const float x = ROW(row, d);
    low = fmin(low, x);
    high = fmax(high, x);
    if (!isfinite(x)) odd = 1;
  }
  lows[lane] = low;
  highs[lane] = high;
  odds[lane] = odd;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int i = 0; i < LANES; ++i) {
    low = fmin(low, lows[i]);
    high = fmax(high, highs[i]);
    odd = fmax(odd, odds[i]);
  }
  const float scale = odd > 0 ? NAN : high / 255 - low / 255, by = odd == 0 && scale > 1e-30f ? 1 / scale : 0;
  for (int i = lane; i < WORDS; i += LANES) {
    int word = as_int(i == WORDS - 2 ? scale : odd > 0 ? NAN : low);
    if (i < WORDS - 2) {
      word = 0;
      for (int j = 0; j < 4; ++j) {
        const int d = i * 4 + j;
        if (d < COLUMNS && by > 0) word |= clamp((int)rint((ROW(row, d) - low) * by), 0, 255) << (8 * j);
      }
    }
    STORE(word, row, i);
  }
}
