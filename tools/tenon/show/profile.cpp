// SPDX-License-Identifier: Apache-2.0
// Sums over profiles, as tables and JSON.
#include <tenon/tools/tenon/show/profile.hpp>

#include <algorithm>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include <tenon/tools/tenon/show/text_table.hpp>

namespace tenon::tool {
namespace {

std::string share_text(double part, double whole) {
  return fmt::format("{:5.1f}%", whole > 0 ? 100 * part / whole : 0);
}

struct TypeSum {
  std::string type;
  std::size_t nodes = 0;
  double us = 0;
};

std::vector<TypeSum> by_type(const std::vector<Profile::Node>& nodes, double inferences) {
  std::map<std::string, TypeSum> sums;
  for (const Profile::Node& node : nodes) {
    TypeSum& sum = sums[node.type];
    sum.type = node.type;
    ++sum.nodes;
    sum.us += node.total_us / inferences;
  }
  std::vector<TypeSum> sorted;
  for (const auto& [type, sum] : sums) sorted.push_back(sum);
  std::sort(sorted.begin(), sorted.end(), [](const TypeSum& a, const TypeSum& b) { return a.us > b.us; });
  return sorted;
}

}  // namespace

void Profile::add(const std::vector<ProfilingInfo>& infos) {
  ++inferences_;
  optimised_out_ = 0;
  for (const ProfilingInfo& info : infos) {
    if (info.status != ProfilingInfo::Status::EXECUTED) {
      optimised_out_ += info.status == ProfilingInfo::Status::OPTIMIZED_OUT;
      continue;
    }
    Node& node = nodes_[info.node_name + '\n' + info.exec_type];
    node.name = info.node_name;
    node.type = info.node_type;
    node.kernel = info.exec_type;
    node.total_us += static_cast<double>(info.real_time.count());
    ++node.runs;
  }
}

double Profile::sum_us() const {
  double sum = 0;
  for (const auto& [key, node] : nodes_) sum += node.total_us;
  return inferences_ ? sum / static_cast<double>(inferences_) : 0;
}

std::vector<Profile::Node> Profile::nodes() const {
  std::vector<Node> sorted;
  for (const auto& [key, node] : nodes_) sorted.push_back(node);
  std::stable_sort(sorted.begin(), sorted.end(), [](const Node& a, const Node& b) { return a.total_us > b.total_us; });
  return sorted;
}

std::string Profile::to_text(std::size_t most) const {
  const std::vector<Node> sorted = nodes();
  const double sum = sum_us(), count = static_cast<double>(std::max<std::size_t>(inferences_, 1));
  std::vector<std::vector<std::string>> rows{{"node", "operation", "kernel", "us", "share"}};
  for (std::size_t i = 0; i < std::min(most, sorted.size()); ++i) {
    const double us = sorted[i].total_us / count;
    rows.push_back({sorted[i].name, sorted[i].type, sorted[i].kernel, fmt::format("{:9.1f}", us), share_text(us, sum)});
  }
  std::string text = text_table(rows);
  if (sorted.size() > most) text += fmt::format("... and {} more nodes: --json has all\n", sorted.size() - most);
  rows = {{"operation", "nodes", "us", "share"}};
  for (const TypeSum& type : by_type(sorted, count))
    rows.push_back({type.type, std::to_string(type.nodes), fmt::format("{:9.1f}", type.us), share_text(type.us, sum)});
  text += "\n" + text_table(rows);
  return text + fmt::format("{:.1f} us in {} nodes, mean of {} inferences; {} nodes fused or removed\n", sum,
                            sorted.size(), inferences_, optimised_out_);
}

nlohmann::json Profile::to_json() const {
  const double count = static_cast<double>(std::max<std::size_t>(inferences_, 1));
  nlohmann::json list = nlohmann::json::array(), types = nlohmann::json::array();
  const std::vector<Node> sorted = nodes();
  for (const Node& node : sorted)
    list.push_back({{"name", node.name}, {"type", node.type}, {"kernel", node.kernel}, {"us", node.total_us / count}});
  for (const TypeSum& type : by_type(sorted, count))
    types.push_back({{"type", type.type}, {"nodes", type.nodes}, {"us", type.us}});
  return {{"inferences", inferences_},
          {"sum_us", sum_us()},
          {"nodes", std::move(list)},
          {"operations", std::move(types)},
          {"optimised_out", optimised_out_}};
}

}  // namespace tenon::tool
