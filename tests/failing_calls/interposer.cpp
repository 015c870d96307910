// SPDX-License-Identifier: Apache-2.0
// The functions that stand in front of the system's, and what decides which call fails.
#include <tenon/tests/failing_calls/interposer.hpp>

#include <dirent.h>
#include <dlfcn.h>
#include <execinfo.h>
#include <link.h>
#include <pthread.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <unistd.h>
#include <unwind.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstdarg>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <new>

// The C library's own, which need no look-up: that might allocate.
extern "C" {
void* __libc_malloc(std::size_t size);
void* __libc_calloc(std::size_t count, std::size_t size);
void* __libc_realloc(void* memory, std::size_t size);
void* __libc_memalign(std::size_t alignment, std::size_t size);
}

namespace tenon_test {
namespace {

enum class Owner : std::uint8_t { kOther, kTenon, kCxx };

/// Where the code of a module lies.
struct Range {
  std::uintptr_t begin, end;
  Owner owner;
};

Owner owner_of_file(const char* path) {
  const char* const slash = std::strrchr(path, '/');
  const char* const name = slash ? slash + 1 : path;
  const auto begins = [&](const char* start) { return std::strncmp(name, start, std::strlen(start)) == 0; };
  if (begins("libtenon_failing_calls")) return Owner::kCxx;  // Our own frames are looked through.
  if (begins("libtenon") || begins("libze_tenon") || begins("tenon_drv")) return Owner::kTenon;
  if (begins("libstdc++") || begins("libgcc_s")) return Owner::kCxx;
  return Owner::kOther;
}

/// The modules of the process. Found anew where an address lies in none of them. Neither allocates nor fails.
class Modules {
 public:
  Owner owner(const void* address) {
    Owner found = Owner::kOther;
    const auto at = reinterpret_cast<std::uintptr_t>(address);
    if (look(at, &found)) return found;
    pthread_mutex_lock(&mutex_);
    if (!look(at, &found)) {
      read();
      if (!look(at, &found)) add({at, at + 1, Owner::kOther});  // Code of no module: it is not asked for again.
    }
    pthread_mutex_unlock(&mutex_);
    return found;
  }

 private:
  static constexpr std::size_t kMost = 4096;

  bool look(std::uintptr_t at, Owner* found) const {
    const std::size_t count = count_.load(std::memory_order_acquire);
    for (std::size_t i = 0; i < count; ++i) {
      if (at < ranges_[i].begin || at >= ranges_[i].end) continue;
      *found = ranges_[i].owner;
      return true;
    }
    return false;
  }
  void add(const Range& range) {
    const std::size_t count = count_.load(std::memory_order_relaxed);
    if (count == kMost) return;
    ranges_[count] = range;
    count_.store(count + 1, std::memory_order_release);
  }
  /// Adds the modules that are not known yet.
  void read() {
    dl_iterate_phdr(
        [](dl_phdr_info* info, std::size_t, void* self) {
          for (int i = 0; i < info->dlpi_phnum; ++i) {
            const ElfW(Phdr)& part = info->dlpi_phdr[i];
            if (part.p_type != PT_LOAD || !(part.p_flags & PF_X)) continue;
            const std::uintptr_t begin = info->dlpi_addr + part.p_vaddr;
            auto* const modules = static_cast<Modules*>(self);
            Owner known = Owner::kOther;
            if (!modules->look(begin, &known))
              modules->add({begin, begin + part.p_memsz, owner_of_file(info->dlpi_name)});
          }
          return 0;
        },
        this);
  }

  pthread_mutex_t mutex_ = PTHREAD_MUTEX_INITIALIZER;
  std::atomic<std::size_t> count_{0};
  std::array<Range, kMost> ranges_{};
};
constinit Modules modules{};

constexpr std::size_t kMostSites = std::size_t{1} << 20;
constexpr int kDepth = 48;

struct Watch {
  std::atomic<int> kind{-1};
  std::atomic<long> count{0}, failing{0};
  std::atomic<bool> keeps_sites{false};
  std::atomic<const char*> failed{nullptr};
  std::array<void*, kDepth> stack{};
  std::atomic<int> depth{0};
};
constinit Watch watch{};
constinit std::array<std::atomic<std::uint64_t>, kMostSites> sites{};

/// Whether this thread is in here already: what the unwinder calls does not count.
[[gnu::tls_model("initial-exec")]] thread_local bool is_inside = false;
struct Inside {
  Inside() { is_inside = true; }
  ~Inside() { is_inside = false; }
};

struct Stack {
  std::array<void*, kDepth> frames;
  int depth = 0;
};
_Unwind_Reason_Code take_frame(_Unwind_Context* context, void* data) {
  auto* const stack = static_cast<Stack*>(data);
  stack->frames[static_cast<std::size_t>(stack->depth++)] = reinterpret_cast<void*>(_Unwind_GetIP(context));
  return stack->depth == kDepth ? _URC_END_OF_STACK : _URC_NO_REASON;
}

/// The owner of the first code on the stack that is not the C++ library's.
Owner first_owner(const Stack& stack) {
  for (int i = 0; i < stack.depth; ++i) {
    const Owner owner = modules.owner(stack.frames[static_cast<std::size_t>(i)]);
    if (owner != Owner::kCxx) return owner;
  }
  return Owner::kOther;
}

std::uint64_t hash_of(const Stack& stack) {
  std::uint64_t hash = 1469598103934665603u;
  for (int i = 0; i < stack.depth; ++i)
    hash = (hash ^ reinterpret_cast<std::uintptr_t>(stack.frames[static_cast<std::size_t>(i)])) * 1099511628211u;
  return hash;
}

/// Counts a call. @return whether it is to fail. @param stack  Where it comes from; taken where it is needed and not there yet.
bool count_call(const char* function, Stack& stack) {
  const bool keeps = watch.keeps_sites.load(std::memory_order_relaxed);
  if (keeps && stack.depth == 0) _Unwind_Backtrace(take_frame, &stack);
  const long number = ++watch.count;
  if (keeps && number <= static_cast<long>(kMostSites))
    sites[static_cast<std::size_t>(number - 1)].store(hash_of(stack), std::memory_order_relaxed);
  if (number != watch.failing) return false;
  if (stack.depth == 0) _Unwind_Backtrace(take_frame, &stack);
  watch.stack = stack.frames;
  watch.depth = stack.depth;
  watch.failed = function;
  return true;
}

/// Whether this call is to fail. @param caller  The address that it returns to.
[[gnu::noinline]] bool judge(const char* function, const void* caller) {
  const Inside inside;
  Owner owner = modules.owner(caller);
  Stack stack;
  if (owner == Owner::kCxx || (owner == Owner::kTenon && watch.keeps_sites.load(std::memory_order_relaxed))) {
    _Unwind_Backtrace(take_frame, &stack);
    owner = first_owner(stack);
  }
  return owner == Owner::kTenon && count_call(function, stack);
}

inline bool fails(CallKind kind, const char* function, const void* caller) {
  return watch.kind.load(std::memory_order_relaxed) == static_cast<int>(kind) && !is_inside && judge(function, caller);
}
inline bool memory_fails(const char* function, const void* caller) {
  return fails(CallKind::kMalloc, function, caller);
}

template <typename Function>
Function next(const char* name) {
  const Inside inside;
  return reinterpret_cast<Function>(::dlsym(RTLD_NEXT, name));
}

void begin(CallKind kind, long failing, bool keeps_sites) {
  modules.owner(reinterpret_cast<const void*>(&begin));
  watch.count = 0;
  watch.failing = failing;
  watch.failed = nullptr;
  watch.keeps_sites = keeps_sites;
  watch.kind = static_cast<int>(kind);
}

}  // namespace

const char* name_of(CallKind kind) {
  constexpr std::array kNames{"new", "malloc", "map", "file", "descriptor", "thread", "opencl", "gstreamer", "native"};
  static_assert(kNames.size() == kCallKinds);
  return kNames[static_cast<std::size_t>(kind)];
}

bool entry_point_fails(CallKind kind, const char* function) {
  if (watch.kind.load(std::memory_order_relaxed) != static_cast<int>(kind) || is_inside) return false;
  const Inside inside;
  Stack stack;
  return count_call(function, stack);
}

bool call_fails(CallKind kind, const char* function, const void* caller) {
  if (watch.kind.load(std::memory_order_relaxed) != static_cast<int>(kind) || is_inside) return false;
  const Inside inside;
  Stack stack;
  return modules.owner(caller) == Owner::kTenon && count_call(function, stack);
}

void watch_calls(CallKind kind, long failing) { begin(kind, failing, false); }
void watch_sites(CallKind kind) { begin(kind, 0, true); }

WatchedCalls unwatch_calls() {
  watch.kind = -1;
  const char* const failed = watch.failed;
  return {watch.count, failed ? failed : ""};
}

std::vector<std::uint64_t> watched_sites() {
  const auto count = static_cast<std::size_t>(std::min(watch.count.load(), static_cast<long>(kMostSites)));
  return {sites.begin(), sites.begin() + static_cast<std::ptrdiff_t>(count)};
}

void write_failed_stack(int fd) {
  if (watch.failed.load()) ::backtrace_symbols_fd(watch.stack.data(), watch.depth, fd);
}

}  // namespace tenon_test

using tenon_test::CallKind;

#define TENON_CALLER __builtin_return_address(0)

namespace {

void* take(std::size_t size, const void* caller) {
  if (tenon_test::fails(CallKind::kNew, "operator new", caller)) return nullptr;
  return __libc_malloc(size ? size : 1);
}
void* take(std::size_t size, std::align_val_t alignment, const void* caller) {
  if (tenon_test::fails(CallKind::kNew, "operator new", caller)) return nullptr;
  return __libc_memalign(static_cast<std::size_t>(alignment), size ? size : 1);
}
void* or_throw(void* memory) {
  if (!memory) throw std::bad_alloc();
  return memory;
}

}  // namespace

void* operator new(std::size_t size) { return or_throw(take(size, TENON_CALLER)); }
void* operator new[](std::size_t size) { return or_throw(take(size, TENON_CALLER)); }
void* operator new(std::size_t size, const std::nothrow_t&) noexcept { return take(size, TENON_CALLER); }
void* operator new[](std::size_t size, const std::nothrow_t&) noexcept { return take(size, TENON_CALLER); }
void* operator new(std::size_t size, std::align_val_t alignment) {
  return or_throw(take(size, alignment, TENON_CALLER));
}
void* operator new[](std::size_t size, std::align_val_t alignment) {
  return or_throw(take(size, alignment, TENON_CALLER));
}
void* operator new(std::size_t size, std::align_val_t alignment, const std::nothrow_t&) noexcept {
  return take(size, alignment, TENON_CALLER);
}
void* operator new[](std::size_t size, std::align_val_t alignment, const std::nothrow_t&) noexcept {
  return take(size, alignment, TENON_CALLER);
}
// The C++ library's operator delete calls free(), which is right for all of them.

extern "C" {

void* malloc(std::size_t size) {
  if (!tenon_test::memory_fails("malloc", TENON_CALLER)) return __libc_malloc(size);
  errno = ENOMEM;
  return nullptr;
}
void* calloc(std::size_t count, std::size_t size) {
  if (!tenon_test::memory_fails("calloc", TENON_CALLER)) return __libc_calloc(count, size);
  errno = ENOMEM;
  return nullptr;
}
void* realloc(void* memory, std::size_t size) {
  if (!tenon_test::memory_fails("realloc", TENON_CALLER)) return __libc_realloc(memory, size);
  errno = ENOMEM;
  return nullptr;
}
void* aligned_alloc(std::size_t alignment, std::size_t size) {
  if (!tenon_test::memory_fails("aligned_alloc", TENON_CALLER)) return __libc_memalign(alignment, size);
  errno = ENOMEM;
  return nullptr;
}
int posix_memalign(void** memory, std::size_t alignment, std::size_t size) {
  if (tenon_test::memory_fails("posix_memalign", TENON_CALLER)) return ENOMEM;
  if (alignment % sizeof(void*) != 0 || (alignment & (alignment - 1)) != 0 || alignment == 0) return EINVAL;
  void* const made = __libc_memalign(alignment, size);
  if (!made) return ENOMEM;
  *memory = made;
  return 0;
}

// A function that gives `failure` and sets errno where it is made to fail.
#define TENON_FAILING(kind, result, failure, error, name, parameters, arguments) \
  result name parameters {                                                       \
    if (tenon_test::fails(kind, #name, TENON_CALLER)) {                          \
      errno = error;                                                             \
      return failure;                                                            \
    }                                                                            \
    static const auto next = tenon_test::next<result(*) parameters>(#name);      \
    return next arguments;                                                       \
  }

TENON_FAILING(CallKind::kMap, void*, MAP_FAILED, ENOMEM, mmap,
              (void* at, std::size_t size, int protection, int flags, int fd, off_t offset),
              (at, size, protection, flags, fd, offset))
TENON_FAILING(CallKind::kMap, void*, MAP_FAILED, ENOMEM, mmap64,
              (void* at, std::size_t size, int protection, int flags, int fd, off64_t offset),
              (at, size, protection, flags, fd, offset))

TENON_FAILING(CallKind::kFile, FILE*, nullptr, EMFILE, fopen, (const char* path, const char* mode), (path, mode))
TENON_FAILING(CallKind::kFile, FILE*, nullptr, EMFILE, fopen64, (const char* path, const char* mode), (path, mode))
TENON_FAILING(CallKind::kFile, FILE*, nullptr, ENOMEM, fdopen, (int fd, const char* mode), (fd, mode))
TENON_FAILING(CallKind::kFile, DIR*, nullptr, EMFILE, opendir, (const char* path), (path))
TENON_FAILING(CallKind::kFile, DIR*, nullptr, ENOMEM, fdopendir, (int fd), (fd))

// Their last argument is there for some flags alone; it may be read always.
#define TENON_FAILING_OPEN(name, parameters, before, ...)            \
  int name parameters {                                              \
    if (tenon_test::fails(CallKind::kFile, #name, TENON_CALLER)) {   \
      errno = EMFILE;                                                \
      return -1;                                                     \
    }                                                                \
    va_list rest;                                                    \
    va_start(rest, flags);                                           \
    const unsigned mode = va_arg(rest, unsigned);                    \
    va_end(rest);                                                    \
    static const auto next = tenon_test::next<int(*) before>(#name); \
    return next(__VA_ARGS__, flags, mode);                           \
  }
TENON_FAILING_OPEN(open, (const char* path, int flags, ...), (const char*, int, ...), path)
TENON_FAILING_OPEN(open64, (const char* path, int flags, ...), (const char*, int, ...), path)
TENON_FAILING_OPEN(openat, (int folder, const char* path, int flags, ...), (int, const char*, int, ...), folder, path)
TENON_FAILING_OPEN(openat64, (int folder, const char* path, int flags, ...), (int, const char*, int, ...), folder, path)

#define TENON_FAILING_FD(name, parameters, arguments) \
  TENON_FAILING(CallKind::kDescriptor, int, -1, EMFILE, name, parameters, arguments)
TENON_FAILING_FD(eventfd, (unsigned count, int flags), (count, flags))
TENON_FAILING_FD(pipe, (int* ends), (ends))
TENON_FAILING_FD(pipe2, (int* ends, int flags), (ends, flags))
TENON_FAILING_FD(memfd_create, (const char* name, unsigned flags), (name, flags))
TENON_FAILING_FD(socket, (int family, int type, int protocol), (family, type, protocol))
TENON_FAILING_FD(socketpair, (int family, int type, int protocol, int* ends), (family, type, protocol, ends))
TENON_FAILING_FD(accept4, (int socket, sockaddr* address, socklen_t* size, int flags), (socket, address, size, flags))
TENON_FAILING_FD(dup, (int fd), (fd))
TENON_FAILING_FD(epoll_create1, (int flags), (flags))
TENON_FAILING_FD(timerfd_create, (int clock, int flags), (clock, flags))
TENON_FAILING_FD(inotify_init1, (int flags), (flags))
TENON_FAILING(CallKind::kDescriptor, int, -1, EMFILE, shm_open, (const char* name, int flags, mode_t mode),
              (name, flags, mode))

// F_DUPFD and F_DUPFD_CLOEXEC make descriptors; <fcntl.h> is not included, which declares fcntl and open otherwise.
static int duplicating_fcntl(const char* name, int (*next)(int, int, ...), int fd, int command, void* argument,
                             const void* caller) {
  const bool makes = command == 0 || command == 1030;
  if (makes && tenon_test::fails(CallKind::kDescriptor, name, caller)) {
    errno = EMFILE;
    return -1;
  }
  return next(fd, command, argument);
}
#define TENON_FAILING_FCNTL(name)                                               \
  int name(int fd, int command, ...) {                                          \
    va_list rest;                                                               \
    va_start(rest, command);                                                    \
    void* const argument = va_arg(rest, void*);                                 \
    va_end(rest);                                                               \
    static const auto next = tenon_test::next<int (*)(int, int, ...)>(#name);   \
    return duplicating_fcntl(#name, next, fd, command, argument, TENON_CALLER); \
  }
TENON_FAILING_FCNTL(fcntl)
TENON_FAILING_FCNTL(fcntl64)

int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*body)(void*), void* argument) {
  if (tenon_test::fails(CallKind::kThread, "pthread_create", TENON_CALLER)) return EAGAIN;
  static const auto next =
      tenon_test::next<int (*)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*)>("pthread_create");
  return next(thread, attributes, body, argument);
}

}  // extern "C"
