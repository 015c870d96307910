// SPDX-License-Identifier: Apache-2.0
// For tests: a server on this machine that takes connections, and says nothing.
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <chrono>

#include <tenon/core/fd.hpp>

namespace tenon_test {

class SilentServer {
 public:
  SilentServer() {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    ::bind(socket_.get(), reinterpret_cast<sockaddr*>(&address), size);
    ::listen(socket_.get(), 4);
    ::getsockname(socket_.get(), reinterpret_cast<sockaddr*>(&address), &size);
    port_ = ntohs(address.sin_port);
  }
  int port() const { return port_; }
  /// Waits for a client. @return false: none has come in this time.
  bool is_called(std::chrono::milliseconds time) const {
    pollfd wanted{socket_.get(), POLLIN, 0};
    return ::poll(&wanted, 1, static_cast<int>(time.count())) == 1;
  }

 private:
  const tenon::UniqueFd socket_{::socket(AF_INET, SOCK_STREAM, 0)};
  int port_ = 0;
};

}  // namespace tenon_test
