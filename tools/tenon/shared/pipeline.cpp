// SPDX-License-Identifier: Apache-2.0
// Runs frames through a ring of requests.
#include <tenon/tools/tenon/shared/pipeline.hpp>

#include <chrono>

#include <tenon/core/error.hpp>
#include <tenon/core/ledger.hpp>

#include <tenon/tools/tenon/shared/clock.hpp>
#include <tenon/tools/tenon/shared/interrupt.hpp>

namespace tenon::tool {
namespace {

constexpr auto kStep = std::chrono::milliseconds(200);
constexpr auto kFilePatience = std::chrono::seconds(10);

}  // namespace

void copy_planes(const Frame& source, const Frame& out, Ledger& ledger, EdgeId edge) {
  for (std::size_t p = 0; p < source.plane_count(); ++p) {
    const Tensor &from = source.plane(p), &to = out.plane(p);
    copy_strided(from.element_type(), from.shape(), from.data(), from.byte_strides(), to.data(), to.byte_strides());
  }
  ledger.book_map(edge, false);
  ledger.book_copied(edge, source.size_bytes());
}

std::optional<Frame> Feed::next() {
  if (limit_ != 0 && read_ >= limit_) return std::nullopt;
  const auto patience = Clock::now() + patience_;
  while (!Interrupt::requested()) {
    try {
      // Files respond at once; only sources that may stay silent are polled in steps.
      auto frame = source_.read(Clock::now() + (source_.live() ? Clock::duration(kStep) : kFilePatience));
      if (!frame) return std::nullopt;
      ++read_;
      return copy_into_ ? copied(*frame) : std::move(frame);
    } catch (const Error& error) {
      if (error.code() != Code::kDeadlineExceeded || Clock::now() >= patience) throw;
    }
  }
  return std::nullopt;
}

Frame Feed::copied(const Frame& frame) {
  static const EdgeId edge = register_edge("forced copy");
  if (!copies_ || !(copies_->info() == frame.info())) {
    Requirements wanted;
    wanted.fd =
        FdKind::kMemfd;  // Like the decoder's memory, so that a reader which takes that in place takes this, too.
    wanted.pitch_alignment = 64;
    wanted.host_access = true;
    copies_.emplace(frame.info(), wanted, 64);
  }
  Frame out = copies_->acquire();
  copy_planes(frame, out, *copy_into_, edge);
  out.set_timestamp_ns(frame.timestamp_ns());
  return out;
}

Pipeline::Pipeline(CompiledModel& model, std::size_t requests) : slots_(requests) {
  for (Slot& slot : slots_) slot.request = model.create_infer_request();
}

void Pipeline::run(Feed& feed, const Collect& collect, const Show& show) {
  std::size_t next = 0;
  const auto read = [&]() -> std::optional<Frame> {
    const TraceSpan span("read", "decode");
    try {
      return feed.next();
    } catch (...) {
      failure_ = std::current_exception();
      return std::nullopt;
    }
  };
  while (std::optional<Frame> frame = read()) {
    Slot& slot = slots_[next];
    next = (next + 1) % slots_.size();
    Frame finished;
    if (slot.busy) {
      finish(slot, collect);
      finished = std::move(slot.frame);
    }
    // Restarted before any slow work on the result, so that the device never waits for a picture to be drawn.
    start(slot, std::move(*frame));
    if (finished && show) show(finished);
  }
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    Slot& slot = slots_[(next + i) % slots_.size()];
    if (!slot.busy) continue;
    finish(slot, collect);
    last_ = std::move(slot.frame);
    if (show) show(last_);
  }
}

std::vector<LedgerEntry> Pipeline::booked() {
  std::vector<LedgerEntry> all;
  for (Slot& slot : slots_) {
    const std::vector<LedgerEntry> one = slot.request.ledger().snapshot();
    all.insert(all.end(), one.begin(), one.end());
  }
  return all;
}

void Pipeline::finish(Slot& slot, const Collect& collect) {
  const TraceSpan span("wait", "infer");
  slot.request.wait();
  slot.busy = false;
  if (frames_++ == 0) first_inference_ms_ = ms_since(first_started_);
  if (collect) collect(slot.frame, slot.request);
}

void Pipeline::start(Slot& slot, Frame frame) {
  const TraceSpan span("set_frame", "infer");
  slot.request.set_frame(frame);
  slot.frame = std::move(frame);
  if (first_started_ == Clock::time_point{}) first_started_ = Clock::now();
  slot.request.start_async();
  slot.busy = true;
}

}  // namespace tenon::tool
