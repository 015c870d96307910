// SPDX-License-Identifier: Apache-2.0
// The loop over calls, the census of the process before and after, and the judgement of errors.
#include <tenon/tests/failing_calls/each_call.hpp>

#include <dirent.h>
#include <execinfo.h>
#include <malloc.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <iostream>
#include <new>
#include <numeric>
#include <optional>
#include <string_view>
#include <thread>
#include <unordered_set>
#include <utility>

#include <tenon/core/deferred.hpp>
#include <tenon/core/error.hpp>

namespace tenon_test {
namespace {

using Clock = std::chrono::steady_clock;
using namespace std::chrono_literals;

constexpr unsigned kPatience_s = 30;
constexpr long kMostNativeCalls = 1 << 14;

struct Options {
  std::string work, kind;
  long from = 1, only = 0;
  double seconds = 0;
};

[[noreturn]] void leave(const char* why) {
  const auto write_text = [](const char* text) { (void)!::write(STDOUT_FILENO, text, std::strlen(text)); };
  write_text(why);
  write_text("\nthe call that failed:\n");
  write_failed_stack(STDOUT_FILENO);
  write_text("where the process was:\n");
  std::array<void*, 64> stack{};
  ::backtrace_symbols_fd(stack.data(), ::backtrace(stack.data(), stack.size()), STDOUT_FILENO);
  ::_exit(3);
}
void on_signal(int number) { leave(number == SIGALRM ? "HANG" : number == SIGABRT ? "ABORT" : "CRASH"); }

std::size_t entries_of(const char* folder) {
  std::size_t count = 0;
  DIR* const open = ::opendir(folder);
  while (open && ::readdir(open)) ++count;
  if (open) ::closedir(open);
  return count;
}

/// Not where time is short: in some processes PoCL's and lavapipe's own threads keep more with every try, and which do is chance.
bool counts_bytes = true;

/// What a process has.
struct Census {
  std::size_t descriptors = 0, threads = 0, bytes = 0, handles = 0;
};
Census take_census(const Work& work) {
  tenon::drain_deferred(tenon::Clock::now() + 5s);
  const struct mallinfo2 heap = ::mallinfo2();
  return {entries_of("/proc/self/fd"), entries_of("/proc/self/task"), counts_bytes ? heap.uordblks + heap.hblkhd : 0,
          work.handles()};
}
/// The census as soon as it is no more than `before`, else after a second: threads end a moment after they are joined.
Census settled_census(const Work& work, const Census& before) {
  Census now = take_census(work);
  const auto has_more = [&] {
    return now.descriptors > before.descriptors || now.threads > before.threads || now.handles > before.handles;
  };
  for (int i = 0; i < 100 && has_more(); ++i) {
    std::this_thread::sleep_for(10ms);
    now = take_census(work);
  }
  return now;
}

bool says(std::string_view text, std::string_view word) {
  return std::search(text.begin(), text.end(), word.begin(), word.end(),
                     [](unsigned char a, unsigned char b) { return std::tolower(a) == std::tolower(b); }) != text.end();
}

/// Whether an error names what failed, or the native call that said so.
bool names(const std::exception& error, CallKind kind, const std::string& function) {
  const auto* const known = dynamic_cast<const tenon::Error*>(&error);
  if (known && !known->native_api().empty()) return true;
  const std::string text = tenon::describe(error);
  const auto any_of = [&](std::initializer_list<const char*> words) {
    return says(text, function) ||
           std::any_of(words.begin(), words.end(), [&](const char* word) { return says(text, word); });
  };
  switch (kind) {
    case CallKind::kNew:
    case CallKind::kMalloc:
      return dynamic_cast<const std::bad_alloc*>(&error) || any_of({"memory", "bad_alloc", "allocat"});
    case CallKind::kMap:
      return any_of({"memory", "map"});
    case CallKind::kFile:
      return any_of({"open", "too many open files", "cannot be read", "cannot be written"});
    case CallKind::kDescriptor:
      return any_of({"descriptor", "too many open files"});
    case CallKind::kThread:
      return any_of({"thread"});
    case CallKind::kOpenCl:
    case CallKind::kGStreamer:
    case CallKind::kNative:
      return false;  // The native call was asked for above.
  }
  return false;
}

void begin_watch(const Work& work, CallKind kind, long number) {
  if (kind == CallKind::kNative) return work.fail_native(number);
  watch_calls(kind, number);
}
/// @return the function that failed; empty: the call was not reached.
std::string end_watch(const Work& work, CallKind kind) {
  if (kind != CallKind::kNative) return unwatch_calls().failed;
  const bool has_failed = work.native_failed();
  work.fail_native(0);
  return has_failed ? "a native call" : "";
}

/// What became of one try. Empty: it went well.
struct Outcome {
  bool was_reached = false, threw = false;
  std::string harm;
};
Outcome try_once(const Work& work, CallKind kind, long number) {
  Outcome outcome;
  std::optional<std::string> unnamed;
  ::alarm(kPatience_s);
  begin_watch(work, kind, number);
  std::string function;
  try {
    work.run();
    function = end_watch(work, kind);
  } catch (const std::exception& error) {
    function = end_watch(work, kind);
    outcome.threw = true;
    if (function.empty() || !names(error, kind, function)) unnamed = tenon::describe(error);
  } catch (...) {
    function = end_watch(work, kind);
    outcome.threw = true;
    unnamed = "no std::exception";
  }
  outcome.was_reached = !function.empty();
  if (unnamed) outcome.harm = function + " is not named: " + *unnamed;
  try {
    work.run();
  } catch (const std::exception& error) {
    outcome.harm += (outcome.harm.empty() ? "" : "; ") + function + ": the next try fails: " + tenon::describe(error);
  }
  ::alarm(0);
  return outcome;
}

struct Counts {
  long tried = 0, threw = 0, harmed = 0;
};

void tell(const Work& work, CallKind kind, long number, const std::string& harm, Counts& counts) {
  ++counts.harmed;
  std::string line = harm;
  std::replace(line.begin(), line.end(), '\n', '|');
  std::cout << "HARM " << work.name << " " << name_of(kind) << " " << number << ": " << line << std::endl;
  write_failed_stack(STDOUT_FILENO);
}

/// What each of several rounds leaves at least.
struct Growth {
  std::size_t descriptors = SIZE_MAX, threads = SIZE_MAX, bytes = SIZE_MAX, handles = SIZE_MAX;
  bool is_more_than(const Growth& other) const {
    return descriptors > other.descriptors || threads > other.threads || bytes > other.bytes || handles > other.handles;
  }
};
template <typename Round>
Growth growth_of(const Work& work, const Round& round) {
  constexpr int kRounds = 12;
  const auto more = [](std::size_t from, std::size_t to) { return to > from ? to - from : 0; };
  Growth growth;
  Census last = take_census(work);
  for (int i = 0; i < kRounds && growth.is_more_than({0, 0, 0, 0}); ++i) {
    round();
    const Census now = settled_census(work, last);
    growth = {std::min(growth.descriptors, more(last.descriptors, now.descriptors)),
              std::min(growth.threads, more(last.threads, now.threads)),
              std::min(growth.bytes, more(last.bytes, now.bytes)),
              std::min(growth.handles, more(last.handles, now.handles))};
    last = now;
  }
  return growth;
}

/// What is more after than before, in words; empty: nothing. What is more once is kept; a leak grows with each failure, and more than
/// without one.
std::string more_than(const Census& before, const Work& work, CallKind kind, long number) {
  const Census after = settled_census(work, before);
  if (after.descriptors <= before.descriptors && after.threads <= before.threads && after.bytes <= before.bytes &&
      after.handles <= before.handles)
    return {};
  const Growth failing = growth_of(work, [&] { (void)try_once(work, kind, number); });
  if (!failing.is_more_than({0, 0, 0, 0})) return {};
  const Growth plain = growth_of(work, [&] {
    work.run();
    work.run();
  });
  if (!failing.is_more_than(plain)) return {};
  return "each failure leaves " + std::to_string(failing.descriptors) + " descriptors, " +
         std::to_string(failing.threads) + " threads, " + std::to_string(failing.handles) + " handles, " +
         std::to_string(failing.bytes) + " bytes";
}

/// In this process.
void try_call(const Work& work, CallKind kind, long number, Counts& counts) {
  const Census before = take_census(work);
  const Outcome outcome = try_once(work, kind, number);
  if (!outcome.was_reached) {
    if (!outcome.harm.empty()) tell(work, kind, number, outcome.harm, counts);
    return;
  }
  ++counts.tried;
  counts.threw += outcome.threw;
  const std::string harm = outcome.harm.empty() ? more_than(before, work, kind, number) : outcome.harm;
  if (!harm.empty()) tell(work, kind, number, harm, counts);
}

/// In a process of its own, where nothing has been done yet.
void try_first_call(const Work& work, CallKind kind, long number, Counts& counts) {
  std::cout.flush();
  const pid_t child = ::fork();
  if (child == 0) {
    const Outcome outcome = try_once(work, kind, number);
    if (!outcome.harm.empty()) {
      Counts none;
      tell(work, kind, number, outcome.harm, none);
    }
    std::cout.flush();
    ::_exit(!outcome.harm.empty() ? 4 : outcome.threw ? 1 : outcome.was_reached ? 0 : 2);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  const int code = WIFEXITED(status) ? WEXITSTATUS(status) : 3;
  if (code == 2) return;
  ++counts.tried;
  counts.threw += code == 1;
  if (code < 3) return;
  ++counts.harmed;
  if (code == 3)
    std::cout << "HARM " << work.name << " " << name_of(kind) << " " << number << ": the process ended" << std::endl;
}

/// A framework's probe tells whether the n-th call was reached, and no more.
long count_native_calls(const Work& work) {
  const auto is_reached = [&](long number) { return try_once(work, CallKind::kNative, number).was_reached; };
  long reached = 0, above = 1;
  while (above < kMostNativeCalls && is_reached(above)) reached = std::exchange(above, above * 2);
  while (above - reached > 1) {
    const long middle = reached + (above - reached) / 2;
    (is_reached(middle) ? reached : above) = middle;
  }
  return reached;
}

/// The calls that are tried: one for each place of the code, in an order that is spread over all of them.
std::vector<long> calls_of(const Work& work, CallKind kind) {
  if (kind == CallKind::kNative) {
    std::vector<long> all(static_cast<std::size_t>(count_native_calls(work)));
    std::iota(all.begin(), all.end(), 1);
    return all;
  }
  watch_sites(kind);
  work.run();
  (void)unwatch_calls();
  const std::vector<std::uint64_t> sites = watched_sites();
  std::unordered_set<std::uint64_t> seen;
  std::vector<long> calls;
  for (std::size_t i = 0; i < sites.size(); ++i)
    if (seen.insert(sites[i]).second) calls.push_back(static_cast<long>(i) + 1);
  return calls;
}
/// Steps of the golden ratio: each part of the list is spread over all of it.
void spread(std::vector<long>& calls) {
  if (calls.size() < 3) return;
  auto step = static_cast<std::size_t>(static_cast<double>(calls.size()) * 0.618);
  while (std::gcd(step, calls.size()) != 1) ++step;
  std::vector<long> ordered;
  for (std::size_t i = 0, at = 0; i < calls.size(); ++i, at = (at + step) % calls.size()) ordered.push_back(calls[at]);
  calls = std::move(ordered);
}

int run(const Work& work, CallKind kind, const Options& options) {
  std::vector<long> calls;
  if (work.is_first) {
    // Counted in a process of its own.
    std::array<int, 2> ends{};
    if (::pipe(ends.data()) != 0) return 2;
    if (::fork() == 0) {
      for (const long call : calls_of(work, kind)) (void)!::write(ends[1], &call, sizeof call);
      ::_exit(0);
    }
    ::close(ends[1]);
    for (long call = 0; ::read(ends[0], &call, sizeof call) == sizeof call;) calls.push_back(call);
    ::close(ends[0]);
    ::wait(nullptr);
  } else {
    for (int i = 0; i < 5; ++i) work.run();  // Makes what exists once per process.
    calls = calls_of(work, kind);
  }
  const std::size_t places = calls.size();
  if (options.only != 0) calls = {options.only};
  if (options.seconds > 0) spread(calls);
  Counts counts;
  const auto end = Clock::now() + std::chrono::duration<double>(options.seconds);
  for (const long call : calls) {
    if (options.seconds > 0 && Clock::now() >= end) break;
    if (call < options.from) continue;
    std::cout << "AT " << call << std::endl;
    (work.is_first ? try_first_call : try_call)(work, kind, call, counts);
  }
  std::cout << "DONE " << work.name << " " << name_of(kind) << ": " << places << " places, " << counts.tried
            << " tried, " << counts.threw << " errors, " << counts.harmed << " harmed" << std::endl;
  return counts.harmed == 0 ? 0 : 1;
}

Options parse(const std::vector<std::string>& arguments) {
  Options options{arguments.at(0), arguments.at(1)};
  for (std::size_t i = 2; i + 1 < arguments.size(); i += 2) {
    if (arguments[i] == "--from") options.from = std::stol(arguments[i + 1]);
    if (arguments[i] == "--only") options.only = std::stol(arguments[i + 1]);
    if (arguments[i] == "--seconds") options.seconds = std::stod(arguments[i + 1]);
  }
  return options;
}

}  // namespace

int main_of(const std::vector<Work>& all, int count, char** arguments) {
  const std::vector<std::string> given(arguments + 1, arguments + count);
  if (given.size() == 1 && given[0] == "list") {
    for (const Work& work : all)
      for (const CallKind kind : work.kinds) std::cout << work.name << " " << name_of(kind) << "\n";
    return 0;
  }
  if (given.size() < 2) {
    std::cerr << "usage: list | WORK KIND [--from N] [--only N] [--seconds S]\n";
    return 2;
  }
  const Options options = parse(given);
  for (const int number : {SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL, SIGALRM}) ::signal(number, on_signal);
  std::array<void*, 4> loaded{};
  (void)::backtrace(loaded.data(), loaded.size());  // Its first call loads a library.
  const auto work = std::find_if(all.begin(), all.end(), [&](const Work& one) { return one.name == options.work; });
  if (work == all.end()) {
    std::cerr << "no work \"" << options.work << "\"; list has the names\n";
    return 2;
  }
  std::optional<int> code;
  counts_bytes = options.seconds == 0;
  Options part = options;
  if (options.kind == "all") part.seconds /= static_cast<double>(work->kinds.size());
  for (const CallKind kind : work->kinds)
    if (options.kind == "all" || name_of(kind) == options.kind)
      code = std::max(code.value_or(0), run(*work, kind, part));
  if (!code) std::cerr << "no kind \"" << options.kind << "\" of this work; list has them\n";
  return code.value_or(2);
}

}  // namespace tenon_test
