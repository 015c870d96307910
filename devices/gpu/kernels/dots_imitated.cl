// For tests on devices without cl_khr_integer_dot_product: its functions.
#ifndef TN_DOTS_IMITATED
#define TN_DOTS_IMITATED
inline int dot_4x8packed_us_int(uint a, uint b) {
  int sum = 0;
  for (int i = 0; i < 32; i += 8) sum += (int)(a >> i & 255) * (int)(char)(b >> i & 255);
  return sum;
}
inline int dot_4x8packed_ss_int(uint a, uint b) {
  int sum = 0;
  for (int i = 0; i < 32; i += 8) sum += (int)(char)(a >> i & 255) * (int)(char)(b >> i & 255);
  return sum;
}
#endif
