// SPDX-License-Identifier: Apache-2.0
// The control socket: one command a line, one line as the answer.
#include <poll.h>
#include <pthread.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>
#include <thread>

#include <tenon/core/fd.hpp>
#include <tenon/drivers/npu/instrument/control.hpp>
#include <tenon/drivers/npu/instrument/faults.hpp>
#include <tenon/drivers/npu/instrument/rules.hpp>
#include <tenon/drivers/npu/objects/memory.hpp>
#include <tenon/drivers/npu/objects/pace.hpp>

namespace tenon::npu {
namespace {

constexpr std::size_t kMaxLine = 4096;
/// One client at a time: one that says nothing for so long is sent away.
constexpr int kSilenceMs = 2000;

std::string setting() {
  const char* text = std::getenv("TENON_NPU_CONTROL");
  std::string path = text ? text : "";
  if (const std::size_t at = path.find("%p"); at != path.npos) path.replace(at, 2, std::to_string(::getpid()));
  return path;
}

std::string state() {
  Faults& faults = Faults::get();
  const bool is_hung = faults.is_hung();  // First: it may end a hang, which counts as a reset.
  const Pace& pace = Pace::get();
  const std::string paced =
      pace.is_on() ? ", " + std::to_string(pace.paced()) + " paced of which " + std::to_string(pace.late()) + " late"
                   : "";
  return std::string(faults.is_lost() ? "lost"
                     : is_hung        ? "hung"
                                      : "works") +
         ", " + std::to_string(faults.resets()) + " resets, " + std::to_string(Rules::all().size()) +
         " rules, memory " + std::to_string(machine_memory_bytes()) + " of which " +
         std::to_string(process_memory().used()) + " used, " + std::to_string(faults.executions()) + " executions" +
         paced;
}

std::string set_memory(std::string_view text) {
  std::uint64_t bytes = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), bytes);
  if (error != std::errc() || end != text.data() + text.size())
    return "error: memory takes a number of bytes; 0 is the machine's";
  limit_machine_memory(bytes);
  return "ok";
}

/// @return an empty descriptor, after a message.
UniqueFd listen_on(const std::string& path) {
  const auto refuse = [&](const char* what) {
    std::fprintf(stderr, "libze_tenon_npu: TENON_NPU_CONTROL: %s: %s\n", path.c_str(), what);
    return UniqueFd();
  };
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) return refuse("longer than a socket's name may be");
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  UniqueFd listener(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!listener) return refuse(std::strerror(errno));
  const auto* const where = reinterpret_cast<const sockaddr*>(&address);
  struct stat status {};
  if (::lstat(path.c_str(), &status) == 0) {
    if (!S_ISSOCK(status.st_mode)) return refuse("there is a file that is no socket");
    // Without waiting for a process that does not accept. Only a refusal says that no process has the socket any more.
    const UniqueFd other(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (::connect(other.get(), where, sizeof address) == 0 || (errno != ECONNREFUSED && errno != ENOENT))
      return refuse("another process has a socket there");
    ::unlink(path.c_str());
  }
  ::fchmod(listener.get(), 0600);  // The file that bind() makes is for this user alone.
  if (::bind(listener.get(), where, sizeof address) != 0) return refuse(std::strerror(errno));
  if (::listen(listener.get(), 4) != 0) return refuse(std::strerror(errno));
  return listener;
}

bool send_all(int fd, std::string_view text) noexcept {
  while (!text.empty()) {
    const ssize_t sent = ::send(fd, text.data(), text.size(), MSG_NOSIGNAL);
    if (sent <= 0) return false;
    text.remove_prefix(static_cast<std::size_t>(sent));
  }
  return true;
}

/// Answers one client until it goes, is silent, or sends a line that is too long.
void serve(int fd) {
  const timeval patience{kSilenceMs / 1000, 0};
  ::setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
  std::string buffer;
  for (;;) {
    pollfd entry{fd, POLLIN, 0};
    if (::poll(&entry, 1, kSilenceMs) <= 0) return;
    char bytes[512];
    const ssize_t count = ::recv(fd, bytes, sizeof bytes, 0);
    if (count <= 0) return;
    buffer.append(bytes, static_cast<std::size_t>(count));
    for (std::size_t end; (end = buffer.find('\n')) != buffer.npos; buffer.erase(0, end + 1))
      if (!send_all(fd, control(std::string_view(buffer).substr(0, end)) + "\n")) return;
    if (buffer.size() > kMaxLine) {
      send_all(fd, "error: a line has at most " + std::to_string(kMaxLine) + " bytes\n");
      return;
    }
  }
}

}  // namespace

bool has_control() noexcept {
  static const bool has = [] {
    const char* text = std::getenv("TENON_NPU_CONTROL");
    return text && *text;
  }();
  return has;
}

std::string control(std::string_view command) try {
  while (!command.empty() && (command.back() == '\r' || command.back() == ' ')) command.remove_suffix(1);
  const std::size_t space = command.find(' ');
  const std::string_view word = command.substr(0, space);
  const std::string_view rest = space == command.npos ? std::string_view() : command.substr(space + 1);
  Faults& faults = Faults::get();
  if (word == "fail") {
    const std::string wrong = Rules::all().add(rest);
    return wrong.empty() ? "ok" : "error: " + wrong;
  }
  if (word == "memory") return set_memory(rest);
  if (!rest.empty()) return "error: '" + std::string(word) + "' takes nothing more";
  if (word == "status") return "ok: " + state();
  if (word == "lost") {
    faults.lose();
  } else if (word == "hang") {
    faults.hang();
  } else if (word == "reset") {
    faults.reset();
  } else if (word == "recover") {
    faults.recover();
    faults.reset();
  } else if (word == "clear") {
    Rules::all().clear();
    limit_machine_memory(0);
    faults.recover();
    faults.reset();
  } else {
    return "error: commands are status, fail RULES, lost, hang, reset, recover, memory BYTES and clear";
  }
  return "ok";
} catch (const std::bad_alloc&) {
  return "error: no memory";
}

void start_control() noexcept try {
  const std::string path = setting();
  if (path.empty()) return;
  UniqueFd listener = listen_on(path);
  if (!listener) return;
  // Never joined: it ends with the process.
  std::thread([owned = std::move(listener)] {
    ::pthread_setname_np(::pthread_self(), "npu-control");
    for (;;) {
      const UniqueFd client(::accept4(owned.get(), nullptr, nullptr, SOCK_CLOEXEC));
      if (!client && (errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS))
        std::this_thread::sleep_for(std::chrono::milliseconds(50));  // The client waits until there is room.
      else if (!client && errno != EINTR && errno != ECONNABORTED)
        return;
      try {
        if (client) serve(client.get());
      } catch (const std::bad_alloc&) {  // The client is sent away.
      }
    }
  }).detach();
} catch (...) {
  std::fputs("libze_tenon_npu: TENON_NPU_CONTROL: no memory or threads\n", stderr);
}

}  // namespace tenon::npu
