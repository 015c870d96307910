// SPDX-License-Identifier: Apache-2.0
// For elements: memory for the frames that they make, which serves all who read them, and frames of others on the host.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include <tenon/core/context.hpp>
#include <tenon/core/export.hpp>
#include <tenon/core/frame.hpp>
#include <tenon/core/ledger.hpp>
#include <tenon/core/policy.hpp>
#include <tenon/core/requirements.hpp>
#include <tenon/core/router.hpp>

namespace tenon {
inline namespace v1 {
namespace elements {

/// What those who read an element's frames want, as Source::allocate() and Transform::allocate() are told it.
struct Wanted {
  Requirements joined;
  std::vector<Party> readers;
  Wanted() = default;
  Wanted(const Requirements& wanted, std::span<const Party> parties)
      : joined(wanted), readers(parties.begin(), parties.end()) {}
};

/// Whether any memory will do that the CPU can read.
TENON_API bool takes_any_memory(const Requirements& wanted);

/// One allocation for `writer`, who makes frames like `info`, and for all readers.
/// @errors kFailedPrecondition: nothing serves them all, with the explanation.
TENON_API AllocationPlan plan_frames(const Context& writer, const FrameInfo& info, const Wanted& wanted,
                                     ZeroCopy policy = ZeroCopy::kPrefer);

/// Frames for an element to write, from pools that serve its readers. Buffers are reused: in the steady state nothing is
/// allocated, unless the size changes.
/// @thread one at a time; frames may go anywhere, and may outlive this.
class TENON_API OutputFrames {
 public:
  /// @param limit  Most frames of one size at a time.
  explicit OutputFrames(Context writer, std::size_t limit = 64);
  ~OutputFrames();
  OutputFrames(OutputFrames&&) noexcept;
  OutputFrames& operator=(OutputFrames&&) noexcept;

  void allocate(const Wanted& wanted);
  /// Waits for a frame to come back at the limit. @errors kDeadlineExceeded; as plan_frames() and the allocation.
  Frame acquire(const FrameInfo& info, Deadline deadline = default_deadline());

 private:
  struct Pool;
  Context writer_;
  std::size_t limit_;
  Wanted wanted_;
  std::unique_ptr<Pool> pool_;
};

/// Frames of any framework as the CPU sees them. @thread one at a time.
class TENON_API HostFrames {
 public:
  /// @param ledger  Where maps and copies are booked. Must outlive this.
  explicit HostFrames(Ledger* ledger, ZeroCopy policy = ZeroCopy::kPrefer);
  ~HostFrames();
  HostFrames(HostFrames&&) noexcept;
  HostFrames& operator=(HostFrames&&) noexcept;

  /// `frame` itself where the host reaches it, else a view of it, else a copy, which is booked.
  /// @errors as Router::map()
  Frame map(const Frame& frame, Access access = Access::kRead);

 private:
  Ledger* ledger_;
  ZeroCopy policy_;
  std::unique_ptr<Router> router_;
};

}  // namespace elements
}  // namespace v1
}  // namespace tenon
