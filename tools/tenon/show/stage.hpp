// SPDX-License-Identifier: Apache-2.0
// What a person sees while one long step runs: its name, on a terminal only, gone when it is over.
#pragma once

#include <cstdio>
#include <string>

#include <unistd.h>

namespace tenon::tool {

/// "compiling for CPU ..." on stderr.
class Stage {
 public:
  explicit Stage(const std::string& text) : shown_(::isatty(2) != 0) {
    if (!shown_) return;
    std::fprintf(stderr, "\r\033[K%s ...", text.c_str());
    std::fflush(stderr);
  }
  ~Stage() {
    if (!shown_) return;
    std::fputs("\r\033[K", stderr);
    std::fflush(stderr);
  }
  Stage(const Stage&) = delete;
  Stage& operator=(const Stage&) = delete;

 private:
  bool shown_;
};

}  // namespace tenon::tool
