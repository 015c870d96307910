// The same as early_nvidia.cl where kernels do not begin before the one before them is over.
#ifndef TN_EARLY
#define TN_EARLY
#define READ_EARLY(row, bytes, first, step)
#define WAIT_FOR_KERNELS()
#endif
