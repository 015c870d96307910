// SPDX-License-Identifier: Apache-2.0
// Ctrl-C ends a command cleanly; a second one ends it at once.
#pragma once

#include <atomic>
#include <csignal>

namespace tenon::tool {

/// While it lives, SIGINT and SIGTERM set a flag. One at a time in a process.
class Interrupt {
 public:
  Interrupt() {
    flag() = false;
    struct sigaction action {};
    action.sa_handler = [](int) { flag() = true; };
    // The second signal finds the default action again: whoever insists is obeyed.
    action.sa_flags = static_cast<int>(SA_RESETHAND);
    ::sigaction(SIGINT, &action, &before_int_);
    ::sigaction(SIGTERM, &action, &before_term_);
  }
  ~Interrupt() {
    ::sigaction(SIGINT, &before_int_, nullptr);
    ::sigaction(SIGTERM, &before_term_, nullptr);
  }
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;
  static bool requested() { return flag().load(std::memory_order_relaxed); }

 private:
  static std::atomic<bool>& flag() {
    static std::atomic<bool> value{false};
    return value;
  }
  struct sigaction before_int_ {};
  struct sigaction before_term_ {};
};

}  // namespace tenon::tool
