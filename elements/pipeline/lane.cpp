// SPDX-License-Identifier: Apache-2.0
// Calls elements, and passes their results on.
#include <tenon/elements/internal/lane.hpp>

#include <algorithm>
#include <new>
#include <utility>
#include <variant>

#include <tenon/core/error.hpp>
#include <tenon/core/metadata.hpp>
#include <tenon/core/trace_name.hpp>
#include <tenon/elements/internal/insist.hpp>
#include <tenon/elements/pipeline.hpp>
#include <tenon/elements/places.hpp>
#include <tenon/elements/registry.hpp>

namespace tenon {
inline namespace v1 {
namespace elements {
namespace detail {
namespace {

AnyElement make_node(const NodeSpec& spec, const Environment& environment) {
  return spec.own ? make_element(*spec.own, spec.parameters, environment)
                  : make_element(spec.element, spec.parameters, environment);
}

/// @errors kInvalidArgument: the stream has sound and the element takes pictures, or the reverse.
void check_takes(const Description& element, const StreamInfo& in) {
  if (element.takes == Takes::kBoth || (element.takes == Takes::kAudio) == in.is_audio()) return;
  throw Error(Code::kInvalidArgument,
              "element '" + element.name + "' takes " +
                  (in.is_audio() ? "pictures, and the stream is one of sound" : "sound, and the stream has pictures"));
}

/// `frame` with a copy of its metadata: copies of a frame share their metadata, and branches must not.
Frame apart(const Frame& frame) {
  static const Frame plain;
  const bool has_none = &frame.metadata() == &plain.metadata();  // An empty map is shared, too.
  if (has_none || frame.plane_count() == 0) return frame;
  Frame copy(frame.info(), std::vector<Tensor>(frame.planes().begin(), frame.planes().end()), frame.timestamp_ns());
  copy.metadata() = frame.metadata();
  if (const auto known = metadata::find(frame)) metadata::set(copy, known->copy());
  return copy;
}

AudioFrame apart(const AudioFrame& audio) {
  AudioFrame copy = audio;
  if (const auto known = audio.find_metadata()) copy.set_metadata(known->copy());
  return copy;
}

/// Asks one node for its requirements. @errors NodeError: an exception from the node.
NodeRequirements requirements_of(const Node& node, std::uint32_t stream, const StreamInfo& info) {
  try {
    return std::visit(
        [&](auto& one) {
          return NodeRequirements{node.plan->spec.name, one->wanted(info), one->used_in(info)};
        },
        node.lane_of(stream).element);
  } catch (...) {
    throw NodeError{&node, std::current_exception()};
  }
}

/// Negotiates with all nodes that use the frames of `maker`: those that it feeds, and those behind transforms in place.
/// @param stream  Its number as it leaves the maker.
Negotiation negotiate_after(const Node& maker, std::uint32_t stream, const StreamInfo& info) {
  std::vector<NodeRequirements> nodes;
  std::vector<Node::Next> open(maker.to);
  while (!open.empty()) {
    const Node& node = *open.back().node;
    open.pop_back();
    nodes.push_back(requirements_of(node, stream, info));
    if (node.element->role == Role::kTransformInplace) open.insert(open.end(), node.to.begin(), node.to.end());
  }
  return negotiate(maker.plan->spec.name, nodes);
}

}  // namespace

bool read_next(Source& source, bool is_audio, Deadline deadline, Message& next) {
  if (is_audio) {
    std::optional<AudioFrame> audio = source.read_audio(deadline);
    if (audio) next.audio = std::move(*audio);
    return audio.has_value();
  }
  std::optional<Frame> frame = source.read(deadline);
  if (frame) next.frame = std::move(*frame);
  return frame.has_value();
}

void Node::feed(Node& next) {
  const std::vector<std::string>& from = next.plan->spec.from;
  const auto branch = std::find(from.begin(), from.end(), plan->spec.name) - from.begin();
  to.push_back({&next, static_cast<std::uint32_t>(branch)});
}

Lane& Node::lane_of(std::uint32_t stream) const {
  if (lanes.size() == 1) return *lanes.front();
  if (places > 0 && stream >= first_added) return *lanes[plan->streams.size() + (stream - first_added) % places];
  const auto at = std::find(plan->streams.begin(), plan->streams.end(), stream);
  return *lanes[static_cast<std::size_t>(at - plan->streams.begin())];
}

Lane::Lane(const PipelineSpec& spec, Host& host, Node& node, std::vector<std::uint32_t> streams)
    : ledger(&Ledger::process()),
      spec_(spec),
      host_(host),
      node_(node),
      streams_(std::move(streams)),
      open_(streams_.size()),
      waits_for_more_(node.places > 0 && node.element->is_shared && !node.element->joins) {
  element = make_node(node.plan->spec, {node.plan->spec.name, &ledger, streams_, spec_.files, node.branches()});
  if (node.plan->has_thread && node.element->role != Role::kSource)
    queue.emplace(node.plan->spec.queue.value_or(QueueOptions{}));
  if (node.element->joins) joined_.emplace(Joined{nullptr, Restarts(spec_), {}, false});
  if (node.branches() > 1) branches_.emplace(node.branches());
}

void Lane::deliver(Message message) {
  const bool is_frame = message.kind == Message::Kind::kFrame;
  if (!queue) return handle(std::move(message));
  if (const auto lost = queue->push(std::move(message), is_frame)) dropped.fetch_add(*lost, std::memory_order_relaxed);
}

void Lane::cut_short() {
  if (queue) dropped.fetch_add(queue->close(true), std::memory_order_relaxed);
}

void Lane::run() {
  const auto* const transform = std::get_if<std::unique_ptr<Transform>>(&element);
  const auto due = [&] { return transform ? (*transform)->due() : std::nullopt; };
  bool has_come = false;
  for (;;) {
    // Overdue work goes before frames that wait: as long as frames wait, pop() never reports that the time has come.
    const auto now = transform ? Clock::now() : Clock::time_point{};
    std::optional<Deadline> next = due();
    if (next && *next < now) {
      proceed();
      next = due();
    }
    if (std::optional<Message> message = queue->pop(next)) {
      has_come = true;
      handle(std::move(*message));
    } else if (queue->is_closed()) {
      return has_come ? end_all() : void();  // Nothing is open of streams that never came, here and downstream.
    } else if (next && Clock::now() >= *next) {
      proceed();
    }
    if (is_over()) return finish();
  }
}

void Lane::emit(Item item) {
  const std::uint32_t stream = node_.gives(item.stream);
  if (host_.is_lost(stream) && !begin_again(stream)) return;
  const auto now = Clock::now();
  Message message;
  message.stream = stream;
  const std::size_t at = index_of(item.stream);
  message.born = item.born == Clock::time_point{} && at < open_.size() ? open_[at].born : item.born;
  message.frame = std::move(item.frame);
  message.audio = std::move(item.audio);
  if (joined_) joined_->restarts.had_frame(now);
  latencies.add(now - message.born);
  frames_out.fetch_add(1, std::memory_order_relaxed);
  pass_on(std::move(message));
}

/// A joined stream has no source that could be opened again. It ends and begins at the element that joins it.
/// @return Whether the stream has begun.
bool Lane::begin_again(std::uint32_t stream) {
  if (!joined_ || joined_->is_over || !joined_->info) return false;
  if (!joined_->again) {
    const auto pause = joined_->restarts.next();
    if (!pause) {
      joined_->is_over = true;
      host_.gave_up(stream);
      return false;
    }
    joined_->again = Clock::now() + *pause;
  }
  if (Clock::now() < *joined_->again) return false;
  joined_->again.reset();
  pass_on(Message::Kind::kEnd, stream);
  host_.restarts(stream);
  pass_on(Message::Kind::kBegin, stream, joined_->info);
  return !host_.is_lost(stream);
}

void Lane::pass_on(Message message) {
  const auto pause = Clock::now();
  const std::vector<Node::Next>& to = node_.to;
  const std::uint32_t stream = message.stream;
  if (message.kind != Message::Kind::kFrame) {
    // A node that missed one would wait for it.
    for (const Node::Next& next : to) {
      message.branch = next.branch;
      insist([&] { next.node->lane_of(stream).deliver(message); });
    }
    elsewhere_ += Clock::now() - pause;
    return;
  }
  for (std::size_t i = 0; i + 1 < to.size(); ++i) {
    Message branch = message;
    branch.frame = apart(message.frame);
    branch.audio = apart(message.audio);
    branch.branch = to[i].branch;
    to[i].node->lane_of(stream).deliver(std::move(branch));
  }
  if (!to.empty()) {
    message.branch = to.back().branch;
    to.back().node->lane_of(stream).deliver(std::move(message));
  }
  elsewhere_ += Clock::now() - pause;
}

void Lane::pass_on(Message::Kind kind, std::uint32_t stream, std::shared_ptr<const StreamInfo> info) {
  Message message;
  message.kind = kind;
  message.stream = stream;
  message.info = std::move(info);
  pass_on(std::move(message));
}

void Lane::interrupt() noexcept {
  std::visit([](auto& one) { one->interrupt(); }, element);
}

void Lane::trace(Clock::time_point begin, Clock::time_point end) const {
  if (Trace::is_open()) Trace::record(trace_name(node_.plan->spec.name), "element", begin, end);
}

Negotiation Lane::negotiate(std::uint32_t stream, const StreamInfo& info) {
  Negotiation negotiated = negotiate_after(node_, node_.gives(stream), info);
  open_[index_of(stream)].readers = negotiated.names;
  return negotiated;
}

std::exception_ptr Lane::explained(std::uint32_t stream, const std::exception_ptr& error) const {
  try {
    std::rethrow_exception(error);
  } catch (const NoMemory& known) {
    try {
      return std::make_exception_ptr(
          Error(known.code(), not_shared(node_.plan->spec.name, open_[index_of(stream)].readers, known)));
    } catch (const std::bad_alloc&) {
      return error;
    }
  } catch (...) {
    return error;
  }
}

/// Runs the element's code. An exception from it is a failure of the stream.
template <typename Body>
bool Lane::guarded(std::uint32_t stream, Body body) {
  try {
    timed(body);
    return true;
  } catch (...) {
    host_.failed(stream, node_, explained(stream, std::current_exception()));
    return false;
  }
}

/// Books the time spent in the element, without the time spent downstream of it.
template <typename Body>
void Lane::timed(Body body) {
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

std::size_t Lane::index_of(std::uint32_t stream) const {
  return streams_.size() == 1
             ? 0
             : static_cast<std::size_t>(std::find(streams_.begin(), streams_.end(), stream) - streams_.begin());
}

void Lane::handle(Message message) {
  const std::uint32_t stream = message.stream;
  try {
    take(std::move(message));
  } catch (...) {
    // Memory was short between elements. What the stream has before this node is dropped; its end comes nevertheless.
    if (const std::size_t at = index_of(stream); at < open_.size()) open_[at].has_failed = true;
    host_.failed(stream, node_, std::current_exception());
  }
}

void Lane::take(Message message) {
  if (!branches_) return act(std::move(message));
  branches_->take(
      std::move(message), [this](Message&& next) { act(std::move(next)); },
      [this](std::uint32_t stream, std::uint32_t branch) { end_branch(stream, branch); });
}

void Lane::act(Message message) {
  switch (message.kind) {
    case Message::Kind::kJoin:
      join(message.stream);
      return pass_on(std::move(message));
    case Message::Kind::kBegin:
      return begin(message);
    case Message::Kind::kFrame:
      return frame(std::move(message));
    case Message::Kind::kEnd:
      end(message.stream);
      if (!joined_) pass_on(std::move(message));
      return;
    case Message::Kind::kLast:
      return last(std::move(message));
  }
}

void Lane::begin(const Message& message) {
  Open& state = open_[index_of(message.stream)];
  state = {};
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
  if (joined_ && joined_->info) return;  // The joined stream has begun already.
  auto given = std::make_shared<const StreamInfo>(out);
  if (joined_) joined_->info = given;
  pass_on(Message::Kind::kBegin, node_.gives(message.stream), std::move(given));
}

StreamInfo Lane::open_transform(Transform& transform, const Message& begins) {
  const StreamInfo out = transform.open(begins.stream, *begins.info);
  if (!out.is_audio()) {
    const Negotiation negotiated = negotiate(begins.stream, out);
    transform.allocate(begins.stream, negotiated.joined, negotiated.readers);
  }
  return out;
}

void Lane::frame(Message message) {
  Open& state = open_[index_of(message.stream)];
  if (!state.is_open || state.has_failed) {
    dropped.fetch_add(1, std::memory_order_relaxed);
    return;
  }
  frames_in.fetch_add(1, std::memory_order_relaxed);
  state.born = message.born;
  const std::uint32_t stream = message.stream;
  const Clock::time_point born = message.born;
  state.has_failed = !guarded(stream, [&] {
    if (auto* transform = std::get_if<std::unique_ptr<Transform>>(&element))
      (*transform)->process({stream, std::move(message.frame), std::move(message.audio), born, message.branch}, *this);
    else if (auto* inplace = std::get_if<std::unique_ptr<TransformInplace>>(&element))
      message.audio ? (*inplace)->process_audio(stream, message.audio) : (*inplace)->process(stream, message.frame);
    else
      message.audio ? std::get<std::unique_ptr<Sink>>(element)->write_audio(stream, message.audio)
                    : std::get<std::unique_ptr<Sink>>(element)->write(stream, message.frame);
  });
  if (state.has_failed || node_.element->role == Role::kTransform) return;  // Transforms are counted in emit().
  latencies.add(Clock::now() - born);
  if (node_.element->role != Role::kTransformInplace) return;
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

void Lane::end_branch(std::uint32_t stream, std::uint32_t branch) {
  Open& state = open_[index_of(stream)];
  if (!state.is_open || state.has_failed) return;
  state.has_failed =
      !guarded(stream, [&] { std::get<std::unique_ptr<Transform>>(element)->end_branch(stream, branch, *this); });
}

/// An exception may concern any of the element's streams, so it fails all that are open.
void Lane::proceed() {
  try {
    timed([&] { std::get<std::unique_ptr<Transform>>(element)->proceed(*this); });
  } catch (...) {
    for (std::size_t i = 0; i < streams_.size(); ++i) {
      if (!open_[i].is_open || std::exchange(open_[i].has_failed, true)) continue;
      host_.failed(streams_[i], node_, explained(streams_[i], std::current_exception()));
    }
  }
}

void Lane::join(std::uint32_t stream) {
  if (!waits_for_more_) return;  // It was made for its stream.
  insist([&] {
    open_.reserve(open_.size() + 1);
    streams_.push_back(stream);
  });
  open_.emplace_back();
}

void Lane::last(Message message) {
  const std::uint32_t stream = message.stream;
  last_stream_ = stream;
  end(stream);
  open_[index_of(stream)].is_over = true;
  if (node_.places > 0 && stream >= node_.first_added && waits_for_more_) {
    const auto at = static_cast<std::ptrdiff_t>(index_of(stream));
    streams_.erase(streams_.begin() + at);
    open_.erase(open_.begin() + at);
  }
  const bool is_the_last = --streams_left_ == 0;
  if (is_over()) finish();
  if (is_the_last || !joined_) {
    message.stream = node_.gives(stream);
    pass_on(std::move(message));
  }
  host_.left(stream);  // From here on the lane may be gone.
}

void Lane::end_all() {
  for (const std::uint32_t stream : std::vector(streams_)) {  // A copy: streams that were added leave the list.
    if (open_[index_of(stream)].is_over) continue;
    Message message;
    message.kind = Message::Kind::kLast;
    message.stream = stream;
    last(std::move(message));
  }
  finish(true);
}

void Lane::finish(bool whatever_comes) {
  if (std::exchange(is_finished_, true)) return;
  if (auto* sink = std::get_if<std::unique_ptr<Sink>>(&element)) guarded(last_stream_, [&] { (*sink)->finish(); });
  if (!waits_for_more_) return;
  for (const Node::Next& next : node_.to) {
    Lane& lane = *next.node->lanes.front();
    if (!next.node->element->is_shared || lane.queue) continue;  // Others end in their threads.
    if (whatever_comes || lane.is_over()) lane.finish(whatever_comes);
  }
}

NodeStats stats_of(const Node& node) {
  NodeStats one;
  one.name = node.plan->spec.name;
  one.element = node.plan->spec.element;
  Totals sum = node.gone;
  std::vector<const Latencies*> latencies;
  for (const std::unique_ptr<Lane>& lane : node.lanes) {
    if (!lane) continue;
    sum.add(*lane);
    if (lane->queue) {
      one.queued += lane->queue->size();
      one.queue_size += lane->queue->capacity();
    }
    latencies.push_back(&lane->latencies);
  }
  one.frames_in = sum.frames_in, one.frames_out = sum.frames_out;
  one.dropped = sum.dropped, one.expected = sum.expected;
  one.busy = std::chrono::nanoseconds(sum.busy_ns);
  one.moved = sum.moved;
  one.moved.name = one.name;
  const auto found = Latencies::quantiles<3>(latencies, {0.5, 0.9, 0.99});
  one.p50 = found[0], one.p90 = found[1], one.p99 = found[2];
  return one;
}

void Totals::add(const Lane& lane) {
  frames_in += lane.frames_in;
  frames_out += lane.frames_out;
  dropped += lane.dropped;
  expected += lane.expected;
  busy_ns += lane.busy_ns;
  const LedgerEntry one = lane.ledger.total();
  moved.maps += one.maps;
  moved.view_hits += one.view_hits;
  moved.copied += one.copied;
  moved.converted += one.converted;
  moved.transferred += one.transferred;
  moved.waits += one.waits;
  moved.wait_ns += one.wait_ns;
}

}  // namespace detail
}  // namespace elements
}  // namespace v1
}  // namespace tenon
