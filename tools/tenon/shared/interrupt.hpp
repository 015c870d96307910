// SPDX-License-Identifier: Apache-2.0
// Signals: Ctrl-C ends a command cleanly, a second one ends it at once, and neither leaves a half-written file.
#pragma once

namespace tenon::tool {

/// While it lives, signals that end the process first remove the files of Unfinished. The tool's main() holds one.
/// Signals that the parent ignores (nohup) stay ignored.
class SignalCleanup {
 public:
  SignalCleanup();
  ~SignalCleanup();
  SignalCleanup(const SignalCleanup&) = delete;
  SignalCleanup& operator=(const SignalCleanup&) = delete;
};

/// While it lives, the first SIGINT, SIGTERM or SIGHUP sets a flag; a second one ends the process. One at a time.
class Interrupt {
 public:
  Interrupt();
  ~Interrupt();
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;
  /// True once a signal came, also after the object is destroyed.
  static bool requested();
  /// The exit status that shells expect of a program ended by a signal: 130 for Ctrl-C. 0 without a signal.
  static int status();
};

/// While it lives, signals that SignalCleanup handles are held: for files whose temporary names are not known here.
/// One at a time.
class HeldSignals {
 public:
  HeldSignals();
  ~HeldSignals();
  HeldSignals(const HeldSignals&) = delete;
  HeldSignals& operator=(const HeldSignals&) = delete;
};

}  // namespace tenon::tool
