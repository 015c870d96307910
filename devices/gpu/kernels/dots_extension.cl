// Products of words of four 8-bit numbers, by cl_khr_integer_dot_product.
#ifndef TN_DOTS
#define TN_DOTS
#ifdef cl_khr_integer_dot_product
#pragma OPENCL EXTENSION cl_khr_integer_dot_product : enable
#endif
inline int dot_u8(uint left, uint right, int sum) { return sum + dot_4x8packed_us_int(left, right); }
inline int dot_i8(uint left, uint right, int sum) { return sum + dot_4x8packed_ss_int(left, right); }
#endif
