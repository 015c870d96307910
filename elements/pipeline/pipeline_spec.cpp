// SPDX-License-Identifier: Apache-2.0
// Checks pipelines and sorts their nodes.
#include <tenon/elements/pipeline_spec.hpp>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include <tenon/core/credentials.hpp>
#include <tenon/core/error.hpp>
#include <tenon/elements/internal/text.hpp>
#include <tenon/elements/registry.hpp>

namespace tenon {
inline namespace v1 {
namespace elements {
namespace {

[[noreturn]] void refuse_graph(const std::string& message) {
  throw Error(Code::kInvalidArgument, "pipeline: " + message);
}

/// The number of nodes that call each other in one thread. More would need more stack than a thread has, so the next node of a longer
/// chain gets a queue and a thread of its own.
constexpr std::size_t kMaxNodesInThread = 100;

/// Names nodes that have no name: with the element's name, and a number if that name is taken.
void name_nodes(std::vector<NodeSpec>& nodes) {
  std::set<std::string> taken;
  std::map<std::string, int> numbers;  // The last one of each element.
  for (const NodeSpec& node : nodes) {
    if (!node.name.empty() && !taken.insert(node.name).second)
      refuse_graph("there are two nodes named " + in_quotes(node.name));
  }
  for (NodeSpec& node : nodes) {
    if (!node.name.empty()) continue;
    node.name = node.element;
    int& number = numbers.try_emplace(node.element, 1).first->second;
    while (!taken.insert(node.name).second) node.name = node.element + std::to_string(++number);
  }
}

std::size_t index_of(const std::map<std::string, std::size_t>& places, const std::string& name,
                     const std::string& reader) {
  if (const auto found = places.find(name); found != places.end()) return found->second;
  std::vector<std::string> names;
  for (const auto& [known, place] : places) names.push_back(known);
  const std::string nearest = nearest_name(name, names);
  throw Error(Code::kNotFound, "pipeline: node " + in_quotes(reader) + " is fed by " + in_quotes(name) +
                                   ", which does not exist" +
                                   (nearest.empty() ? "" : "; did you mean " + in_quotes(nearest) + "?"));
}

/// For each node, the indices of the nodes that feed it. Fills in `from` where it is empty.
std::vector<std::vector<std::size_t>> feeders_of(std::vector<NodeSpec>& nodes) {
  std::vector<std::vector<std::size_t>> feeders(nodes.size());
  std::map<std::string, std::size_t> places;
  for (std::size_t i = 0; i < nodes.size(); ++i) places.emplace(nodes[i].name, i);
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    NodeSpec& node = nodes[i];
    const Role role = description_of(node).role;
    if (role == Role::kSource) {
      if (!node.from.empty()) refuse_graph("node " + in_quotes(node.name) + " is a source, and nothing can feed it");
      continue;
    }
    if (node.from.empty()) {
      if (i == 0) refuse_graph("node " + in_quotes(node.name) + " comes first and is no source");
      node.from.push_back(nodes[i - 1].name);
    }
    for (const std::string& name : node.from) {
      const std::size_t from = index_of(places, name, node.name);
      if (std::find(feeders[i].begin(), feeders[i].end(), from) != feeders[i].end())
        refuse_graph("node " + in_quotes(node.name) + " is fed by " + in_quotes(name) + " twice");
      if (description_of(nodes[from]).role == Role::kSink)
        refuse_graph("node " + in_quotes(node.name) + " is fed by " + in_quotes(name) + ", which is a sink");
      feeders[i].push_back(from);
    }
  }
  return feeders;
}

/// The nodes in an order in which each stands behind the nodes that feed it. @errors kInvalidArgument: a cycle
std::vector<std::size_t> ordered(const std::vector<NodeSpec>& nodes,
                                 const std::vector<std::vector<std::size_t>>& feeders) {
  enum class Mark : std::uint8_t { kNew, kOpen, kDone };
  std::vector<Mark> marks(nodes.size(), Mark::kNew);
  std::vector<std::size_t> order;
  // The way from a node to what feeds it, each with the number of its feeders that were looked at: no recursion, since a pipeline may
  // be longer than the stack is deep.
  std::vector<std::pair<std::size_t, std::size_t>> path;
  const auto open = [&](std::size_t i) {
    if (marks[i] == Mark::kOpen) {
      std::string circle = in_quotes(nodes[i].name);
      for (auto at = path.rbegin(); at != path.rend() && at->first != i; ++at)
        circle += " -> " + in_quotes(nodes[at->first].name);
      refuse_graph("a cycle: " + circle + " -> " + in_quotes(nodes[i].name));
    }
    if (marks[i] == Mark::kDone) return;
    marks[i] = Mark::kOpen;
    path.emplace_back(i, 0);
  };
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    open(i);
    while (!path.empty()) {
      auto& [node, seen] = path.back();
      if (seen < feeders[node].size()) {
        open(feeders[node][seen++]);
        continue;
      }
      marks[node] = Mark::kDone;
      order.push_back(node);
      path.pop_back();
    }
  }
  return order;
}

/// Whether a node may join what the two others give it as branches of the same streams.
void check_branch(const PipelinePlan::Node& node, const PipelinePlan::Node& first, const PipelinePlan::Node& other) {
  const std::set<std::uint32_t> ours(first.gives.begin(), first.gives.end());
  if (ours == std::set<std::uint32_t>(other.gives.begin(), other.gives.end())) return;
  refuse_graph("node " + in_quotes(node.spec.name) + " joins branches of the same streams, and " +
               in_quotes(first.spec.name) + " and " + in_quotes(other.spec.name) +
               " give it different ones; let both come from one node ('identity' for several sources)");
}

/// Finds out which streams reach each node, and whether the node needs a thread.
/// @param grows  Streams may be added, each with threads of its own.
void follow_streams(PipelinePlan& plan, const std::vector<std::vector<std::size_t>>& feeders, bool grows) {
  // The threads that call each node: its own thread, or that of the source or node upstream; for one stream or for all.
  std::vector<std::set<std::pair<std::size_t, std::uint32_t>>> callers(plan.nodes.size());
  constexpr auto kAll = static_cast<std::uint32_t>(-1), kAdded = static_cast<std::uint32_t>(-2);
  std::vector<std::size_t> calls(plan.nodes.size());  // How many nodes call each other, up to this one.
  const auto role_of = [](const PipelinePlan::Node& node) { return description_of(node.spec).role; };
  const auto sources = std::count_if(plan.nodes.begin(), plan.nodes.end(),
                                     [&](const auto& node) { return role_of(node) == Role::kSource; });
  for (std::size_t i = 0; i < plan.nodes.size(); ++i) {
    PipelinePlan::Node& node = plan.nodes[i];
    const Description& element = description_of(node.spec);
    if (element.role == Role::kSource) {
      node.streams = {static_cast<std::uint32_t>(plan.streams++)};
      node.gives = node.streams;
      node.has_thread = true;
      callers[i] = {{i, kAll}};
      if (grows) callers[i].insert({i, kAdded});
      continue;
    }
    std::set<std::pair<std::size_t, std::uint32_t>> threads;
    for (const std::size_t from : feeders[i]) {
      plan.nodes[from].to.push_back(i);
      calls[i] = std::max(calls[i], calls[from] + 1);
      threads.insert(callers[from].begin(), callers[from].end());
      if (element.joins_branches && from != feeders[i].front()) {
        check_branch(node, plan.nodes[feeders[i].front()], plan.nodes[from]);
        continue;
      }
      for (const std::uint32_t stream : plan.nodes[from].gives) {
        if (std::find(node.streams.begin(), node.streams.end(), stream) != node.streams.end())
          refuse_graph("node " + in_quotes(node.spec.name) +
                       " gets the same stream on two paths; 'aggregate' joins branches into one stream again");
        node.streams.push_back(stream);
      }
    }
    node.gives = node.streams;
    if (element.joins) node.gives = {static_cast<std::uint32_t>(sources) + static_cast<std::uint32_t>(plan.joined++)};
    node.writers = threads.size();
    node.has_thread = node.spec.queue || element.has_thread || element.joins_branches ||
                      (element.is_shared && threads.size() > 1) || calls[i] >= kMaxNodesInThread;
    if (node.has_thread) calls[i] = 0;
    if (!node.has_thread) {
      callers[i] = threads;
    } else if (element.is_shared) {
      callers[i] = {{i, kAll}};
    } else {
      for (const std::uint32_t stream : node.streams) callers[i].insert({i, stream});
      if (grows) callers[i].insert({i, kAdded});
    }
  }
}

}  // namespace

const Description& description_of(const NodeSpec& node) {
  return node.own ? node.own->description : find_element(node.element);
}

PipelinePlan plan_pipeline(const PipelineSpec& spec) {
  std::vector<NodeSpec> nodes = spec.nodes;
  name_nodes(nodes);
  const auto feeders = feeders_of(nodes);
  const std::vector<std::size_t> order = ordered(nodes, feeders);
  if (spec.more_sources > PipelineSpec::kMostMoreSources)
    refuse_graph("more_sources is " + std::to_string(spec.more_sources) + "; at most " +
                 std::to_string(PipelineSpec::kMostMoreSources) + " sources may be added");
  PipelinePlan plan;
  std::vector<std::size_t> place(nodes.size());
  std::vector<std::vector<std::size_t>> placed(nodes.size());
  for (const std::size_t i : order) {
    place[i] = plan.nodes.size();
    for (const std::size_t from : feeders[i]) placed[place[i]].push_back(place[from]);
    if (nodes[i].queue && nodes[i].queue->size == 0)
      refuse_graph("the queue of node " + in_quotes(nodes[i].name) + " has no room: its size is 0");
    if (nodes[i].queue && nodes[i].queue->size > QueueOptions::kMaxSize)
      refuse_graph("the queue of node " + in_quotes(nodes[i].name) + " has a size of " +
                   std::to_string(nodes[i].queue->size) + "; at most " + std::to_string(QueueOptions::kMaxSize) +
                   " frames may wait");
    plan.nodes.push_back({nodes[i], {}, {}, {}, 0, false});
  }
  follow_streams(plan, placed, spec.more_sources > 0);
  if (plan.streams == 0) refuse_graph("there is no source");
  for (const PipelinePlan::Node& node : plan.nodes) {
    if (node.to.empty() && description_of(node.spec).role != Role::kSink)
      refuse_graph("the output of node " + in_quotes(node.spec.name) +
                   " goes nowhere; end with a sink, for example 'null'");
  }
  return plan;
}

std::string to_dot(const PipelinePlan& plan) {
  const auto text = [](const std::string& raw) {
    std::string escaped = "\"";
    for (const char letter : raw) {
      if (letter == '"' || letter == '\\') escaped += '\\';
      escaped += letter;
    }
    return escaped + "\"";
  };
  std::string dot = "digraph pipeline {\n  rankdir=LR;\n  node [shape=box, fontname=\"sans-serif\"];\n";
  for (const PipelinePlan::Node& node : plan.nodes) {
    std::string label = node.spec.name;
    if (node.spec.element != node.spec.name) label += "\n" + node.spec.element;
    for (const auto& [name, value] : node.spec.parameters) label += "\n" + name + "=" + shown_value(name, value);
    dot += "  " + text(node.spec.name) + " [label=" + text(label) + (node.has_thread ? ", style=bold" : "") + "];\n";
  }
  for (const PipelinePlan::Node& node : plan.nodes) {
    for (const std::size_t to : node.to)
      dot += "  " + text(node.spec.name) + " -> " + text(plan.nodes[to].spec.name) + ";\n";
  }
  return dot + "}\n";
}

}  // namespace elements
}  // namespace v1
}  // namespace tenon
