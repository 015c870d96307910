// SPDX-License-Identifier: Apache-2.0
// The entries that Ultralytics' exporters write: into ONNX's metadata_props, into rt_info["framework"] and into metadata.yaml.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace tenon {
inline namespace v1 {

using FactTexts = std::vector<std::pair<std::string, std::string>>;

/// What the entries say; empty if they are not of Ultralytics. @param entry  The text of an entry, maps and lists as Python prints
/// them; empty if there is none. @param remarks  Where entries that cannot be read are named.
FactTexts ultralytics_facts(const std::function<std::string(const char*)>& entry, std::vector<std::string>& remarks);

/// What Ultralytics' predictor does for a type of results. @source docs.ultralytics.com: tasks, modes/predict, modes/export
FactTexts ultralytics_defaults(const std::string& model_type);

}  // namespace v1
}  // namespace tenon
