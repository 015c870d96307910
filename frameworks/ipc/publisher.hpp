// SPDX-License-Identifier: Apache-2.0
// A producer of frames for other processes: it listens at a Unix socket, and hands each frame to all that are connected.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include <tenon/core/frame.hpp>
#include <tenon/core/ledger.hpp>
#include <tenon/core/policy.hpp>
#include <tenon/core/requirements.hpp>
#include <tenon/core/tensor.hpp>
#include <tenon/frameworks/ipc/link.hpp>

namespace tenon {
inline namespace v1 {
namespace ipc {

struct PublisherOptions {
  Stream stream;  ///< Told to each subscriber when it connects.
  std::size_t max_subscribers = 16;
  /// Frames that one subscriber may hold at a time; a pool of the source needs as many for each, and those that it fills.
  std::size_t max_held = 16;
  /// How long a subscriber may hold a frame. After that the frame is taken back, and the subscriber is disconnected, since it may
  /// read bytes of a later frame.
  std::chrono::nanoseconds patience = std::chrono::seconds(2);
  /// How long a process may be connected before it begins to read.
  std::chrono::nanoseconds greeting = std::chrono::seconds(60);
  /// What publish() does where a subscriber holds max_held frames: wait until it gives one back or loses its patience, so that
  /// each subscriber gets every frame; or leave that subscriber out of this frame.
  bool waits = false;
  /// Ends the waits of publish(), with kCancelled, and of end().
  std::stop_token stop{};
  /// Lets processes of other users connect, if the rights of the folder and the socket let them. Else only those of this user and
  /// of root.
  bool other_users = false;
  /// Lets subscribers write to the memory. Else memfds are sealed, so that a subscriber cannot change what others read.
  bool writable = false;
  /// What is known of a frame goes along (FrameMetadata). False: it stays behind.
  bool metadata = true;
  ZeroCopy policy = ZeroCopy::kPrefer;  ///< For frames whose memory has no descriptor.
  Ledger* ledger = nullptr;  ///< Where copies and waits are booked; null: the process ledger. Must outlive this.
};

/// What became of the frames, since the start. Every frame that was sent is returned, taken back, or lost.
struct PublisherReport {
  std::size_t subscribers = 0;   ///< Connected now.
  std::uint64_t connected = 0;   ///< Subscribers that were let in.
  std::uint64_t refused = 0;     ///< Connections of other users, or more than max_subscribers, or without a greeting.
  std::uint64_t published = 0;   ///< Frames.
  std::uint64_t sent = 0;        ///< One for each frame and subscriber.
  std::uint64_t left_out = 0;    ///< Frames that a subscriber did not get, since it was slow.
  std::uint64_t returned = 0;    ///< Given back by the subscriber.
  std::uint64_t taken_back = 0;  ///< Held for longer than the patience.
  std::uint64_t lost = 0;        ///< Held by a subscriber when it went away: killed, or disconnected.
  std::uint64_t held = 0;        ///< Still held.
  std::uint64_t violations = 0;  ///< Subscribers that were disconnected for messages that are not of the protocol.
};

/// One stream for any number of processes. A subscriber that is slow, dies, or lies harms neither this process nor the other
/// subscribers: what it holds comes back when it gives it back, when its connection ends, or after the patience.
/// @thread publish() and end() from one thread at a time; the others from any. A thread of its own takes frames back.
class Publisher {
 public:
  /// Listens at `path`, a Unix socket that only this user can reach. The file is removed at the end.
  /// @errors kAlreadyExists: a process has a socket there; kInvalidArgument: a path that is too long, or another kind of file;
  /// kPermissionDenied, kNotFound: the folder; kInvalidArgument: a limit of 0.
  explicit Publisher(const std::string& path, const PublisherOptions& options = {});
  Publisher(Publisher&&) noexcept;
  Publisher& operator=(Publisher&&) noexcept;
  /// Disconnects all subscribers.
  ~Publisher();

  /// Hands a frame to all subscribers. Memory with a descriptor (a memfd, a dma-buf) is handed over in place; the rest is copied
  /// once, for all of them, and booked. The frame is held until the last of them gives it back.
  /// @return how many got it.
  /// @errors kFailedPrecondition: a copy that the policy forbids; kCancelled: `stop` while it waited, and some have got it; as
  /// Link::send() and FrameMetadata.
  std::size_t publish(const Frame& frame);
  std::size_t publish(const Tensor& tensor);

  /// Waits until `count` subscribers are connected. @return false at the deadline.
  bool wait_for_subscribers(std::size_t count, Deadline deadline);
  /// Tells the subscribers that the stream has ended, and waits until they have given everything back, or have lost their patience.
  /// A subscriber whose socket is full is told when it reads; after the patience it is disconnected. It then finds
  /// kUnavailable in place of the end, as if this process had died.
  /// @return false at the deadline, after `stop`, or where a subscriber was disconnected without being told.
  bool end(Deadline deadline);

  /// What memory must be like to be handed over in place.
  static Requirements wanted();
  PublisherReport report() const;
  const std::string& path() const;

 private:
  class State;
  std::unique_ptr<State> state_;
};

}  // namespace ipc
}  // namespace v1
}  // namespace tenon
