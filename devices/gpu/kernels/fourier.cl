// A Fourier transform along one axis, one work-item for each number of the result: a sum over the line. X(i), ROOT(i), the
// roots of one as pairs; OUT_SET(i, v). The data are [OUTER, PRESENT, INNER] numbers, complex ones as pairs.
KERNEL {
  const int at = (int)get_global_id(0);
  if (at >= COUNT) return;
  const int inner = at % INNER, k = at / INNER % MADE, begin = at / INNER / MADE * PRESENT * INNER + inner;
  float real = 0, imaginary = 0;
  for (int i = 0; i < LENGTH; ++i) {
    // The second half of what becomes real mirrors the first.
    const int is_mirrored = IS_MIRRORED && i > LENGTH / 2, from = is_mirrored ? LENGTH - i : i;
    if (from >= PRESENT) continue;
#if READS_COMPLEX
    const float a = X(2 * (begin + from * INNER)), read = X(2 * (begin + from * INNER) + 1);
    const float b = is_mirrored ? -read : read;
#else
    const float a = X(begin + from * INNER), b = 0;
#endif
    const int turn = (int)((long)i * k % LENGTH);
    const float c = ROOT(2 * turn), s = ROOT(2 * turn + 1);
    real += a * c - b * s;
    imaginary += a * s + b * c;
  }
#if WRITES_COMPLEX
  OUT_SET(2 * at, real);
  OUT_SET(2 * at + 1, imaginary);
#else
  OUT_SET(at, real);
#endif
}
