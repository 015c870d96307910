// SPDX-License-Identifier: Apache-2.0
// Files that describe a model from outside.
#pragma once

#include <filesystem>

#include <tenon/core/export.hpp>

namespace tenon {
inline namespace v1 {

class Model;

/// Reads a file that describes `model`, of a kind that its content tells, for ModelInfo: metadata.yaml of Ultralytics, a model-proc of
/// DL Streamer (JSON, schema 2), config.json or preprocessor_config.json of Hugging Face (config.json of timm too), inference.yml of
/// PaddlePaddle, a .modelinfo of GStreamer. What it states precedes what the model says of itself.
/// @errors kNotFound, kInvalidArgument: the file cannot be read, is none of these, is damaged or describes another model (names what);
/// kUnimplemented: a YAML file in a build without yaml-cpp.
TENON_API void read_side_file(const std::filesystem::path& file, Model& model);

/// Reads those beside the model, if there are any: MODEL.modelinfo (MODEL with or without its extension), MODEL.json and model_proc.json
/// (a model-proc), metadata.yaml, preprocessor_config.json, config.json, inference.yml, infer_cfg.yml. One that cannot be read is left
/// out, and ModelInfo::remarks() says so.
TENON_API void find_side_files(const std::filesystem::path& model_file, Model& model);

}  // namespace v1
}  // namespace tenon
