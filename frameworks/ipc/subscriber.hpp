// SPDX-License-Identifier: Apache-2.0
// A reader of the frames that a Publisher of another process hands out.
#pragma once

#include <optional>
#include <string>

#include <tenon/core/frame.hpp>
#include <tenon/core/policy.hpp>
#include <tenon/frameworks/ipc/link.hpp>

namespace tenon {
inline namespace v1 {
namespace ipc {

/// A connection to a Publisher. Frames lie where the producer wrote them; each goes back when the last tensor over it goes, and so
/// must go soon: the producer takes it back after its patience, and disconnects.
/// @thread one at a time; frames may go anywhere, and may outlive this.
class Subscriber {
 public:
  /// Connects to the socket at `path`, and waits until `deadline` for a publisher to be there and to greet.
  /// @errors kNotFound, kUnavailable: none is there; kPermissionDenied; kUnimplemented: another version; kDeadlineExceeded: it does
  /// not greet; kInvalidArgument: a path that is too long, or no socket of this kind.
  Subscriber(const std::string& path, Deadline deadline, LinkLimits limits = {});

  /// What the producer said of its stream when this connected.
  const Stream& stream() const { return stream_; }
  /// The producer, as the kernel knows it. @errors kInternal
  Peer producer() const { return link_.peer(); }

  /// Lets the producer send; the first read does it too. Until then nothing is held, so a model may be compiled meanwhile.
  void begin();
  /// The next frame; nothing at the end of the stream.
  /// @errors kDeadlineExceeded: none came in time, and read() may be called again; kUnavailable: the producer has ended, or has
  /// taken a frame back that was held for too long; as Link::receive().
  std::optional<Frame> read(Deadline deadline);
  /// The next frame or tensor, as read().
  std::optional<Arrived> receive(Deadline deadline);

 private:
  std::string path_;
  Link link_;
  Stream stream_;
  bool has_begun_ = false;
};

}  // namespace ipc
}  // namespace v1
}  // namespace tenon
