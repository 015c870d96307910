// The rank of each element among those of its line, one work-item for each: how many come before it. X(i);
// VALUES_SET(i, v) and INDICES_SET(i, v) of ORIGIN(i), or RANK_SET(i, v). Equal elements keep their order; NaN is the largest.
#if IS_MAX
#define COMES_FIRST(a, b) ((a) != (a) ? (b) == (b) : (b) == (b) && (a) > (b))
#else
#define COMES_FIRST(a, b) ((a) == (a) && ((b) != (b) || (a) < (b)))
#endif
KERNEL {
  const int element = (int)get_global_id(0), line = (int)get_global_id(1);
  if (element >= EXTENT) return;
  const int begin = line / INNER * EXTENT * INNER + line % INNER;
  const TYPE own = X(begin + element * INNER);
  int rank = 0;
  for (int i = 0; i < element; ++i) rank += !COMES_FIRST(own, X(begin + i * INNER));
  for (int i = element + 1; i < EXTENT; ++i) rank += COMES_FIRST(X(begin + i * INNER), own);
#if BY_INDEX
  RANK_SET(begin + element * INNER, rank);
#else
  if (rank >= K) return;
  const int to = (line / INNER * K + rank) * INNER + line % INNER;
  VALUES_SET(to, own);
  INDICES_SET(to, ORIGIN(begin + element * INNER));
#endif
}
#undef COMES_FIRST
