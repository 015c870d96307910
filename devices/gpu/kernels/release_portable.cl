// Between what groups leave for each other and the counter that says so.
#ifndef TN_RELEASE
#define TN_RELEASE
#if defined(__opencl_c_atomic_order_acq_rel) && defined(__opencl_c_atomic_scope_device) || __OPENCL_C_VERSION__ == 200
#define RELEASE_WRITES() atomic_work_item_fence(CLK_GLOBAL_MEM_FENCE, memory_order_acq_rel, memory_scope_device)
#else
#define RELEASE_WRITES() mem_fence(CLK_GLOBAL_MEM_FENCE)
#endif
#define ALL_WRITTEN() mem_fence(CLK_GLOBAL_MEM_FENCE)
#define COUNT_GROUP(counter, count) \
  RELEASE_WRITES();                 \
  count = (uint)atomic_inc(counter);
#define SEE_WRITES() RELEASE_WRITES()
#endif
