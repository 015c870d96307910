// SPDX-License-Identifier: Apache-2.0
// Writes by write(2), and checks whether the other end still reads.
#include <tenon/elements/publish/line_file.hpp>

#include <poll.h>
#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstring>
#include <ctime>
#include <utility>

#include <tenon/core/error.hpp>
#include <tenon/core/platform/files.hpp>
#include <tenon/core/policy.hpp>

namespace tenon {
inline namespace v1 {
namespace elements {
namespace publish {
namespace {

constexpr auto kPatience = std::chrono::seconds(10);

/// Blocks SIGPIPE while it lives: writing to a pipe without a reader is then an error and does not end the process.
class NoPipeSignal {
 public:
  NoPipeSignal() {
    sigemptyset(&pipe_);
    sigaddset(&pipe_, SIGPIPE);
    sigset_t pending;
    sigpending(&pending);
    was_pending_ = sigismember(&pending, SIGPIPE) == 1;
    pthread_sigmask(SIG_BLOCK, &pipe_, &before_);
  }
  ~NoPipeSignal() {
    const timespec now{};
    if (!was_pending_) sigtimedwait(&pipe_, nullptr, &now);
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  NoPipeSignal(const NoPipeSignal&) = delete;
  NoPipeSignal& operator=(const NoPipeSignal&) = delete;

 private:
  sigset_t pipe_{}, before_{};
  bool was_pending_ = false;
};

std::string reason_of(int error) {
  if (error == ENXIO) return "the pipe has no reader; start the reader first";
  if (error == EPIPE) return "its reader has gone";
  return std::strerror(error);
}

}  // namespace

LineFile::LineFile(std::string path, bool append) : path_(std::move(path)) {
  if (path_ == "-") {
    standard_output_ = UniqueFd::duplicate(STDOUT_FILENO);
    return;
  }
  try {
    file_.emplace(path_, append ? GrowingFile::Place::kEnd : GrowingFile::Place::kAnywhere);
  } catch (const Error& error) {
    const auto reason = static_cast<int>(error.native_code());
    throw Error(platform::code_of(reason), "json: \"" + path_ + "\" cannot be written: " + reason_of(reason),
                error.native_api(), reason);
  }
  is_regular_ = file_->is_regular();
  size_ = static_cast<std::int64_t>(file_->size_bytes());
  replaces_ = is_regular_ && !append;
}

void LineFile::begin() {
  if (!std::exchange(replaces_, false)) return;
  size_ = 0;
  if (const int error = file_->reset_to(0)) fail(error);
}

void LineFile::write(std::string_view line) {
  begin();
  buffer_.assign(line);
  buffer_ += '\n';
  const NoPipeSignal quiet;
  for (std::size_t done = 0; done < buffer_.size();) {
    // A pipe that is ready takes at least PIPE_BUF bytes without waiting.
    const std::size_t max_bytes = is_regular_ ? buffer_.size() : std::min<std::size_t>(buffer_.size() - done, PIPE_BUF);
    if (!is_regular_) wait_for_room();
    const ssize_t written = ::write(fd(), buffer_.data() + done, std::min(max_bytes, buffer_.size() - done));
    if (written < 0 && errno != EINTR && errno != EAGAIN) fail(errno);
    if (written > 0) done += static_cast<std::size_t>(written);
  }
  size_ += static_cast<std::int64_t>(buffer_.size());
}

void LineFile::wait_for_room() const {
  const Deadline end = Clock::now() + kPatience;
  for (;;) {
    pollfd state{fd(), POLLOUT, 0};
    if (::poll(&state, 1, 100) > 0) return;  // There is room, or an error that write() reports.
    if (is_interrupted_)
      throw Error(Code::kCancelled, "json: \"" + path_ + "\": interrupted while its reader was busy");
    if (Clock::now() >= end)
      throw Error(Code::kDeadlineExceeded, "json: the reader of \"" + path_ +
                                               "\" took nothing for 10 s; give the node a queue that drops frames, or "
                                               "write to a file");
  }
}

void LineFile::fail(int error) {
  std::string rest;
  if (is_regular_ && file_->reset_to(static_cast<std::uint64_t>(size_)) == 0)
    rest = "; it ends with the last whole line";
  throw Error(platform::code_of(error), "json: writing to \"" + path_ + "\": " + reason_of(error) + rest, "write",
              error);
}

}  // namespace publish
}  // namespace elements
}  // namespace v1
}  // namespace tenon
