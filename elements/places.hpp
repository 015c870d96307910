// SPDX-License-Identifier: Apache-2.0
// Helpers for elements: memory for the frames that they make, which serves all readers of those frames, and views on the host
// of frames that other elements made.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <tenon/core/context.hpp>
#include <tenon/core/error.hpp>
#include <tenon/core/export.hpp>
#include <tenon/core/frame.hpp>
#include <tenon/core/ledger.hpp>
#include <tenon/core/policy.hpp>
#include <tenon/core/requirements.hpp>
#include <tenon/core/router.hpp>

namespace tenon {
inline namespace v1 {
namespace elements {

/// The requirements of all readers of an element's frames, as Source::allocate() and Transform::allocate() get them.
struct Wanted {
  Requirements joined;
  std::vector<Party> readers;
  Wanted() = default;
  Wanted(const Requirements& wanted, std::span<const Party> parties)
      : joined(wanted), readers(parties.begin(), parties.end()) {}
};

/// Whether the requirements are met by any memory that the CPU can read.
TENON_API bool takes_any_memory(const Requirements& wanted);

/// An error with code kFailedPrecondition: no memory serves a writer and all its readers. The message gives the reasons.
class TENON_API NoMemory : public Error {
 public:
  NoMemory(const std::string& message, std::vector<std::size_t> readers)
      : Error(Code::kFailedPrecondition, message), readers_(std::move(readers)) {}
  /// The indices of the readers that make it impossible: one that cannot read what the writer can write, or two that exclude
  /// each other. Empty if no one or two readers alone are the reason.
  const std::vector<std::size_t>& readers() const { return readers_; }

 private:
  std::vector<std::size_t> readers_;
};

/// Plans one allocation that serves `writer`, which makes frames like `info`, and all readers.
/// @errors NoMemory: no memory serves them all.
TENON_API AllocationPlan plan_frames(const Context& writer, const FrameInfo& info, const Wanted& wanted,
                                     ZeroCopy policy = ZeroCopy::kPrefer);

/// Provides frames for an element to write, from pools that serve all its readers. Buffers are reused: in the steady state
/// nothing is allocated, unless the size changes.
/// @thread one at a time, interrupt() any; frames may go anywhere, and may outlive this.
class TENON_API OutputFrames {
 public:
  /// @param limit  The maximum number of frames of one size that are in use at a time.
  explicit OutputFrames(Context writer, std::size_t limit = 64);
  ~OutputFrames();
  OutputFrames(OutputFrames&&) noexcept;
  OutputFrames& operator=(OutputFrames&&) noexcept;

  void allocate(const Wanted& wanted);
  /// A frame to write. At the limit it waits until a frame comes back. @errors kDeadlineExceeded: none came back in time;
  /// kCancelled: interrupt() was called; and the errors of plan_frames() and of the allocation.
  Frame acquire(const FrameInfo& info, Deadline deadline = default_deadline());
  /// Makes a present wait and every later one end soon.
  void interrupt() noexcept { *is_interrupted_ = true; }

 private:
  struct Pool;
  Context writer_;
  std::size_t limit_;
  Wanted wanted_;
  std::unique_ptr<Pool> pool_;
  std::unique_ptr<std::atomic<bool>> is_interrupted_ = std::make_unique<std::atomic<bool>>(false);
};

/// Maps frames of any framework for the CPU. @thread one at a time.
class TENON_API HostFrames {
 public:
  /// @param ledger  Where maps and copies are booked. Must outlive this.
  explicit HostFrames(Ledger* ledger, ZeroCopy policy = ZeroCopy::kPrefer);
  ~HostFrames();
  HostFrames(HostFrames&&) noexcept;
  HostFrames& operator=(HostFrames&&) noexcept;

  /// Returns `frame` itself if the host reaches its memory; else a view of it; else a copy, which is booked.
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
