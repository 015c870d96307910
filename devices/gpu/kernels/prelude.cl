// What every program begins with.
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#pragma OPENCL FP_CONTRACT ON

// Before a kernel whose work-items leave loops at different times: Intel's CPU runtime joins work-items into vectors, and takes wrong
// turns in such loops (seen with 2023.2).
#ifdef cl_intel_vec_len_hint
#define IN_SINGLE_FILE __attribute__((intel_vec_len_hint(1)))
#else
#define IN_SINGLE_FILE
#endif

inline float from_bf16(ushort bits) { return as_float((uint)bits << 16); }
inline ushort to_bf16(float value) {
  const uint bits = as_uint(value);
  if (isnan(value)) return (ushort)((bits >> 16) | 0x40);
  return (ushort)((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}
inline float round_bf16(float value) { return from_bf16(to_bf16(value)); }
inline float from_f16(ushort bits) { return vload_half(0, (const half*)&bits); }
inline ushort to_f16(float value) {
  ushort bits;
  vstore_half_rte(value, 0, (half*)&bits);
  return bits;
}
inline float round_f16(float value) { return from_f16(to_f16(value)); }

// 8 neighbours at once. @pre the address is a multiple of 16.
inline float8 read8_f32(__global const float* from) {
  return (float8)(*(__global const float4*)from, *(__global const float4*)(from + 4));
}
inline uint4 read8_f16(__global const half* from) { return *(__global const uint4*)from; }
inline void reals8_f32(float8 from, float* to) { vstore8(from, 0, to); }
inline void reals8_f16(uint4 words, float* to) {
  const uint word[4] = {words.x, words.y, words.z, words.w};
#pragma unroll
  for (int i = 0; i < 8; ++i) {
    const ushort bits = (ushort)(word[i / 2] >> i % 2 * 16);
    to[i] = vload_half(0, (const half*)&bits);
  }
}
inline void load8_f32(__global const float* from, float* to) { reals8_f32(read8_f32(from), to); }
inline void load8_f16(__global const half* from, float* to) { reals8_f16(read8_f16(from), to); }
inline void store8_f32(const float* from, __global float* to) {
  *(__global float4*)to = (float4)(from[0], from[1], from[2], from[3]);
  *(__global float4*)(to + 4) = (float4)(from[4], from[5], from[6], from[7]);
}
inline void store8_f16(const float* from, __global half* to) {
  uint word[4];
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    ushort low, high;
    vstore_half_rte(from[2 * i], 0, (half*)&low);
    vstore_half_rte(from[2 * i + 1], 0, (half*)&high);
    word[i] = (uint)high << 16 | low;
  }
  *(__global uint4*)to = (uint4)(word[0], word[1], word[2], word[3]);
}
// 8 neighbours of 4 or 8 bits as they lie, and what makes them reals.
typedef struct {
  uint2 words;
  float scale, zero;
} tn_few_bits;

// 8-bit numbers as they are, and reals that lie as such. @pre addresses are multiples of 8.
inline uchar number_u8(float value, float inverse, int zero) { return convert_uchar_sat(rint(value * inverse) + zero); }
inline char number_i8(float value, float inverse, int zero) { return convert_char_sat(rint(value * inverse) + zero); }
#define TN_NUMBERS(name, vector, element)                                                                           \
  inline void load8_##name(__global const element* from, int* to) {                                                 \
    vstore8(convert_int8(*(__global const vector*)from), 0, to);                                                    \
  }                                                                                                                 \
  inline void load8_numbers_##name(__global const element* from, float scale, int zero, float* to) {                \
    vstore8(scale* convert_float8(convert_int8(*(__global const vector*)from) - zero), 0, to);                      \
  }                                                                                                                 \
  inline void store8_numbers_##name(const float* from, float inverse, int zero, __global element* to) {             \
    *(__global vector*)to = (vector)(number_##name(from[0], inverse, zero), number_##name(from[1], inverse, zero),  \
                                     number_##name(from[2], inverse, zero), number_##name(from[3], inverse, zero),  \
                                     number_##name(from[4], inverse, zero), number_##name(from[5], inverse, zero),  \
                                     number_##name(from[6], inverse, zero), number_##name(from[7], inverse, zero)); \
  }
TN_NUMBERS(u8, uchar8, uchar)
TN_NUMBERS(i8, char8, char)
#undef TN_NUMBERS

// Functions of the operation table's expressions. A NaN in x stays one, and y is none.
#define tn_max(x, y) ((x) < (y) ? (y) : (x))
#define tn_min(x, y) ((y) < (x) ? (y) : (x))
// A NaN on either side is the result: OpenCL's fmax and fmin drop it, its max and min leave open what they do.
#define tn_greater(x, y) ((((x) >= (y)) | ((x) != (x))) ? (x) : (y))
#define tn_lesser(x, y) ((((x) <= (y)) | ((x) != (x))) ? (x) : (y))
#define tn_abs(x) ((x) < 0 ? -(x) : (x))
#define tn_sign(x) ((x) != (x) ? (x) : ((x) > 0) - ((x) < 0))
// Beyond these the nearest number is 1, which tanh may miss by some units in the last place.
#define tn_tanh(x) ((x) > 9.1f ? 1.0f : (x) < -9.1f ? -1.0f : tanh(x))
#define tn_tanh_64(x) ((x) > 19.1 ? 1.0 : (x) < -19.1 ? -1.0 : tanh(x))
// The remainder with the sign of y, exact: a rounded quotient leaves another.
#define TN_FLOOR_MOD(name, type)                                   \
  inline type name(type x, type y) {                               \
    const type rest = fmod(x, y);                                  \
    return rest != 0 && (rest < 0) != (y < 0) ? rest + y : rest; \
  }
TN_FLOOR_MOD(floor_mod, float)
#ifdef cl_khr_fp64
TN_FLOOR_MOD(floor_mod_64, double)
#endif
#undef TN_FLOOR_MOD

// Where an index from data points, which may be negative and count from the end; -1: nowhere.
inline int place_of(long index, int extent) {
  if (index < 0) index += extent;
  return index >= 0 && index < extent ? (int)index : -1;
}

// Integer functions: of quotients rounded down, and powers. The least number by -1 is itself, as where sums wrap: processors end
// a program that divides it so.
inline long divide(long x, long y) { return y == 0 ? 0 : y == -1 ? (long)(0 - (ulong)x) : x / y; }
inline long remainder_of(long x, long y) { return y == 0 || y == -1 ? 0 : x % y; }
inline long floor_divide(long x, long y) {
  return divide(x, y) - (remainder_of(x, y) != 0 && (x < 0) != (y < 0));
}
inline long floor_remainder(long x, long y) {
  const long rest = remainder_of(x, y);
  return rest != 0 && (rest < 0) != (y < 0) ? rest + y : rest;
}
inline ulong divide_u(ulong x, ulong y) { return y == 0 ? 0 : x / y; }
inline ulong remainder_u(ulong x, ulong y) { return y == 0 ? 0 : x % y; }
inline ulong power_u(ulong x, ulong y) {
  ulong result = 1;
  for (; y > 0; y >>= 1, x *= x)
    if (y & 1) result *= x;
  return result;
}
inline long power(long x, long y) {
  if (y < 0) return x == 1 ? 1 : x == -1 ? (y % 2 ? -1 : 1) : 0;
  return (long)power_u((ulong)x, (ulong)y);
}
// The square root, rounded down.
inline ulong root_of(ulong x) {
  ulong root = (ulong)sqrt((float)x) + 1;
  root = min((root + x / root) / 2, 0xfffffffful);  // At least what is wanted, and less than 2 more.
  while (root * root > x) --root;
  return root;
}

// Where the window of a pixel begins in the input, of convolutions and poolings.
#define FIRST_X(pixel) ((pixel) % OW * SW - PW)
#define FIRST_Y(pixel) ((pixel) / OW % OH * SH - PH)
#define FIRST_Z(pixel) ((pixel) / (OW * OH) * SD - PD)
