// SPDX-License-Identifier: Apache-2.0
// Unix sockets that carry packets with descriptors: made, listened at, connected, with the credentials of the other end.
#pragma once

#include <sys/types.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include <tenon/core/policy.hpp>
#include <tenon/frameworks/cpu/fd.hpp>
#include <tenon/frameworks/ipc/wire.hpp>

namespace tenon {
inline namespace v1 {
namespace ipc {

using cpu::UniqueFd;

/// The process at the other end of a socket, as the kernel knows it.
struct Peer {
  pid_t pid = 0;
  uid_t uid = 0;
  gid_t gid = 0;
};

namespace detail {

/// A file, whatever its name.
struct FileIdentity {
  dev_t device = 0;
  ino_t inode = 0;
  friend bool operator==(const FileIdentity&, const FileIdentity&) = default;
};

/// Two connected ends. @errors kResourceExhausted
std::pair<UniqueFd, UniqueFd> socket_pair();

/// The file `path`.lock, locked while this lives and removed with it. A file of its own, since a socket's file is replaced.
class PathLock {
 public:
  /// @errors kAlreadyExists: a process has the lock; kInvalidArgument: the file is no plain one; kPermissionDenied, kNotFound,
  /// kResourceExhausted, kInternal with the native call.
  explicit PathLock(const std::string& path);
  PathLock(const PathLock&) = delete;
  PathLock& operator=(const PathLock&) = delete;
  ~PathLock();

 private:
  const std::string file_;
  UniqueFd fd_;
};

/// A socket that listens at a path, which only this user can reach (mode 0600), with its file, which is removed at the end. A socket
/// file that a process left behind is replaced. One of several processes that begin together gets the path.
class Listener {
 public:
  /// @errors kInvalidArgument: a path that is too long, or where another kind of file is; kAlreadyExists: a process has a socket there;
  /// as PathLock.
  explicit Listener(const std::string& path);
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;
  ~Listener();

  int fd() const { return socket_.get(); }
  const std::string& path() const { return path_; }

 private:
  const std::string path_;
  UniqueFd socket_;
  std::optional<PathLock> lock_;
  FileIdentity file_;  ///< Another process may have put a file of its own there since.
};

/// @errors kNotFound, kUnavailable: nothing listens there, or too many wait to be accepted; kPermissionDenied;
/// kInvalidArgument: a path that is too long.
UniqueFd connect_to(const std::string& path);

/// @errors kInternal
Peer peer_of(int socket);

/// A packet as it came.
struct Packet {
  alignas(8) std::array<std::byte, wire::kMaxBytes> bytes{};
  std::size_t size = 0;
  std::array<UniqueFd, wire::kMaxDescriptors> descriptors;
  std::size_t descriptor_count = 0;
};

enum class Got : std::uint8_t { kPacket, kNothing, kClosed };

/// Takes the next packet, if there is one. @errors kDataLoss: it does not fit, in bytes or descriptors, so that it is none of
/// this protocol; kInternal with the native call.
Got take(int socket, Packet& packet);

enum class Put : std::uint8_t { kSent, kFull, kClosed };

/// Sends a packet, `bytes` and then `more`, without waiting. The caller keeps the descriptors. @errors kInternal, kResourceExhausted with the
/// native call.
Put put(int socket, std::span<const std::byte> bytes, std::span<const int> descriptors,
        std::span<const std::byte> more = {});

}  // namespace detail
}  // namespace ipc
}  // namespace v1
}  // namespace tenon
