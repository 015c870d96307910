// SPDX-License-Identifier: Apache-2.0
// The signal handler, which only uses atomics, unlink and raise.
#include <tenon/tools/tenon/shared/interrupt.hpp>

#include <array>
#include <atomic>
#include <csignal>

#include <tenon/core/unfinished.hpp>

namespace tenon::tool {
namespace {

constexpr std::array<int, 5> kEnding = {SIGHUP, SIGINT, SIGTERM, SIGQUIT, SIGPIPE};

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
  remove_unfinished();
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
