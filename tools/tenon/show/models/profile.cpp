// SPDX-License-Identifier: Apache-2.0
// Adds up profiles, and writes them as tables and JSON.
#include <tenon/tools/tenon/show/models/profile.hpp>

#include <algorithm>
#include <optional>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include <tenon/graph/exec_model_info.hpp>
#include <tenon/tools/tenon/show/text/text_table.hpp>

namespace tenon::tool {
namespace {

namespace info = exec_model_info;

std::string share_text(double part, double whole) {
  return fmt::format("{:5.1f}%", whole > 0 ? 100 * part / whole : 0);
}
double gigabytes_per_second(const Profile::Sum& sum) { return sum.us > 0 ? sum.bytes / sum.us / 1e3 : 0; }
double gigaflops_per_second(const Profile::Sum& sum) { return sum.us > 0 ? 2 * sum.multiply_adds / sum.us / 1e3 : 0; }
std::string rate_text(double rate) { return rate > 0 ? fmt::format("{:8.1f}", rate) : ""; }

std::string joined(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text;
}

/// Joins the first names, each cut to its last `most_characters`, and the number of the others; 0: all names, whole.
std::string shortened(const std::vector<std::string>& names, std::size_t most_characters) {
  if (most_characters == 0) return joined(names);
  constexpr std::size_t kMostNames = 3;
  std::vector<std::string> some;
  for (const std::string& name : names) {
    if (some.size() == kMostNames) break;
    const bool is_long = name.size() > most_characters;
    some.push_back(is_long ? "..." + name.substr(name.size() + 3 - most_characters) : name);
  }
  if (names.size() > some.size()) some.push_back(fmt::format("+{}", names.size() - some.size()));
  return joined(some);
}

struct TypeSum {
  std::string type;
  std::size_t nodes = 0;
  Profile::Sum all;
};

std::vector<TypeSum> by_type(const std::vector<Profile::Node>& nodes) {
  std::map<std::string, TypeSum> sums;
  for (const Profile::Node& node : nodes) {
    TypeSum& sum = sums[node.type];
    sum.type = node.type;
    ++sum.nodes;
    sum.all += node.all;
  }
  std::vector<TypeSum> sorted;
  for (const auto& [type, sum] : sums) sorted.push_back(sum);
  std::sort(sorted.begin(), sorted.end(), [](const TypeSum& a, const TypeSum& b) { return a.all.us > b.all.us; });
  return sorted;
}

nlohmann::json json_of(const Profile::Sum& sum, bool has_steps, bool has_roof) {
  nlohmann::json json{{"us", sum.us}};
  if (!has_steps) return json;
  json["bytes"] = sum.bytes;
  json["multiply_adds"] = sum.multiply_adds;
  json["gigabytes_per_second"] = gigabytes_per_second(sum);
  json["gigaflops_per_second"] = gigaflops_per_second(sum);
  if (has_roof) json["share_of_roof"] = sum.us > 0 ? sum.least_us / sum.us : 0;
  return json;
}

}  // namespace

/// The figures of a node with this name and kernel, with what the executed model says of it.
struct Profile::Step {
  Sum all;  ///< `us` of one inference; 0: not measured.
  std::vector<std::string> nodes;
};

Profile::Sum& Profile::Sum::operator+=(const Sum& other) {
  us += other.us;
  bytes += other.bytes;
  multiply_adds += other.multiply_adds;
  least_us += other.least_us;
  return *this;
}

std::map<std::string, Profile::Step> Profile::steps_of(const Model& executed) const {
  std::map<std::string, Step> steps;
  for (const auto& node : executed.get_ordered_ops()) {
    if (step_note(*node, info::EXECUTION_ORDER).empty()) continue;
    Step& step = steps[node->get_friendly_name() + '\n' + step_note(*node, info::IMPL_TYPE)];
    Sum sum;
    sum.us = step_number(*node, info::TIME_NS) / 1e3;
    sum.bytes = step_number(*node, info::BYTES_READ) + step_number(*node, info::BYTES_WRITTEN) +
                step_number(*node, info::WEIGHT_BYTES);
    sum.multiply_adds = step_number(*node, info::MULTIPLY_ADDS);
    sum.least_us = roof_.least_us(sum.bytes, 2 * sum.multiply_adds, step_note(*node, info::RUNTIME_PRECISION));
    step.all += sum;
    for (const std::string& name : original_names(*node))
      if (std::find(step.nodes.begin(), step.nodes.end(), name) == step.nodes.end()) step.nodes.push_back(name);
  }
  return steps;
}

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
    node.all.us += static_cast<double>(info.real_time.count());
  }
}

void Profile::add(const std::vector<ProfilingInfo>& infos, const ExecutedSteps& steps) {
  std::map<std::string, double> before;
  for (const auto& [key, node] : nodes_) before[key] = node.all.us;
  add(infos);
  no_steps_ = steps.reason();
  if (!steps.model()) return;
  for (auto& [key, step] : steps_of(*steps.model())) {
    const auto found = nodes_.find(key);
    if (found == nodes_.end()) continue;
    Node& node = found->second;
    if (step.all.us > 0) node.all.us = before[key];
    node.all += step.all;
    node.nodes = std::move(step.nodes);
  }
}

Profile::Sum Profile::mean(const Sum& sum) const {
  const double count = static_cast<double>(std::max<std::size_t>(inferences_, 1));
  return {sum.us / count, sum.bytes / count, sum.multiply_adds / count, sum.least_us / count};
}

double Profile::sum_us() const {
  Sum sum;
  for (const auto& [key, node] : nodes_) sum += node.all;
  return mean(sum).us;
}

std::vector<Profile::Node> Profile::nodes() const {
  std::vector<Node> sorted;
  for (const auto& [key, node] : nodes_) sorted.push_back(node);
  std::stable_sort(sorted.begin(), sorted.end(), [](const Node& a, const Node& b) { return a.all.us > b.all.us; });
  return sorted;
}

std::string Profile::to_text(std::size_t most, std::size_t width) const {
  constexpr std::size_t kWide = 110, kNameCharacters = 28;
  const std::vector<Node> sorted = nodes();
  Sum all;
  for (const Node& node : sorted) all += node.all;
  const bool has_steps = all.bytes > 0, has_roof = all.least_us > 0, has_types = width == 0 || width >= kWide;
  using Row = std::vector<std::string>;
  const auto heading = [&](Row row) {
    row.insert(row.end(), {"us", "share"});
    if (has_steps) row.insert(row.end(), {"GB/s", "GFLOP/s"});
    if (has_roof) row.emplace_back("roof");
    return row;
  };
  const auto figures = [&](Row row, const Sum& sum) {
    row.insert(row.end(), {fmt::format("{:9.1f}", mean(sum).us), share_text(sum.us, all.us)});
    if (has_steps) row.insert(row.end(), {rate_text(gigabytes_per_second(sum)), rate_text(gigaflops_per_second(sum))});
    if (has_roof) row.push_back(share_text(sum.least_us, sum.us));
    return row;
  };
  const auto described = [&](Row row, const std::string& type, const std::string& kernel, const std::string& names) {
    if (has_types) row.push_back(type);
    row.insert(row.end(), {kernel, names});
    return row;
  };
  std::vector<Row> rows{described(heading({}), "operation", "kernel", "nodes")};
  Sum rest;
  for (std::size_t i = 0; i < sorted.size(); ++i) {
    const Node& node = sorted[i];
    if (i >= most) {
      rest += node.all;
      continue;
    }
    const auto names = node.nodes.empty() ? std::vector{node.name} : node.nodes;
    rows.push_back(
        described(figures({}, node.all), node.type, node.kernel, shortened(names, width == 0 ? 0 : kNameCharacters)));
  }
  if (sorted.size() > most)
    rows.push_back(
        described(figures({}, rest), "", "", fmt::format("... and {} more: --json has all", sorted.size() - most)));
  rows.push_back(described(figures({}, all), "all", has_types ? "" : "all", ""));
  std::string text = text_table(rows, width);
  rows = {heading({"operation", "kernels"})};
  for (const TypeSum& type : by_type(sorted))
    rows.push_back(figures({type.type, std::to_string(type.nodes)}, type.all));
  text += "\n" + text_table(rows, width);
  text += fmt::format("{:.1f} us in {} kernels, mean of {} inferences; {} nodes fused or removed\n", mean(all).us,
                      sorted.size(), inferences_, optimised_out_);
  if (!has_steps)
    return text + "no bytes and operations: " + (no_steps_.empty() ? "the device does not report them" : no_steps_) +
           "\n";
  return text + roof_.to_text();
}

nlohmann::json Profile::to_json() const {
  nlohmann::json list = nlohmann::json::array(), types = nlohmann::json::array();
  const std::vector<Node> sorted = nodes();
  Sum all;
  for (const Node& node : sorted) all += node.all;
  const bool has_steps = all.bytes > 0, has_roof = all.least_us > 0;
  const auto figures = [&](const Sum& sum, nlohmann::json entry) {
    entry.update(json_of(mean(sum), has_steps, has_roof));
    return entry;
  };
  for (const Node& node : sorted) {
    nlohmann::json entry{{"name", node.name}, {"type", node.type}, {"kernel", node.kernel}};
    if (has_steps) entry["nodes"] = node.nodes;
    list.push_back(figures(node.all, std::move(entry)));
  }
  for (const TypeSum& type : by_type(sorted))
    types.push_back(figures(type.all, {{"type", type.type}, {"nodes", type.nodes}}));
  return {{"inferences", inferences_},
          {"sum_us", sum_us()},
          {"all", json_of(mean(all), has_steps, has_roof)},
          {"nodes", std::move(list)},
          {"operations", std::move(types)},
          {"optimised_out", optimised_out_},
          {"roof", roof_.to_json()}};
}

}  // namespace tenon::tool
