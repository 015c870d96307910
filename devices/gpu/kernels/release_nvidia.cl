// Between what groups leave for each other and the counter that says so.
#ifndef TN_RELEASE
#define TN_RELEASE
// Of this work-item and of those that it has met at a barrier, to all groups.
#define RELEASE_WRITES() asm volatile("fence.acq_rel.gpu;" ::: "memory")
#endif
