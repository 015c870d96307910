// SPDX-License-Identifier: Apache-2.0
// malloc and its family, interposed in the tool's binary; costs a relaxed load when off.
#include <tenon/tools/tenon/proof/allocation_count.hpp>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <cstring>

#include <execinfo.h>
#include <link.h>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || !defined(__GLIBC__)
#define TENON_COUNTS_ALLOCATIONS 0
#else
#define TENON_COUNTS_ALLOCATIONS 1
#endif

namespace tenon::tool {
namespace {

enum class Owner : std::uint8_t { kTenon, kStandardLibrary, kOther };
struct Range {
  std::uintptr_t begin = 0, end = 0;
  Owner owner = Owner::kOther;
};

// Plain arrays: nothing here may allocate.
std::array<Range, 512> ranges;
std::size_t range_count = 0;
std::atomic<bool> counting{false};
std::atomic<std::uint64_t> own{0}, libraries{0};
// The initial-exec model needs no allocation on a thread's first use.
thread_local bool inside __attribute__((tls_model("initial-exec"))) = false;

int note_module(dl_phdr_info* info, std::size_t, void*) {
  const char* path = info->dlpi_name ? info->dlpi_name : "";
  const char* slash = std::strrchr(path, '/');
  const char* file = slash ? slash + 1 : path;
  Owner owner = Owner::kOther;
  // The program itself has an empty name.
  if (*file == '\0' || std::strncmp(file, "libtenon", 8) == 0) owner = Owner::kTenon;
  // Libraries between an allocation and its originator: std::string, std::vector, strdup, the dynamic linker.
  if (std::strncmp(file, "libstdc++", 9) == 0 || std::strncmp(file, "libc.so", 7) == 0 ||
      std::strncmp(file, "libc++", 6) == 0) {
    owner = Owner::kStandardLibrary;
  }
  for (int i = 0; i < info->dlpi_phnum && range_count < ranges.size(); ++i) {
    const auto& segment = info->dlpi_phdr[i];
    if (segment.p_type != PT_LOAD || (segment.p_flags & PF_X) == 0) continue;
    const std::uintptr_t begin = info->dlpi_addr + segment.p_vaddr;
    ranges[range_count++] = {begin, begin + segment.p_memsz, owner};
  }
  return 0;
}

Owner owner_of(const void* address) {
  const auto at = reinterpret_cast<std::uintptr_t>(address);
  for (std::size_t i = 0; i < range_count; ++i) {
    if (at >= ranges[i].begin && at < ranges[i].end) return ranges[i].owner;
  }
  return Owner::kOther;
}

}  // namespace

/// Attributes one allocation to the first caller that is neither this file nor the standard library.
__attribute__((noinline)) void count_allocation() {
  if (inside) return;
  inside = true;
  const int error = errno;
  constexpr int kDepth = 24;
  void* callers[kDepth];
  const int depth = ::backtrace(callers, kDepth);
  Owner owner = Owner::kOther;
  // 0 is this function, 1 the interposed function.
  for (int i = 2; i < depth; ++i) {
    owner = owner_of(callers[i]);
    if (owner != Owner::kStandardLibrary) break;
  }
  (owner == Owner::kTenon ? own : libraries).fetch_add(1, std::memory_order_relaxed);
  errno = error;
  inside = false;
}

bool counting_allocations() { return counting.load(std::memory_order_relaxed); }

bool can_count_allocations() { return TENON_COUNTS_ALLOCATIONS != 0; }

void start_counting_allocations() {
  void* first[4];
  ::backtrace(first, 4);  // Loads the unwinder, which allocates.
  range_count = 0;
  ::dl_iterate_phdr(&note_module, nullptr);
  own = libraries = 0;
  counting = true;
}

AllocationCounts stop_counting_allocations() {
  counting = false;
  return {own.load(), libraries.load()};
}

}  // namespace tenon::tool

#if TENON_COUNTS_ALLOCATIONS
// glibc's own functions, by names that interposition leaves reachable.
extern "C" {
// NOLINTBEGIN(bugprone-reserved-identifier)
void* __libc_malloc(std::size_t);
void* __libc_calloc(std::size_t, std::size_t);
void* __libc_realloc(void*, std::size_t);
void* __libc_memalign(std::size_t, std::size_t);
void __libc_free(void*);
// NOLINTEND(bugprone-reserved-identifier)

#define TENON_COUNT() \
  if (__builtin_expect(tenon::tool::counting_allocations(), 0)) tenon::tool::count_allocation()

__attribute__((noinline)) void* malloc(std::size_t size) {
  TENON_COUNT();
  void* result = __libc_malloc(size);
  return result;
}
__attribute__((noinline)) void* calloc(std::size_t count, std::size_t size) {
  TENON_COUNT();
  void* result = __libc_calloc(count, size);
  return result;
}
__attribute__((noinline)) void* realloc(void* block, std::size_t size) {
  TENON_COUNT();
  void* result = __libc_realloc(block, size);
  return result;
}
__attribute__((noinline)) void* memalign(std::size_t alignment, std::size_t size) {
  TENON_COUNT();
  void* result = __libc_memalign(alignment, size);
  return result;
}
__attribute__((noinline)) void* aligned_alloc(std::size_t alignment, std::size_t size) {
  TENON_COUNT();
  void* result = __libc_memalign(alignment, size);
  return result;
}
__attribute__((noinline)) int posix_memalign(void** result, std::size_t alignment, std::size_t size) {
  TENON_COUNT();
  if (alignment % sizeof(void*) != 0 || (alignment & (alignment - 1)) != 0 || alignment == 0) return EINVAL;
  void* block = __libc_memalign(alignment, size);
  if (!block) return ENOMEM;
  *result = block;
  return 0;
}
void free(void* block) { __libc_free(block); }
}
#endif
