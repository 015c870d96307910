// SPDX-License-Identifier: Apache-2.0
// Sources that are added to a pipeline and taken out of it while it runs.
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <tenon/core/error.hpp>
#include <tenon/elements/internal/engine.hpp>
#include <tenon/elements/registry.hpp>

namespace tenon {
inline namespace v1 {
namespace elements {

std::uint32_t Pipeline::Engine::add_source(const NodeSpec& source, const std::string& like) {
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

bool Pipeline::Engine::remove_source(const std::string& name, Deadline deadline) {
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

std::vector<SourceState> Pipeline::Engine::sources() const {
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

void Pipeline::Engine::left(std::uint32_t stream) {
  if (stream < first_added_) return;
  const std::lock_guard lock(mutex_);
  --added_of(stream).open_ends;
  ended_.notify_all();
}

void Pipeline::Engine::check_runs() const {
  if (spec_.more_sources == 0)
    throw Error(
        Code::kFailedPrecondition,
        "add_source: the pipeline was made for the sources that it has; more_sources says how many more may come");
  if (!has_started_) throw Error(Code::kFailedPrecondition, "add_source: the pipeline has not started");
  if (stopping_) throw Error(Code::kFailedPrecondition, "add_source: the pipeline was stopped");
}

detail::AddedSource* Pipeline::Engine::reserve(const NodeSpec& source, const std::string& like) {
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

void Pipeline::Engine::make_lanes(Added& added) {
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

void Pipeline::Engine::claim_files(const NodeSpec& node, const Description& element, std::uint32_t stream) {
  const ElementFiles files = element_files(element, node.parameters, {node.name, nullptr, {stream}});
  const std::string what = "element '" + node.name + "':";
  for (const std::string& path : files.read) spec_.files->add_input(path, what);
  for (const std::string& path : files.written) spec_.files->add_output(path, what, files.appends);
}

void Pipeline::Engine::begin(Added& added) {
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

std::unique_lock<std::mutex> Pipeline::Engine::lock_joining() {
  std::unique_lock joining(joining_, std::try_to_lock);
  for (; !joining && !stopping_; (void)joining.try_lock()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  return joining;
}

void Pipeline::Engine::abandon(Added& added) {
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

void Pipeline::Engine::end_stream(std::uint32_t stream, Lane& source) {
  state_of(stream).is_removed = true;
  source.interrupt();
  restart_.notify_all();
}

void Pipeline::Engine::free(Added& added, std::uint32_t stream) {
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

void Pipeline::Engine::free_ended() {
  for (Added& one : added_) {
    std::unique_lock lock(mutex_);
    const std::uint32_t stream = one.stream;
    const bool has_ended = one.is_taken() && one.has_ended();
    lock.unlock();
    if (has_ended) free(one, stream);
  }
}

SourceState Pipeline::Engine::source_state(const Node& node, std::uint32_t stream, bool was_added) const {
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

std::string_view name(SourceState::Now now) {
  constexpr std::string_view kNames[] = {"opening", "running", "ending", "ended", "failed"};
  return kNames[static_cast<std::size_t>(now)];
}

}  // namespace elements
}  // namespace v1
}  // namespace tenon
