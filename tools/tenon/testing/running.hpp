// SPDX-License-Identifier: Apache-2.0
// For tests of the tool: a run of it that the test watches and ends.
#pragma once

#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstddef>
#include <string>
#include <thread>

#include <tenon/core/fd.hpp>

#include <tenon/tools/tenon/testing/tool.hpp>

namespace tenon::tool::testing {

/// The tool in a process of its own, to which the test sends signals. The process ends with this object.
class Running {
 public:
  /// @param arguments  As a shell takes them, with redirections. @param has_terminal  Its standard streams are one.
  Running(const fs::path& folder, const std::string& arguments, bool has_terminal = false) {
    const std::string line =
        "cd '" + folder.string() + "' && exec '" + from_environment("TENON_TOOL") + "' " + arguments;
    int terminal = -1;
    winsize size{24, 100, 0, 0};
    pid_ = has_terminal ? ::forkpty(&terminal, nullptr, nullptr, &size) : ::fork();
    if (pid_ == 0) {
      ::execl("/bin/sh", "sh", "-c", line.c_str(), nullptr);
      ::_exit(127);
    }
    terminal_.reset(terminal);
  }
  ~Running() {
    if (pid_ > 0) static_cast<void>(signalled(SIGKILL, std::chrono::seconds(5)));
  }
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;

  /// Not after its end: a signal to -1 reaches every process of the machine.
  void send(int signal) const {
    if (pid_ > 0) ::kill(pid_, signal);
  }
  bool has_ended() {
    if (pid_ > 0 && ::waitpid(pid_, &status_, WNOHANG) == pid_) pid_ = -1;
    return pid_ < 0;
  }
  bool ends_within(std::chrono::seconds time) {
    for (const auto end = std::chrono::steady_clock::now() + time; std::chrono::steady_clock::now() < end;
         std::this_thread::sleep_for(std::chrono::milliseconds(5)))
      if (has_ended()) return true;
    return false;
  }
  bool signalled(int signal, std::chrono::seconds time) {
    send(signal);
    return ends_within(time);
  }
  /// The status of waitpid(), when the process has ended.
  int status() const { return status_; }
  /// All text that it writes to its terminal, or what it writes until this text is there; in both cases for a minute at most.
  std::string shown(const std::string& until = "") {
    std::string all;
    char part[4096];
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while ((until.empty() || all.find(until) == std::string::npos) && std::chrono::steady_clock::now() < end) {
      pollfd waiting{terminal_.get(), POLLIN, 0};
      if (::poll(&waiting, 1, 100) == 0) continue;
      const ssize_t size = ::read(terminal_.get(), part, sizeof part);
      if (size <= 0) break;
      all.append(part, static_cast<std::size_t>(size));
    }
    return all;
  }

 private:
  pid_t pid_ = -1;
  int status_ = 0;
  UniqueFd terminal_;
};

/// Whether what is asked for becomes true, on a machine however busy.
template <typename Question>
bool becomes(const Question& is_so, std::chrono::seconds time = std::chrono::seconds(60)) {
  for (const auto end = std::chrono::steady_clock::now() + time; !is_so();
       std::this_thread::sleep_for(std::chrono::milliseconds(5)))
    if (std::chrono::steady_clock::now() > end) return false;
  return true;
}

}  // namespace tenon::tool::testing
