// SPDX-License-Identifier: Apache-2.0
// Witnesses of copies, independent of Tenon: the preloaded interposer, page faults, and a search of memory.
#pragma once

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include <dlfcn.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

namespace zero_copy {

/// libtenon_copy_watch.so, which must have been preloaded.
class CopyWatch {
 public:
  CopyWatch() {
    find(add_, "tenon_copy_watch_add");
    find(clear_, "tenon_copy_watch_clear");
    find(reset_, "tenon_copy_watch_reset");
    find(copies_, "tenon_copy_watch_copies");
    find(large_copies_, "tenon_copy_watch_large_copies");
    find(bytes_, "tenon_copy_watch_bytes");
    find(last_caller_, "tenon_copy_watch_last_caller");
    find(large_copies_into_, "tenon_copy_watch_large_copies_into");
    find(bytes_into_, "tenon_copy_watch_bytes_into");
    find(last_caller_into_, "tenon_copy_watch_last_caller_into");
    clear_();
    reset_();
  }
  ~CopyWatch() { clear_(); }
  /// Whether the process runs with it; otherwise the constructor throws.
  static bool preloaded() { return dlsym(RTLD_DEFAULT, "tenon_copy_watch_add") != nullptr; }
  CopyWatch(const CopyWatch&) = delete;
  CopyWatch& operator=(const CopyWatch&) = delete;

  /// Counts copies out of [begin, begin + size), and those into it, from now on.
  void watch(const void* begin, std::size_t size) {
    if (add_(begin, size) != 0) throw std::runtime_error("copy watch: too many ranges");
  }
  void forget() { clear_(); }
  void reset() { reset_(); }
  /// @name Out of watched memory.
  unsigned long long copies() const { return copies_(); }
  unsigned long long large_copies() const { return large_copies_(); }
  unsigned long long bytes() const { return bytes_(); }
  std::string last_caller() const { return last_caller_(); }
  /// @name Into watched memory: a result that was computed elsewhere and moved there.
  unsigned long long large_copies_into() const { return large_copies_into_(); }
  unsigned long long bytes_into() const { return bytes_into_(); }
  std::string last_caller_into() const { return last_caller_into_(); }

 private:
  template <typename Function>
  static void find(Function& function, const char* name) {
    function = reinterpret_cast<Function>(dlsym(RTLD_DEFAULT, name));
    if (!function)
      throw std::runtime_error(std::string("copy watch: ") + name +
                               " is missing; run this test by ctest, or with LD_PRELOAD=libtenon_copy_watch.so");
  }
  int (*add_)(const void*, std::size_t);
  void (*clear_)();
  void (*reset_)();
  unsigned long long (*copies_)();
  unsigned long long (*large_copies_)();
  unsigned long long (*bytes_)();
  const char* (*last_caller_)();
  unsigned long long (*large_copies_into_)();
  unsigned long long (*bytes_into_)();
  const char* (*last_caller_into_)();
};

/// Locks the pages of a buffer and notes which code accesses each of them first: it sees every reader, including
/// inlined copies and SIMD kernels. Buffers must be mappings of their own (a memfd), whole pages. One at a time per
/// process. It tells libraries apart, not the functions in one, whose symbols are hidden; elsewhere_in_process() sees
/// what a library copies for itself.
class PageTrap {
 public:
  PageTrap() {
    current() = this;
    struct sigaction action {};
    action.sa_sigaction = &PageTrap::on_fault;
    action.sa_flags = SA_SIGINFO | SA_NODEFER;
    sigaction(SIGSEGV, &action, &previous_);
  }
  ~PageTrap() {
    release();
    sigaction(SIGSEGV, &previous_, nullptr);
    current() = nullptr;
  }
  PageTrap(const PageTrap&) = delete;
  PageTrap& operator=(const PageTrap&) = delete;

  void arm(const void* begin, std::size_t size) {
    begin_ = reinterpret_cast<std::uintptr_t>(begin);
    end_ = begin_ + size;
    if (begin_ % page() != 0 || size % page() != 0) throw std::runtime_error("page trap: needs whole pages");
    touches_.assign(4 * size / page(), {});
    count_ = 0;
    if (mprotect(reinterpret_cast<void*>(begin_), size, PROT_NONE) != 0)
      throw std::runtime_error("page trap: mprotect");
  }
  /// Unlocks all pages.
  void release() {
    if (end_ != begin_) mprotect(reinterpret_cast<void*>(begin_), end_ - begin_, PROT_READ | PROT_WRITE);
    begin_ = end_ = 0;
  }

  struct Touch {
    std::uintptr_t page = 0, code = 0;
    bool write = false;
  };
  /// First touches since arm(), in order. Two threads that access one page at the same time may both be in it.
  std::vector<Touch> touches() const {
    return {touches_.begin(), touches_.begin() + static_cast<std::ptrdiff_t>(std::min(count_.load(), touches_.size()))};
  }
  /// File name of the library that `code` belongs to.
  static std::string module_of(std::uintptr_t code) {
    Dl_info info;
    if (!dladdr(reinterpret_cast<void*>(code), &info) || !info.dli_fname) return "unknown";
    const std::string path = info.dli_fname;
    return path.substr(path.rfind('/') + 1);
  }
  static std::size_t page() { return static_cast<std::size_t>(sysconf(_SC_PAGESIZE)); }

 private:
  static PageTrap*& current() {
    static PageTrap* trap = nullptr;
    return trap;
  }
  static void on_fault(int, siginfo_t* info, void* context) {
    PageTrap* trap = current();
    const auto address = reinterpret_cast<std::uintptr_t>(info->si_addr);
    if (!trap || address < trap->begin_ || address >= trap->end_) {
      signal(SIGSEGV, SIG_DFL);  // A real fault: the process ends by it.
      return;
    }
    const auto* machine = static_cast<ucontext_t*>(context);
    const std::uintptr_t page_address = address & ~(page() - 1);
    const std::size_t index = trap->count_.fetch_add(1);
    if (index < trap->touches_.size()) {
#if defined(__x86_64__)
      trap->touches_[index] = {page_address, static_cast<std::uintptr_t>(machine->uc_mcontext.gregs[REG_RIP]),
                               (machine->uc_mcontext.gregs[REG_ERR] & 2) != 0};
#elif defined(__aarch64__)
      trap->touches_[index] = {page_address, static_cast<std::uintptr_t>(machine->uc_mcontext.pc), false};
#endif
    }
    mprotect(reinterpret_cast<void*>(page_address), page(), PROT_READ | PROT_WRITE);
  }

  std::uintptr_t begin_ = 0, end_ = 0;
  std::vector<Touch> touches_;
  std::atomic<std::size_t> count_{0};
  struct sigaction previous_ {};
};

/// Where the `size` bytes at `bytes` lie in writable memory of this process outside [begin, begin + room), by
/// whatever code they came there; 0 if nowhere. A copy that is gone again, or of another type, is not found. Reads
/// all writable memory. No other thread may unmap any meanwhile.
inline std::uintptr_t elsewhere_in_process(const void* bytes, std::size_t size, const void* begin, std::size_t room) {
  const auto own = reinterpret_cast<std::uintptr_t>(bytes), low = reinterpret_cast<std::uintptr_t>(begin);
  std::ifstream maps("/proc/self/maps");
  std::vector<std::pair<std::uintptr_t, std::uintptr_t>> writable;
  for (std::string line; std::getline(maps, line);) {
    unsigned long first = 0, last = 0;
    char rights[5] = {};
    if (std::sscanf(line.c_str(), "%lx-%lx %4s", &first, &last, rights) == 3 && std::memcmp(rights, "rw", 2) == 0)
      writable.emplace_back(first, last);
  }
  if (writable.empty()) throw std::runtime_error("search for copies: /proc/self/maps cannot be read");
  for (auto [at, end] : writable) {
    while (at < end) {
      const auto found = reinterpret_cast<std::uintptr_t>(memmem(reinterpret_cast<void*>(at), end - at, bytes, size));
      if (!found) break;
      if (found != own && (found < low || found >= low + room)) return found;
      at = found + 1;
    }
  }
  return 0;
}

}  // namespace zero_copy
