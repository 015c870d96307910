// Softmax, or normalisation to a mean of 0 and a variance of 1, or to a mean square of 1, of rows of COUNT: a group of GROUP
// work-items for each. VALUE(x): the element `at` of row `row`. STORE(value, row, at). RULE: 0 softmax, 1 its logarithm, 2
// normalisation, 3 the mean square alone.
#define JOIN(value, joined)                                                  \
  {                                                                          \
    barrier(CLK_LOCAL_MEM_FENCE);                                            \
    shared[lane] = value;                                                    \
    for (int width = GROUP / 2; width > 0; width /= 2) {                     \
      barrier(CLK_LOCAL_MEM_FENCE);                                          \
      if (lane < width) {                                                    \
        const float a = shared[lane], b = shared[lane + width];              \
        shared[lane] = joined;                                               \
      }                                                                      \
    }                                                                        \
    barrier(CLK_LOCAL_MEM_FENCE);                                            \
    value = shared[0];                                                       \
  }
KERNEL {
  __local float shared[GROUP];
  const int row = (int)get_group_id(0), lane = (int)get_local_id(0);
  ROW_PLACE
  float center = RULE >= 2 ? 0 : -INFINITY, total = 0, x;
#if RULE != 3
  for (int at = lane; at < COUNT; at += GROUP) {
    VALUE(x)
    center = RULE == 2 ? center + x : tn_max(center, x);
  }
#endif
#if RULE == 2
  JOIN(center, a + b)
  center /= COUNT;
#elif RULE != 3
  JOIN(center, tn_max(a, b))
#endif
  for (int at = lane; at < COUNT; at += GROUP) {
    VALUE(x)
    total += RULE >= 2 ? (x - center) * (x - center) : exp(x - center);
  }
  JOIN(total, a + b)
  for (int at = lane; at < COUNT; at += GROUP) {
    VALUE(x)
#if RULE == 0
    STORE(exp(x - center) / total, row, at);
#elif RULE == 1
    STORE(x - center - log(total), row, at);
#else
    STORE((x - center) / SPREAD(total / COUNT), row, at);
#endif
  }
}
#undef JOIN
