// SPDX-License-Identifier: Apache-2.0
// Shows the name of one long step while it runs, on a terminal only; removed when it is over.
#pragma once

#include <cstdio>
#include <string>

#include <unistd.h>

namespace tenon::tool {

/// Writes a line such as "compiling for CPU ..." to stderr.
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
