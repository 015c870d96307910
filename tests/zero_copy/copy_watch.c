/* SPDX-License-Identifier: Apache-2.0 */
/* Detects copies out of watched memory and into it, by any code: preloaded before a test program (LD_PRELOAD), it stands in
 * front of memcpy, memmove, mempcpy, their checked forms, av_image_copy* and sws_scale*, independent of Tenon's ledger.
 *
 * Not detected: copies that a compiler inlined (constant sizes, loops over bytes or vectors), copies in kernels
 * and drivers, and calls that a library binds to itself (glibc inside libc.so). So rows count too, not only large
 * blocks: a plane copied row by row adds up. Single calls below MIN_CALL bytes are normal in decoders (motion
 * compensation at picture edges) and are ignored. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#define EXPORT __attribute__((visibility("default")))
enum { MAX_RANGES = 256, MIN_CALL = 256, LARGE = 4096 };

struct range {
  atomic_uintptr_t begin, end;
};
static struct range ranges[MAX_RANGES];
static atomic_int range_count;
/* One direction: out of watched memory, or into it. */
struct seen {
  atomic_ullong copies, large_copies, bytes;
  atomic_uintptr_t last_caller;
};
static struct seen out_of, into;

/* Used before dlsym has answered, and while it runs, since it may copy itself. */
static void* plain_copy(void* to, const void* from, size_t size) {
  volatile unsigned char* t = to;
  const unsigned char* f = from;
  for (size_t i = 0; i < size; ++i) t[i] = f[i];
  return to;
}
static void* plain_move(void* to, const void* from, size_t size) {
  volatile unsigned char* t = to;
  const unsigned char* f = from;
  if (t < f) return plain_copy(to, from, size);
  while (size--) t[size] = f[size];
  return to;
}

static void* (*real_memcpy)(void*, const void*, size_t);
static void* (*real_memmove)(void*, const void*, size_t);
static _Thread_local int resolving;

static void resolve(void) {
  resolving = 1;
  real_memmove = (void* (*)(void*, const void*, size_t))dlsym(RTLD_NEXT, "memmove");
  real_memcpy = (void* (*)(void*, const void*, size_t))dlsym(RTLD_NEXT, "memcpy");
  resolving = 0;
}
__attribute__((constructor)) static void start(void) {
  if (!real_memcpy) resolve();
}

/* Bytes of [at, at + size) that lie in watched memory. */
static void note(struct seen* seen, const void* at, size_t size, const void* caller) {
  const int count = atomic_load_explicit(&range_count, memory_order_acquire);
  const uintptr_t begin = (uintptr_t)at, end = begin + size;
  for (int i = 0; i < count; ++i) {
    const uintptr_t low = atomic_load_explicit(&ranges[i].begin, memory_order_relaxed);
    const uintptr_t high = atomic_load_explicit(&ranges[i].end, memory_order_relaxed);
    if (begin >= high || end <= low) continue;
    const uintptr_t bytes = (end < high ? end : high) - (begin > low ? begin : low);
    atomic_fetch_add(&seen->copies, 1);
    atomic_fetch_add(&seen->bytes, bytes);
    if (bytes >= LARGE) atomic_fetch_add(&seen->large_copies, 1);
    atomic_store(&seen->last_caller, (uintptr_t)caller);
    return;
  }
}
#define NOTE(to, to_size, from, from_size)                                                      \
  do {                                                                                          \
    if (atomic_load_explicit(&range_count, memory_order_relaxed)) {                             \
      if ((from_size) >= MIN_CALL) note(&out_of, from, from_size, __builtin_return_address(0)); \
      if ((to_size) >= MIN_CALL) note(&into, to, to_size, __builtin_return_address(0));         \
    }                                                                                           \
  } while (0)

/* The interface of the tests; they look it up by name and fail without it. */
EXPORT int tenon_copy_watch_add(const void* begin, size_t size) {
  for (int i = 0; i < MAX_RANGES; ++i) {
    uintptr_t empty = 0;
    if (!atomic_compare_exchange_strong(&ranges[i].end, &empty, (uintptr_t)begin + size)) continue;
    atomic_store(&ranges[i].begin, (uintptr_t)begin);
    int count = atomic_load(&range_count);
    while (count <= i && !atomic_compare_exchange_weak(&range_count, &count, i + 1)) {
    }
    return 0;
  }
  return -1;
}
EXPORT void tenon_copy_watch_clear(void) {
  atomic_store(&range_count, 0);
  for (int i = 0; i < MAX_RANGES; ++i) {
    atomic_store(&ranges[i].begin, UINTPTR_MAX);
    atomic_store(&ranges[i].end, 0);
  }
}
static void forget(struct seen* seen) {
  atomic_store(&seen->copies, 0);
  atomic_store(&seen->large_copies, 0);
  atomic_store(&seen->bytes, 0);
  atomic_store(&seen->last_caller, 0);
}
EXPORT void tenon_copy_watch_reset(void) {
  forget(&out_of);
  forget(&into);
}
/* Where the last copy was called from, for messages. */
static const char* caller_of(struct seen* seen) {
  Dl_info info;
  const uintptr_t caller = atomic_load(&seen->last_caller);
  if (!caller || !dladdr((void*)caller, &info)) return "unknown";
  return info.dli_sname ? info.dli_sname : info.dli_fname;
}
EXPORT unsigned long long tenon_copy_watch_copies(void) { return atomic_load(&out_of.copies); }
EXPORT unsigned long long tenon_copy_watch_large_copies(void) { return atomic_load(&out_of.large_copies); }
EXPORT unsigned long long tenon_copy_watch_bytes(void) { return atomic_load(&out_of.bytes); }
EXPORT const char* tenon_copy_watch_last_caller(void) { return caller_of(&out_of); }
EXPORT unsigned long long tenon_copy_watch_large_copies_into(void) { return atomic_load(&into.large_copies); }
EXPORT unsigned long long tenon_copy_watch_bytes_into(void) { return atomic_load(&into.bytes); }
EXPORT const char* tenon_copy_watch_last_caller_into(void) { return caller_of(&into); }

EXPORT void* memmove(void* to, const void* from, size_t size) {
  NOTE(to, size, from, size);
  if (!real_memmove) {
    if (resolving) return plain_move(to, from, size);
    resolve();
    if (!real_memmove) return plain_move(to, from, size);
  }
  return real_memmove(to, from, size);
}
EXPORT void* memcpy(void* restrict to, const void* restrict from, size_t size) {
  NOTE(to, size, from, size);
  if (!real_memcpy) {
    if (resolving) return plain_copy(to, from, size);
    resolve();
    if (!real_memcpy) return plain_copy(to, from, size);
  }
  return real_memcpy(to, from, size);
}
EXPORT void* mempcpy(void* restrict to, const void* restrict from, size_t size) {
  NOTE(to, size, from, size);
  if (!real_memcpy && !resolving) resolve();
  if (real_memcpy)
    real_memcpy(to, from, size);
  else
    plain_copy(to, from, size);
  return (char*)to + size;
}
EXPORT void* __memcpy_chk(void* to, const void* from, size_t size, size_t room) {
  if (size > room) __builtin_trap();
  NOTE(to, size, from, size);
  return real_memcpy ? real_memcpy(to, from, size) : plain_copy(to, from, size);
}
EXPORT void* __memmove_chk(void* to, const void* from, size_t size, size_t room) {
  if (size > room) __builtin_trap();
  NOTE(to, size, from, size);
  return real_memmove ? real_memmove(to, from, size) : plain_move(to, from, size);
}
EXPORT void* __mempcpy_chk(void* to, const void* from, size_t size, size_t room) {
  if (size > room) __builtin_trap();
  NOTE(to, size, from, size);
  if (real_memcpy)
    real_memcpy(to, from, size);
  else
    plain_copy(to, from, size);
  return (char*)to + size;
}

/* FFmpeg's own functions. Declared here rather than included, so that this file builds without FFmpeg; @source
 * libavutil/imgutils.h, libswscale/swscale.h. Counted as one copy of all rows; rows that they copy by memcpy inside
 * count again, which errs on the strict side. */
#define NEXT(name)                                                                 \
  static atomic_uintptr_t next;                                                    \
  if (!atomic_load(&next)) atomic_store(&next, (uintptr_t)dlsym(RTLD_NEXT, name)); \
  if (!atomic_load(&next)) __builtin_trap();

static size_t block(ptrdiff_t linesize, int rows) {
  return rows > 0 ? (size_t)(linesize < 0 ? -linesize : linesize) * (size_t)rows : 0;
}

EXPORT void av_image_copy_plane(uint8_t* to, int to_linesize, const uint8_t* from, int from_linesize, int bytes,
                                int rows) {
  NEXT("av_image_copy_plane")
  NOTE(to, block(to_linesize, rows), from, block(from_linesize, rows));
  ((void (*)(uint8_t*, int, const uint8_t*, int, int, int))next)(to, to_linesize, from, from_linesize, bytes, rows);
}
EXPORT void av_image_copy_plane_uc_from(uint8_t* to, ptrdiff_t to_linesize, const uint8_t* from,
                                        ptrdiff_t from_linesize, ptrdiff_t bytes, int rows) {
  NEXT("av_image_copy_plane_uc_from")
  NOTE(to, block(to_linesize, rows), from, block(from_linesize, rows));
  ((void (*)(uint8_t*, ptrdiff_t, const uint8_t*, ptrdiff_t, ptrdiff_t, int))next)(to, to_linesize, from, from_linesize,
                                                                                   bytes, rows);
}
EXPORT void av_image_copy(uint8_t* to[4], int to_linesizes[4], const uint8_t* from[4], const int from_linesizes[4],
                          int format, int width, int height) {
  NEXT("av_image_copy")
  NOTE(to[0], block(to_linesizes[0], height), from[0], block(from_linesizes[0], height));
  ((void (*)(uint8_t* [4], int[4], const uint8_t* [4], const int[4], int, int, int))next)(
      to, to_linesizes, from, from_linesizes, format, width, height);
}
EXPORT void av_image_copy_uc_from(uint8_t* to[4], const ptrdiff_t to_linesizes[4], const uint8_t* from[4],
                                  const ptrdiff_t from_linesizes[4], int format, int width, int height) {
  NEXT("av_image_copy_uc_from")
  NOTE(to[0], block(to_linesizes[0], height), from[0], block(from_linesizes[0], height));
  ((void (*)(uint8_t* [4], const ptrdiff_t[4], const uint8_t* [4], const ptrdiff_t[4], int, int, int))next)(
      to, to_linesizes, from, from_linesizes, format, width, height);
}
EXPORT int av_image_copy_to_buffer(uint8_t* to, int size, const uint8_t* const from[4], const int from_linesizes[4],
                                   int format, int width, int height, int align) {
  NEXT("av_image_copy_to_buffer")
  NOTE(to, size > 0 ? (size_t)size : 0, from[0], block(from_linesizes[0], height));
  return ((int (*)(uint8_t*, int, const uint8_t* const[4], const int[4], int, int, int, int))next)(
      to, size, from, from_linesizes, format, width, height, align);
}
EXPORT int sws_scale(void* context, const uint8_t* const from[], const int from_linesizes[], int y, int rows,
                     uint8_t* const to[], const int to_linesizes[]) {
  NEXT("sws_scale")
  NOTE(to[0], block(to_linesizes[0], rows), from[0], block(from_linesizes[0], rows));
  return ((int (*)(void*, const uint8_t* const[], const int[], int, int, uint8_t* const[], const int[]))next)(
      context, from, from_linesizes, y, rows, to, to_linesizes);
}
/* An AVFrame begins with data[8]; the first plane says whether the picture is watched. */
EXPORT int sws_scale_frame(void* context, void* to, const void* from) {
  NEXT("sws_scale_frame")
  NOTE(*(uint8_t* const*)to, LARGE, *(uint8_t* const*)from, LARGE);
  return ((int (*)(void*, void*, const void*))next)(context, to, from);
}
EXPORT int av_frame_copy(void* to, const void* from) {
  NEXT("av_frame_copy")
  NOTE(*(uint8_t* const*)to, LARGE, *(uint8_t* const*)from, LARGE);
  return ((int (*)(void*, const void*))next)(to, from);
}
