// SPDX-License-Identifier: Apache-2.0
// Starts and stops lanes, feeds them from sources, and records failures.
#include <tenon/elements/pipeline.hpp>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <set>
#include <thread>
#include <utility>

#include <tenon/core/credentials.hpp>
#include <tenon/core/error.hpp>
#include <tenon/core/metadata.hpp>
#include <tenon/core/new_thread.hpp>
#include <tenon/core/stream_time.hpp>
#include <tenon/elements/internal/added_source.hpp>
#include <tenon/elements/internal/insist.hpp>
#include <tenon/elements/internal/lane.hpp>
#include <tenon/elements/internal/origin.hpp>
#include <tenon/elements/registry.hpp>

namespace tenon {
inline namespace v1 {
namespace elements {
namespace {

using detail::add_origin;
using detail::branches_meet_behind;
using detail::Lane;
using detail::Message;
using detail::Node;
using detail::origin_is_wanted;
using detail::read_next;
using detail::Restarts;
using Added = detail::AddedSource;
using Stream = detail::StreamState;

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

class Pipeline::Engine final : public detail::Host {
 public:
  explicit Engine(const PipelineSpec& spec)
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

  ~Engine() override { stop(Clock::now()); }

  void start() {
    const std::lock_guard lock(mutex_);
    if (std::exchange(has_started_, true))
      throw Error(Code::kFailedPrecondition, "Pipeline::start: it was started already");
    for (Node& node : nodes_) {
      for (const std::unique_ptr<Lane>& lane : node.lanes) {
        if (lane) start_thread(node, *lane);
      }
    }
  }

  std::uint32_t add_source(const NodeSpec& source, const std::string& like) {
    Added* const place = reserve(source, like);
    try {
      make_lanes(*place);
      const std::lock_guard lock(mutex_);
      check_runs();  // It may have been stopped meanwhile.
      begin(*place);
      return place->stream;
    } catch (...) {
      abandon(*place);
      throw;
    }
  }

  bool remove_source(const std::string& name, Deadline deadline) {
    if (is_own_thread()) deadline = Clock::now();  // The end of the stream may wait for this thread.
    std::unique_lock lock(mutex_);
    const auto added = std::find_if(added_.begin(), added_.end(),
                                    [&](const Added& one) { return one.is_taken() && one.plan->spec.name == name; });
    if (added != added_.end()) {
      if (!added->has_begun) return false;  // Another thread is adding it.
      end_stream(added->stream, *added->node.lanes.front());
      const std::uint32_t stream = added->stream;
      const bool has_ended = ended_.wait_until(
          lock, deadline, [&] { return added->stream != stream || !added->has_begun || added->has_ended(); });
      lock.unlock();
      if (has_ended) free(*added, stream);
      return has_ended;
    }
    const auto planned = std::find_if(nodes_.begin(), nodes_.end(), [&](const Node& node) {
      return node.element->role == Role::kSource && node.plan->spec.name == name;
    });
    if (planned == nodes_.end() || state_of(planned->plan->streams.front()).is_removed)
      throw Error(Code::kNotFound, "remove_source: there is no source '" + name + "'");
    Stream& state = state_of(planned->plan->streams.front());
    end_stream(planned->plan->streams.front(), *planned->lanes.front());
    return ended_.wait_until(lock, deadline, [&] { return state.has_ended || !has_started_; });
  }

  std::vector<SourceState> sources() const {
    const std::lock_guard lock(mutex_);
    std::vector<SourceState> all;
    for (const Node& node : nodes_) {
      if (node.element->role == Role::kSource && !state_of(node.plan->streams.front()).is_removed)
        all.push_back(source_state(node, node.plan->streams.front(), false));
    }
    for (const Added& one : added_) {
      if (one.is_taken() && one.has_begun) all.push_back(source_state(one.node, one.stream, true));
    }
    std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.stream < b.stream; });
    return all;
  }

  bool is_own_thread() const noexcept { return g_own_engine == this; }

  bool wait(Deadline deadline) {
    if (is_own_thread() && deadline > Clock::now())
      throw Error(Code::kFailedPrecondition,
                  "an element waits for the pipeline that it is in, and so for itself: stop() asks for the end, and "
                  "returns at once there");
    std::unique_lock lock(mutex_);
    const bool stays = spec_.more_sources > 0 && has_started_;
    return all_done_.wait_until(lock, deadline, [&] { return running_ == 0 && (!stays || stopping_); });
  }

  void stop(Deadline deadline) {
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

  void failed(std::uint32_t stream, const Node& node, std::exception_ptr error) override {
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
  /// Changes nothing where it fails.
  void note_failure(std::uint32_t stream, const Node& node, std::exception_ptr error) {
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
  bool is_lost(std::uint32_t stream) const override { return state_of(stream).is_cut.load(std::memory_order_relaxed); }

  void restarts(std::uint32_t stream) override {
    {
      const std::lock_guard lock(mutex_);
      const auto last = std::find_if(failures_.rbegin(), failures_.rend(),
                                     [stream](const Failure& one) { return one.stream == stream; });
      if (last != failures_.rend()) last->was_restarted = true;
    }
    state_of(stream).is_cut = false;
    state_of(stream).is_lost = false;
  }

  void left(std::uint32_t stream) override {
    if (stream < first_added_) return;
    const std::lock_guard lock(mutex_);
    --added_of(stream).open_ends;
    ended_.notify_all();
  }
  bool is_closing() const override { return stopping_; }

  void gave_up(std::uint32_t stream) override {
    const std::lock_guard lock(mutex_);
    state_of(stream).is_over = true;
    for (const Node& node : nodes_) {
      if (node.element->role != Role::kSource) continue;
      const std::uint32_t own = node.plan->streams.front();
      if (!reaches_a_sink(node, own)) state_of(own).is_over = true;
    }
    restart_.notify_all();
  }

  const PipelinePlan& plan() const { return plan_; }

  std::vector<NodeStats> stats() const {
    const std::lock_guard lock(mutex_);  // Lanes come and go under it.
    std::vector<NodeStats> all;
    for (const Node& node : nodes_) all.push_back(detail::stats_of(node));
    return all;
  }

  std::vector<Failure> failures() const {
    const std::lock_guard lock(mutex_);
    return failures_;
  }

 private:
  Stream& state_of(std::uint32_t stream) { return streams_[index_of(stream)]; }
  const Stream& state_of(std::uint32_t stream) const { return streams_[index_of(stream)]; }
  std::size_t index_of(std::uint32_t stream) const {
    return stream < first_added_ ? stream : first_added_ + (stream - first_added_) % spec_.more_sources;
  }
  Added& added_of(std::uint32_t stream) { return added_[(stream - first_added_) % spec_.more_sources]; }

  void start_thread(Node& node, Lane& lane) {
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

  /// @pre mutex_ is held. @errors kFailedPrecondition
  void check_runs() const {
    if (spec_.more_sources == 0)
      throw Error(
          Code::kFailedPrecondition,
          "add_source: the pipeline was made for the sources that it has; more_sources says how many more may come");
    if (!has_started_) throw Error(Code::kFailedPrecondition, "add_source: the pipeline has not started");
    if (stopping_) throw Error(Code::kFailedPrecondition, "add_source: the pipeline was stopped");
  }

  /// Takes a place for a source. @errors as add_source()
  Added* reserve(const NodeSpec& source, const std::string& like) {
    const std::string& name = source.name;
    const std::string what = "add_source '" + name + "': ";
    const Description& element = description_of(source);
    if (name.empty()) throw Error(Code::kInvalidArgument, "add_source: the source has no name");
    if (!source.from.empty() || source.queue)
      throw Error(Code::kInvalidArgument, what + "a source is fed by nothing and has no queue");
    if (element.role != Role::kSource)
      throw Error(Code::kInvalidArgument, what + "the element '" + element.name + "' is no source");
    {
      const std::lock_guard lock(mutex_);
      check_runs();
    }
    free_ended();
    const std::lock_guard lock(mutex_);
    check_runs();
    const Node* model = nullptr;
    for (const Node& node : nodes_) {
      const bool is_source = node.element->role == Role::kSource;
      const bool is_there = !is_source || !state_of(node.plan->streams.front()).has_ended;
      if (node.plan->spec.name == name && is_there)
        throw Error(Code::kAlreadyExists, what + "the pipeline has a node of that name");
      if (is_source && !model && (like.empty() || node.plan->spec.name == like)) model = &node;
    }
    if (!model)
      throw Error(Code::kNotFound, what + "there is no planned source '" + like + "' whose nodes it could feed");
    Added* place = nullptr;
    for (Added& one : added_) {
      if (one.is_taken() && one.plan->spec.name == name)
        throw Error(Code::kAlreadyExists, what + "the pipeline has a source of that name");
      if (!one.is_taken() && !place) place = &one;
    }
    if (!place)
      throw Error(Code::kResourceExhausted, what + std::to_string(added_.size()) +
                                                " sources were added already; more_sources says how many may be");
    const auto at = static_cast<std::uint32_t>(place - added_.data());
    place->stream = first_added_ + at + spec_.more_sources * rounds_[at]++;
    place->plan =
        std::make_unique<PipelinePlan::Node>(PipelinePlan::Node{source, {}, {place->stream}, {place->stream}, 0, true});
    place->node.plan = place->plan.get();
    place->node.element = &element;
    place->node.to = model->to;
    return place;
  }

  /// Makes the source and an element for each node on its way that is not shared. Takes no lock: that may take long.
  void make_lanes(Added& added) {
    const NodeSpec& spec = added.plan->spec;
    std::vector<Node::Next> open(added.node.to);
    std::set<Node*> known;  // Branches meet again.
    while (!open.empty()) {
      Node& node = *open.back().node;
      open.pop_back();
      if (!known.insert(&node).second) continue;
      if (node.element->joins)
        throw Error(Code::kUnimplemented, "add_source '" + spec.name + "': its way leads to '" + node.plan->spec.name +
                                              "', which joins the streams that it had at the beginning");
      if (!node.element->is_shared) claim_files(node.plan->spec, *node.element, added.stream);
      if (node.element->is_shared)
        added.shared.push_back(&node);
      else
        added.lanes.emplace_back(&node, std::make_unique<Lane>(spec_, *this, node, std::vector{added.stream}));
      open.insert(open.end(), node.to.begin(), node.to.end());
    }
    claim_files(spec, *added.node.element, added.stream);
    added.node.lanes.push_back(std::make_unique<Lane>(spec_, *this, added.node, std::vector{added.stream}));
  }

  /// @errors kInvalidArgument: the element would write over a file that is used.
  void claim_files(const NodeSpec& node, const Description& element, std::uint32_t stream) {
    const ElementFiles files = element_files(element, node.parameters, {node.name, nullptr, {stream}});
    const std::string what = "element '" + node.name + "':";
    for (const std::string& path : files.read) spec_.files->add_input(path, what);
    for (const std::string& path : files.written) spec_.files->add_output(path, what, files.appends);
  }

  /// @pre mutex_ is held.
  void begin(Added& added) {
    state_of(added.stream).reset();
    added.open_ends = 1 + added.shared.size() + added.lanes.size();
    for (Node* node : added.shared) node->lanes.front()->expect_stream();
    for (auto& [node, lane] : added.lanes) {
      Lane& own = *lane;
      place_in(*node, added.stream) = std::move(lane);
      start_thread(*node, own);
    }
    added.has_begun = true;
    start_thread(added.node, *added.node.lanes.front());
  }

  std::unique_ptr<Lane>& place_in(Node& node, std::uint32_t stream) {
    return node.lanes[node.plan->streams.size() + (stream - first_added_) % spec_.more_sources];
  }

  /// The right to join threads; none if the pipeline stops: stop() may wait for this thread. The destructor frees the rest.
  std::unique_lock<std::mutex> lock_joining() {
    std::unique_lock joining(joining_, std::try_to_lock);
    for (; !joining && !stopping_; (void)joining.try_lock()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    return joining;
  }

  /// Takes back what add_source() did before it failed: an element could not be made, or a thread not started.
  void abandon(Added& added) {
    const auto joining = lock_joining();
    if (!joining) return;
    std::vector<std::unique_ptr<Lane>> made;
    {
      const std::lock_guard lock(mutex_);
      for (auto& [node, lane] : added.lanes) made.push_back(std::move(lane ? lane : place_in(*node, added.stream)));
      for (Node* node : added.shared) {
        if (added.open_ends > 0) node->lanes.front()->withdraw_stream();
      }
      added.has_begun = false;
    }
    for (const std::unique_ptr<Lane>& lane : made) {
      if (lane->queue) lane->queue->close(true);
      if (lane->thread.joinable()) lane->thread.join();
    }
    made.clear();
    const std::lock_guard lock(mutex_);
    added.reset();
  }

  /// @pre mutex_ is held.
  void end_stream(std::uint32_t stream, Lane& source) {
    state_of(stream).is_removed = true;
    source.interrupt();
    restart_.notify_all();
  }

  /// Frees what an added source had, if its stream has ended. @pre mutex_ is not held.
  void free(Added& added, std::uint32_t stream) {
    const auto joining = lock_joining();
    if (!joining) return;
    std::vector<std::unique_ptr<Lane>> ended;
    {
      const std::lock_guard lock(mutex_);
      if (!added.is_taken() || added.stream != stream || !added.has_ended()) return;
      for (auto& [node, none] : added.lanes) {
        ended.push_back(std::move(place_in(*node, stream)));
        node->gone.add(*ended.back());
      }
      ended.push_back(std::move(added.node.lanes.front()));
      added.has_begun = false;  // The place stays taken while the threads that end use the node.
      ended_.notify_all();
    }
    for (const std::unique_ptr<Lane>& lane : ended) {
      if (lane->thread.joinable()) lane->thread.join();
    }
    ended.clear();
    const std::lock_guard lock(mutex_);
    added.reset();
  }

  void free_ended() {
    for (Added& one : added_) {
      std::unique_lock lock(mutex_);
      const std::uint32_t stream = one.stream;
      const bool has_ended = one.is_taken() && one.has_ended();
      lock.unlock();
      if (has_ended) free(one, stream);
    }
  }

  SourceState source_state(const Node& node, std::uint32_t stream, bool was_added) const {
    const Stream& state = state_of(stream);
    SourceState made{node.plan->spec.name, node.plan->spec.element, stream, was_added, SourceState::Now::kOpening, 0};
    made.frames = node.lanes.front()->frames_out;
    if (state.has_ended)
      made.now = state.is_lost ? SourceState::Now::kFailed : SourceState::Now::kEnded;
    else if (state.is_removed || stopping_)
      made.now = SourceState::Now::kEnding;
    else if (state.is_open)
      made.now = SourceState::Now::kRunning;
    return made;
  }

  /// Whether frames of the stream that come to the node still reach a sink.
  bool reaches_a_sink(const Node& node, std::uint32_t stream) const {
    using detail::Walk;
    return detail::walk_downstream(node, stream, [&](const Node& next, std::uint32_t comes) {
      return state_of(comes).is_over ? Walk::kNotPast : next.to.empty() ? Walk::kFound : Walk::kGoOn;
    });
  }

  template <typename Body>
  void for_each_lane(Body body) {
    for (Node& node : nodes_) {
      for (const std::unique_ptr<Lane>& lane : node.lanes) {
        if (lane) body(*lane);
      }
    }
    for (Added& one : added_) {
      if (one.is_taken() && one.has_begun) body(*one.node.lanes.front());
    }
  }

  void request_stop() {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    restart_.notify_all();
    all_done_.notify_all();
    for_each_lane([](Lane& lane) {
      if (std::holds_alternative<std::unique_ptr<Source>>(lane.element)) lane.interrupt();
      if (lane.queue) lane.queue->wake();  // Shared elements that waited for streams to be added end.
    });
  }

  /// The thread of a source: reads its stream, and restarts it after failures as the spec says.
  void feed(const Node& node, Lane& lane) {
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

  bool is_wanted(const Lane& lane, std::uint32_t stream) const {
    const Stream& state = state_of(stream);
    return !stopping_ && !state.is_lost && !state.is_over && !state.is_removed &&
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
      silent_until =
          Clock::now() + spec_.patience;  // Time spent waiting for room downstream does not count as silence.
    }
  }

  const PipelineSpec spec_;
  const PipelinePlan plan_;
  const std::uint32_t first_added_;  ///< The number of the first stream that is added.
  std::vector<Node> nodes_;
  std::vector<Stream> streams_;
  std::vector<Added> added_;
  std::vector<std::uint32_t> rounds_ =
      std::vector<std::uint32_t>(spec_.more_sources);  ///< How often each place was taken.
  std::atomic<bool> stopping_{false}, is_interrupted_{false};
  mutable std::mutex mutex_;
  std::mutex joining_;
  std::condition_variable all_done_, restart_, ended_;
  std::vector<Failure> failures_;
  std::size_t running_ = 0;
  bool has_started_ = false;
};

std::string_view name(SourceState::Now now) {
  constexpr std::string_view kNames[] = {"opening", "running", "ending", "ended", "failed"};
  return kNames[static_cast<std::size_t>(now)];
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
