// SPDX-License-Identifier: Apache-2.0
// The signal handler, which only uses atomics, unlink and raise.
#include <tenon/tools/tenon/shared/interrupt.hpp>

#include <array>
#include <atomic>
#include <climits>
#include <csignal>
#include <cstring>
#include <string>
#include <utility>

#include <unistd.h>

#include <tenon/core/error.hpp>

namespace tenon::tool {
namespace {

constexpr std::array<int, 5> kEnding = {SIGHUP, SIGINT, SIGTERM, SIGQUIT, SIGPIPE};

/// A table of fixed size, so that a handler may read it at any moment.
struct Slot {
  enum State : int { kFree, kTaken, kNamed };
  std::atomic<int> state{kFree};
  char path[PATH_MAX] = {};
};
std::array<Slot, 16> slots;
std::array<struct sigaction, kEnding.size()> before;
std::atomic<bool> polite{false};
std::atomic<int> requested_by{0};
std::atomic<bool> held{false};
std::atomic<int> held_back{0};
static_assert(std::atomic<int>::is_always_lock_free && std::atomic<bool>::is_always_lock_free);

bool asks_politely(int signal) { return signal == SIGINT || signal == SIGTERM || signal == SIGHUP; }

void on_signal(int signal) {
  if (held.load()) {
    held_back = signal;
    return;
  }
  int none = 0;
  if (asks_politely(signal) && polite.load() && requested_by.compare_exchange_strong(none, signal)) return;
  for (const Slot& slot : slots) {
    if (slot.state.load() == Slot::kNamed) ::unlink(slot.path);
  }
  // The process ends by the signal when this handler returns, so that its parent sees why.
  ::signal(signal, SIG_DFL);
  ::raise(signal);
}

sigset_t ending_signals() {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : kEnding) sigaddset(&set, signal);
  return set;
}

}  // namespace

SignalCleanup::SignalCleanup() {
  struct sigaction action {};
  action.sa_handler = &on_signal;
  action.sa_flags = SA_RESTART;
  action.sa_mask = ending_signals();
  for (std::size_t i = 0; i < kEnding.size(); ++i) {
    ::sigaction(kEnding[i], nullptr, &before[i]);
    if (before[i].sa_handler != SIG_IGN) ::sigaction(kEnding[i], &action, nullptr);
  }
}

SignalCleanup::~SignalCleanup() {
  for (std::size_t i = 0; i < kEnding.size(); ++i) ::sigaction(kEnding[i], &before[i], nullptr);
}

Unfinished::Unfinished(const std::filesystem::path& path) {
  // Absolute, since a command may change its folder.
  const std::string text = std::filesystem::absolute(path).string();
  for (std::size_t i = 0; i < slots.size() && text.size() < sizeof(Slot::path); ++i) {
    int free = Slot::kFree;
    if (!slots[i].state.compare_exchange_strong(free, Slot::kTaken)) continue;
    std::memcpy(slots[i].path, text.c_str(), text.size() + 1);
    slots[i].state.store(Slot::kNamed);
    slot_ = static_cast<int>(i);
    return;
  }
  throw Error(Code::kResourceExhausted, "\"" + text + "\": too many outputs at once, or too long a path");
}

Unfinished::Unfinished(Unfinished&& other) noexcept : slot_(std::exchange(other.slot_, -1)) {}

Unfinished& Unfinished::operator=(Unfinished&& other) noexcept {
  if (this == &other) return *this;
  forget();
  slot_ = std::exchange(other.slot_, -1);
  return *this;
}

void Unfinished::forget() noexcept {
  if (slot_ >= 0) slots[static_cast<std::size_t>(slot_)].state.store(Slot::kFree);
  slot_ = -1;
}

Interrupt::Interrupt() {
  requested_by = 0;
  polite = true;
}
Interrupt::~Interrupt() { polite = false; }
bool Interrupt::requested() { return requested_by.load(std::memory_order_relaxed) != 0; }
int Interrupt::status() {
  const int signal = requested_by.load(std::memory_order_relaxed);
  return signal ? 128 + signal : 0;
}

HeldSignals::HeldSignals() { held = true; }

HeldSignals::~HeldSignals() {
  held = false;
  if (const int signal = held_back.exchange(0)) ::raise(signal);
}

}  // namespace tenon::tool
