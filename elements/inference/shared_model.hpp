// SPDX-License-Identifier: Apache-2.0
// Compiled models that elements with equal settings share.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <tenon/core/pixel_format.hpp>
#include <tenon/core/used_files.hpp>
#include <tenon/runtime/compiled_model.hpp>
#include <tenon/runtime/core.hpp>

namespace tenon {
inline namespace v1 {
namespace elements {
namespace inference {

struct ModelSettings {
  std::string model, device;
  std::string shape;  ///< Extents, "[1,3,480,640]"; or the size of pictures, "640x480"; empty: the model's own.
  std::string precision, cache_dir, properties, zero_copy;
  std::string side_file;                     ///< Empty: those beside the model.
  std::map<std::string, std::string> facts;  ///< About its input, by the keys of fact_keys().
  std::size_t batch = 1;
  bool takes_frames = true;  ///< The device reads frames itself; else pictures are written into its input.
  friend auto operator<=>(const ModelSettings&, const ModelSettings&) = default;
};

struct SharedModel {
  std::shared_ptr<Core> core;
  std::shared_ptr<const Model> single;  ///< For a batch of 1.
  CompiledModel compiled;               ///< For the batch.
  bool keeps_state = false;
  std::vector<std::string> files;  ///< All that the model was read from.
};

/// The model with these settings. It is compiled if no element of this process has it. All models share one Core.
/// @param frames  The frames to compile for first, if the model must be compiled and takes frames.
/// @param files   Where the files that it was read from are added, beside those that the settings name; may be null.
/// @thread any. @errors Those of reading, reshaping and compiling; kInvalidArgument: properties that are not KEY=VALUE, or
/// inputs or outputs that pictures or batches do not fit, or a file of the model that the pipeline would write over.
std::shared_ptr<const SharedModel> share_model(const ModelSettings& settings, const std::optional<FrameInfo>& frames,
                                               UsedFiles* files = nullptr);

}  // namespace inference
}  // namespace elements
}  // namespace v1
}  // namespace tenon
