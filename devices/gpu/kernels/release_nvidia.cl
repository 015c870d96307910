// Between what groups leave for each other and the counter that says so.
#ifndef TN_RELEASE
#define TN_RELEASE
// What this work-item, and those that it has met at a barrier, have written is there for all groups.
#define RELEASE_WRITES() asm volatile("fence.acq_rel.gpu;" ::: "memory")
#endif
