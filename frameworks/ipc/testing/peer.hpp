// SPDX-License-Identifier: Apache-2.0
// For tests: a second process, which works on memory that it gets over a link.
#pragma once

#include <sys/prctl.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <exception>
#include <stdexcept>
#include <utility>

#include <tenon/frameworks/ipc/link.hpp>

namespace tenon_test {

/// A forked process that runs `body(link)` and ends; this process has the other end of the link. Fork before there are threads.
class PeerProcess {
 public:
  template <typename Body>
  explicit PeerProcess(Body body) : PeerProcess(tenon::ipc::Link::pair(), body) {}
  PeerProcess(const PeerProcess&) = delete;
  PeerProcess& operator=(const PeerProcess&) = delete;
  ~PeerProcess() {
    link.close();
    if (pid_ > 0) ::waitpid(pid_, nullptr, 0);
  }

  pid_t pid() const { return pid_; }
  void kill() {
    ::kill(pid_, SIGKILL);
    ::waitpid(std::exchange(pid_, -1), nullptr, 0);
  }
  /// The exit status: 0 if `body` returned, 1 if it threw.
  int wait() {
    int status = 0;
    ::waitpid(std::exchange(pid_, -1), &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

  tenon::ipc::Link link;

 private:
  template <typename Body>
  PeerProcess(std::pair<tenon::ipc::Link, tenon::ipc::Link> ends, Body body) : link(std::move(ends.first)) {
    pid_ = ::fork();
    if (pid_ < 0) throw std::runtime_error("no process can be forked");
    if (pid_ != 0) return;
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    int status = 0;
    try {
      { const tenon::ipc::Link other = std::move(link); }
      body(ends.second);
    } catch (const std::exception&) {
      status = 1;
    }
    ::_exit(status);
  }

  pid_t pid_ = -1;
};

}  // namespace tenon_test
