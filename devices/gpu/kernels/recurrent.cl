// A recurrent layer: a group of LANES work-items runs the steps of one sequence in one direction. The inputs' part of
// the gates is computed: GATES_OF(i), [direction, batch, step, gate, hidden]. R(i), B(i), H0(i), C0(i), LENGTH(i);
// STATE(i), the state now and next, CELL(i), RESET(i): room; Y_SET(i, v), HN_SET(i, v), CN_SET(i, v). The rules are those
// of graph/ops/matmul_conv/recurrent.cpp.
#define GATE_SUM(name, gate, vector, begin)                                         \
  ACC name = GATES_OF(row + PLACE(gate) * HIDDEN + i) + BIAS(gate);                 \
  for (int k = 0; k < HIDDEN; ++k) name += R(((d * GATES + PLACE(gate)) * HIDDEN + i) * HIDDEN + k) * vector((begin) + k)
#if HAS_BIAS
#define BIAS(gate) B((d * BIAS_GATES + PLACE(gate)) * HIDDEN + i)
#else
#define BIAS(gate) 0
#endif
KERNEL {
  const int lane = (int)get_local_id(0), sequence = (int)get_group_id(0);
  const int d = sequence % DIRECTIONS, b = sequence / DIRECTIONS, own = sequence * HIDDEN;
  const int is_reverse = d == 1 || FIRST_IS_REVERSE, length = clamp((int)LENGTH(b), 0, STEPS);
  for (int i = lane; i < HIDDEN; i += LANES) {
    STATE_SET(2 * own + i, H0(own + i));
#if KIND == LSTM
    CELL_SET(own + i, C0(own + i));
#endif
#if IS_SEQUENCE
    for (int t = length; t < STEPS; ++t) Y_SET((sequence * STEPS + t) * HIDDEN + i, 0);
#endif
  }
  barrier(CLK_GLOBAL_MEM_FENCE);
  for (int t = 0; t < length; ++t) {
    const int at = is_reverse ? length - 1 - t : t, row = ((d * BATCH + b) * STEPS + at) * GATES * HIDDEN;
    const int now = 2 * own + t % 2 * HIDDEN, next = 2 * own + (t + 1) % 2 * HIDDEN;
#if KIND == GRU && !LINEAR_BEFORE_RESET
    for (int i = lane; i < HIDDEN; i += LANES) {
      GATE_SUM(reset, 1, STATE, now);
      RESET_SET(own + i, ACT0(CLIP(reset)) * STATE(now + i));
    }
    barrier(CLK_GLOBAL_MEM_FENCE);
#endif
    for (int i = lane; i < HIDDEN; i += LANES) {
      GATE_SUM(first, 0, STATE, now);
#if KIND == RNN
      const ACC h = ACT0(CLIP(first));
#elif KIND == GRU
      const ACC z = ACT0(CLIP(first));
#if LINEAR_BEFORE_RESET
      GATE_SUM(reset, 1, STATE, now);
      ACC candidate = HAS_BIAS ? B((d * BIAS_GATES + 3) * HIDDEN + i) : 0;
      for (int k = 0; k < HIDDEN; ++k) candidate += R(((d * GATES + 2) * HIDDEN + i) * HIDDEN + k) * STATE(now + k);
      candidate = candidate * ACT0(CLIP(reset)) + GATES_OF(row + 2 * HIDDEN + i) + BIAS(2);
#else
      GATE_SUM(candidate, 2, RESET, own);
#endif
      const ACC h = (1 - z) * ACT1(CLIP(candidate)) + z * STATE(now + i);
#else
      GATE_SUM(second, 1, STATE, now);
      GATE_SUM(third, 2, STATE, now);
      GATE_SUM(fourth, 3, STATE, now);
      const ACC c = ACT0(CLIP(first)) * CELL(own + i) + ACT0(CLIP(second)) * ACT1(CLIP(third));
      CELL_SET(own + i, c);
      // Gates are clipped, the cell's state is not.
      const ACC h = ACT0(CLIP(fourth)) * ACT2(c);
#endif
      STATE_SET(next + i, h);
#if IS_SEQUENCE
      Y_SET((sequence * STEPS + at) * HIDDEN + i, h);
#endif
    }
    barrier(CLK_GLOBAL_MEM_FENCE);
  }
  for (int i = lane; i < HIDDEN; i += LANES) {
    HN_SET(own + i, STATE(2 * own + length % 2 * HIDDEN + i));
#if KIND == LSTM
    CN_SET(own + i, CELL(own + i));
#endif
  }
}
#undef GATE_SUM
#undef BIAS
