// The same as fragments_nvidia.cl in OpenCL C, for tests: 32 work-items give each other their fragments in exchange[]. All of the group
// come to the barriers.
#ifndef TN_FRAGMENTS
#define TN_FRAGMENTS
inline float tn_dot_pair(uint a, uint b) {
  return from_f16((ushort)a) * from_f16((ushort)b) + from_f16((ushort)(a >> 16)) * from_f16((ushort)(b >> 16));
}
inline uint tn_pair(float low, float high) { return (uint)to_f16(high) << 16 | to_f16(low); }
inline uint tn_take_bytes(uint low, uint high, uint numbers) {
  const ulong all = (ulong)high << 32 | low;
  uint taken = 0;
  for (int i = 0; i < 4; ++i) taken |= ((uint)(all >> (numbers >> 4 * i & 7) * 8) & 255) << 8 * i;
  return taken;
}
inline uint tn_multiply_add(uint a, uint b, uint c) {
  return tn_pair(from_f16((ushort)a) * from_f16((ushort)b) + from_f16((ushort)c),
                 from_f16((ushort)(a >> 16)) * from_f16((ushort)(b >> 16)) + from_f16((ushort)(c >> 16)));
}
#define MULTIPLY_PAIRS(sum, a, a8, p, b0, b1)                                                            \
  {                                                                                                      \
    __local uint* const mine = (__local uint*)exchange + get_local_id(0) * 6;                            \
    __local const uint* const all = (__local const uint*)exchange + get_local_id(0) / 32 * 32 * 6;       \
    barrier(CLK_LOCAL_MEM_FENCE);                                                                        \
    mine[0] = (a)[p], mine[1] = (a8)[p], mine[2] = (a)[(p) + 1], mine[3] = (a8)[(p) + 1];                \
    mine[4] = b0, mine[5] = b1;                                                                          \
    barrier(CLK_LOCAL_MEM_FENCE);                                                                        \
    for (int c = 0; c < 4; ++c)                                                                          \
      for (int k = 0; k < 4; ++k) {                                                                      \
        __local const uint* const row = all + (quad * 4 + k) * 6 + c / 2;                                \
        __local const uint* const column = all + ((place * 2 + c % 2) * 4 + k) * 6 + 4;                  \
        (sum)[c] += tn_dot_pair(row[0], column[0]) + tn_dot_pair(row[2], column[1]);                     \
      }                                                                                                  \
  }
#define TAKE_BYTES(to, low, high, numbers) (to) = tn_take_bytes(low, high, numbers)
#define CUT_PAIR(to, word, mask) (to) = ((word) & (mask)) | 0x64006400
#define SUBTRACT_PAIR(to, a, b) (to) = tn_multiply_add(b, 0xbc00bc00, a)
#define MULTIPLY_ADD_PAIR(to, a, b, c) (to) = tn_multiply_add(a, b, c)
#define TAKE_REALS(to, low, high) (to) = tn_pair(low, high)
#endif
