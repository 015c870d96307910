// SPDX-License-Identifier: Apache-2.0
// Runs the frames of one input through the requests, and proves the hops on the last frame.
#include <tenon/tools/tenon/commands/run_stream.hpp>

#include <algorithm>
#include <chrono>
#include <utility>
#include <vector>

#include <tenon/elements/registry.hpp>
#include <tenon/frameworks/ffmpeg/context.hpp>
#include <tenon/runtime/properties.hpp>

#include <tenon/tools/tenon/proof/hop_proof.hpp>
#include <tenon/tools/tenon/proof/source_proof.hpp>
#include <tenon/tools/tenon/shared/clock.hpp>
#include <tenon/tools/tenon/shared/interrupt.hpp>

namespace tenon::tool {

std::unique_ptr<FrameSource> open_input(const RunOptions& options, const std::string& input, Ledger& ledger) {
  SourceOptions wanted = options.source;
  wanted.input = input;
  wanted.policy = Any(options.policy).as<ZeroCopy>();
  wanted.ledger = &ledger;
  wanted.in_flight = options.requests;
  wanted.transport = options.transport;
  if (options.decode == "va") wanted.va_node = options.va_node;
  return std::make_unique<FrameSource>(std::move(wanted));
}

std::vector<Party> readers_of(const RunOptions& options, const CompiledModel& compiled) {
  std::vector<Party> readers{{compiled.memory_context(), compiled.requirements(), Access::kRead}};
  if (readers.front().requirements.fd == FdKind::kNone) readers.front().requirements.fd = FdKind::kMemfd;
  if (!options.save.empty() || !options.snapshot.empty())
    readers.push_back({ffmpeg::context(), ffmpeg::context()->requirements(), Access::kRead});
  return readers;
}

Stream::Stream(const RunOptions& options, const std::string& input, CommandFiles& files,
               std::shared_ptr<const Model> model)
    : options_(options),
      source_(open_input(options, input, decoding_)),
      pictures_(options.save, options.snapshot, files, source_->info(), source_->fps()),
      results_(options, std::move(model)),
      live_(source_->live()) {
  if (source_->kind() == FrameSource::Kind::kFile)
    for (const std::string& file : elements::element_files(elements::find_element("file"), {{"path", input}}, {}).read)
      files.add_input(file, "the video");
  report_.input = input;
  report_.model = options.model;
  report_.info = source_->info();
  results_.prepare(report_.info);
}

std::optional<std::uint64_t> Stream::frames_expected() const {
  const std::optional<std::uint64_t> all = source_->report().frame_count;
  return options_.max_frames ? std::min(all.value_or(options_.max_frames), options_.max_frames) : all;
}

void Stream::prepare(CompiledModel& compiled, std::uint64_t requests) {
  report_.requests = requests;
  source_->use_pool(readers_of(options_, compiled), requests);
  pipeline_ = std::make_unique<Pipeline>(compiled, requests);
}

void Stream::run(const std::function<void()>& seen) {
  Feed feed(*source_, options_.max_frames, std::chrono::duration<double>(options_.timeout_s));
  const auto begin = Clock::now();
  pipeline_->run(
      feed,
      [&](const Frame& frame, InferRequest& request) {
        results_.collect(frame, request);
        seen();
      },
      [&](const Frame& frame) {
        if (pictures_.wanted()) pictures_.show(frame, results_.found(), results_.all());
      });
  report_.seconds = ms_since(begin) / 1e3;
  fail(pipeline_->failure());
}

void Stream::fail(std::exception_ptr failure) {
  failure_ = std::move(failure);
  if (!failure_) return;
  try {
    std::rethrow_exception(failure_);
  } catch (const std::exception& error) {
    report_.ended_by = error.what();
  }
}

void Stream::close(const std::string& device, const Ledger* booked) {
  report_.frames = pipeline_->frames();
  report_.detections = results_.total();
  report_.cut_frames = results_.cut();
  report_.top_k = results_.top_k();
  report_.first_inference_ms = pipeline_->first_inference_ms();
  report_.interrupted = Interrupt::requested();
  report_.size_changes = source_->size_changes();
  const elements::SourceReport told = source_->report();
  (source_->kind() == FrameSource::Kind::kCamera ? report_.lost_frames : report_.lost_packets) = told.lost;
  report_.damaged_frames = told.damaged;
  report_.device = device;
  report_.hops =
      hops_of(*source_, decoding_, booked ? booked->snapshot() : pipeline_->booked(), report_.frames, device);
  if (const auto precision = results_.precision()) {
    report_.map50 = precision->map50;
    report_.map50_95 = precision->map;
  }
  // The source is closed first, so that nothing else refers to the last frame: the tests write into its buffer.
  last_ = pipeline_->last_frame();
  pipeline_.reset();
  if (last_) written_ = prove_writes_in_place(*source_, last_);
  source_.reset();
}

void Stream::conclude(CompiledModel& compiled, const Model& model) {
  prove_hops(compiled, model);
  if (keeps() && report_.frames > 0) {
    pictures_.finish();
    report_.saved = options_.save;
    report_.codec = pictures_.codec();
    report_.snapshot = options_.snapshot;
  }
  const LedgerEntry drawn = pictures_.ledger().total();
  report_.saved_copied = drawn.copied;
  report_.saved_converted = drawn.converted;
  report_.saved_left_out = pictures_.left_out();
}

void Stream::prove_hops(CompiledModel& compiled, const Model& model) {
  HopProof proofs[3];
  if (!last_) {
    for (HopProof& proof : proofs) proof = {Proof::kRefused, "no frame ran"};
  } else if (!last_.plane(0).is_writable()) {
    for (HopProof& proof : proofs)
      proof = {Proof::kClaimed, "the buffer is still in use by its source, so nothing may be written into it"};
  } else {
    proofs[0] = written_;
    proofs[1] = prove_pool_to_stage(last_, compiled, report_.device);
    proofs[2] = prove_stage_to_model(last_, compiled, model);
  }
  for (std::size_t i = 0; i < report_.hops.size() && i < 3; ++i) {
    report_.hops[i].proof = proofs[i];
    // The ledger decides: a hop that booked a copy is not zero-copy.
    if (report_.hops[i].copied && proofs[i].proof != Proof::kCopies)
      report_.hops[i].proof = {Proof::kCopies, "the ledger booked copies on it"};
  }
}

}  // namespace tenon::tool
