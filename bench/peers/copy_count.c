/* SPDX-License-Identifier: Apache-2.0 */
/* Preloaded before any program (LD_PRELOAD): counts the bytes that pass through memcpy, memmove and mempcpy in calls of
 * at least 256 bytes, by calling library, between tenon_copy_count_begin() and tenon_copy_count_end(), which
 * the program looks up by name. The latter prints "copied BYTES CALLS LIBRARY" lines.
 *
 * Not counted: copies that a compiler inlined, copies inside kernels, and a library's calls of its own
 * functions. tests/zero_copy/copy_watch.c is more precise, for known memory. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define EXPORT __attribute__((visibility("default")))
enum { CALLERS = 4096, MIN_CALL = 256 };

static struct {
  atomic_uintptr_t caller;
  atomic_ullong bytes, calls;
} callers[CALLERS];
static atomic_ullong lost;
static atomic_int counting;

static void* (*real_memcpy)(void*, const void*, size_t);
static void* (*real_memmove)(void*, const void*, size_t);

static void note(size_t size, const void* from) {
  const uintptr_t caller = (uintptr_t)from;
  for (size_t probe = 0; probe < 64; ++probe) {
    const size_t i = ((caller >> 2) * 2654435761u + probe) % CALLERS;
    uintptr_t found = atomic_load_explicit(&callers[i].caller, memory_order_relaxed);
    if (found == 0 && atomic_compare_exchange_strong(&callers[i].caller, &found, caller)) found = caller;
    if (found != caller) continue;
    atomic_fetch_add_explicit(&callers[i].bytes, size, memory_order_relaxed);
    atomic_fetch_add_explicit(&callers[i].calls, 1, memory_order_relaxed);
    return;
  }
  atomic_fetch_add(&lost, size);
}

static void* plain_move(void* to, const void* from, size_t size) {
  volatile unsigned char* t = to;
  const unsigned char* f = from;
  if (t < f) {
    for (size_t i = 0; i < size; ++i) t[i] = f[i];
  } else {
    while (size--) t[size] = f[size];
  }
  return to;
}

__attribute__((constructor)) static void start(void) {
  real_memmove = (void* (*)(void*, const void*, size_t))dlsym(RTLD_NEXT, "memmove");
  real_memcpy = (void* (*)(void*, const void*, size_t))dlsym(RTLD_NEXT, "memcpy");
}

/* Call from one thread; copies in other threads are counted from some later moment on. */
EXPORT void tenon_copy_count_begin(void) { atomic_store(&counting, 1); }
EXPORT void tenon_copy_count_end(void) {
  atomic_store(&counting, 0);
  for (size_t i = 0; i < CALLERS; ++i) {
    const uintptr_t caller = atomic_load(&callers[i].caller);
    Dl_info info;
    if (!caller) continue;
    const char* library = dladdr((void*)caller, &info) && info.dli_fname ? info.dli_fname : "unknown";
    printf("copied %llu %llu %s\n", atomic_load(&callers[i].bytes), atomic_load(&callers[i].calls), library);
  }
  if (atomic_load(&lost)) printf("copied %llu 0 unknown\n", atomic_load(&lost));
}

#define COUNTED(size)                                                              \
  if ((size) >= MIN_CALL && atomic_load_explicit(&counting, memory_order_relaxed)) \
  note(size, __builtin_return_address(0))

EXPORT void* memmove(void* to, const void* from, size_t size) {
  COUNTED(size);
  return real_memmove ? real_memmove(to, from, size) : plain_move(to, from, size);
}
EXPORT void* memcpy(void* restrict to, const void* restrict from, size_t size) {
  COUNTED(size);
  return real_memcpy ? real_memcpy(to, from, size) : plain_move(to, from, size);
}
EXPORT void* mempcpy(void* restrict to, const void* restrict from, size_t size) {
  COUNTED(size);
  return (char*)(real_memcpy ? real_memcpy(to, from, size) : plain_move(to, from, size)) + size;
}
EXPORT void* __memcpy_chk(void* restrict to, const void* restrict from, size_t size, size_t room) {
  if (size > room) abort();
  COUNTED(size);
  return real_memcpy ? real_memcpy(to, from, size) : plain_move(to, from, size);
}
EXPORT void* __memmove_chk(void* to, const void* from, size_t size, size_t room) {
  if (size > room) abort();
  COUNTED(size);
  return real_memmove ? real_memmove(to, from, size) : plain_move(to, from, size);
}
