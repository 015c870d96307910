// What every program begins with.
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#pragma OPENCL FP_CONTRACT ON

inline float from_bf16(ushort bits) { return as_float((uint)bits << 16); }
inline ushort to_bf16(float value) {
  const uint bits = as_uint(value);
  if (isnan(value)) return (ushort)((bits >> 16) | 0x40);
  return (ushort)((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}
inline float round_bf16(float value) { return from_bf16(to_bf16(value)); }
inline float round_f16(float value) {
  ushort bits;
  vstore_half_rte(value, 0, (half*)&bits);
  return vload_half(0, (const half*)&bits);
}

// Functions of the operation table's expressions. A NaN in x stays one.
#define tn_max(x, y) ((x) < (y) ? (y) : (x))
#define tn_min(x, y) ((y) < (x) ? (y) : (x))
#define tn_abs(x) ((x) < 0 ? -(x) : (x))
#define tn_sign(x) (((x) > 0) - ((x) < 0))

// Integer functions: of quotients rounded down, and powers.
inline long floor_divide(long x, long y) {
  if (y == 0) return 0;
  const long quotient = x / y;
  return x % y != 0 && ((x < 0) != (y < 0)) ? quotient - 1 : quotient;
}
inline long divide(long x, long y) { return y == 0 ? 0 : x / y; }
inline long remainder_of(long x, long y) { return y == 0 ? 0 : x % y; }
inline long floor_remainder(long x, long y) { return y == 0 ? 0 : x - floor_divide(x, y) * y; }
inline ulong divide_u(ulong x, ulong y) { return y == 0 ? 0 : x / y; }
inline ulong remainder_u(ulong x, ulong y) { return y == 0 ? 0 : x % y; }
inline long power(long x, long y) {
  if (y < 0) return x == 1 ? 1 : x == -1 ? (y % 2 ? -1 : 1) : 0;
  ulong result = 1;
  for (ulong base = (ulong)x; y > 0; y >>= 1, base *= base)
    if (y & 1) result *= base;
  return (long)result;
}

// Where the window of a pixel begins in the input, of convolutions and poolings.
#define FIRST_X(pixel) ((pixel) % OW * SW - PW)
#define FIRST_Y(pixel) ((pixel) / OW % OH * SH - PH)
#define FIRST_Z(pixel) ((pixel) / (OW * OH) * SD - PD)
