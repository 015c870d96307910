// Products of words of four 8-bit numbers, by PTX for compute capability 6.1 and later.
#ifndef TN_DOTS
#define TN_DOTS
inline int dot_u8(uint left, uint right, int sum) {
  asm("dp4a.u32.s32 %0, %1, %2, %0;" : "+r"(sum) : "r"(left), "r"(right));
  return sum;
}
inline int dot_i8(uint left, uint right, int sum) {
  asm("dp4a.s32.s32 %0, %1, %2, %0;" : "+r"(sum) : "r"(left), "r"(right));
  return sum;
}
#endif
