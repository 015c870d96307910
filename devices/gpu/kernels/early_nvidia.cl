// Weights lie there before all kernels. A kernel of a CUDA graph may begin while the one before it runs (twin/ptx.hpp): it brings its
// weights from memory into the second-level cache, and then waits. Elsewhere they come a little before they are read.
// EARLY_ROW(batch, n): where row n of the right side begins; EARLY_BYTES: how long it is. Only for rows that are weights.
#ifndef TN_EARLY
#define TN_EARLY
#define READ_EARLY(row, bytes, first, step)                        \
  {                                                                \
    __global const uchar* const from = (__global const uchar*)(row); \
    for (int line = (first) * 128; line < (bytes); line += (step) * 128) \
      asm volatile("prefetch.global.L2 [%0];" ::"l"(from + line)); \
  }
// A comment, in the place of which CUDA's text waits.
#define WAIT_FOR_KERNELS() asm volatile("/*wait for kernels*/" ::: "memory")
#endif
