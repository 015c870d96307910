// SPDX-License-Identifier: Apache-2.0
// Signals: Ctrl-C ends a command cleanly, a second one ends it at once, and neither leaves a half-written file.
#pragma once

#include <filesystem>

namespace tenon::tool {

/// While it lives, signals that end a process first remove what Unfinished names. The tool's main() holds one.
/// Signals that the caller ignores (nohup) stay ignored.
class SignalCleanup {
 public:
  SignalCleanup();
  ~SignalCleanup();
  SignalCleanup(const SignalCleanup&) = delete;
  SignalCleanup& operator=(const SignalCleanup&) = delete;
};

/// A file that must not outlive the process half-written. Registers its path for SignalCleanup, until it goes.
/// @thread made and destroyed in any thread.
class Unfinished {
 public:
  Unfinished() = default;
  /// @errors kResourceExhausted: more files at once, or a longer path, than a signal handler can know.
  explicit Unfinished(const std::filesystem::path& path);
  Unfinished(Unfinished&& other) noexcept;
  Unfinished& operator=(Unfinished&& other) noexcept;
  ~Unfinished() { forget(); }
  /// The file has its name, or is gone.
  void forget() noexcept;

 private:
  int slot_ = -1;
};

/// While it lives, the first SIGINT, SIGTERM or SIGHUP sets a flag; a second one ends the process. One at a time.
class Interrupt {
 public:
  Interrupt();
  ~Interrupt();
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;
  /// True from the signal on, also after the object went.
  static bool requested();
  /// What a shell expects of a program that a signal ended: 130 for Ctrl-C. 0 without a signal.
  static int status();
};

/// Signals that SignalCleanup answers wait while it lives: for files whose temporary names are not known here.
/// One at a time.
class HeldSignals {
 public:
  HeldSignals();
  ~HeldSignals();
  HeldSignals(const HeldSignals&) = delete;
  HeldSignals& operator=(const HeldSignals&) = delete;
};

}  // namespace tenon::tool
