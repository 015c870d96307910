// SPDX-License-Identifier: Apache-2.0
// Frames that an element may change: the frame itself where nothing else uses it, else a copy.
#pragma once

#include <tenon/core/frame.hpp>
#include <tenon/core/ledger.hpp>
#include <tenon/elements/element.hpp>
#include <tenon/elements/places.hpp>

namespace tenon {
inline namespace v1 {
namespace elements {
namespace overlay {

/// @thread one at a time, interrupt() any.
class WritableFrames {
 public:
  /// @param ledger  Where copies are booked, as `edge`. Must outlive this.
  WritableFrames(Ledger* ledger, EdgeId edge);
  /// The frame itself if it is the only user of its memory, which the host can write: decoders read their pictures again, and other
  /// nodes may have the frame, too. Else a copy, with the same metadata. Waits for work on the memory.
  /// @errors as OutputFrames::acquire() and HostFrames::map()
  Frame of(const Frame& frame);
  void interrupt() noexcept { copies_.interrupt(); }

 private:
  HostFrames host_;
  OutputFrames copies_;
  Ledger& ledger_;
  const EdgeId edge_;
};

}  // namespace overlay
}  // namespace elements
}  // namespace v1
}  // namespace tenon
