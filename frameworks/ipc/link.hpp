// SPDX-License-Identifier: Apache-2.0
// One end of a connection between two processes, over which tensors and frames go without a copy of their bytes.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <tenon/core/frame.hpp>
#include <tenon/core/memory.hpp>
#include <tenon/core/pixel_format.hpp>
#include <tenon/core/policy.hpp>
#include <tenon/core/ref_counted.hpp>
#include <tenon/core/tensor.hpp>
#include <tenon/frameworks/ipc/context.hpp>
#include <tenon/frameworks/ipc/metadata.hpp>
#include <tenon/frameworks/ipc/socket.hpp>

namespace tenon {
inline namespace v1 {
namespace ipc {

/// What a stream brings, as far as its producer knows before the first frame.
struct Stream {
  FrameInfo info;                ///< Without format and size if they are not known yet.
  double frames_per_second = 0;  ///< 0: not known.
  bool is_live = false;
};

/// Bounds on what the other end may make this one hold. The defaults suit a machine of 8 GB.
struct LinkLimits {
  /// Bytes of memory of the other end that are mapped here at a time.
  std::uint64_t mapped_bytes = std::uint64_t{2} << 30;
};

/// The other end has given back what was sent under `sequence`.
struct Returned {
  std::uint64_t sequence = 0;
  /// Descriptors (eventfds, sync files) that become readable when work of the other end that still uses the bytes is finished.
  /// A pipe or a file is refused, since a poll of it may wait for the other end. Poll them, and nothing else.
  std::vector<UniqueFd> fences;
};

/// A frame or a tensor that came. It is given back when the last tensor over it goes (its lease), with fences for the work on
/// it that still runs; where one cannot be made, it is not given back, and the other end takes it back by its deadline.
struct Arrived {
  std::uint64_t sequence = 0;
  std::variant<Frame, Tensor> what;
};

struct Ended {};

/// One end of a connection. Memory is handed over once: the other end keeps it mapped, so a pool's frame is one packet of some
/// hundred bytes, and no byte of it is copied.
/// @thread send_*() from one thread at a time; receive() from one thread at a time; tensors that arrived from any.
class Link {
 public:
  /// Takes a connected socket of type SOCK_SEQPACKET over.
  explicit Link(UniqueFd socket, LinkLimits limits = {});
  Link(Link&&) noexcept;
  Link& operator=(Link&&) noexcept;
  ~Link();

  /// Two ends in this process, one of them for a process that is forked. @errors kResourceExhausted
  static std::pair<Link, Link> pair();

  /// The process at the other end, as the kernel knows it. @errors kInternal
  Peer peer() const;
  /// For poll(2): readable when receive() has something.
  int borrow_fd() const;

  /// The first message of both ends; it says which versions this one reads. False: the socket is full, or closed.
  bool send_hello(const Stream& stream);
  /// Hands a frame over; it must be one of memory for other processes (map it to ipc::context()). Keep it until it is returned.
  /// Work that still writes it goes along as fences, what is known of it as FrameMetadata, unless the other end is of a release that does
  /// not read them, or has not said so yet in its first message.
  /// @return false: the other end does not read, and its socket is full. Nothing was sent.
  /// @errors kInvalidArgument: memory of another framework, a batch, more than 4 memories or 16 fences; those of FrameMetadata;
  /// kUnavailable: the other end has closed; the failure of a writer; kResourceExhausted: no descriptor left.
  /// @cost one system call; per memory that the other end does not know yet one descriptor.
  bool send(const Frame& frame, std::uint64_t sequence) {
    return send(frame, sequence, sends_metadata() ? FrameMetadata(frame) : FrameMetadata());
  }
  /// With metadata that were made before, in place of the frame's own.
  bool send(const Frame& frame, std::uint64_t sequence, const FrameMetadata& known);
  bool send(const Tensor& tensor, std::uint64_t sequence);
  /// Whether the other end has said that it reads metadata.
  bool sends_metadata() const;
  /// Nothing comes any more. False: the socket is full, or closed.
  bool send_end();

  using Message = std::variant<Stream, Arrived, Returned, Ended>;
  /// The next message; nothing when none came before `deadline`.
  /// @errors kUnavailable: the other end has closed; kInvalidArgument, kDataLoss, kOutOfRange, kUnimplemented: it sends what is
  /// not of this protocol, is of another version, or breaks the limits. The link is of no use then.
  std::optional<Message> receive(Deadline deadline);

  /// Unmaps the memories that arrived and that no tensor holds. Only where the other end sends each memory once (an answer to a
  /// question): it does not bring a memory again that it has brought.
  void forget_arrived() noexcept;

  /// Ends the connection for both ends. Tensors that arrived stay readable.
  void close() noexcept;

 private:
  class Channel;
  class Sending;
  /// A number at the other end: the memory that it stands for, and when it was used last; 0: free.
  struct Known {
    MemoryIdentity identity;
    std::uint64_t used = 0;
  };

  const Ref<Memory>& memory_of(std::uint32_t number) const;
  Message read(detail::Packet& packet);
  Arrived read_frame(detail::Packet& packet);
  Arrived read_tensor(detail::Packet& packet);
  void take_memories(detail::Packet& packet, const wire::Brought& brought, std::size_t other_descriptors = 0);

  Ref<Channel> channel_;
  LinkLimits limits_;
  std::array<Ref<Memory>, wire::kMaxMemories> mapped_;
  std::uint64_t mapped_bytes_ = 0;
  std::array<Known, wire::kMaxMemories> known_{};
  std::uint64_t uses_ = 0;
  FrameInfo last_info_;
  detail::Packet packet_;
};

}  // namespace ipc
}  // namespace v1
}  // namespace tenon
