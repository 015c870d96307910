// SPDX-License-Identifier: Apache-2.0
// The system calls behind sockets that carry packets with descriptors.
#include <tenon/frameworks/ipc/socket.hpp>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <system_error>

#include <tenon/core/error.hpp>
#include <tenon/core/export.hpp>

namespace tenon {
inline namespace v1 {
namespace ipc::detail {

[[noreturn]] TENON_INLINE void fail_call(Code code, const std::string& what, const char* call, int error) {
  throw Error(code, "ipc: " + what + ": " + std::generic_category().message(error), call, error);
}

TENON_INLINE Code code_of_path(int error) {
  switch (error) {
    case EACCES:
    case EPERM:
    case EROFS:
      return Code::kPermissionDenied;
    case ENOENT:
    case ENOTDIR:
      return Code::kNotFound;
    case ECONNREFUSED:
    case EAGAIN:  // connect() found the queue of connections that wait full.
      return Code::kUnavailable;
    case EADDRINUSE:
      return Code::kAlreadyExists;
    case EMFILE:
    case ENFILE:
    case ENOMEM:
    case ENOBUFS:
      return Code::kResourceExhausted;
    default:
      return Code::kInternal;
  }
}

TENON_INLINE sockaddr_un address_of(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.empty() || path.size() >= sizeof address.sun_path || path.find('\0') != std::string::npos)
    throw Error(Code::kInvalidArgument, "ipc: the socket's path \"" + path + "\" has " + std::to_string(path.size()) +
                                            " bytes, expected 1 to " + std::to_string(sizeof address.sun_path - 1) +
                                            "; use a folder with a shorter path");
  std::memcpy(address.sun_path, path.data(), path.size());
  return address;
}

TENON_INLINE UniqueFd make_socket() {
  UniqueFd made(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!made) fail_call(code_of_path(errno), "a socket cannot be made", "socket", errno);
  return made;
}

TENON_INLINE std::pair<UniqueFd, UniqueFd> socket_pair() {
  int ends[2] = {-1, -1};
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) != 0)
    fail_call(Code::kResourceExhausted, "two sockets cannot be made", "socketpair", errno);
  return {UniqueFd(ends[0]), UniqueFd(ends[1])};
}

/// Whether no process has the socket file at the address any more.
TENON_INLINE bool is_left_behind(const sockaddr_un& address) {
  const UniqueFd probe = make_socket();
  // Other errors say that there is a process: its queue is full, its socket is of another type, or another user's.
  return ::connect(probe.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 &&
         (errno == ECONNREFUSED || errno == ENOENT);
}

[[noreturn]] TENON_INLINE void fail_taken(const std::string& path) {
  throw Error(Code::kAlreadyExists,
              "ipc: the socket of another process is at \"" + path + "\"; choose another path, or end that process");
}

/// The file that a path names, itself where it is a link; nothing where there is none.
TENON_INLINE std::optional<FileIdentity> named_file(const std::string& path) {
  struct stat status {};
  if (::lstat(path.c_str(), &status) != 0) return std::nullopt;
  return FileIdentity{status.st_dev, status.st_ino};
}

TENON_INLINE PathLock::PathLock(const std::string& path) : file_(path + ".lock") {
  for (;;) {
    UniqueFd made(::open(file_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600));
    if (!made)
      fail_call(code_of_path(errno), "the lock of a socket, \"" + file_ + "\", cannot be opened", "open", errno);
    struct stat status {};
    if (::fstat(made.get(), &status) != 0 || !S_ISREG(status.st_mode))
      throw Error(Code::kInvalidArgument, "ipc: \"" + file_ + "\" is no plain file, so it cannot lock the socket");
    if (::flock(made.get(), LOCK_EX | LOCK_NB) != 0) {
      if (errno == EWOULDBLOCK) fail_taken(path);
      fail_call(code_of_path(errno), "\"" + file_ + "\" cannot be locked", "flock", errno);
    }
    // The process that had it may have removed the file in between: then another process may lock a new one.
    if (named_file(file_) == FileIdentity{status.st_dev, status.st_ino}) {
      fd_ = std::move(made);
      return;
    }
  }
}

TENON_INLINE PathLock::~PathLock() { (void)::unlink(file_.c_str()); }

/// Removes a socket file that a process left behind. @pre the path's lock is held.
TENON_INLINE void make_way(const std::string& path, const sockaddr_un& address) {
  struct stat status {};
  if (::lstat(path.c_str(), &status) != 0) return;
  if (!S_ISSOCK(status.st_mode))
    throw Error(Code::kInvalidArgument, "ipc: \"" + path + "\" exists and is no socket; it is not replaced");
  if (!is_left_behind(address)) fail_taken(path);  // A process that takes no lock.
  (void)::unlink(path.c_str());                    // If this fails, bind() says why.
}

TENON_INLINE Listener::Listener(const std::string& path) : path_(path) {
  const sockaddr_un address = address_of(path);
  lock_.emplace(path);
  socket_ = make_socket();
  make_way(path, address);
  // Before bind(), which gives the file the rights of the socket: so no other user connects in between.
  if (::fchmod(fd(), 0600) != 0) fail_call(Code::kInternal, "the rights of a socket cannot be set", "fchmod", errno);
  if (::bind(fd(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
    fail_call(code_of_path(errno), "a socket at \"" + path + "\" cannot be made", "bind", errno);
  file_ = named_file(path).value_or(FileIdentity{});
  if (::listen(fd(), 16) != 0) {
    const int error = errno;
    (void)::unlink(path.c_str());
    fail_call(code_of_path(error), "\"" + path + "\" cannot be listened at", "listen", error);
  }
}

TENON_INLINE Listener::~Listener() {
  if (named_file(path_) == file_) (void)::unlink(path_.c_str());
}

TENON_INLINE UniqueFd connect_to(const std::string& path) {
  const sockaddr_un address = address_of(path);
  UniqueFd made = make_socket();
  if (::connect(made.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) return made;
  const int error = errno;
  const char* const remedy = error == EPROTOTYPE ? " (it is a socket of another type)"
                             : error == ENOENT || error == ECONNREFUSED
                                 ? " (start its server first: tenon serve-frames)"
                                 : "";
  fail_call(error == EPROTOTYPE ? Code::kInvalidArgument : code_of_path(error),
            "\"" + path + "\" cannot be connected to" + remedy, "connect", error);
}

TENON_INLINE Peer peer_of(int socket) {
  ucred credentials{};
  socklen_t size = sizeof credentials;
  if (::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &credentials, &size) != 0)
    fail_call(Code::kInternal, "the process at the other end is not known", "getsockopt(SO_PEERCRED)", errno);
  return {credentials.pid, credentials.uid, credentials.gid};
}

TENON_INLINE Got take(int socket, Packet& packet) {
  iovec bytes{packet.bytes.data(), packet.bytes.size()};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int) * wire::kMaxDescriptors)> control;
  msghdr message{};
  message.msg_iov = &bytes;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  ssize_t size;
  bool was_reset = false;
  for (;;) {
    size = ::recvmsg(socket, &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
    if (size >= 0) break;
    // The other end closed with messages unread. Said once, before what it sent until then can be read.
    const bool is_reset = errno == ECONNRESET && !was_reset;
    if (errno != EINTR && !is_reset) break;
    was_reset = was_reset || is_reset;
  }
  if (size < 0) {
    if (errno == EAGAIN || errno == EWOULDBLOCK) return Got::kNothing;
    if (errno == ECONNRESET || errno == EPIPE) return Got::kClosed;
    fail_call(Code::kInternal, "a message cannot be received", "recvmsg", errno);
  }
  packet.size = static_cast<std::size_t>(size);
  packet.descriptor_count = 0;
  for (cmsghdr* part = CMSG_FIRSTHDR(&message); part; part = CMSG_NXTHDR(&message, part)) {
    if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS) continue;
    const std::size_t count = (part->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (std::size_t i = 0; i < count; ++i) {
      int fd = -1;
      std::memcpy(&fd, CMSG_DATA(part) + i * sizeof(int), sizeof fd);
      UniqueFd owned(fd);  // Owned at once: what does not fit is closed.
      if (packet.descriptor_count < packet.descriptors.size())
        packet.descriptors[packet.descriptor_count++] = std::move(owned);
    }
  }
  if (size == 0 && packet.descriptor_count == 0) return Got::kClosed;
  if (message.msg_flags & (MSG_TRUNC | MSG_CTRUNC))
    throw Error(Code::kDataLoss,
                message.msg_flags & MSG_CTRUNC
                    ? "ipc: a message has more descriptors than the protocol allows, or than this process "
                      "may open (ulimit -n)"
                    : "ipc: a message is longer than the protocol allows");
  return Got::kPacket;
}

TENON_INLINE Put put(int socket, std::span<const std::byte> bytes, std::span<const int> descriptors,
                     std::span<const std::byte> more) {
  std::array<iovec, 2> parts{
      {{const_cast<std::byte*>(bytes.data()), bytes.size()}, {const_cast<std::byte*>(more.data()), more.size()}}};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int) * wire::kMaxDescriptors)> control{};
  msghdr message{};
  message.msg_iov = parts.data();
  message.msg_iovlen = more.empty() ? 1 : 2;
  if (!descriptors.empty()) {
    message.msg_control = control.data();
    message.msg_controllen = CMSG_SPACE(descriptors.size_bytes());
    cmsghdr* const header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(descriptors.size_bytes());
    std::memcpy(CMSG_DATA(header), descriptors.data(), descriptors.size_bytes());
  }
  for (;;) {
    if (::sendmsg(socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT) >= 0) return Put::kSent;
    switch (errno) {
      case EINTR:
        continue;
      case EAGAIN:
      case ENOBUFS:
        return Put::kFull;
      case EPIPE:
      case ECONNRESET:
      case ENOTCONN:
        return Put::kClosed;
      case ETOOMANYREFS:  // More descriptors are under way than the limit of open files: the other end does not take them.
        return Put::kFull;
      default:
        fail_call(Code::kInternal, "a message cannot be sent", "sendmsg", errno);
    }
  }
}

}  // namespace ipc::detail
}  // namespace v1
}  // namespace tenon
