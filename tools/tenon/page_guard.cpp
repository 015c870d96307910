// SPDX-License-Identifier: Apache-2.0
// The SIGSEGV handler behind PageGuard.
#include "page_guard.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdint>

#include <dlfcn.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include <tenon/core/error.hpp>

namespace tenon::tool {
namespace {

constexpr std::size_t kMostNotes = 1 << 16;

/// Everything that the handler touches: made before it can run.
struct State {
  std::atomic<std::uintptr_t> begin{0}, end{0};
  std::uintptr_t page = 4096;
  std::atomic<std::size_t> count{0};
  std::array<std::atomic<std::uintptr_t>, kMostNotes> at;  ///< Address of the instruction.
  struct sigaction before {};
};
State& state() {
  static State value;
  return value;
}

std::uintptr_t instruction([[maybe_unused]] const ucontext_t& context) {
#if defined(__x86_64__)
  return static_cast<std::uintptr_t>(context.uc_mcontext.gregs[REG_RIP]);
#elif defined(__aarch64__)
  return context.uc_mcontext.pc;
#else
  return 0;
#endif
}

void on_fault(int, siginfo_t* info, void* context) {
  State& s = state();
  const auto address = reinterpret_cast<std::uintptr_t>(info->si_addr);
  if (address < s.begin.load(std::memory_order_acquire) || address >= s.end.load(std::memory_order_acquire)) {
    // Not ours: the instruction faults again under the action that was there before.
    ::sigaction(SIGSEGV, &s.before, nullptr);
    return;
  }
  const int error = errno;
  const std::size_t index = s.count.fetch_add(1, std::memory_order_relaxed);
  if (index < kMostNotes)
    s.at[index].store(instruction(*static_cast<const ucontext_t*>(context)), std::memory_order_release);
  ::mprotect(reinterpret_cast<void*>(address & ~(s.page - 1)), s.page, PROT_READ | PROT_WRITE);
  errno = error;
}

}  // namespace

bool PageGuard::supported() {
#if defined(__x86_64__) || defined(__aarch64__)
  return true;
#else
  return false;
#endif
}

PageGuard::PageGuard(void* begin, std::size_t size_bytes) {
  State& s = state();
  if (s.begin.load() != 0) throw Error(Code::kFailedPrecondition, "page guard: there is one already");
  s.page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
  const auto first = reinterpret_cast<std::uintptr_t>(begin);
  if (first % s.page != 0) throw Error(Code::kInvalidArgument, "page guard: the buffer does not begin at a page");
  s.count = 0;
  s.end = first + (size_bytes + s.page - 1) / s.page * s.page;
  s.begin = first;
  struct sigaction action {};
  action.sa_sigaction = &on_fault;
  action.sa_flags = SA_SIGINFO;
  ::sigaction(SIGSEGV, &action, &s.before);
  locked_ = true;
  if (::mprotect(begin, s.end - first, PROT_NONE) != 0) {
    const int error = errno;
    unlock();
    throw Error(Code::kUnavailable, "page guard: the pages cannot be locked", "mprotect", error);
  }
}

PageGuard::~PageGuard() { unlock(); }

void PageGuard::unlock() noexcept {
  if (!locked_) return;
  State& s = state();
  const std::uintptr_t begin = s.begin;
  ::mprotect(reinterpret_cast<void*>(begin), s.end - begin, PROT_READ | PROT_WRITE);
  ::sigaction(SIGSEGV, &s.before, nullptr);
  s.begin = 0;
  locked_ = false;
}

PageGuard::Findings PageGuard::release() {
  unlock();
  State& s = state();
  Findings found;
  found.pages = s.count;
  for (std::size_t i = 0; i < std::min(found.pages, kMostNotes); ++i) {
    Dl_info info{};
    const char* name = ::dladdr(reinterpret_cast<void*>(s.at[i].load()), &info) != 0 ? info.dli_fname : nullptr;
    std::string module = name ? name : "code without a module";
    if (const auto slash = module.rfind('/'); slash != module.npos) module.erase(0, slash + 1);
    if (std::find(found.readers.begin(), found.readers.end(), module) == found.readers.end())
      found.readers.push_back(module);
  }
  return found;
}

}  // namespace tenon::tool
