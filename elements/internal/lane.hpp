// SPDX-License-Identifier: Apache-2.0
// Lanes: one for each instance of an element. What happens to a stream travels through them in the order of its frames: it
// begins, its frames, it ends; so an element's state needs no lock, and a restart is an end and a beginning.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <tenon/core/audio.hpp>
#include <tenon/core/frame.hpp>
#include <tenon/core/ledger.hpp>
#include <tenon/core/policy.hpp>
#include <tenon/elements/description.hpp>
#include <tenon/elements/element.hpp>
#include <tenon/elements/internal/latencies.hpp>
#include <tenon/elements/internal/negotiation.hpp>
#include <tenon/elements/internal/restarts.hpp>
#include <tenon/elements/pipeline_spec.hpp>
#include <tenon/elements/queue.hpp>

namespace tenon {
inline namespace v1 {
namespace elements {
namespace detail {

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

class Lane;

/// A node of the plan with its lanes: one, or one for each stream.
struct Node {
  const PipelinePlan::Node* plan = nullptr;
  const Description* element = nullptr;
  std::vector<Node*> to;
  std::vector<std::unique_ptr<Lane>> lanes;
  /// @pre the stream passes through the node.
  Lane& lane_of(std::uint32_t stream) const;
  /// The number with which a stream leaves it.
  std::uint32_t gives(std::uint32_t stream) const { return element->joins ? plan->gives.front() : stream; }
};

/// What a node threw that was asked on behalf of another.
struct SaidBy {
  const Node* node;
  std::exception_ptr error;
};

/// What lanes tell their pipeline.
class Host {
 public:
  virtual ~Host() = default;
  /// The stream failed in `node`; frames of it are dropped until it ends, or begins again.
  /// @param error  Also of SaidBy: the failure is then its node's.
  virtual void failed(std::uint32_t stream, const Node& node, std::exception_ptr error) = 0;
  virtual bool is_lost(std::uint32_t stream) const = 0;
  /// The stream that was lost begins again.
  virtual void restarts(std::uint32_t stream) = 0;
  /// A joined stream that was lost does not: sources that feed nothing else may stop.
  virtual void gave_up(std::uint32_t stream) = 0;
};

class Lane final : public Output {
 public:
  /// @param spec, host, node  Must outlive it.
  Lane(const PipelineSpec& spec, Host& host, Node& node, std::vector<std::uint32_t> streams);

  /// Takes what comes from upstream: into the queue, or at once.
  void deliver(Message message);
  /// The thread of a lane with a queue.
  void run();
  void emit(Item item) override;
  /// To all that this node feeds. Each gets metadata of its own.
  void pass_on(Message message);
  void pass_on(Message::Kind kind, std::uint32_t stream, std::shared_ptr<const StreamInfo> info = nullptr);
  void interrupt() noexcept;
  /// A span of the node's name, if a trace is open. Spans of what is called downstream lie in it.
  void trace(Clock::time_point begin, Clock::time_point end) const;
  /// What all who see the element's own frames want of them. @param stream  As it comes to the element.
  /// @errors kFailedPrecondition: two of them cannot agree; SaidBy: what one of them threw.
  Negotiation agree_on(std::uint32_t stream, const StreamInfo& info);
  /// What is thrown, with the names of those who cannot share memory.
  std::exception_ptr explained(std::uint32_t stream, const std::exception_ptr& error) const;

  AnyElement element;
  Ledger ledger;
  std::optional<Queue<Message>> queue;
  std::thread thread;
  std::atomic<std::uint64_t> frames_in{0}, frames_out{0}, dropped{0};
  std::atomic<std::int64_t> busy_ns{0};
  Latencies latencies;

 private:
  struct Open {
    bool is_open = false;              ///< open() has returned, and end() was not called since.
    bool has_failed = false;           ///< Since it was opened.
    Clock::time_point born{};          ///< Of the stream's frame that came last.
    std::vector<std::string> readers;  ///< Nodes that said which memory they want, in the order of the agreement.
  };
  /// Of an element that joins streams.
  struct Joined {
    std::shared_ptr<const StreamInfo> info;  ///< Null before it has begun.
    Restarts restarts;
    std::optional<Clock::time_point> again;  ///< When it begins again, if it is lost.
    bool is_over = false;
  };

  void handle(Message message);
  void proceed();
  void begin(const Message& message);
  StreamInfo open_transform(Transform& transform, const Message& begins);
  void frame(Message message);
  void end(std::uint32_t stream);
  void last(Message message);
  bool begin_again(std::uint32_t stream);
  template <typename Body>
  bool guarded(std::uint32_t stream, Body body);
  template <typename Body>
  void timed(Body body);
  std::size_t index_of(std::uint32_t stream) const;

  const PipelineSpec& spec_;
  Host& host_;
  Node& node_;
  const std::vector<std::uint32_t> streams_;
  std::vector<Open> open_;
  std::optional<Joined> joined_;
  std::size_t streams_left_ = streams_.size();
  Clock::duration elsewhere_{};
};

}  // namespace detail
}  // namespace elements
}  // namespace v1
}  // namespace tenon
