// SPDX-License-Identifier: Apache-2.0
// Sources of a running pipeline that follow a file: the pipeline's own, a playlist, or a folder that fills.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <string>

#include <tenon/core/policy.hpp>
#include <tenon/core/used_files.hpp>
#include <tenon/elements/pipeline.hpp>

namespace tenon::tool {

/// A source that ought to run.
struct WantedSource {
  elements::NodeSpec node;
  std::string like;  ///< The planned source whose nodes it feeds.
  friend bool operator==(const WantedSource& a, const WantedSource& b) {
    return a.node.element == b.node.element && a.node.parameters == b.node.parameters && a.like == b.like;
  }
};

/// The sources by their names; what cannot be read throws, and the pipeline stays as it is.
using ReadSources = std::function<std::map<std::string, WantedSource>()>;

/// Those of a pipeline file. @param read  Reads the file. @param planned  What the pipeline was made of.
/// @errors kInvalidArgument: a source feeds nodes that no planned source feeds together; another node has changed, which needs a new start.
ReadSources sources_of_file(std::function<elements::PipelineSpec()> read, const elements::PipelineSpec& planned);
/// Those of a playlist (a path or URL in each line; #EXTINF gives a name) or of the files in a folder, each as the first source of
/// `planned` with another path. A file in a folder counts when its size has stayed the same between two looks.
ReadSources sources_of_list(const std::string& path, const elements::PipelineSpec& planned);

/// What is in the list, or in the folder, now: read, as what comes later is by the source that gets it. @param path  Empty: nothing.
void add_followed_files(UsedFiles& files, const std::string& path);

/// Adds and removes sources as the list says. @thread one.
class FollowedSources {
 public:
  /// @param known  Sources that run already. @param tell  Gets a line for people about each change and each trouble.
  FollowedSources(elements::Pipeline& pipeline, ReadSources read, std::map<std::string, WantedSource> known,
                  std::function<void(const std::string&)> tell);
  /// Looks once a second. Call it more often.
  void tick();

 private:
  /// @return What keeps a source from being added now and may pass; empty: nothing.
  std::string follow(const std::map<std::string, WantedSource>& wanted);
  void say_once(const std::string& text);

  elements::Pipeline& pipeline_;
  const ReadSources read_;
  std::map<std::string, WantedSource> running_;
  const std::function<void(const std::string&)> tell_;
  std::string trouble_;                             ///< What was told last, so that it is not told each second.
  std::map<std::string, WantedSource> refused_as_;  ///< Sources that cannot be added as they are.
  Deadline next_{};
};

}  // namespace tenon::tool
