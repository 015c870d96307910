// Inverse matrices of N rows, one work-group of GROUP work-items for each: Gauss's elimination with the largest pivot, as in the reference
// kernel. X(i); LEFT and RIGHT: [matrices, N, N] of type REAL, of which RIGHT becomes the inverse. A matrix that has none becomes NaN: a
// kernel cannot refuse.
KERNEL {
  const int lane = (int)get_local_id(0), first = (int)get_group_id(0) * N * N;
  for (int i = lane; i < N * N; i += GROUP) {
    LEFT_p[first + i] = X(first + i);
    RIGHT_p[first + i] = i / N == i % N;
  }
  int has_inverse = 1;  // The same in all work-items, like each loop around a barrier.
  for (int column = 0; column < N && has_inverse; ++column) {
    barrier(CLK_GLOBAL_MEM_FENCE);
    int pivot = column;
    for (int row = column + 1; row < N; ++row)
      if (fabs(LEFT_p[first + row * N + column]) > fabs(LEFT_p[first + pivot * N + column])) pivot = row;
    const REAL value = LEFT_p[first + pivot * N + column];
    has_inverse = value != 0;
    const int from = first + pivot * N, to = first + column * N;
    barrier(CLK_GLOBAL_MEM_FENCE);
    for (int i = lane; i < N; i += GROUP) {
      const REAL left = LEFT_p[from + i] / value, right = RIGHT_p[from + i] / value;
      LEFT_p[from + i] = LEFT_p[to + i], RIGHT_p[from + i] = RIGHT_p[to + i];
      LEFT_p[to + i] = left, RIGHT_p[to + i] = right;
    }
    barrier(CLK_GLOBAL_MEM_FENCE);
    for (int row = lane; row < N; row += GROUP) {
      const int at = first + row * N;
      const REAL factor = row == column ? 0 : LEFT_p[at + column];
      for (int i = 0; factor != 0 && i < N; ++i) {
        LEFT_p[at + i] -= factor * LEFT_p[to + i];
        RIGHT_p[at + i] -= factor * RIGHT_p[to + i];
      }
    }
  }
  barrier(CLK_GLOBAL_MEM_FENCE);
  for (int i = lane; !has_inverse && i < N * N; i += GROUP) RIGHT_p[first + i] = NAN;
}
