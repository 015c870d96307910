// SPDX-License-Identifier: Apache-2.0
// Runs frames through a model with several requests in flight. Results come in the order of the frames.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <optional>
#include <vector>

#include <tenon/core/frame.hpp>
#include <tenon/core/ledger.hpp>
#include <tenon/core/policy.hpp>
#include <tenon/frameworks/cpu/pool.hpp>
#include <tenon/runtime/compiled_model.hpp>
#include <tenon/runtime/infer_request.hpp>

#include <tenon/tools/tenon/shared/frame_source.hpp>

namespace tenon::tool {

/// Frames of a source until its end, a limit, or Ctrl-C; waits in small steps so as to notice Ctrl-C.
class Feed {
 public:
  /// @param limit     Maximum number of frames; 0: all.
  /// @param patience  How long a camera or stream may be silent.
  Feed(FrameSource& source, std::uint64_t limit, std::chrono::duration<double> patience)
      : source_(source), limit_(limit), patience_(std::chrono::duration_cast<Clock::duration>(patience)) {}
  /// Allows `limit` more frames from here on.
  void allow(std::uint64_t limit) { limit_ = read_ + limit; }
  /// Copies each frame first, booked as "forced copy" in `ledger`: the comparison for zero copy.
  void force_copy(Ledger& ledger) { copy_into_ = &ledger; }
  /// The next frame, or nothing at the end. @errors as FrameSource::read
  std::optional<Frame> next();
  std::uint64_t frames() const { return read_; }

 private:
  Frame copied(const Frame& frame);
  FrameSource& source_;
  std::uint64_t limit_;
  Clock::duration patience_;
  std::uint64_t read_ = 0;
  Ledger* copy_into_ = nullptr;
  std::optional<cpu::FramePool> copies_;
};

/// Copies the planes of `source` into `out`, which has the same info, and books the bytes.
void copy_planes(const Frame& source, const Frame& out, Ledger& ledger, EdgeId edge);

/// A ring of requests. @thread one at a time.
class Pipeline {
 public:
  /// Called when a request has finished, before it is started again: reads its outputs. Should be short.
  using Collect = std::function<void(const Frame& frame, InferRequest& request)>;
  /// Called afterwards, with all requests in flight again: for slow work.
  using Show = std::function<void(const Frame& frame)>;

  Pipeline(CompiledModel& model, std::size_t requests);

  /// Runs all frames of `feed`. An error of the source ends the run like its end, and is kept in failure(); earlier
  /// results are valid.
  /// @errors Those of set_frame and of the device.
  void run(Feed& feed, const Collect& collect = {}, const Show& show = {});
  std::uint64_t frames() const { return frames_; }
  std::exception_ptr failure() const { return failure_; }
  double first_inference_ms() const { return first_inference_ms_; }
  /// The last frame that ran: its buffer is still the source's memory.
  const Frame& last_frame() const { return last_; }
  /// The bookings of this pipeline's requests so far, by edge.
  std::vector<LedgerEntry> booked();
  InferRequest& request() { return slots_.front().request; }

 private:
  struct Slot {
    InferRequest request;
    Frame frame;
    bool busy = false;
  };
  void finish(Slot& slot, const Collect& collect);
  void start(Slot& slot, Frame frame);

  std::vector<Slot> slots_;
  std::uint64_t frames_ = 0;
  std::exception_ptr failure_;
  double first_inference_ms_ = 0;
  Clock::time_point first_started_{};
  Frame last_;
};

}  // namespace tenon::tool
