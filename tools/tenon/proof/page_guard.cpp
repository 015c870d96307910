// SPDX-License-Identifier: Apache-2.0
// The SIGSEGV handler behind PageGuard.
#include <tenon/tools/tenon/proof/page_guard.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <string>
#include <string_view>

#include <dlfcn.h>
#include <sys/mman.h>
#include <sys/sysmacros.h>
#include <ucontext.h>
#include <unistd.h>

#include <tenon/core/error.hpp>

namespace tenon::tool {
namespace {

constexpr std::size_t kMostNotes = 1 << 16;

/// Everything that the handler accesses: created before it can run.
struct State {
  std::array<PageGuard::Range, PageGuard::kMostRanges> ranges;
  std::atomic<std::size_t> range_count{0};
  std::uintptr_t page = 4096;
  std::atomic<std::size_t> count{0};
  std::array<std::atomic<std::uintptr_t>, kMostNotes> at;  ///< Address of the instruction.
  struct sigaction before {};
};
State& state() {
  static State value;
  return value;
}

bool is_locked(const State& s, std::uintptr_t address) {
  const std::size_t count = s.range_count.load(std::memory_order_acquire);
  for (std::size_t i = 0; i < count; ++i) {
    if (address >= s.ranges[i].begin && address < s.ranges[i].end) return true;
  }
  return false;
}

/// @return whether all could be changed.
bool protect(const State& s, std::size_t count, int protection) {
  bool all = true;
  for (std::size_t i = 0; i < count; ++i) {
    const PageGuard::Range& range = s.ranges[i];
    all &= ::mprotect(reinterpret_cast<void*>(range.begin), range.end - range.begin, protection) == 0;
  }
  return all;
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
  if (!is_locked(s, address)) {
    // Not ours: the instruction faults again under the previous action.
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

/// PoCL makes a library of each kernel, whose functions bear the kernel's name.
constexpr std::string_view kPoclKernel = "_pocl_kernel_";

std::string reader_at(std::uintptr_t instruction) {
  Dl_info info{};
  if (::dladdr(reinterpret_cast<void*>(instruction), &info) == 0 || !info.dli_fname) return PageGuard::kGenerated;
  std::string module = info.dli_fname;
  if (const auto slash = module.rfind('/'); slash != module.npos) module.erase(0, slash + 1);
  if (!info.dli_sname || !std::string_view(info.dli_sname).starts_with(kPoclKernel)) return module;
  if (const auto dot = module.rfind(".so"); dot != module.npos) module.erase(dot);
  return PageGuard::kKernel + module;
}

}  // namespace

bool PageGuard::supported() {
#if defined(__x86_64__) || defined(__aarch64__)
  return true;
#else
  return false;
#endif
}

std::vector<PageGuard::Range> PageGuard::mappings_of(const Memory& memory) {
  const MemoryIdentity& identity = memory.identity();
  std::vector<Range> found;
  std::ifstream maps("/proc/self/maps");
  for (std::string line; identity.kind == MemoryIdentity::Kind::kInode && std::getline(maps, line);) {
    unsigned long begin = 0, end = 0, inode = 0;
    unsigned major_number = 0, minor_number = 0;
    if (std::sscanf(line.c_str(), "%lx-%lx %*s %*s %x:%x %lu", &begin, &end, &major_number, &minor_number, &inode) ==
            5 &&
        inode == identity.low && makedev(major_number, minor_number) == identity.high)
      found.push_back({begin, end});
  }
  if (found.empty()) {
    const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
    const auto first = reinterpret_cast<std::uintptr_t>(memory.host());
    found.push_back({first, first + (memory.size_bytes() + page - 1) / page * page});
  }
  return found;
}

PageGuard::PageGuard(const std::vector<Range>& ranges) {
  State& s = state();
  if (s.range_count.load() != 0) throw Error(Code::kFailedPrecondition, "page guard: there is one already");
  s.page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
  if (ranges.empty() || ranges.size() > kMostRanges)
    throw Error(Code::kInvalidArgument, "page guard: the buffer is mapped " + std::to_string(ranges.size()) +
                                            " times; 1.." + std::to_string(kMostRanges) + " can be watched");
  for (const Range& range : ranges) {
    if (range.begin % s.page != 0 || range.end % s.page != 0)
      throw Error(Code::kInvalidArgument, "page guard: the buffer does not begin at a page");
  }
  s.count = 0;
  std::copy(ranges.begin(), ranges.end(), s.ranges.begin());
  s.range_count.store(ranges.size(), std::memory_order_release);
  struct sigaction action {};
  action.sa_sigaction = &on_fault;
  action.sa_flags = SA_SIGINFO;
  ::sigaction(SIGSEGV, &action, &s.before);
  locked_ = true;
  if (!protect(s, ranges.size(), PROT_NONE)) {
    const int error = errno;
    unlock();
    throw Error(Code::kUnavailable, "page guard: the pages cannot be locked", "mprotect", error);
  }
}

PageGuard::~PageGuard() { unlock(); }

void PageGuard::unlock() noexcept {
  if (!locked_) return;
  State& s = state();
  protect(s, s.range_count, PROT_READ | PROT_WRITE);
  ::sigaction(SIGSEGV, &s.before, nullptr);
  s.range_count = 0;
  locked_ = false;
}

PageGuard::Findings PageGuard::release() {
  unlock();
  State& s = state();
  Findings found;
  found.pages = s.count;
  for (std::size_t i = 0; i < std::min(found.pages, kMostNotes); ++i) {
    const std::string reader = reader_at(s.at[i].load());
    if (std::find(found.readers.begin(), found.readers.end(), reader) == found.readers.end())
      found.readers.push_back(reader);
  }
  return found;
}

}  // namespace tenon::tool
