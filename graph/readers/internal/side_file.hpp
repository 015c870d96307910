// SPDX-License-Identifier: Apache-2.0
// The file metadata.yaml that Ultralytics' exporters put beside a model.
#pragma once

#include <filesystem>
#include <string_view>

#include <tenon/core/any.hpp>
#include <tenon/core/export.hpp>

namespace tenon {
inline namespace v1 {

class Model;

/// The top-level entries of a YAML text as exporters write it: block maps and lists of one level, or flow forms; values that are maps
/// or lists become texts as Python prints them. Lines that are anything else are left out.
TENON_API AnyMap read_plain_yaml(std::string_view text);

/// Puts the entries of metadata.yaml in the model's folder into rt_info["metadata.yaml"], if the file has names beside a task or a
/// stride, and the model says nothing itself or names the type "YOLO". A file that is absent or cannot be read is ignored.
void add_side_file(const std::filesystem::path& model_file, Model& model);

}  // namespace v1
}  // namespace tenon
