// SPDX-License-Identifier: Apache-2.0
// What is done with whole models.
#pragma once

#include <filesystem>
#include <memory>

#include "openvino/core/core_visibility.hpp"
#include "openvino/core/model.hpp"

namespace ov {

/// Writes an IR: the file.xml that is named, and file.bin beside it. @errors Exception
OPENVINO_API void save_model(const std::shared_ptr<const Model>& model, const std::filesystem::path& output_model,
                             bool compress_to_fp16 = true);
/// As save_model, unchanged.
OPENVINO_API void serialize(const std::shared_ptr<const Model>& model, const std::filesystem::path& xml_path,
                            const std::filesystem::path& bin_path = {});
/// All readers of the node's outputs read those of the replacement.
OPENVINO_API void replace_node(const std::shared_ptr<Node>& target, const std::shared_ptr<Node>& replacement);

}  // namespace ov
