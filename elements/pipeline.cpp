// SPDX-License-Identifier: Apache-2.0
// Lanes: one for each instance of an element. What happens to a stream travels through them in the order of its frames: it
// begins, its frames, it ends; so an element's state needs no lock, and a restart is an end and a beginning.
#include <tenon/elements/pipeline.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include <tenon/core/error.hpp>
#include <tenon/core/trace_name.hpp>
#include <tenon/elements/internal/agreement.hpp>
#include <tenon/elements/queue.hpp>
#include <tenon/elements/registry.hpp>

namespace tenon {
inline namespace v1 {
namespace elements {
namespace {

constexpr auto kStep = std::chrono::milliseconds(200);  ///< How soon a silent source notices that it is to stop.

std::string message_of(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const std::exception& known) {
    return known.what();
  } catch (...) {
    return "an exception of an unknown type";
  }
}

/// Durations in bands of an eighth of a power of two.
class Latencies {
 public:
  void add(std::chrono::nanoseconds duration) {
    bands_[band_of(static_cast<std::uint64_t>(std::max<std::int64_t>(duration.count(), 0)))].fetch_add(
        1, std::memory_order_relaxed);
  }
  /// @param shares  Ascending, 0..1.
  template <std::size_t kCount>
  static std::array<std::chrono::nanoseconds, kCount> quantiles(const std::vector<const Latencies*>& all,
                                                                const std::array<double, kCount>& shares) {
    std::array<std::uint64_t, kBands> sum{};
    std::uint64_t total = 0;
    for (const Latencies* one : all) {
      for (std::size_t band = 0; band < kBands; ++band) {
        const std::uint64_t count = one->bands_[band].load(std::memory_order_relaxed);
        sum[band] += count;
        total += count;
      }
    }
    std::array<std::chrono::nanoseconds, kCount> found{};
    std::uint64_t seen = 0;
    for (std::size_t band = 0, next = 0; band < kBands && next < kCount && total > 0; ++band) {
      seen += sum[band];
      while (next < kCount && static_cast<double>(seen) >= shares[next] * static_cast<double>(total))
        found[next++] = std::chrono::nanoseconds(end_of(band));
    }
    return found;
  }

 private:
  static constexpr std::size_t kBands = 61 * 8;
  static std::size_t band_of(std::uint64_t ns) {
    if (ns < 8) return static_cast<std::size_t>(ns);
    const int power = std::bit_width(ns) - 4;
    return std::min<std::size_t>(static_cast<std::size_t>(power) * 8 + static_cast<std::size_t>(ns >> power),
                                 kBands - 1);
  }
  static std::int64_t end_of(std::size_t band) {
    if (band < 16) return static_cast<std::int64_t>(band);
    return static_cast<std::int64_t>((band % 8 + 8 + 1) << (band / 8 - 1));
  }
  std::array<std::atomic<std::uint64_t>, kBands> bands_{};
};

/// What passes from lane to lane.
struct Message {
  enum class Kind : std::uint8_t { kBegin, kFrame, kEnd, kLast };  ///< kLast: the end, and no more comes.
  Kind kind = Kind::kFrame;
  std::uint32_t stream = 0;
  Clock::time_point born{};                ///< When the source had the frame.
  std::shared_ptr<const StreamInfo> info;  ///< Of kBegin.
  Frame frame;
  AudioFrame audio;  ///< Instead, of a stream of sound.
};

AnyElement make_node(const NodeSpec& spec, const Environment& environment) {
  return spec.own ? make_element(*spec.own, spec.parameters, environment)
                  : make_element(spec.element, spec.parameters, environment);
}

/// @errors kInvalidArgument: the element takes the other kind of stream.
void check_takes(const Description& element, const StreamInfo& in) {
  if (element.takes == Takes::kBoth || (element.takes == Takes::kAudio) == in.is_audio()) return;
  throw Error(Code::kInvalidArgument,
              "element '" + element.name + "' takes " +
                  (in.is_audio() ? "pictures, and the stream is one of sound" : "sound, and the stream has pictures"));
}

class Lane;

/// A node of the plan with its lanes: one, or one for each stream.
struct Node {
  const PipelinePlan::Node* plan = nullptr;
  const Description* element = nullptr;
  std::vector<Node*> to;
  std::vector<std::unique_ptr<Lane>> lanes;
  /// @pre the stream passes through the node.
  Lane& lane_of(std::uint32_t stream) const;
};

/// What all who see the node's own frames want of them. @errors kFailedPrecondition: two of them cannot agree.
Agreement agree_after(const Node& node, std::uint32_t stream, const StreamInfo& info);

/// What lanes tell their pipeline.
class Host {
 public:
  virtual ~Host() = default;
  /// The stream failed in `node`; frames of it are dropped until it ends.
  virtual void failed(std::uint32_t stream, const Node& node, std::exception_ptr error) = 0;
  /// Whether frames of the stream are of no use any more.
  virtual bool is_lost(std::uint32_t stream) const = 0;
};

class Lane final : public Output {
 public:
  Lane(Host& host, Node& node, std::vector<std::uint32_t> streams)
      : ledger(&Ledger::process()), host_(host), node_(node), streams_(std::move(streams)), open_(streams_.size()) {
    element = make_node(node.plan->spec, {node.plan->spec.name, &ledger, streams_});
    if (node.plan->has_thread && node.element->role != Role::kSource)
      queue.emplace(node.plan->spec.queue.value_or(QueueOptions{}));
  }

  /// Takes what comes from upstream: into the queue, or at once.
  void deliver(Message message) {
    const bool is_frame = message.kind == Message::Kind::kFrame;
    if (!queue) return handle(std::move(message));
    if (const auto lost = queue->push(std::move(message), is_frame))
      dropped.fetch_add(*lost, std::memory_order_relaxed);
  }

  /// The thread of a lane with a queue.
  void run() {
    for (;;) {
      std::optional<Deadline> due;
      if (auto* transform = std::get_if<std::unique_ptr<Transform>>(&element)) due = (*transform)->due();
      if (std::optional<Message> message = queue->pop(due)) {
        handle(std::move(*message));
        if (streams_left_ == 0) return;
      } else if (queue->is_closed()) {
        return;
      } else {
        proceed();
      }
    }
  }

  void emit(Item item) override {
    const std::uint32_t stream = given_as(item.stream);
    if (host_.is_lost(stream)) return;
    frames_out.fetch_add(1, std::memory_order_relaxed);
    Message message;
    message.stream = stream;
    message.born = born_of(item.stream);
    message.frame = std::move(item.frame);
    message.audio = std::move(item.audio);
    pass_on(std::move(message));
  }

  /// To all that this node feeds.
  void pass_on(Message message) {
    const auto pause = Clock::now();
    const std::vector<Node*>& to = node_.to;
    for (std::size_t i = 0; i + 1 < to.size(); ++i) to[i]->lane_of(message.stream).deliver(message);
    const std::uint32_t stream = message.stream;
    if (!to.empty()) to.back()->lane_of(stream).deliver(std::move(message));
    elsewhere_ += Clock::now() - pause;
  }

  void interrupt() noexcept {
    std::visit([](auto& one) { one->interrupt(); }, element);
  }

  /// A span of the node's name, if a trace is open. Spans of what is called downstream lie in it.
  void trace(Clock::time_point begin, Clock::time_point end) const {
    if (Trace::is_open()) Trace::record(trace_name(node_.plan->spec.name), "element", begin, end);
  }

  AnyElement element;
  Ledger ledger;
  std::optional<Queue<Message>> queue;
  std::thread thread;
  std::atomic<std::uint64_t> frames_in{0}, frames_out{0}, dropped{0};
  std::atomic<std::int64_t> busy_ns{0};
  Latencies latencies;

 private:
  void handle(Message message);
  void proceed();
  void begin(const Message& message);
  StreamInfo open_transform(Transform& transform, const Message& begins);
  void frame(Message message);
  void end(std::uint32_t stream);
  void last(Message message);
  /// Runs the element's code: what it throws is the stream's failure.
  template <typename Body>
  bool guarded(std::uint32_t stream, Body body) {
    try {
      timed(body);
      return true;
    } catch (...) {
      host_.failed(stream, node_, std::current_exception());
      return false;
    }
  }
  /// Books the time spent in the element, without what is downstream of it.
  template <typename Body>
  void timed(Body body) {
    const auto begin = Clock::now();
    elsewhere_ = {};
    struct Book {
      Lane& lane;
      Clock::time_point begin;
      ~Book() {
        const auto end = Clock::now();
        lane.busy_ns.fetch_add((end - begin - lane.elsewhere_).count(), std::memory_order_relaxed);
        lane.trace(begin, end);
      }
    } book{*this, begin};
    body();
  }
  std::size_t index_of(std::uint32_t stream) const {
    return streams_.size() == 1
               ? 0
               : static_cast<std::size_t>(std::find(streams_.begin(), streams_.end(), stream) - streams_.begin());
  }
  /// The number with which the stream leaves the element.
  std::uint32_t given_as(std::uint32_t stream) const {
    return node_.element->joins ? node_.plan->gives.front() : stream;
  }
  Clock::time_point born_of(std::uint32_t stream) const { return open_[index_of(stream)].born; }

  struct Open {
    bool is_open = false;
    Clock::time_point born{};  ///< Of the stream's frame that came last.
  };

  Host& host_;
  Node& node_;
  const std::vector<std::uint32_t> streams_;
  std::vector<Open> open_;
  std::size_t streams_left_ = streams_.size();
  bool has_begun_ = false;  ///< Of elements that join streams: the joined one.
  Clock::duration elsewhere_{};
};

Lane& Node::lane_of(std::uint32_t stream) const {
  if (lanes.size() == 1) return *lanes.front();
  const auto at = std::find(plan->streams.begin(), plan->streams.end(), stream);
  return *lanes[static_cast<std::size_t>(at - plan->streams.begin())];
}

Agreement agree_after(const Node& maker, std::uint32_t stream, const StreamInfo& info) {
  std::vector<Wish> wishes;
  std::vector<const Node*> open(maker.to.begin(), maker.to.end());
  while (!open.empty()) {
    const Node& node = *open.back();
    open.pop_back();
    Lane& lane = node.lane_of(stream);
    std::visit(
        [&](auto& one) {
          wishes.push_back({node.plan->spec.name, one->wanted(info), one->used_in(info)});
        },
        lane.element);
    if (node.element->role == Role::kTransformInplace) open.insert(open.end(), node.to.begin(), node.to.end());
  }
  return agree(maker.plan->spec.name, wishes);
}

void Lane::handle(Message message) {
  switch (message.kind) {
    case Message::Kind::kBegin:
      return begin(message);
    case Message::Kind::kFrame:
      return frame(std::move(message));
    case Message::Kind::kEnd:
      end(message.stream);
      if (!node_.element->joins) pass_on(std::move(message));
      return;
    case Message::Kind::kLast:
      return last(std::move(message));
  }
}

void Lane::begin(const Message& message) {
  Open& state = open_[index_of(message.stream)];
  StreamInfo out = *message.info;
  state.is_open = guarded(message.stream, [&] {
    check_takes(*node_.element, out);
    if (auto* transform = std::get_if<std::unique_ptr<Transform>>(&element))
      out = open_transform(**transform, message);
    else if (auto* inplace = std::get_if<std::unique_ptr<TransformInplace>>(&element))
      out = (*inplace)->open(message.stream, *message.info);
    else
      std::get<std::unique_ptr<Sink>>(element)->open(message.stream, *message.info);
  });
  if (!state.is_open || node_.to.empty()) return;
  if (node_.element->joins && std::exchange(has_begun_, true)) return;
  Message next = message;
  next.stream = given_as(message.stream);
  next.info = std::make_shared<const StreamInfo>(out);
  pass_on(std::move(next));
}

StreamInfo Lane::open_transform(Transform& transform, const Message& begins) {
  const StreamInfo out = transform.open(begins.stream, *begins.info);
  if (!out.is_audio()) {
    const Agreement agreed = agree_after(node_, given_as(begins.stream), out);
    transform.allocate(begins.stream, agreed.joined, agreed.readers);
  }
  return out;
}

void Lane::frame(Message message) {
  Open& state = open_[index_of(message.stream)];
  if (!state.is_open) {
    dropped.fetch_add(1, std::memory_order_relaxed);
    return;
  }
  frames_in.fetch_add(1, std::memory_order_relaxed);
  state.born = message.born;
  const std::uint32_t stream = message.stream;
  const Clock::time_point born = message.born;
  state.is_open = guarded(stream, [&] {
    if (auto* transform = std::get_if<std::unique_ptr<Transform>>(&element))
      (*transform)->process({stream, std::move(message.frame), std::move(message.audio)}, *this);
    else if (auto* inplace = std::get_if<std::unique_ptr<TransformInplace>>(&element))
      message.audio ? (*inplace)->process_audio(stream, message.audio) : (*inplace)->process(stream, message.frame);
    else
      message.audio ? std::get<std::unique_ptr<Sink>>(element)->write_audio(stream, message.audio)
                    : std::get<std::unique_ptr<Sink>>(element)->write(stream, message.frame);
  });
  latencies.add(Clock::now() - born);
  if (!state.is_open || !std::holds_alternative<std::unique_ptr<TransformInplace>>(element)) return;
  frames_out.fetch_add(1, std::memory_order_relaxed);
  pass_on(std::move(message));
}

void Lane::end(std::uint32_t stream) {
  Open& state = open_[index_of(stream)];
  if (!std::exchange(state.is_open, false)) return;
  guarded(stream, [&] {
    if (auto* transform = std::get_if<std::unique_ptr<Transform>>(&element))
      (*transform)->end(stream, *this);
    else if (auto* inplace = std::get_if<std::unique_ptr<TransformInplace>>(&element))
      (*inplace)->end(stream);
    else
      std::get<std::unique_ptr<Sink>>(element)->end(stream);
  });
}

/// What it throws may concern any of its streams.
void Lane::proceed() {
  try {
    timed([&] { std::get<std::unique_ptr<Transform>>(element)->proceed(*this); });
  } catch (...) {
    for (std::size_t i = 0; i < streams_.size(); ++i)
      if (std::exchange(open_[i].is_open, false)) host_.failed(streams_[i], node_, std::current_exception());
  }
}

void Lane::last(Message message) {
  end(message.stream);
  if (--streams_left_ == 0) {
    if (auto* sink = std::get_if<std::unique_ptr<Sink>>(&element)) guarded(message.stream, [&] { (*sink)->finish(); });
  } else if (node_.element->joins) {
    return;
  }
  message.stream = given_as(message.stream);
  pass_on(std::move(message));
}

}  // namespace

class Pipeline::Engine final : public Host {
 public:
  explicit Engine(const PipelineSpec& spec)
      : spec_(spec), plan_(plan_pipeline(spec)), streams_(plan_.streams + plan_.joined) {
    nodes_.reserve(plan_.nodes.size());
    for (const PipelinePlan::Node& planned : plan_.nodes)
      nodes_.push_back({&planned, &description_of(planned.spec), {}, {}});
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      Node& node = nodes_[i];
      for (const std::size_t to : plan_.nodes[i].to) node.to.push_back(&nodes_[to]);
      if (node.element->is_shared) {
        node.lanes.push_back(std::make_unique<Lane>(*this, node, node.plan->streams));
        continue;
      }
      for (const std::uint32_t stream : node.plan->streams)
        node.lanes.push_back(std::make_unique<Lane>(*this, node, std::vector{stream}));
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
    if (stopping_ && node.element->role == Role::kSource) return;  // It was interrupted.
    if (streams_[stream].is_lost.exchange(true)) return;           // What follows from the first failure.
    {
      const std::lock_guard lock(mutex_);
      failures_.push_back({stream, node.plan->spec.name, message_of(error), error, false});
    }
    if (spec_.on_error == OnError::kStop) request_stop();
  }
  bool is_lost(std::uint32_t stream) const override { return streams_[stream].is_lost.load(std::memory_order_relaxed); }

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
  };

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

  /// The thread of a source: its stream, again after failures if that is wanted.
  void feed(const Node& node, Lane& lane) {
    const std::uint32_t stream = node.plan->streams.front();
    auto delay = spec_.restart_delay;
    for (std::uint32_t restarts = 0;; ++restarts, delay *= 2) {
      try {
        read_stream(node, lane, stream);
      } catch (...) {
        failed(stream, node, std::current_exception());
      }
      if (!is_lost(stream) || spec_.on_error != OnError::kRestart || restarts == spec_.restarts) break;
      lane.pass_on(message(Message::Kind::kEnd, stream));
      std::unique_lock lock(mutex_);
      if (restart_.wait_for(lock, delay, [this] { return stopping_.load(); })) break;
      const auto of_stream = [stream](const Failure& one) { return one.stream == stream; };
      std::find_if(failures_.rbegin(), failures_.rend(), of_stream)->was_restarted = true;
      streams_[stream].is_lost = false;
    }
    lane.pass_on(message(Message::Kind::kLast, stream));
  }

  static Message message(Message::Kind kind, std::uint32_t stream) {
    Message made;
    made.kind = kind;
    made.stream = stream;
    return made;
  }

  void read_stream(const Node& node, Lane& lane, std::uint32_t stream) {
    Source& source = *std::get<std::unique_ptr<Source>>(lane.element);
    const StreamInfo info = source.open(Clock::now() + spec_.patience);
    if (!info.is_audio()) {
      const Agreement agreed = agree_after(node, stream, info);
      source.allocate(agreed.joined, agreed.readers);
    }
    Message begins = message(Message::Kind::kBegin, stream);
    begins.info = std::make_shared<const StreamInfo>(info);
    lane.pass_on(std::move(begins));
    auto silent_until = Clock::now() + spec_.patience;
    while (!stopping_ && !is_lost(stream) && (spec_.frames == 0 || lane.frames_out < spec_.frames)) {
      Message next = message(Message::Kind::kFrame, stream);
      const auto begin = Clock::now();
      try {
        if (!read_next(source, info.is_audio(), std::min<Deadline>(begin + kStep, silent_until), next)) return;
      } catch (const Error& error) {
        if (error.code() != Code::kDeadlineExceeded || Clock::now() >= silent_until) throw;
        continue;
      }
      next.born = Clock::now();
      lane.trace(begin, next.born);
      lane.busy_ns.fetch_add((next.born - begin).count(), std::memory_order_relaxed);
      lane.frames_out.fetch_add(1, std::memory_order_relaxed);
      silent_until = next.born + spec_.patience;
      lane.pass_on(std::move(next));
    }
  }

  /// @return false at the end of the stream.
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
  std::atomic<bool> stopping_{false};
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
