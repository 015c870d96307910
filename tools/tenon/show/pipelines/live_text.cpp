// SPDX-License-Identifier: Apache-2.0
// Redraws the table by moving the cursor up.
#include <tenon/tools/tenon/show/pipelines/live_text.hpp>

#include <algorithm>
#include <string>

#include <fmt/core.h>
#include <sys/ioctl.h>
#include <unistd.h>

namespace tenon::tool {
namespace {

/// Cuts the table to what the terminal can show: wider or longer text cannot be redrawn.
std::string cut(const std::string& text, int descriptor, std::size_t& lines) {
  winsize size{};
  const bool known = ::ioctl(descriptor, TIOCGWINSZ, &size) == 0 && size.ws_row > 0;
  const std::size_t width = known && size.ws_col > 0 ? size.ws_col : 80, height = known ? size.ws_row - 1u : 24;
  std::string shown;
  lines = 0;
  for (std::size_t at = 0; at < text.size() && lines < height; ++lines) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    shown += text.substr(at, std::min(end - at, width - 1)) + "\x1b[K\n";
    at = end + 1;
  }
  return shown;
}

}  // namespace

LiveText::LiveText(bool quiet, std::FILE* out)
    : is_quiet_(quiet),
      is_terminal_(::isatty(::fileno(out)) == 1),
      out_(out),
      next_(std::chrono::steady_clock::now() + period()) {}

void LiveText::update(const PipelineReport& report) {
  const Time now = std::chrono::steady_clock::now();
  if (is_quiet_ || now < next_) return;
  next_ = now + period();
  if (!is_terminal_) {
    fmt::print(out_, "{}\n", report.to_line());
    std::fflush(out_);
    return;
  }
  clear();
  fmt::print(out_, "{}", cut(fmt::format("{:.1f} s\n{}", report.seconds, report.to_text()), ::fileno(out_), lines_));
  std::fflush(out_);
}

void LiveText::clear() {
  if (lines_ == 0) return;
  fmt::print(out_, "\r\x1b[{}A\x1b[J", lines_);
  std::fflush(out_);
  lines_ = 0;
}

}  // namespace tenon::tool
