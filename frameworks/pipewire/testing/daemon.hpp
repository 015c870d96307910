// SPDX-License-Identifier: Apache-2.0
// For tests: a PipeWire daemon of their own, in a folder of their own, and other programs that use it.
#pragma once

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <tenon/core/policy.hpp>
#include <tenon/tests/support/temporary_folder.hpp>

namespace tenon_test {

/// The path of a program; nothing if it is not installed.
inline std::optional<std::string> find_program(const std::string& name) {
  const char* const folders = std::getenv("PATH");
  std::istringstream all(folders ? folders : "/usr/bin:/bin");
  for (std::string folder; std::getline(all, folder, ':');)
    if (::access((folder + "/" + name).c_str(), X_OK) == 0) return folder + "/" + name;
  return std::nullopt;
}

/// Another program. It ends with this object, and with this process.
class Program {
 public:
  /// @param output  A file for what it prints; empty: nowhere.
  explicit Program(const std::vector<std::string>& line, const std::string& output = {},
                   const std::vector<std::string>& variables = {}) {
    const std::string program = find_program(line[0]).value_or(line[0]);
    std::vector<char*> arguments, environment;
    for (const std::string& word : line) arguments.push_back(const_cast<char*>(word.c_str()));
    arguments.push_back(nullptr);
    for (const std::string& variable : variables) environment.push_back(const_cast<char*>(variable.c_str()));
    for (char** one = environ; *one; ++one) environment.push_back(*one);
    environment.push_back(nullptr);
    const std::string to = output.empty() ? "/dev/null" : output;
    pid_ = ::fork();
    if (pid_ < 0) throw std::runtime_error("no process can be forked");
    if (pid_ != 0) return;
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    const int file = ::open(to.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    ::dup2(file, 1);
    ::dup2(file, 2);
    ::execve(program.c_str(), arguments.data(), environment.data());
    ::_exit(127);
  }
  Program(Program&& other) noexcept : pid_(std::exchange(other.pid_, -1)) {}
  Program& operator=(Program&& other) noexcept {
    end(SIGKILL);
    pid_ = std::exchange(other.pid_, -1);
    return *this;
  }
  ~Program() { end(SIGKILL); }

  pid_t pid() const { return pid_; }
  void send(int signal) const { ::kill(pid_, signal); }
  void end(int signal) {
    if (pid_ <= 0) return;
    ::kill(pid_, signal);
    ::waitpid(std::exchange(pid_, -1), nullptr, 0);
  }
  bool is_running() { return pid_ > 0 && ::waitpid(pid_, &status_, WNOHANG) == 0; }
  /// The exit status; nothing at the deadline.
  std::optional<int> wait(tenon::Deadline deadline) {
    while (::waitpid(pid_, &status_, WNOHANG) == 0) {
      if (tenon::Clock::now() > deadline) return std::nullopt;
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    pid_ = -1;
    return WIFEXITED(status_) ? WEXITSTATUS(status_) : 128 + WTERMSIG(status_);
  }

 private:
  pid_t pid_ = -1;
  int status_ = 0;
};

/// A daemon without a session manager: nothing is linked that a test does not link. This process and the programs that it starts find it by
/// XDG_RUNTIME_DIR, which stays set to its folder.
class Daemon {
 public:
  /// Why there can be none; empty if there can.
  static std::string why_none() {
    return find_program("pipewire") ? "" : "the program pipewire is not installed (Debian: pipewire, pipewire-bin)";
  }

  Daemon() {
    std::ofstream(folder_.path() / "daemon.conf") << R"(context.properties = {
  core.daemon = true
  core.name = pipewire-0
  link.max-buffers = 64
  support.dbus = false
  mem.allow-mlock = false
  log.level = 1
}
context.spa-libs = { support.* = support/libspa-support }
context.modules = [
  { name = libpipewire-module-protocol-native }
  { name = libpipewire-module-metadata }
  { name = libpipewire-module-client-node }
  { name = libpipewire-module-access }
  { name = libpipewire-module-adapter }
  { name = libpipewire-module-link-factory }
]
)";
    ::setenv("XDG_RUNTIME_DIR", folder_.path().c_str(), 1);
    ::unsetenv("PIPEWIRE_REMOTE");
    ::unsetenv("PIPEWIRE_RUNTIME_DIR");
    start();
  }

  void start() {
    program_.emplace(std::vector<std::string>{"pipewire", "-c", folder_.path() / "daemon.conf"}, log());
    const auto until = tenon::Clock::now() + std::chrono::seconds(30);
    while (!answers(folder_.path() / "pipewire-0")) {
      if (!program_->is_running() || tenon::Clock::now() > until)
        throw std::runtime_error("the daemon does not start: " + text_of(log()));
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
  }
  /// kill -9. The socket's file stays, as after a crash, unless it is removed here so that start() sees the next one's.
  void kill() {
    program_->end(SIGKILL);
    std::filesystem::remove(folder_.path() / "pipewire-0");
  }
  Program& program() { return *program_; }
  const std::filesystem::path& folder() const { return folder_.path(); }

  static std::string text_of(const std::filesystem::path& path) {
    std::ifstream file(path);
    std::ostringstream text;
    text << file.rdbuf();
    return text.str();
  }

 private:
  /// The file is there before the daemon listens: a connection is refused until then.
  static bool answers(const std::string& path) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    if (path.size() >= sizeof(address.sun_path)) throw std::runtime_error("a socket's path is too long: " + path);
    path.copy(address.sun_path, path.size());
    const int end = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const bool connects = ::connect(end, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0;
    ::close(end);
    return connects;
  }
  std::string log() const { return folder_.path() / "daemon.log"; }

  tenon::TemporaryFolder folder_;
  std::optional<Program> program_;
};

}  // namespace tenon_test
