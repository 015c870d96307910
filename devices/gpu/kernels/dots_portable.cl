// Products of words of four 8-bit numbers, in plain OpenCL C.
#ifndef TN_DOTS
#define TN_DOTS
inline int dot_of(int4 left, int4 right, int sum) {
  const int4 products = left * right;
  return sum + products.x + products.y + products.z + products.w;
}
inline int dot_u8(uint left, uint right, int sum) { return dot_of(convert_int4(as_uchar4(left)), convert_int4(as_char4(right)), sum); }
inline int dot_i8(uint left, uint right, int sum) { return dot_of(convert_int4(as_char4(left)), convert_int4(as_char4(right)), sum); }
#endif
