// Probes of what a device can do. `out` keeps alive what was computed. WIDE is as wide as a register of the device's.
#ifdef FP_FAST_FMAF
#define MULTIPLY_ADD(a, b, c) fma(a, b, c)
#else
#define MULTIPLY_ADD(a, b, c) mad(a, b, c)
#endif
__kernel void roofline_copy(__global const uint4* from, __global uint4* to) {
  // Neighbouring work-items read neighbours, each four of them before it waits for one.
  const size_t lanes = get_local_size(0), at = get_group_id(0) * lanes * 4 + get_local_id(0);
  const uint4 a = from[at], b = from[at + lanes], c = from[at + 2 * lanes], d = from[at + 3 * lanes];
  to[at] = a, to[at + lanes] = b, to[at + 2 * lanes] = c, to[at + 3 * lanes] = d;
}

// Eight sums that do not wait for each other.
__kernel void roofline_multiply(__global float* out, const float factor, const int rounds) {
  union {
    WIDE wide[8];
    float each[8 * WIDTH];
  } sums;
  for (int i = 0; i < 8; ++i) sums.wide[i] = (WIDE)(factor * (float)(get_global_id(0) + i));
  WIDE s0 = sums.wide[0], s1 = sums.wide[1], s2 = sums.wide[2], s3 = sums.wide[3];
  WIDE s4 = sums.wide[4], s5 = sums.wide[5], s6 = sums.wide[6], s7 = sums.wide[7];
  const WIDE by = (WIDE)(factor);
  for (int round = 0; round < rounds; ++round) {
    s0 = MULTIPLY_ADD(s0, by, by), s1 = MULTIPLY_ADD(s1, by, by), s2 = MULTIPLY_ADD(s2, by, by);
    s3 = MULTIPLY_ADD(s3, by, by), s4 = MULTIPLY_ADD(s4, by, by), s5 = MULTIPLY_ADD(s5, by, by);
    s6 = MULTIPLY_ADD(s6, by, by), s7 = MULTIPLY_ADD(s7, by, by);
  }
  sums.wide[0] = s0 + s1 + s2 + s3 + s4 + s5 + s6 + s7;
  float all = 0;
  for (int i = 0; i < WIDTH; ++i) all += sums.each[i];
  if (all == factor) out[0] = all;
}

#if HAS_MATRICES
// Products of 16 x 16 by 16 x 8, eight sums of each warp.
__kernel void roofline_matrix(__global float* out, const float factor, const int rounds) {
  const uint seed = (uint)get_global_id(0) & 0x33ff33ff;
  const uint a[4] = {seed, seed + 1, seed + 2, seed + 3};
  float sums[8][4];
#pragma unroll
  for (int i = 0; i < 8; ++i)
#pragma unroll
    for (int j = 0; j < 4; ++j) sums[i][j] = factor * (float)(i + j);
  for (int round = 0; round < rounds; ++round)
#pragma unroll
    for (int i = 0; i < 8; ++i) MULTIPLY_FRAGMENTS_16(sums[i], a, seed, seed + 1);
  float all = 0;
#pragma unroll
  for (int i = 0; i < 8; ++i)
#pragma unroll
    for (int j = 0; j < 4; ++j) all += sums[i][j];
  if (all == factor) out[0] = all;
}
#endif
