// SPDX-License-Identifier: Apache-2.0
// Checks pipelines and sorts their nodes.
#include <tenon/elements/pipeline_spec.hpp>

#include <algorithm>
#include <functional>
#include <set>
#include <utility>

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

/// Names nodes that have no name: with the element's name, and a number if that name is taken.
void name_nodes(std::vector<NodeSpec>& nodes) {
  std::set<std::string> taken;
  for (const NodeSpec& node : nodes) {
    if (!node.name.empty() && !taken.insert(node.name).second)
      refuse_graph("there are two nodes named " + in_quotes(node.name));
  }
  for (NodeSpec& node : nodes) {
    if (!node.name.empty()) continue;
    node.name = node.element;
    for (int number = 2; !taken.insert(node.name).second; ++number) node.name = node.element + std::to_string(number);
  }
}

std::size_t index_of(const std::vector<NodeSpec>& nodes, const std::string& name, const std::string& reader) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (nodes[i].name == name) return i;
    names.push_back(nodes[i].name);
  }
  const std::string nearest = nearest_name(name, names);
  throw Error(Code::kNotFound, "pipeline: node " + in_quotes(reader) + " is fed by " + in_quotes(name) +
                                   ", which does not exist" +
                                   (nearest.empty() ? "" : "; did you mean " + in_quotes(nearest) + "?"));
}

/// For each node, the indices of the nodes that feed it. Fills in `from` where it is empty.
std::vector<std::vector<std::size_t>> feeders_of(std::vector<NodeSpec>& nodes) {
  std::vector<std::vector<std::size_t>> feeders(nodes.size());
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
      const std::size_t from = index_of(nodes, name, node.name);
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
  std::vector<std::size_t> order, path;
  const std::function<void(std::size_t)> visit = [&](std::size_t i) {
    if (marks[i] == Mark::kDone) return;
    path.push_back(i);
    if (marks[i] == Mark::kOpen) {
      std::string circle;
      for (auto at = std::find(path.begin(), path.end(), i); at != path.end(); ++at)
        circle = in_quotes(nodes[*at].name) + (circle.empty() ? "" : " -> " + circle);
      refuse_graph("a cycle: " + circle);
    }
    marks[i] = Mark::kOpen;
    for (const std::size_t from : feeders[i]) visit(from);
    marks[i] = Mark::kDone;
    path.pop_back();
    order.push_back(i);
  };
  for (std::size_t i = 0; i < nodes.size(); ++i) visit(i);
  return order;
}

/// Finds out which streams reach each node, and whether the node needs a thread.
void follow_streams(PipelinePlan& plan, const std::vector<std::vector<std::size_t>>& feeders) {
  // The threads that call each node: its own thread, or that of the source or node upstream; for one stream or for all.
  std::vector<std::set<std::pair<std::size_t, std::uint32_t>>> callers(plan.nodes.size());
  constexpr auto kAll = static_cast<std::uint32_t>(-1);
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
      continue;
    }
    std::set<std::pair<std::size_t, std::uint32_t>> threads;
    for (const std::size_t from : feeders[i]) {
      plan.nodes[from].to.push_back(i);
      threads.insert(callers[from].begin(), callers[from].end());
      for (const std::uint32_t stream : plan.nodes[from].gives) {
        if (std::find(node.streams.begin(), node.streams.end(), stream) != node.streams.end())
          refuse_graph("node " + in_quotes(node.spec.name) + " gets the same stream on two paths");
        node.streams.push_back(stream);
      }
    }
    node.gives = node.streams;
    if (element.joins) node.gives = {static_cast<std::uint32_t>(sources) + static_cast<std::uint32_t>(plan.joined++)};
    node.writers = threads.size();
    node.has_thread = node.spec.queue || element.has_thread || (element.is_shared && threads.size() > 1);
    if (!node.has_thread) {
      callers[i] = threads;
    } else if (element.is_shared) {
      callers[i] = {{i, kAll}};
    } else {
      for (const std::uint32_t stream : node.streams) callers[i].insert({i, stream});
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
  PipelinePlan plan;
  std::vector<std::size_t> place(nodes.size());
  std::vector<std::vector<std::size_t>> placed(nodes.size());
  for (const std::size_t i : order) {
    place[i] = plan.nodes.size();
    for (const std::size_t from : feeders[i]) placed[place[i]].push_back(place[from]);
    if (nodes[i].queue && nodes[i].queue->size == 0)
      refuse_graph("the queue of node " + in_quotes(nodes[i].name) + " has no room: its size is 0");
    plan.nodes.push_back({nodes[i], {}, {}, {}, 0, false});
  }
  follow_streams(plan, placed);
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
    for (const auto& [name, value] : node.spec.parameters) label += "\n" + name + "=" + value;
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
