// What fragment_rows.cl needs of a device, by PTX for compute capability 8.0 and later.
#ifndef TN_FRAGMENTS
#define TN_FRAGMENTS
// Fragments of 16 rows and of 8 columns, 16 along k: rows `quad` and `quad` + 8 are a and a8.
#define MULTIPLY_PAIRS(sum, a, a8, p, b0, b1)                                                                   \
  asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};" \
      : "+f"((sum)[0]), "+f"((sum)[1]), "+f"((sum)[2]), "+f"((sum)[3])                                          \
      : "r"((a)[p]), "r"((a8)[p]), "r"((a)[(p) + 1]), "r"((a8)[(p) + 1]), "r"(b0), "r"(b1));
// Four of the bytes of two words, by their numbers, the first one last.
#define TAKE_BYTES(to, low, high, numbers) asm("prmt.b32 %0, %1, %2, %3;" : "=r"(to) : "r"(low), "r"(high), "n"(numbers))
// The bits of a word that a mask has, in pairs of f16 from 1024 on.
#define CUT_PAIR(to, word, mask) asm("lop3.b32 %0, %1, %2, 0x64006400, 0xea;" : "=r"(to) : "r"(word), "n"(mask))
#define SUBTRACT_PAIR(to, a, b) asm("sub.f16x2 %0, %1, %2;" : "=r"(to) : "r"(a), "r"(b))
#define MULTIPLY_ADD_PAIR(to, a, b, c) asm("fma.rn.f16x2 %0, %1, %2, %3;" : "=r"(to) : "r"(a), "r"(b), "r"(c))
#define TAKE_REALS(to, low, high) asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(to) : "f"(high), "f"(low))
#endif
