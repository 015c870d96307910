// SPDX-License-Identifier: Apache-2.0
// Pictures of a PipeWire video node, where its producer wrote them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include <tenon/core/frame.hpp>
#include <tenon/core/pixel_format.hpp>
#include <tenon/core/policy.hpp>
#include <tenon/core/ref_counted.hpp>
#include <tenon/frameworks/pipewire/format.hpp>

namespace tenon {
inline namespace v1 {
namespace pipewire {

/// How to read a node.
struct InputOptions {
  WantedFormat format;
  /// Layouts of dma-bufs that the readers take; empty: no dma-bufs by modifier.
  std::vector<std::uint64_t> modifiers = {kModifierLinear};
  std::uint32_t buffers =
      8;  ///< Pictures in flight, at the producer and here together; the producer may decide otherwise.
  std::string name = "tenon";  ///< The name of the node that this makes.
  std::string remote = {};     ///< The daemon's name or socket; empty: as PipeWire's environment says.
  /// Takes memory that the producer can shrink, too: reading what it took away ends this process by SIGBUS.
  bool takes_unsealed = false;
  std::stop_token stop = {};  ///< Ends each wait, with kCancelled.
};

/// What became of the pictures.
struct InputReport {
  std::uint64_t read = 0;
  std::uint64_t lost = 0;     ///< Numbers that the producer left out between two pictures.
  std::uint64_t damaged = 0;  ///< Marked as corrupted by the producer, or not within their buffer. They are left out.
  std::uint64_t formats = 0;  ///< How often a format was agreed on: 1, and one more for each change.
  std::size_t buffers = 0;    ///< How many the link has now.
  std::string lies_in = {};   ///< "memfd", "dma-buf"; empty before the first buffer.
};

/// A node that is linked to a video node of another process. Nothing is copied: a picture lies where the producer wrote it, in memory
/// that is mapped once and read-only, and its buffer goes back when the last tensor over it goes. Pictures may outlive this object, and their
/// memory stays; but the producer may write into it once their link has gone.
/// @thread one at a time; pictures may go to others.
class Input {
 public:
  /// Connects, links, and agrees on a format.
  /// @param node  Its name, id or serial number; this makes the link itself. Empty: the session manager chooses and links.
  /// @errors kUnavailable: no daemon; kNotFound: no such node, with those that exist; kUnimplemented: no format in common;
  /// kDeadlineExceeded: no link, or no format yet; kCancelled.
  Input(const std::string& node, InputOptions options, Deadline deadline);
  Input(Input&&) noexcept;
  Input& operator=(Input&&) noexcept;
  ~Input();

  /// The present format. It may change in flight: each picture has its own info.
  Format format() const;
  /// The next picture; nothing when the node has gone, or its link was removed. A picture after a gap in the producer's numbers has its
  /// length as metadata "lost_frames" (std::uint64_t).
  /// @errors kDeadlineExceeded: none came in time, call again; kUnavailable: the daemon went away, or the stream is in error;
  /// kInvalidArgument, kOutOfRange, kUnimplemented: buffers that are not what was agreed on, or not sealed against shrinking;
  /// kCancelled. @cost a lock or two; no copy.
  std::optional<Frame> read(Deadline deadline);
  InputReport report() const;

 private:
  class State;
  class Slot;
  Ref<State> state_;
};

}  // namespace pipewire
}  // namespace v1
}  // namespace tenon
