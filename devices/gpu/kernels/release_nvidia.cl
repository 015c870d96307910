// Between what groups leave for each other and the counter that says so.
#ifndef TN_RELEASE
#define TN_RELEASE
// What this work-item, and those that it has met at a barrier, have written is there for all groups.
#define RELEASE_WRITES() asm volatile("fence.acq_rel.gpu;" ::: "memory")
#define ALL_WRITTEN()
// After it, and a barrier, the group sees what those wrote that have counted before.
#define COUNT_GROUP(counter, count) \
  RELEASE_WRITES();                 \
  asm volatile("atom.acquire.gpu.global.add.u32 %0, [%1], 1;" : "=r"(count) : "l"(counter) : "memory");
#define SEE_WRITES()
#endif
