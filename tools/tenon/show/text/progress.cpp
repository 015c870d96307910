// SPDX-License-Identifier: Apache-2.0
// Draws the progress line.
#include <tenon/tools/tenon/show/text/progress.hpp>

#include <algorithm>
#include <cstdlib>

#include <fmt/core.h>
#include <sys/ioctl.h>
#include <unistd.h>

namespace tenon::tool {
namespace {

using std::chrono::milliseconds;

/// Columns of the terminal; 80 if unknown.
int columns(std::FILE* out) {
  winsize size{};
  return ::ioctl(::fileno(out), TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

/// A bar of eighths of cells, so that it moves at every frame.
std::string bar(double share, int width) {
  static const char* const eighths[] = {" ", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
  const int filled = static_cast<int>(std::clamp(share, 0.0, 1.0) * width * 8);
  std::string text;
  for (int cell = 0; cell < width; ++cell) {
    const int here = std::clamp(filled - cell * 8, 0, 8);
    text += here == 8 ? "█" : eighths[here];
  }
  return text;
}

}  // namespace

Progress::Progress(bool quiet, std::optional<std::uint64_t> total, std::FILE* out, const char* unit)
    : quiet_(quiet),
      terminal_(::isatty(::fileno(out)) == 1),
      total_(total && *total > 0 ? total : std::nullopt),
      out_(out),
      unit_(unit),
      begin_(std::chrono::steady_clock::now()),
      next_(begin_ + milliseconds(terminal_ ? 100 : 2000)),
      last_(begin_) {}

void Progress::draw(std::uint64_t done, const std::string& note, Time now) {
  const double seconds = std::chrono::duration<double>(now - last_).count();
  const double rate = seconds > 0 ? static_cast<double>(done - last_done_) / seconds : 0;
  // Smoothed over about a second, to be readable.
  rate_ = rate_ == 0 ? rate : rate_ + (rate - rate_) * std::min(1.0, seconds);
  last_ = now;
  last_done_ = done;
  next_ = now + milliseconds(terminal_ ? 100 : 2000);
  const std::string count = total_ ? fmt::format("{}/{}", done, *total_) : fmt::format("{}", done);
  std::string text = fmt::format("{}  {:.1f} {}/s", count, rate_, unit_);
  if (total_ && rate_ > 0 && *total_ > done)
    text += fmt::format("  {:.0f} s left", static_cast<double>(*total_ - done) / rate_);
  if (!note.empty()) text += "  " + note;
  if (!terminal_) {
    fmt::print(out_, "{}\n", text);
    std::fflush(out_);
    return;
  }
  const int width = columns(out_);
  const int room = std::clamp(width - 60, 10, 40);
  const std::string drawn = total_ ? bar(static_cast<double>(done) / static_cast<double>(*total_), room) + "▏" : "";
  // Cut, not wrapped: a wrapped line cannot be redrawn.
  const auto left = static_cast<std::size_t>(std::max(10, width - 1 - (total_ ? room + 2 : 0)));
  if (text.size() > left) text.resize(left);
  const bool colour = std::getenv("NO_COLOR") == nullptr;
  fmt::print(out_, "\r{}{}{} {}\x1b[K", colour ? "\x1b[36m" : "", drawn, colour ? "\x1b[0m" : "", text);
  std::fflush(out_);
  drawn_ = true;
}

void Progress::clear() {
  if (!drawn_) return;
  fmt::print(out_, "\r\x1b[K");
  std::fflush(out_);
  drawn_ = false;
}

std::string in_bytes(double bytes) {
  if (bytes < 1000) return fmt::format("{:.0f} B", bytes);
  if (bytes < 1e6) return fmt::format("{:.1f} kB", bytes / 1e3);
  if (bytes < 1e9) return fmt::format("{:.1f} MB", bytes / 1e6);
  return fmt::format("{:.1f} GB", bytes / 1e9);
}

}  // namespace tenon::tool
