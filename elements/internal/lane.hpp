// SPDX-License-Identifier: Apache-2.0
// Lanes: one for each instance of an element. The events of a stream (its begin, its frames, its end) travel through them in
// order, so an element's state needs no lock, and a restart is an end and a begin.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <tenon/core/audio.hpp>
#include <tenon/core/frame.hpp>
#include <tenon/core/ledger.hpp>
#include <tenon/core/policy.hpp>
#include <tenon/elements/description.hpp>
#include <tenon/elements/element.hpp>
#include <tenon/elements/internal/branches.hpp>
#include <tenon/elements/internal/latencies.hpp>
#include <tenon/elements/internal/negotiation.hpp>
#include <tenon/elements/internal/restarts.hpp>
#include <tenon/elements/pipeline_spec.hpp>
#include <tenon/elements/queue.hpp>

namespace tenon {
inline namespace v1 {
namespace elements {

struct NodeStats;

namespace detail {

/// An event of a stream, which passes from lane to lane.
struct Message {
  /// kJoin: a stream that was added will come, for shared elements. kLast: the end, and no more comes.
  enum class Kind : std::uint8_t { kJoin, kBegin, kFrame, kEnd, kLast };
  Kind kind = Kind::kFrame;
  std::uint32_t stream = 0;
  std::uint32_t branch = 0;                ///< For a node that joins branches: the path on which it comes.
  Clock::time_point born{};                ///< When the source read the frame.
  std::shared_ptr<const StreamInfo> info;  ///< For kBegin.
  Frame frame;
  AudioFrame audio;  ///< In place of `frame` for a stream of sound.
};

/// Reads the next picture or the next sound. @return False at the end of the stream.
bool read_next(Source& source, bool is_audio, Deadline deadline, Message& next);

class Lane;

/// What lanes counted.
struct Totals {
  std::uint64_t frames_in = 0, frames_out = 0, dropped = 0, expected = 0;
  std::int64_t busy_ns = 0;
  LedgerEntry moved;
  void add(const Lane& lane);
};

/// A node of the plan with its lanes: one, or one for each stream.
struct Node {
  /// A node that it feeds, and the place of this one among those that feed it.
  struct Next {
    Node* node = nullptr;
    std::uint32_t branch = 0;
  };
  const PipelinePlan::Node* plan = nullptr;
  const Description* element = nullptr;
  std::vector<Next> to;
  /// A node that is not shared has one for each planned stream, and behind them a place for each stream that may be added.
  /// @thread A place is written under the pipeline's lock, before its stream begins and after it has ended.
  std::vector<std::unique_ptr<Lane>> lanes;
  std::uint32_t first_added = 0;  ///< The number of the first stream that may be added.
  std::uint32_t places = 0;       ///< For streams that are added; 0: none comes here.
  Totals gone = {};               ///< What lanes counted whose streams were removed.
  /// The lane that serves the stream. @pre The stream passes through the node.
  Lane& lane_of(std::uint32_t stream) const;
  /// The number that a stream has when it leaves the node.
  std::uint32_t gives(std::uint32_t stream) const { return element->joins ? plan->gives.front() : stream; }
  /// Adds a node that it feeds.
  void feed(Node& next);
  /// The paths on which each of its streams comes.
  std::uint32_t branches() const {
    return element->joins_branches ? static_cast<std::uint32_t>(plan->spec.from.size()) : 1;
  }
};

/// What walk_downstream() does after a node.
enum class Walk : std::uint8_t { kGoOn, kNotPast, kFound };

/// Calls `body(node, stream)` once for `first` and for each node behind it that the stream reaches, with its number there.
/// @return Whether body found what it looks for.
template <typename Body>
bool walk_downstream(const Node& first, std::uint32_t stream, Body body) {
  std::vector<std::pair<const Node*, std::uint32_t>> seen{{&first, stream}};  // No recursion: pipelines may be long.
  std::set<const Node*> known{&first};                                        // Branches meet again.
  while (!seen.empty()) {
    const auto [node, number] = seen.back();
    seen.pop_back();
    const Walk next_step = body(*node, number);
    if (next_step == Walk::kFound) return true;
    if (next_step == Walk::kNotPast) continue;
    for (const Node::Next& next : node->to)
      if (known.insert(next.node).second) seen.emplace_back(next.node, node->gives(number));
  }
  return false;
}

/// What the node did so far. @pre The pipeline's lock is held, if streams may be added.
NodeStats stats_of(const Node& node);

/// An exception from a node that was called on behalf of another one.
struct NodeError {
  const Node* node;
  std::exception_ptr error;
};

/// The pipeline's interface for its lanes.
class Host {
 public:
  virtual ~Host() = default;
  /// The stream failed in `node`. Its frames are dropped until it ends or begins again.
  /// @param error  If it is a NodeError, the failure is booked for the node that it names.
  virtual void failed(std::uint32_t stream, const Node& node, std::exception_ptr error) = 0;
  /// Whether an element lost the stream, so that what others still emit of it is not wanted.
  virtual bool is_lost(std::uint32_t stream) const = 0;
  /// The stream that was lost begins again.
  virtual void restarts(std::uint32_t stream) = 0;
  /// A joined stream that was lost does not begin again: sources that feed nothing else may stop.
  virtual void gave_up(std::uint32_t stream) = 0;
  /// A lane has seen the end of the stream, and does nothing for it any more.
  virtual void left(std::uint32_t stream) = 0;
  /// Whether no stream will be added.
  virtual bool is_closing() const = 0;
};

class Lane final : public Output {
 public:
  /// @param spec, host, node  Must outlive the lane.
  Lane(const PipelineSpec& spec, Host& host, Node& node, std::vector<std::uint32_t> streams);

  /// Takes a message from upstream and puts it into the queue; without a queue, handles it at once.
  void deliver(Message message);
  /// Drops what waits and takes no more. The lane's thread then ends the element, as at the end of its streams. @thread any
  void cut_short();
  /// The thread of a lane with a queue.
  void run();
  void emit(Item item) override;
  /// Delivers the message to all nodes that this node feeds. Each gets metadata of its own.
  void pass_on(Message message);
  void pass_on(Message::Kind kind, std::uint32_t stream, std::shared_ptr<const StreamInfo> info = nullptr);
  void interrupt() noexcept;
  /// A stream will be added to this shared lane. @thread any, while the pipeline is not closing.
  void expect_stream() { streams_left_.fetch_add(1); }
  /// It will not, after all. @thread as expect_stream()
  void withdraw_stream() {
    streams_left_.fetch_sub(1);
    if (queue) queue->wake();  // Nothing else may come, if the pipeline has been stopped meanwhile.
  }
  /// Records a span with the node's name, if a trace is open. The spans of nodes that it calls lie within it.
  void trace(Clock::time_point begin, Clock::time_point end) const;
  /// Negotiates the memory of the frames that this element makes with all nodes that use those frames.
  /// @param stream  Its number as it comes to the element.
  /// @errors kFailedPrecondition: two nodes exclude each other; NodeError: an exception from one of the nodes.
  Negotiation negotiate(std::uint32_t stream, const StreamInfo& info);
  /// `error`; a NoMemory is replaced by an error that names the nodes which cannot share memory.
  std::exception_ptr explained(std::uint32_t stream, const std::exception_ptr& error) const;

  AnyElement element;
  Ledger ledger;
  std::optional<Queue<Message>> queue;
  std::thread thread;
  std::atomic<std::uint64_t> frames_in{0}, frames_out{0}, dropped{0}, expected{0};
  std::atomic<std::int64_t> busy_ns{0};
  Latencies latencies;

 private:
  struct Open {
    bool is_open = false;              ///< open() has returned, and end() has not been called since.
    bool has_failed = false;           ///< The stream has failed since it was opened.
    bool is_over = false;              ///< No more comes of it.
    Clock::time_point born{};          ///< That of the stream's last frame.
    std::vector<std::string> readers;  ///< The nodes that said which memory they want, in the order of the negotiation.
  };
  /// The state of an element that joins streams.
  struct Joined {
    std::shared_ptr<const StreamInfo> info;  ///< Null before it has begun.
    Restarts restarts;
    std::optional<Clock::time_point> again;  ///< When the joined stream begins again, if it is lost.
    bool is_over = false;
  };

  /// @errors none: what fails outside of the element fails the stream.
  void handle(Message message);
  void take(Message message);
  void act(Message message);
  void end_branch(std::uint32_t stream, std::uint32_t branch);
  void proceed();
  void begin(const Message& message);
  StreamInfo open_transform(Transform& transform, const Message& begins);
  void frame(Message message);
  void end(std::uint32_t stream);
  void join(std::uint32_t stream);
  void last(Message message);
  /// Whether no more streams come, now and later.
  bool is_over() const { return streams_left_ == 0 && (!waits_for_more_ || host_.is_closing()); }
  /// The queue was closed, so the ends of streams do not come any more: ends all that are open.
  void end_all();
  /// Ends the element, and shared ones behind it that have no thread, once.
  /// @param whatever_comes  Also those that expect more streams.
  void finish(bool whatever_comes = false);
  bool begin_again(std::uint32_t stream);
  template <typename Body>
  bool guarded(std::uint32_t stream, Body body);
  template <typename Body>
  void timed(Body body);
  std::size_t index_of(std::uint32_t stream) const;

  const PipelineSpec& spec_;
  Host& host_;
  Node& node_;
  std::vector<std::uint32_t> streams_;
  std::vector<Open> open_;
  std::optional<Joined> joined_;
  std::optional<Branches<Message>> branches_;
  const bool waits_for_more_;  ///< Streams may be added until the pipeline closes.
  std::atomic<std::size_t> streams_left_{streams_.size()};
  bool is_finished_ = false;
  std::uint32_t last_stream_ = 0;  ///< The one that ended last.
  Clock::duration elsewhere_{};
};

}  // namespace detail
}  // namespace elements
}  // namespace v1
}  // namespace tenon
