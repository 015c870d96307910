// SPDX-License-Identifier: Apache-2.0
// Compares the sources that a file wants with those that run.
#include <tenon/tools/tenon/shared/followed_sources.hpp>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <memory>
#include <set>
#include <system_error>
#include <utility>
#include <vector>

#include <tenon/core/credentials.hpp>
#include <tenon/core/error.hpp>
#include <tenon/core/file.hpp>

namespace tenon::tool {
namespace {

namespace fs = std::filesystem;
using elements::NodeSpec;
using elements::PipelinePlan;
using elements::PipelineSpec;

constexpr std::size_t kMostEntries = 10000;  ///< In a list.
constexpr std::chrono::seconds kEvery{1}, kForEnding{2};

bool is_source_node(const NodeSpec& node) { return description_of(node).role == elements::Role::kSource; }

/// The names of the nodes that get frames of the node.
std::set<std::string> fed_by(const std::vector<NodeSpec>& nodes, const std::string& name) {
  std::set<std::string> all;
  for (const NodeSpec& node : nodes) {
    if (std::find(node.from.begin(), node.from.end(), name) != node.from.end()) all.insert(node.name);
  }
  return all;
}

std::vector<NodeSpec> planned_nodes(const PipelineSpec& spec) {
  std::vector<NodeSpec> all;
  for (const PipelinePlan::Node& node : elements::plan_pipeline(spec).nodes) all.push_back(node.spec);
  return all;
}

/// The nodes that are no sources, as far as following cannot change them.
std::map<std::string, std::pair<std::string, std::map<std::string, std::string>>> fixed_part(
    const std::vector<NodeSpec>& nodes) {
  std::map<std::string, std::pair<std::string, std::map<std::string, std::string>>> all;
  for (const NodeSpec& node : nodes) {
    if (!is_source_node(node)) all[node.name] = {node.element, node.parameters};
  }
  return all;
}

/// A name for a path or URL: its last part without the ending, else its host.
std::string name_of(const std::string& entry) {
  std::string shown = without_credentials(entry);
  const std::size_t scheme = shown.find("://");
  if (scheme != std::string::npos) {
    shown = shown.substr(scheme + 3);
    if (const std::size_t sign = shown.find('@'); sign != std::string::npos) shown = shown.substr(sign + 1);
    shown = shown.substr(0, shown.find_first_of("?#"));
    std::replace(shown.begin(), shown.end(), '/', '-');
    return shown;
  }
  return fs::path(shown).stem().string();
}

/// A path, and the name that the list gives it; empty: none.
using Entry = std::pair<std::string, std::string>;

/// Names of sources. An entry keeps its name as long as it is listed, whatever others come before it: a source that is called otherwise
/// would be taken out and begin again.
class EntryNames {
 public:
  /// @return a name for each entry
  std::vector<std::string> of(const std::vector<Entry>& entries) {
    std::map<Entry, int> times;
    std::vector<Key> keys;
    for (const Entry& entry : entries) keys.push_back({entry, times[entry]++});
    std::map<Key, std::string> now;
    std::set<std::string> taken;
    for (const Key& key : keys) {
      const auto known = names_.find(key);
      if (known == names_.end()) continue;
      now.insert(*known);
      taken.insert(known->second);
    }
    std::vector<std::string> all;
    for (const Key& key : keys) {
      std::string& name = now[key];
      const auto& [path, title] = key.first;
      const std::string wished = title.empty() ? name_of(path) : title;
      for (int number = 1; name.empty(); ++number) {
        const std::string one = number == 1 ? wished : wished + "-" + std::to_string(number);
        if (taken.insert(one).second) name = one;
      }
      all.push_back(name);
    }
    names_ = std::move(now);
    return all;
  }

 private:
  using Key = std::pair<Entry, int>;  ///< The same entry may be listed several times.
  std::map<Key, std::string> names_;
};

std::vector<Entry> lines_of(const std::string& path) {
  std::ifstream file(path);
  if (!file) throw Error(Code::kNotFound, "the playlist \"" + path + "\" cannot be read");
  std::vector<Entry> all;
  std::string title;
  for (std::string line; std::getline(file, line);) {
    line.erase(line.find_last_not_of(" \t\r") + 1);
    line.erase(0, line.find_first_not_of(" \t"));
    if (line.rfind("#EXTINF:", 0) == 0) {
      const std::size_t comma = line.find(',');
      title = comma == std::string::npos ? "" : line.substr(comma + 1);
      title.erase(0, title.find_first_not_of(" \t"));
    }
    if (line.empty() || line.front() == '#') continue;
    // A path is relative to the list, as players have it.
    const bool is_local = line.find("://") == std::string::npos && fs::path(line).is_relative();
    all.emplace_back(is_local ? (fs::path(path).parent_path() / line).string() : line, std::exchange(title, ""));
    if (all.size() > kMostEntries)
      throw Error(Code::kInvalidArgument,
                  "the playlist \"" + path + "\" has more than " + std::to_string(kMostEntries) + " entries");
  }
  return all;
}

/// The files of a folder whose size did not change between two looks. One that has been listed stays it as long as it is there: it may grow.
class WatchedFolder {
 public:
  explicit WatchedFolder(std::string path) : path_(std::move(path)) {}
  std::vector<Entry> look() {
    std::vector<Entry> all;
    std::map<std::string, std::uintmax_t> sizes;
    std::set<std::string> listed;
    std::error_code error;
    for (const fs::directory_entry& entry : fs::directory_iterator(path_)) {
      const std::string name = entry.path().filename().string();
      const bool is_unfinished =
          name.front() == '.' || name.ends_with(".part") || name.ends_with(".tmp") || name.ends_with(".partial");
      if (is_unfinished || !entry.is_regular_file(error)) continue;
      const std::uintmax_t size = entry.file_size(error);
      if (error || size == 0) continue;
      sizes[name] = size;
      const auto before = sizes_.find(name);
      if (listed_.count(name) == 0 && (before == sizes_.end() || before->second != size)) continue;
      listed.insert(name);
      all.emplace_back(entry.path().string(), "");
    }
    sizes_ = std::move(sizes);
    listed_ = std::move(listed);
    std::sort(all.begin(), all.end());
    return all;
  }

 private:
  const std::string path_;
  std::map<std::string, std::uintmax_t> sizes_;
  std::set<std::string> listed_;
};

}  // namespace

ReadSources sources_of_file(std::function<PipelineSpec()> read, const PipelineSpec& planned) {
  const auto nodes = std::make_shared<const std::vector<NodeSpec>>(planned_nodes(planned));
  return [read = std::move(read), nodes] {
    const std::vector<NodeSpec> now = planned_nodes(read());
    if (fixed_part(now) != fixed_part(*nodes))
      throw Error(Code::kInvalidArgument,
                  "nodes other than sources have changed in the pipeline file; stop and start to use them");
    std::map<std::string, WantedSource> wanted;
    for (const NodeSpec& node : now) {
      if (!is_source_node(node)) continue;
      const std::set<std::string> feeds = fed_by(now, node.name);
      const auto like = std::find_if(nodes->begin(), nodes->end(), [&](const NodeSpec& one) {
        return is_source_node(one) && fed_by(*nodes, one.name) == feeds;
      });
      if (like == nodes->end())
        throw Error(Code::kInvalidArgument,
                    "the source '" + node.name +
                        "' of the pipeline file feeds nodes that no source fed together when the pipeline started");
      wanted[node.name] = {node, like->name};
    }
    return wanted;
  };
}

ReadSources sources_of_list(const std::string& path, const PipelineSpec& planned) {
  const std::vector<NodeSpec> nodes = planned_nodes(planned);
  const NodeSpec model = *std::find_if(nodes.begin(), nodes.end(), is_source_node);
  std::error_code error;
  const auto folder = fs::is_directory(path, error) ? std::make_shared<WatchedFolder>(path) : nullptr;
  return [path, model, folder, names = std::make_shared<EntryNames>()] {
    std::map<std::string, WantedSource> wanted;
    const std::vector<Entry> entries = folder ? folder->look() : lines_of(path);
    const std::vector<std::string> called = names->of(entries);
    for (std::size_t i = 0; i < entries.size(); ++i) {
      WantedSource one{model, model.name};
      one.node.parameters["path"] = entries[i].first;
      one.node.name = called[i];
      wanted[called[i]] = std::move(one);
    }
    return wanted;
  };
}

void add_followed_files(UsedFiles& files, const std::string& path) {
  if (path.empty()) return;
  std::error_code error;
  if (!fs::is_directory(path, error)) {
    files.add_input(path, "--sources");
    try {
      for (const Entry& entry : lines_of(path)) files.add_input(entry.first, "--sources");
    } catch (const Error&) {  // It may come later. FollowedSources says what is wrong.
    }
    return;
  }
  for (const fs::path& file : list_folder(path, error)) {
    std::error_code ignored;
    if (fs::is_regular_file(file, ignored)) files.add_input(file.string(), "--sources");
  }
}

FollowedSources::FollowedSources(elements::Pipeline& pipeline, ReadSources read,
                                 std::map<std::string, WantedSource> known,
                                 std::function<void(const std::string&)> tell)
    : pipeline_(pipeline), read_(std::move(read)), running_(std::move(known)), tell_(std::move(tell)) {}

void FollowedSources::tick() {
  if (Clock::now() < next_) return;
  next_ = Clock::now() + kEvery;
  try {
    say_once(follow(read_()));
  } catch (const std::exception& error) {
    say_once(error.what());
  }
}

std::string FollowedSources::follow(const std::map<std::string, WantedSource>& wanted) {
  for (auto one = running_.begin(); one != running_.end();) {
    const auto stays = wanted.find(one->first);
    if (stays != wanted.end() && stays->second == one->second) {
      ++one;
      continue;
    }
    try {
      if (!pipeline_.remove_source(one->first, Clock::now() + kForEnding)) {
        ++one;  // It ends later; its name is free then.
        continue;
      }
    } catch (const Error& error) {
      if (error.code() != Code::kNotFound) throw;  // It was removed by another way.
    }
    tell_("removed the source '" + one->first + "'");
    one = running_.erase(one);
  }
  std::string trouble;
  for (const auto& [name, source] : wanted) {
    if (running_.count(name) != 0) continue;
    if (const auto before = refused_as_.find(name); before != refused_as_.end() && before->second == source) continue;
    try {
      pipeline_.add_source(source.node, source.like);
      running_[name] = source;
      refused_as_.erase(name);
      tell_("added the source '" + name + "'");
    } catch (const Error& error) {
      if (error.code() == Code::kResourceExhausted) return error.what();  // There is room when another one ends.
      if (error.code() == Code::kAlreadyExists) {                         // One of that name may still be ending.
        trouble = error.what();
        continue;
      }
      refused_as_[name] = source;
      tell_(error.what());
    }
  }
  std::erase_if(refused_as_, [&](const auto& one) { return wanted.count(one.first) == 0; });
  return trouble;
}

void FollowedSources::say_once(const std::string& text) {
  if (std::exchange(trouble_, text) != text && !text.empty()) tell_(text);
}

}  // namespace tenon::tool
