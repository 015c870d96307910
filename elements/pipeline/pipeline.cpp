// SPDX-License-Identifier: Apache-2.0
// Starts and stops lanes, feeds them from sources, and records failures.
#include <tenon/elements/pipeline.hpp>

#include <algorithm>
#include <cmath>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include <tenon/core/credentials.hpp>
#include <tenon/core/error.hpp>
#include <tenon/core/metadata.hpp>
#include <tenon/core/new_thread.hpp>
#include <tenon/core/stream_time.hpp>
#include <tenon/elements/internal/engine.hpp>
#include <tenon/elements/internal/insist.hpp>
#include <tenon/elements/internal/origin.hpp>
#include <tenon/elements/registry.hpp>

namespace tenon {
inline namespace v1 {
namespace elements {
namespace {

using detail::add_origin;
using detail::branches_meet_behind;
using detail::origin_is_wanted;
using detail::read_next;

constexpr auto kStep = std::chrono::milliseconds(200);  ///< How soon a silent source notices that it must stop.

thread_local const void* g_own_engine = nullptr;  ///< The engine that this thread belongs to.

/// What an exception says, and its code.
std::pair<std::string, Code> read(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const Error& known) {
    return {known.what(), known.code()};
  } catch (const std::bad_alloc&) {
    return {"there is not enough memory (std::bad_alloc)", Code::kResourceExhausted};
  } catch (const std::exception& known) {
    return {known.what(), Code::kUnknown};
  } catch (...) {
    return {"an exception of an unknown type", Code::kUnknown};
  }
}

PipelineSpec with_files(PipelineSpec spec) {
  if (!spec.files) spec.files = std::make_shared<UsedFiles>();
  return spec;
}

}  // namespace

Pipeline::Engine::Engine(const PipelineSpec& spec)
    : spec_(with_files(spec)),
      plan_(plan_pipeline(spec)),
      first_added_(static_cast<std::uint32_t>(plan_.streams + plan_.joined)),
      streams_(first_added_ + spec.more_sources),
      added_(spec.more_sources) {
  add_files(*spec_.files, plan_);  // Before any element opens a file for writing.
  nodes_.reserve(plan_.nodes.size());
  for (const PipelinePlan::Node& planned : plan_.nodes)
    nodes_.push_back({&planned, &description_of(planned.spec), {}, {}, first_added_});
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    Node& node = nodes_[i];
    for (const std::size_t to : plan_.nodes[i].to) node.feed(nodes_[to]);
    // Each stands behind those that feed it. Streams that are added do not pass elements that join.
    const bool gives_added = node.element->role == Role::kSource || (node.places > 0 && !node.element->joins);
    for (const Node::Next& to : node.to) to.node->places = gives_added ? spec_.more_sources : to.node->places;
  }
  for (Node& node : nodes_) {
    if (node.element->is_shared) {
      node.lanes.push_back(std::make_unique<Lane>(spec_, *this, node, node.plan->streams));
      continue;
    }
    for (const std::uint32_t stream : node.plan->streams)
      node.lanes.push_back(std::make_unique<Lane>(spec_, *this, node, std::vector{stream}));
    if (node.element->role != Role::kSource) node.lanes.resize(node.lanes.size() + node.places);
  }
}

void Pipeline::Engine::start() {
  const std::lock_guard lock(mutex_);
  if (std::exchange(has_started_, true))
    throw Error(Code::kFailedPrecondition, "Pipeline::start: it was started already");
  for (Node& node : nodes_) {
    for (const std::unique_ptr<Lane>& lane : node.lanes) {
      if (lane) start_thread(node, *lane);
    }
  }
}

bool Pipeline::Engine::is_own_thread() const noexcept { return g_own_engine == this; }

bool Pipeline::Engine::wait(Deadline deadline) {
  if (is_own_thread() && deadline > Clock::now())
    throw Error(Code::kFailedPrecondition,
                "an element waits for the pipeline that it is in, and so for itself: stop() asks for the end, and "
                "returns at once there");
  std::unique_lock lock(mutex_);
  const bool stays = spec_.more_sources > 0 && has_started_;
  return all_done_.wait_until(lock, deadline, [&] { return running_ == 0 && (!stays || stopping_); });
}

void Pipeline::Engine::stop(Deadline deadline) {
  request_stop();
  if (is_own_thread()) return;  // A thread cannot wait for its own end.
  if (!wait(deadline)) {
    is_interrupted_ = true;
    const std::lock_guard lock(mutex_);
    for_each_lane([](Lane& lane) {
      lane.cut_short();
      lane.interrupt();
    });
  }
  const std::lock_guard lock(joining_);
  for_each_lane([](Lane& lane) {
    if (lane.thread.joinable()) lane.thread.join();
  });
}

void Pipeline::Engine::failed(std::uint32_t stream, const Node& node, std::exception_ptr error) {
  try {
    std::rethrow_exception(error);
  } catch (const detail::NodeError& failure) {
    return failed(stream, *failure.node, failure.error);
  } catch (...) {
  }
  try {
    detail::insist([&] { note_failure(stream, node, error); });
  } catch (...) {  // There is no memory for a message: the stream ends without one.
    state_of(stream).is_lost = true;
    request_stop();
  }
}

void Pipeline::Engine::note_failure(std::uint32_t stream, const Node& node, std::exception_ptr error) {
  Stream& state = state_of(stream);
  if ((stopping_ || state.is_removed) && node.element->role == Role::kSource) return;  // The source was interrupted.
  if (is_interrupted_ && read(error).second == Code::kCancelled) return;
  if (node.element->role != Role::kSource) state.is_cut = true;
  if (state.is_lost) return;  // A consequence of the stream's first failure.
  const auto [message, code] = read(error);
  const std::string shown = without_credentials(message);
  if (shown != message) error = std::make_exception_ptr(Error(code, shown));
  Failure failure{stream, node.plan->spec.name, shown, error, false};
  {
    const std::lock_guard lock(mutex_);
    if (failures_.size() == failures_.capacity()) failures_.reserve(2 * failures_.size() + 4);
    if (state.is_lost.exchange(true)) return;
    failures_.push_back(std::move(failure));
  }
  if (spec_.on_error == OnError::kStop && stream < first_added_) request_stop();
}

void Pipeline::Engine::restarts(std::uint32_t stream) {
  {
    const std::lock_guard lock(mutex_);
    const auto last = std::find_if(failures_.rbegin(), failures_.rend(),
                                   [stream](const Failure& one) { return one.stream == stream; });
    if (last != failures_.rend()) last->was_restarted = true;
  }
  state_of(stream).is_cut = false;
  state_of(stream).is_lost = false;
}

void Pipeline::Engine::gave_up(std::uint32_t stream) {
  const std::lock_guard lock(mutex_);
  state_of(stream).is_over = true;
  for (const Node& node : nodes_) {
    if (node.element->role != Role::kSource) continue;
    const std::uint32_t own = node.plan->streams.front();
    if (!reaches_a_sink(node, own)) state_of(own).is_over = true;
  }
  restart_.notify_all();
}

std::vector<NodeStats> Pipeline::Engine::stats() const {
  const std::lock_guard lock(mutex_);  // Lanes come and go under it.
  std::vector<NodeStats> all;
  for (const Node& node : nodes_) all.push_back(detail::stats_of(node));
  return all;
}

std::vector<Failure> Pipeline::Engine::failures() const {
  const std::lock_guard lock(mutex_);
  return failures_;
}

void Pipeline::Engine::start_thread(Node& node, Lane& lane) {
  const bool is_source = node.element->role == Role::kSource;
  if (!is_source && !lane.queue) return;
  lane.thread = new_thread("pipeline: node '" + node.plan->spec.name + "'", [this, &node, one = &lane, is_source] {
    g_own_engine = this;
    if (is_source)
      feed(node, *one);
    else
      one->run();
    const std::lock_guard done(mutex_);
    if (is_source) {
      const std::uint32_t stream = node.plan->streams.front();
      state_of(stream).has_ended = true;
      if (stream >= first_added_) --added_of(stream).open_ends;
      ended_.notify_all();
    }
    if (--running_ == 0) all_done_.notify_all();
  });
  ++running_;  // The lock is held, so the thread has not ended yet.
}

bool Pipeline::Engine::reaches_a_sink(const Node& node, std::uint32_t stream) const {
  using detail::Walk;
  return detail::walk_downstream(node, stream, [&](const Node& next, std::uint32_t comes) {
    return state_of(comes).is_over ? Walk::kNotPast : next.to.empty() ? Walk::kFound : Walk::kGoOn;
  });
}

void Pipeline::Engine::request_stop() {
  const std::lock_guard lock(mutex_);
  stopping_ = true;
  restart_.notify_all();
  all_done_.notify_all();
  for_each_lane([](Lane& lane) {
    if (std::holds_alternative<std::unique_ptr<Source>>(lane.element)) lane.interrupt();
    if (lane.queue) lane.queue->wake();  // Shared elements that waited for streams to be added end.
  });
}

void Pipeline::Engine::feed(const Node& node, Lane& lane) {
  const std::uint32_t stream = node.plan->streams.front();
  if (stream >= first_added_) lane.pass_on(Message::Kind::kJoin, stream);
  Restarts restarts_left(spec_);
  StreamTime time;
  for (;;) {
    try {
      read_stream(node, lane, restarts_left, time);
    } catch (...) {
      failed(stream, node, lane.explained(stream, std::current_exception()));
    }
    if (!state_of(stream).is_lost) break;
    const auto pause = restarts_left.next();
    if (!pause) break;
    lane.pass_on(Message::Kind::kEnd, stream);
    std::unique_lock lock(mutex_);
    if (restart_.wait_for(lock, *pause,
                          [&] { return stopping_ || state_of(stream).is_over || state_of(stream).is_removed; }))
      break;
    lock.unlock();
    restarts(stream);
  }
  lane.pass_on(Message::Kind::kLast, stream);
}

bool Pipeline::Engine::is_wanted(const Lane& lane, std::uint32_t stream) const {
  const Stream& state = state_of(stream);
  return !stopping_ && !state.is_lost && !state.is_over && !state.is_removed &&
         (spec_.frames == 0 || lane.frames_out < spec_.frames);
}

void Pipeline::Engine::move_on(StreamTime& time, Message& next, const StreamInfo& info) {
  if (next.audio && next.audio.timestamp_ns() != kNoTimestamp)
    next.audio.set_timestamp_ns(time.next(next.audio.timestamp_ns(), 0));
  if (next.audio || next.frame.timestamp_ns() == kNoTimestamp) return;
  const double rate = info.frames_per_second;
  next.frame.set_timestamp_ns(time.next(next.frame.timestamp_ns(), rate > 0 ? std::llround(1e9 / rate) : 0));
}

void Pipeline::Engine::read_stream(const Node& node, Lane& lane, Restarts& restarts, StreamTime& time) {
  const std::uint32_t stream = node.plan->streams.front();
  Source& source = *std::get<std::unique_ptr<Source>>(lane.element);
  const StreamInfo info = source.open(Clock::now() + spec_.patience);
  const std::uint64_t known = source.report().frame_count.value_or(0);
  lane.expected = spec_.frames != 0 ? std::min(known, spec_.frames) : known;
  if (!info.is_audio()) {
    const Negotiation negotiated = lane.negotiate(stream, info);
    source.allocate(negotiated.joined, negotiated.readers);
  }
  {
    const std::lock_guard lock(mutex_);
    state_of(stream).is_open = true;
  }
  lane.pass_on(Message::Kind::kBegin, stream, std::make_shared<const StreamInfo>(info));
  const bool tells_origin = origin_is_wanted(node, stream), has_branches = branches_meet_behind(node, stream);
  time.begin_again();
  auto silent_until = Clock::now() + spec_.patience;
  while (is_wanted(lane, stream)) {
    Message next;
    next.stream = stream;
    const auto begin = Clock::now();
    try {
      if (!read_next(source, info.is_audio(), std::min<Deadline>(begin + kStep, silent_until), next)) return;
    } catch (const Error& error) {
      if (error.code() != Code::kDeadlineExceeded || Clock::now() >= silent_until) throw;
      continue;
    }
    next.born = Clock::now();
    move_on(time, next, info);
    if (tells_origin) add_origin(next, node.plan->spec.name, lane.frames_out);
    if (has_branches && !info.is_audio()) metadata::of(next.frame);  // For the placement of what is cut from it.
    restarts.had_frame(next.born);
    lane.trace(begin, next.born);
    lane.busy_ns.fetch_add((next.born - begin).count(), std::memory_order_relaxed);
    lane.frames_out.fetch_add(1, std::memory_order_relaxed);
    lane.pass_on(std::move(next));
    silent_until = Clock::now() + spec_.patience;  // Time spent waiting for room downstream does not count as silence.
  }
}

Pipeline::Pipeline(const PipelineSpec& spec) : engine_(std::make_unique<Engine>(spec)) {}
Pipeline::~Pipeline() = default;
void Pipeline::start() { engine_->start(); }
bool Pipeline::wait(Deadline deadline) { return engine_->wait(deadline); }
bool Pipeline::is_own_thread() const noexcept { return engine_->is_own_thread(); }
void Pipeline::stop(Deadline deadline) { engine_->stop(deadline); }
const PipelinePlan& Pipeline::plan() const { return engine_->plan(); }
std::uint32_t Pipeline::add_source(const NodeSpec& source, const std::string& like) {
  return engine_->add_source(source, like);
}
bool Pipeline::remove_source(const std::string& name, Deadline deadline) {
  return engine_->remove_source(name, deadline);
}
std::vector<SourceState> Pipeline::sources() const { return engine_->sources(); }
std::vector<NodeStats> Pipeline::stats() const { return engine_->stats(); }
std::vector<Failure> Pipeline::failures() const { return engine_->failures(); }

}  // namespace elements
}  // namespace v1
}  // namespace tenon
