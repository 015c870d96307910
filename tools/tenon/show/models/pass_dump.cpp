// SPDX-License-Identifier: Apache-2.0
// Graphs before and after each pass: nodes removed, nodes added, and the picture.
#include <tenon/tools/tenon/show/models/pass_dump.hpp>

#include <set>

#include <fmt/core.h>

#include <tenon/core/error.hpp>

#include <tenon/tools/tenon/show/models/graph_dot.hpp>
#include <tenon/tools/tenon/show/models/stage.hpp>

namespace tenon::tool {
namespace fs = std::filesystem;

PassDump::PassDump(const fs::path& folder, CommandFiles& files) : folder_(folder), files_(files) {
  if (!folder_.empty()) {
    std::error_code failure;
    fs::create_directories(folder_, failure);
    if (!fs::is_directory(folder_, failure)) {
      throw Error(Code::kPermissionDenied,
                  "--dump-graph \"" + folder_.string() + "\" is not a folder and cannot be created; choose another");
    }
  }
  observer_ = std::make_unique<pass::Observer>(
      [this](const Model& model, const std::string& pass, bool changed) { see(model, pass, changed); });
}

PassDump::~PassDump() = default;

void PassDump::see(const Model& model, const std::string& pass, bool changed) {
  PassChange change;
  change.pass = pass.empty() ? "input" : pass;
  change.changed = changed;
  Names now;
  for (const auto& node : model.get_ordered_ops()) {
    if (!as_type<op::v0::Constant>(node.get())) now[node->get_friendly_name()] = node->get_type_name();
  }
  change.nodes = now.size();
  std::set<std::string> made;
  if (!pass.empty()) {
    for (const auto& [name, type] : before_) {
      const auto found = now.find(name);
      if (found == now.end() || found->second != type) ++change.gone[type];
    }
    for (const auto& [name, type] : now) {
      const auto found = before_.find(name);
      if (found != before_.end() && found->second == type) continue;
      ++change.made[type];
      made.insert(name);
    }
  }
  if (!folder_.empty() && (pass.empty() || changed)) {
    change.dot =
        write(change.pass, dot_of(model, fmt::format("{} after {}", model.get_friendly_name(), change.pass), made));
  }
  before_ = std::move(now);
  changes_.push_back(std::move(change));
}

std::string PassDump::write(const std::string& name, const std::string& dot) {
  const fs::path file = folder_ / fmt::format("{:02}_{}.dot", changes_.size(), name);
  OutputFile out(file.string(), "--dump-graph", files_);
  files_.add_output(fs::path(file).replace_extension(".svg"), "--dump-graph");
  out.commit(dot);
  return file.string();
}

void PassDump::add_runtime(const Model& model, const std::string& title) {
  if (!folder_.empty()) runtime_.dot = write("runtime", dot_of(model, title));
}

std::string PassDump::draw_all() {
  if (folder_.empty()) return "";
  if (!can_draw()) return "the .dot files were not drawn: graphviz's dot is not installed, or cannot write SVG";
  constexpr std::chrono::seconds kPerGraph{30};
  std::vector<PassChange*> written{&runtime_};
  for (PassChange& change : changes_) written.push_back(&change);
  for (PassChange* const one : written) {
    PassChange& change = *one;
    if (change.dot.empty()) continue;
    const fs::path svg = fs::path(change.dot).replace_extension(".svg");
    const Stage stage("drawing " + svg.string());
    if (!draw(change.dot, svg, kPerGraph))
      return fmt::format("{} was not drawn: dot failed, or took more than {} s", change.dot, kPerGraph.count());
    change.svg = svg.string();
  }
  return "";
}

}  // namespace tenon::tool
