// SPDX-License-Identifier: Apache-2.0
// Starts and stops lanes, feeds them from sources, and records failures.
#include <tenon/elements/pipeline.hpp>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include <tenon/core/error.hpp>
#include <tenon/core/metadata.hpp>
#include <tenon/core/stream_time.hpp>
#include <tenon/elements/internal/lane.hpp>

namespace tenon {
inline namespace v1 {
namespace elements {
namespace {

using detail::Lane;
using detail::Latencies;
using detail::Message;
using detail::Node;
using detail::Restarts;

constexpr auto kStep = std::chrono::milliseconds(200);  ///< How soon a silent source notices that it must stop.

std::string message_of(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const std::exception& known) {
    return known.what();
  } catch (...) {
    return "an exception of an unknown type";
  }
}

bool is_cancelled(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const Error& known) {
    return known.code() == Code::kCancelled;
  } catch (...) {
    return false;
  }
}

PipelineSpec with_files(PipelineSpec spec) {
  if (!spec.files) spec.files = std::make_shared<UsedFiles>();
  return spec;
}

/// Whether an element that gets frames of the node wants to know where they come from.
bool origin_is_wanted(const Node& source, std::uint32_t stream) {
  std::vector<std::pair<const Node*, std::uint32_t>> open{{&source, stream}};
  while (!open.empty()) {
    const auto [node, number] = open.back();
    open.pop_back();
    if (std::visit([](const auto& one) { return one->wants_origin(); }, node->lane_of(number).element)) return true;
    for (const Node* next : node->to) open.emplace_back(next, node->gives(number));
  }
  return false;
}

/// Adds the source, the number and the time of the frame to its metadata.
void add_origin(Message& frame, const std::string& source, std::uint64_t number) {
  const auto known = frame.audio ? frame.audio.find_metadata() : metadata::find(frame.frame);
  const auto made = known ? known->copy() : std::make_shared<metadata::Collection>();
  if (!made->first<metadata::Source>()) made->add(metadata::Source{source, frame.stream, number});
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  made->add(metadata::ReferenceTime{"unix", std::chrono::nanoseconds(now).count()});
  if (frame.audio)
    frame.audio.set_metadata(made);
  else
    metadata::set(frame.frame, made);
}

}  // namespace

class Pipeline::Engine final : public detail::Host {
 public:
  explicit Engine(const PipelineSpec& spec)
      : spec_(with_files(spec)), plan_(plan_pipeline(spec)), streams_(plan_.streams + plan_.joined) {
    add_files(*spec_.files, plan_);  // Before any element opens a file for writing.
    nodes_.reserve(plan_.nodes.size());
    for (const PipelinePlan::Node& planned : plan_.nodes)
      nodes_.push_back({&planned, &description_of(planned.spec), {}, {}});
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      Node& node = nodes_[i];
      for (const std::size_t to : plan_.nodes[i].to) node.to.push_back(&nodes_[to]);
      if (node.element->is_shared) {
        node.lanes.push_back(std::make_unique<Lane>(spec_, *this, node, node.plan->streams));
        continue;
      }
      for (const std::uint32_t stream : node.plan->streams)
        node.lanes.push_back(std::make_unique<Lane>(spec_, *this, node, std::vector{stream}));
    }
  }

  ~Engine() override { stop(Clock::now()); }

  void start() {
    const std::lock_guard lock(mutex_);
    if (std::exchange(has_started_, true))
      throw Error(Code::kFailedPrecondition, "Pipeline::start: it was started already");
    for (Node& node : nodes_) {
      for (const std::unique_ptr<Lane>& lane : node.lanes) {
        const bool is_source = node.element->role == Role::kSource;
        if (!is_source && !lane->queue) continue;
        ++running_;
        lane->thread = std::thread([this, &node, one = lane.get(), is_source] {
          if (is_source)
            feed(node, *one);
          else
            one->run();
          const std::lock_guard done(mutex_);
          if (--running_ == 0) all_done_.notify_all();
        });
      }
    }
  }

  bool wait(Deadline deadline) {
    std::unique_lock lock(mutex_);
    return all_done_.wait_until(lock, deadline, [this] { return running_ == 0; });
  }

  void stop(Deadline deadline) {
    request_stop();
    if (!wait(deadline)) {
      is_interrupted_ = true;
      for_each_lane([](Lane& lane) {
        if (lane.queue) lane.queue->close(true);
        lane.interrupt();
      });
    }
    const std::lock_guard lock(joining_);
    for_each_lane([](Lane& lane) {
      if (lane.thread.joinable()) lane.thread.join();
    });
  }

  void failed(std::uint32_t stream, const Node& node, std::exception_ptr error) override {
    try {
      std::rethrow_exception(error);
    } catch (const detail::NodeError& failure) {
      return failed(stream, *failure.node, failure.error);
    } catch (...) {
    }
    if (stopping_ && node.element->role == Role::kSource) return;  // The source was interrupted.
    if (is_interrupted_ && is_cancelled(error)) return;
    if (node.element->role != Role::kSource) streams_[stream].is_cut = true;
    if (streams_[stream].is_lost.exchange(true)) return;  // A consequence of the stream's first failure.
    {
      const std::lock_guard lock(mutex_);
      failures_.push_back({stream, node.plan->spec.name, message_of(error), error, false});
    }
    if (spec_.on_error == OnError::kStop) request_stop();
  }
  bool is_lost(std::uint32_t stream) const override { return streams_[stream].is_cut.load(std::memory_order_relaxed); }

  void restarts(std::uint32_t stream) override {
    {
      const std::lock_guard lock(mutex_);
      const auto last = std::find_if(failures_.rbegin(), failures_.rend(),
                                     [stream](const Failure& one) { return one.stream == stream; });
      if (last != failures_.rend()) last->was_restarted = true;
    }
    streams_[stream].is_cut = false;
    streams_[stream].is_lost = false;
  }

  void gave_up(std::uint32_t stream) override {
    const std::lock_guard lock(mutex_);
    streams_[stream].is_over = true;
    for (const Node& node : nodes_) {
      if (node.element->role != Role::kSource) continue;
      const std::uint32_t own = node.plan->streams.front();
      if (!reaches_a_sink(node, own)) streams_[own].is_over = true;
    }
    restart_.notify_all();
  }

  const PipelinePlan& plan() const { return plan_; }

  std::vector<NodeStats> stats() const {
    std::vector<NodeStats> all;
    for (const Node& node : nodes_) {
      NodeStats& one = all.emplace_back();
      one.name = node.plan->spec.name;
      one.element = node.plan->spec.element;
      one.moved.name = one.name;
      std::vector<const Latencies*> latencies;
      for (const std::unique_ptr<Lane>& lane : node.lanes) {
        one.frames_in += lane->frames_in;
        one.frames_out += lane->frames_out;
        one.dropped += lane->dropped;
        one.expected += lane->expected;
        one.busy += std::chrono::nanoseconds(lane->busy_ns);
        if (lane->queue) {
          one.queued += lane->queue->size();
          one.queue_size += lane->queue->capacity();
        }
        const LedgerEntry moved = lane->ledger.total();
        one.moved.maps += moved.maps;
        one.moved.view_hits += moved.view_hits;
        one.moved.copied += moved.copied;
        one.moved.converted += moved.converted;
        one.moved.transferred += moved.transferred;
        one.moved.waits += moved.waits;
        one.moved.wait_ns += moved.wait_ns;
        latencies.push_back(&lane->latencies);
      }
      const auto found = Latencies::quantiles<3>(latencies, {0.5, 0.9, 0.99});
      one.p50 = found[0], one.p90 = found[1], one.p99 = found[2];
    }
    return all;
  }

  std::vector<Failure> failures() const {
    const std::lock_guard lock(mutex_);
    return failures_;
  }

 private:
  struct Stream {
    std::atomic<bool> is_lost{false};
    /// An element lost it. After the failure of a source, the frames that it gave before are still worked on.
    std::atomic<bool> is_cut{false};
    std::atomic<bool> is_over{
        false};  ///< A joined stream is lost for good, or no node needs the stream's frames any more.
  };

  /// Whether frames of the stream that come to the node still reach a sink.
  bool reaches_a_sink(const Node& node, std::uint32_t stream) const {
    std::vector<std::pair<const Node*, std::uint32_t>> open{{&node, stream}};  // No recursion: pipelines may be long.
    while (!open.empty()) {
      const auto [next, comes] = open.back();
      open.pop_back();
      if (streams_[comes].is_over) continue;
      if (next->to.empty()) return true;
      for (const Node* to : next->to) open.emplace_back(to, next->gives(comes));
    }
    return false;
  }

  template <typename Body>
  void for_each_lane(Body body) {
    for (Node& node : nodes_) {
      for (const std::unique_ptr<Lane>& lane : node.lanes) body(*lane);
    }
  }

  void request_stop() {
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    restart_.notify_all();
    for (Node& node : nodes_) {
      if (node.element->role == Role::kSource) node.lanes.front()->interrupt();
    }
  }

  /// The thread of a source: reads its stream, and restarts it after failures as the spec says.
  void feed(const Node& node, Lane& lane) {
    const std::uint32_t stream = node.plan->streams.front();
    Restarts restarts_left(spec_);
    StreamTime time;
    for (;;) {
      try {
        read_stream(node, lane, restarts_left, time);
      } catch (...) {
        failed(stream, node, lane.explained(stream, std::current_exception()));
      }
      if (!streams_[stream].is_lost) break;
      const auto pause = restarts_left.next();
      if (!pause) break;
      lane.pass_on(Message::Kind::kEnd, stream);
      std::unique_lock lock(mutex_);
      if (restart_.wait_for(lock, *pause, [&] { return stopping_ || streams_[stream].is_over; })) break;
      lock.unlock();
      restarts(stream);
    }
    lane.pass_on(Message::Kind::kLast, stream);
  }

  bool is_wanted(const Lane& lane, std::uint32_t stream) const {
    return !stopping_ && !streams_[stream].is_lost && !streams_[stream].is_over &&
           (spec_.frames == 0 || lane.frames_out < spec_.frames);
  }

  /// Puts the time of what a source gave on one line with what it gave before, over its restarts and jumps of its clock.
  static void move_on(StreamTime& time, Message& next, const StreamInfo& info) {
    if (next.audio && next.audio.timestamp_ns() != kNoTimestamp)
      next.audio.set_timestamp_ns(time.next(next.audio.timestamp_ns(), 0));
    if (next.audio || next.frame.timestamp_ns() == kNoTimestamp) return;
    const double rate = info.frames_per_second;
    next.frame.set_timestamp_ns(time.next(next.frame.timestamp_ns(), rate > 0 ? std::llround(1e9 / rate) : 0));
  }

  void read_stream(const Node& node, Lane& lane, Restarts& restarts, StreamTime& time) {
    const std::uint32_t stream = node.plan->streams.front();
    Source& source = *std::get<std::unique_ptr<Source>>(lane.element);
    const StreamInfo info = source.open(Clock::now() + spec_.patience);
    const std::uint64_t known = source.report().frame_count.value_or(0);
    lane.expected = spec_.frames != 0 ? std::min(known, spec_.frames) : known;
    if (!info.is_audio()) {
      const Negotiation negotiated = lane.negotiate(stream, info);
      source.allocate(negotiated.joined, negotiated.readers);
    }
    lane.pass_on(Message::Kind::kBegin, stream, std::make_shared<const StreamInfo>(info));
    const bool tells_origin = origin_is_wanted(node, stream);
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
      restarts.had_frame(next.born);
      lane.trace(begin, next.born);
      lane.busy_ns.fetch_add((next.born - begin).count(), std::memory_order_relaxed);
      lane.frames_out.fetch_add(1, std::memory_order_relaxed);
      lane.pass_on(std::move(next));
      silent_until =
          Clock::now() + spec_.patience;  // Time spent waiting for room downstream does not count as silence.
    }
  }

  /// Reads the next picture or the next sound. @return False at the end of the stream.
  static bool read_next(Source& source, bool is_audio, Deadline deadline, Message& next) {
    if (is_audio) {
      std::optional<AudioFrame> audio = source.read_audio(deadline);
      if (audio) next.audio = std::move(*audio);
      return audio.has_value();
    }
    std::optional<Frame> frame = source.read(deadline);
    if (frame) next.frame = std::move(*frame);
    return frame.has_value();
  }

  const PipelineSpec spec_;
  const PipelinePlan plan_;
  std::vector<Node> nodes_;
  std::vector<Stream> streams_;
  std::atomic<bool> stopping_{false}, is_interrupted_{false};
  mutable std::mutex mutex_;
  std::mutex joining_;
  std::condition_variable all_done_, restart_;
  std::vector<Failure> failures_;
  std::size_t running_ = 0;
  bool has_started_ = false;
};

Pipeline::Pipeline(const PipelineSpec& spec) : engine_(std::make_unique<Engine>(spec)) {}
Pipeline::~Pipeline() = default;
void Pipeline::start() { engine_->start(); }
bool Pipeline::wait(Deadline deadline) { return engine_->wait(deadline); }
void Pipeline::stop(Deadline deadline) { engine_->stop(deadline); }
const PipelinePlan& Pipeline::plan() const { return engine_->plan(); }
std::vector<NodeStats> Pipeline::stats() const { return engine_->stats(); }
std::vector<Failure> Pipeline::failures() const { return engine_->failures(); }

}  // namespace elements
}  // namespace v1
}  // namespace tenon
