// SPDX-License-Identifier: Apache-2.0
// Launches, and those among which a measurement may decide.
#include <tenon/devices/gpu/lower/build/builder.hpp>

#include <algorithm>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace tenon::inline v1::gpu_device {

void Builder::launch(Kernel kernel, const Node& node) {
  Launch launch = std::move(kernel).launch(*texts_);
  if (launching_.empty()) launching_ = {{node.get_friendly_name(), node.get_type_name()}};
  // Called after the node that it was written for, not after what was joined to that.
  const std::pair own(node.get_friendly_name(), std::string(node.get_type_name()));
  if (const auto found = std::find(launching_.begin(), launching_.end(), own); found != launching_.end())
    std::rotate(launching_.begin(), found, found + 1);
  std::tie(launch.node_name, launch.node_type) = launching_.front();
  launch.fused.insert(launch.fused.begin(), launching_.begin() + 1, launching_.end());
  launching_.clear();
  // A range without work-items is an error to OpenCL.
  if (std::find(launch.global.begin(), launch.global.end(), 0u) != launch.global.end()) return;
  plan_.launches.push_back(std::make_shared<const Launch>(std::move(launch)));
}

void Builder::launch_best(const Node& node, const std::string& problem, const std::vector<Candidate>& candidates) {
  const Candidate* best = &candidates.front();
  if (choosing_.known && candidates.size() > 1) {
    const auto known = choosing_.known->find(problem);
    const auto named = [&](const Candidate& candidate) { return candidate.name == known->second; };
    if (known != choosing_.known->end()) {
      const auto found = std::find_if(candidates.begin(), candidates.end(), named);
      if (found != candidates.end()) best = &*found;
      if (choosing_.taken) choosing_.taken->insert(problem);
    } else if (choosing_.trials) {
      add_trial(problem, candidates);
    }
  }
  launch(best->make(), node);
}

void Builder::add_trial(const std::string& problem, const std::vector<Candidate>& candidates) {
  auto& trials = *choosing_.trials;
  const auto known =
      std::find_if(trials.begin(), trials.end(), [&](const Trial& trial) { return trial.problem == problem; });
  if (known != trials.end()) {
    ++known->uses;
    return;
  }
  Trial trial;
  trial.problem = problem;
  for (const Candidate& candidate : candidates) {
    trial.names.push_back(candidate.name);
    trial.launches.push_back(candidate.make().launch(*texts_));
  }
  trials.push_back(std::move(trial));
}

}  // namespace tenon::inline v1::gpu_device
