// A softmax over rows of scores in place, by a group of LANES work-items for each row. X(i), X_SET(i, v). A row that is
// masked as a whole becomes zeros. FIRST_TOP(batch, m), FIRST_TOTAL(batch, m): what a sink adds to a row of M of a batch.
KERNEL {
  __local float shared[LANES];
  const int lane = (int)get_local_id(0), row = (int)get_group_id(0), begin = row * KEYS;
  const float first = FIRST_TOP((row / M), (row % M));
  float most = first;
  for (int k = lane; k < KEYS; k += LANES) most = tn_greater(most, X(begin + k));
  shared[lane] = most;
  for (int width = LANES / 2; width > 0; width /= 2) {
    barrier(CLK_LOCAL_MEM_FENCE);
    if (lane < width) shared[lane] = tn_greater(shared[lane], shared[lane + width]);
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  most = shared[0];
  barrier(CLK_LOCAL_MEM_FENCE);
  float sum = lane == 0 && most != -INFINITY ? FIRST_TOTAL((row / M), (row % M)) * exp(first - most) : 0;
  for (int k = lane; k < KEYS; k += LANES) {
    const float power = most == -INFINITY ? 0 : exp(X(begin + k) - most);
    X_SET(begin + k, power);
    sum += power;
  }
  shared[lane] = sum;
  for (int width = LANES / 2; width > 0; width /= 2) {
    barrier(CLK_LOCAL_MEM_FENCE);
    if (lane < width) shared[lane] += shared[lane + width];
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  const float total = shared[0];
  for (int k = lane; k < KEYS; k += LANES) X_SET(begin + k, total == 0 ? 0 : X(begin + k) / total);
}
