// The K first of each line in the order of their indices, from their ranks. X(i), RANK(i); VALUES_SET(i, v),
// INDICES_SET(i, v).
KERNEL {
  const int element = (int)get_global_id(0), line = (int)get_global_id(1);
  if (element >= EXTENT) return;
  const int begin = line / INNER * EXTENT * INNER + line % INNER;
  if (RANK(begin + element * INNER) >= K) return;
  int place = 0;
  for (int i = 0; i < element; ++i) place += RANK(begin + i * INNER) < K;
  const int to = (line / INNER * K + place) * INNER + line % INNER;
  VALUES_SET(to, X(begin + element * INNER));
  INDICES_SET(to, element);
}
