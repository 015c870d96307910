// SPDX-License-Identifier: Apache-2.0
// Where the frames of a run come from: one interface over files, streams and cameras, and over what other frameworks give.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include <tenon/core/context.hpp>
#include <tenon/core/frame.hpp>
#include <tenon/core/ledger.hpp>
#include <tenon/core/pixel_format.hpp>
#include <tenon/core/policy.hpp>
#include <tenon/core/proof.hpp>
#include <tenon/core/router.hpp>

namespace tenon::tool {

/// The verdict on one hop of a run.
struct HopProof {
  Proof proof = Proof::kRefused;
  std::string how;  ///< What was done and observed, or why it could not be done.
};

/// What to open, and what to ask of it. 0: as it gives.
struct SourceOptions {
  std::string input;
  ZeroCopy policy = ZeroCopy::kPrefer;
  Ledger* ledger = nullptr;  ///< Where copies and waits on the way into a frame are booked.
  // Of cameras only:
  PixelFormat format{0};
  std::uint32_t width_px = 0, height_px = 0;
  double fps = 0;
  bool asks_a_camera() const { return format.fourcc || width_px || height_px || fps != 0; }
};

/// An open input. An implementation is one file in sources/. @thread one at a time.
class FrameSource {
 public:
  virtual ~FrameSource() = default;

  /// Of the next frame.
  virtual const FrameInfo& info() const = 0;
  /// 0: unknown.
  virtual double fps() const = 0;
  virtual std::optional<std::uint64_t> frame_count() const { return std::nullopt; }
  /// A camera or a stream, whose end is not known beforehand, and which cannot be played twice.
  virtual bool live() const = 0;
  /// For reports: what arrives ("h264", "NV12"), and where it is put ("pool(memfd)").
  virtual std::string arrives_as() const = 0;
  virtual std::string lies_in() const = 0;
  /// Buffers that frames were put in so far.
  virtual std::size_t buffers() const = 0;
  virtual std::uint64_t size_changes() const = 0;
  /// Pictures that a camera took and nobody read.
  virtual std::uint64_t lost_frames() const { return 0; }

  /// In whose context frames are written: the first party of the plan for use_pool().
  virtual Context writer() const = 0;
  /// Puts frames into memory of `plan` from now on, or leaves them where they are read just as well.
  /// @param in_flight  Frames that are used at a time. @errors a plan that is not possible; kInvalidArgument: too many
  /// in flight.
  virtual void use_pool(const AllocationPlan& plan, std::size_t in_flight) = 0;

  /// The next frame; nothing at the end. @errors kDeadlineExceeded: not yet, call again; others end the run.
  virtual std::optional<Frame> read(Deadline deadline) = 0;

  /// Tests that `last`, a frame of this source, lies where the source writes its pixels. The source need not be usable
  /// afterwards. Throws nothing: a failure is a verdict.
  virtual HopProof prove_writes_in_place(const Frame& last) = 0;
};

}  // namespace tenon::tool
