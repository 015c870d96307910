// SPDX-License-Identifier: Apache-2.0
// Shows progress while frames run: one line that redraws itself on a terminal, a plain line now and then elsewhere.
#pragma once

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>

namespace tenon::tool {

/// @thread one at a time.
class Progress {
 public:
  using Time = std::chrono::steady_clock::time_point;

  /// @param total  Units expected; nothing for cameras and streams.
  Progress(bool quiet, std::optional<std::uint64_t> total, std::FILE* out = stdout, const char* unit = "frames");
  ~Progress() { clear(); }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// `done` units are finished; `note` says what was found. @cost reads a clock; draws at most ten times a second.
  template <typename Note>
  void update(std::uint64_t done, Note&& note) {
    if (quiet_) return;
    const Time now = std::chrono::steady_clock::now();
    if (now < next_) return;
    draw(done, note(), now);
  }
  /// Removes the line, so that other text may follow.
  void clear();
  bool on_terminal() const { return terminal_; }

 private:
  void draw(std::uint64_t done, const std::string& note, Time now);

  bool quiet_, terminal_, drawn_ = false;
  std::optional<std::uint64_t> total_;
  std::FILE* out_;
  const char* unit_;
  Time begin_, next_, last_;
  std::uint64_t last_done_ = 0;
  double rate_ = 0;
};

/// A number of bytes as text: "1.4 MB", "0 B".
std::string in_bytes(double bytes);

}  // namespace tenon::tool
