// Rows of COLUMNS numbers as words: four numbers of 8 bits each, then a scale and the least number (lower/build/cache_rows.hpp).
// ROW(row, d); STORE(value, row, word). LANES work-items for each row.
KERNEL {
  __local float lows[LANES], highs[LANES];
  __local int odds[LANES];
  const int lane = (int)get_local_id(0), row = (int)get_global_id(1);
  float low = INFINITY, high = -INFINITY;
  int odd = 0;
  for (int d = lane; d < COLUMNS; d += LANES) {
    const float x = ROW(row, d);
    low = fmin(low, x);
    high = fmax(high, x);
    odd |= !isfinite(x);
  }
  lows[lane] = low;
  highs[lane] = high;
  odds[lane] = odd;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int i = 0; i < LANES; ++i) {
    low = fmin(low, lows[i]);
    high = fmax(high, highs[i]);
    odd |= odds[i];
  }
  const float scale = odd ? NAN : high / 255 - low / 255, by = !odd && scale > 1e-30f ? 1 / scale : 0;
  for (int i = lane; i < WORDS; i += LANES) {
    int word = as_int(i == WORDS - 2 ? scale : odd ? NAN : low);
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
