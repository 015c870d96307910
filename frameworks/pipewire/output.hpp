// SPDX-License-Identifier: Apache-2.0
// A PipeWire video node that this process offers: its pictures go to other processes where they lie.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <stop_token>
#include <string>

#include <tenon/core/frame.hpp>
#include <tenon/core/ledger.hpp>
#include <tenon/core/policy.hpp>
#include <tenon/core/requirements.hpp>
#include <tenon/core/router.hpp>

namespace tenon {
inline namespace v1 {
namespace pipewire {

struct OutputOptions {
  double fps = 0;  ///< Told to readers; 0: not known.
  /// Buffers of the node, at most 64; the daemon may allow fewer (link.max-buffers). Four of them are kept for copies.
  std::uint32_t buffers = 16;
  /// How long a reader may hold a buffer, or let the graph wait. After that the picture is released and the buffers are made anew: the
  /// reader has no claim on them any more, and may read bytes of a later picture where it still looks.
  std::chrono::nanoseconds patience = std::chrono::seconds(2);
  /// What publish() does while the reader has not come to the picture before, or holds all buffers: wait, at most for the patience; or
  /// leave this picture out.
  bool waits = false;
  bool writable = false;                ///< Lets readers write to the memory. Else memfds are sealed against that.
  ZeroCopy policy = ZeroCopy::kPrefer;  ///< For pictures whose memory cannot be handed over in place.
  std::string remote = {};              ///< The daemon's name or socket; empty: as PipeWire's environment says.
  std::stop_token stop = {};            ///< Ends each wait, with kCancelled.
  Ledger* ledger = nullptr;  ///< Where copies and waits are booked; null: the process ledger. Must outlive this.
};

/// What became of the pictures.
struct OutputReport {
  std::uint64_t published = 0;   ///< Given to publish().
  std::uint64_t in_place = 0;    ///< Sent in the memory that they came in.
  std::uint64_t copied = 0;      ///< Sent in a copy.
  std::uint64_t unread = 0;      ///< Not sent, since no reader was linked.
  std::uint64_t left_out = 0;    ///< Not sent, since the reader was slow.
  std::uint64_t returned = 0;    ///< Came back.
  std::uint64_t taken_back = 0;  ///< Held for longer than the patience.
  std::uint64_t lost = 0;        ///< In a reader's hands when its link went, or when the format changed.
  std::uint64_t held = 0;        ///< In a reader's hands now: in_place + copied = returned + taken_back + lost + held.
  std::uint64_t made_anew = 0;   ///< How often the buffers were agreed on, the first time included.
  bool has_reader = false;
};

/// A video node ("Video/Source"). A picture is sent in place when its memory has a descriptor (a sealed memfd, a dma-buf) and is one of the
/// node's buffers. PipeWire agrees on the buffers of a link once, so this collects the memories of the pictures that it sees (a pool's), and makes
/// the buffers anew over them when it meets one for the second time; under ZeroCopy::kRequire, at once. Pictures until then are copied, and booked.
/// With several readers a buffer comes back when the last one gives it back. What a killed reader held comes back at once where it was the only
/// one, else after the patience. An Input is waited for with each picture; another reader that does not come to one in time may miss it.
/// @thread publish(), open() and end() from one thread at a time; the others from any. A thread of its own takes buffers back.
class Output {
 public:
  /// Connects. The node appears with open(), or with the first picture.
  /// @errors kUnavailable: no daemon; kDeadlineExceeded: it does not answer; kInvalidArgument: fewer than 5 or more than 64 buffers; kCancelled.
  Output(const std::string& name, OutputOptions options, Deadline deadline);
  Output(Output&&) noexcept;
  Output& operator=(Output&&) noexcept;
  /// Removes the node.
  ~Output();

  /// Offers the node with pictures of `info`, before there is one. @errors kUnimplemented: PipeWire has no such format; kUnavailable.
  void open(const FrameInfo& info);
  /// Waits until a reader is linked and has its buffers. @return false at the deadline. @errors kUnavailable, kCancelled.
  bool wait_for_reader(Deadline deadline);
  /// Sends a picture to the readers, and holds it until they give it back. Another size or format makes the buffers anew. Without a reader
  /// it is dropped. Work that still writes it is waited for, and booked.
  /// @return whether it was sent.
  /// @errors kFailedPrecondition: a copy that the policy forbids; kUnimplemented: PipeWire has no such format; kInvalidArgument: empty, a
  /// batch; kUnavailable: the daemon went away; kDeadlineExceeded: no agreement on buffers within the patience; kCancelled.
  bool publish(const Frame& frame);
  /// Waits until the readers have given everything back. @return false at the deadline.
  bool end(Deadline deadline);

  /// What memory must be like to be handed over in place.
  static Requirements wanted();
  OutputReport report() const;
  const std::string& name() const;

 private:
  class State;
  std::unique_ptr<State> state_;
};

}  // namespace pipewire
}  // namespace v1
}  // namespace tenon
