// SPDX-License-Identifier: Apache-2.0
// Pictures that are turned by copying them, into memory that all their readers share.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include <tenon/core/context.hpp>
#include <tenon/core/export.hpp>
#include <tenon/core/frame.hpp>
#include <tenon/core/ledger.hpp>
#include <tenon/core/requirements.hpp>
#include <tenon/elements/element.hpp>
#include <tenon/elements/places.hpp>

namespace tenon {
inline namespace v1 {
namespace elements {

/// Copies pictures of one stream as they are to be seen. The copies are booked.
/// @thread one at a time, interrupt() any.
class TENON_API TurnedFrames {
 public:
  /// @param owner   Named in messages.
  /// @param ledger  Must outlive this.
  /// @param limit   As OutputFrames.
  TurnedFrames(std::string owner, Ledger& ledger, std::size_t limit = 64);

  /// The stream of pictures like those of `in`, stored upright. @errors kUnimplemented: pictures of this format are not turned
  StreamInfo upright(const StreamInfo& in) const;
  void allocate(const Requirements& wanted, std::span<const Party> readers) { results_.allocate({wanted, readers}); }
  /// A copy of `frame` after `change` is done to the stored picture, with its time and its metadata, whose places are not moved.
  /// @errors as upright(), HostFrames::map() and OutputFrames::acquire()
  Frame copied(const Frame& frame, Rotation change);
  void interrupt() noexcept { results_.interrupt(); }

 private:
  void check(const FrameInfo& info) const;

  const std::string owner_;
  Ledger& ledger_;
  HostFrames host_;
  OutputFrames results_;
};

/// The info of the same picture, stored upright.
TENON_API FrameInfo stored_upright(const FrameInfo& info);

}  // namespace elements
}  // namespace v1
}  // namespace tenon
