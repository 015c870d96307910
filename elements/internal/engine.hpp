// SPDX-License-Identifier: Apache-2.0
// What runs a pipeline: pipeline.cpp starts and stops it and feeds it, added_sources.cpp has the sources that come and go meanwhile.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include <tenon/core/policy.hpp>
#include <tenon/core/stream_time.hpp>
#include <tenon/elements/internal/added_source.hpp>
#include <tenon/elements/internal/lane.hpp>
#include <tenon/elements/pipeline.hpp>

namespace tenon {
inline namespace v1 {
namespace elements {

class Pipeline::Engine final : public detail::Host {
  using Added = detail::AddedSource;
  using Lane = detail::Lane;
  using Message = detail::Message;
  using Node = detail::Node;
  using Restarts = detail::Restarts;
  using Stream = detail::StreamState;

 public:
  explicit Engine(const PipelineSpec& spec);
  ~Engine() override { stop(Clock::now()); }
  void start();
  std::uint32_t add_source(const NodeSpec& source, const std::string& like);
  bool remove_source(const std::string& name, Deadline deadline);
  std::vector<SourceState> sources() const;
  bool is_own_thread() const noexcept;
  bool wait(Deadline deadline);
  void stop(Deadline deadline);
  void failed(std::uint32_t stream, const Node& node, std::exception_ptr error) override;
  /// Changes nothing where it fails.
  void note_failure(std::uint32_t stream, const Node& node, std::exception_ptr error);
  bool is_lost(std::uint32_t stream) const override { return state_of(stream).is_cut.load(std::memory_order_relaxed); }
  void restarts(std::uint32_t stream) override;
  void left(std::uint32_t stream) override;
  bool is_closing() const override { return stopping_; }
  void gave_up(std::uint32_t stream) override;
  const PipelinePlan& plan() const { return plan_; }
  std::vector<NodeStats> stats() const;
  std::vector<Failure> failures() const;

 private:
  Stream& state_of(std::uint32_t stream) { return streams_[index_of(stream)]; }
  const Stream& state_of(std::uint32_t stream) const { return streams_[index_of(stream)]; }
  std::size_t index_of(std::uint32_t stream) const {
    return stream < first_added_ ? stream : first_added_ + (stream - first_added_) % spec_.more_sources;
  }
  Added& added_of(std::uint32_t stream) { return added_[(stream - first_added_) % spec_.more_sources]; }
  void start_thread(Node& node, Lane& lane);
  /// @pre mutex_ is held. @errors kFailedPrecondition
  void check_runs() const;
  /// Takes a place for a source. @errors as add_source()
  Added* reserve(const NodeSpec& source, const std::string& like);
  /// Makes the source and an element for each node on its way that is not shared. Takes no lock: that may take long.
  void make_lanes(Added& added);
  /// @errors kInvalidArgument: the element would write over a file that is used.
  void claim_files(const NodeSpec& node, const Description& element, std::uint32_t stream);
  /// @pre mutex_ is held.
  void begin(Added& added);
  std::unique_ptr<Lane>& place_in(Node& node, std::uint32_t stream) {
    return node.lanes[node.plan->streams.size() + (stream - first_added_) % spec_.more_sources];
  }
  /// The right to join threads; none if the pipeline stops: stop() may wait for this thread. The destructor frees the rest.
  std::unique_lock<std::mutex> lock_joining();
  /// Takes back what add_source() did before it failed: an element could not be made, or a thread not started.
  void abandon(Added& added);
  /// @pre mutex_ is held.
  void end_stream(std::uint32_t stream, Lane& source);
  /// Frees what an added source had, if its stream has ended. @pre mutex_ is not held.
  void free(Added& added, std::uint32_t stream);
  void free_ended();
  SourceState source_state(const Node& node, std::uint32_t stream, bool was_added) const;
  /// Whether frames of the stream that come to the node still reach a sink.
  bool reaches_a_sink(const Node& node, std::uint32_t stream) const;
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
  void request_stop();
  /// The thread of a source: reads its stream, and restarts it after failures as the spec says.
  void feed(const Node& node, Lane& lane);
  bool is_wanted(const Lane& lane, std::uint32_t stream) const;
  /// Puts the time of what a source gave on one line with what it gave before, over its restarts and jumps of its clock.
  static void move_on(StreamTime& time, Message& next, const StreamInfo& info);
  void read_stream(const Node& node, Lane& lane, Restarts& restarts, StreamTime& time);

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

}  // namespace elements
}  // namespace v1
}  // namespace tenon
