// SPDX-License-Identifier: Apache-2.0
// Reads a model file of any supported format.
#pragma once

#include <filesystem>
#include <memory>

#include <tenon/core/export.hpp>

namespace tenon {
inline namespace v1 {

class Model;

/// Reads an ONNX model or an OpenVINO IR (v10, v11), recognised by content, not by name.
///
/// @param model    .onnx file, or the .xml of an IR.
/// @param weights  For an IR: its .bin; empty means the model's path with ".bin" in place of the extension, if it
/// exists.
/// @param map      False: the files are read into memory instead, and may be changed or removed afterwards.
/// @return the model. Its larger constants are in the mapped files, which stay mapped while they are used.
/// @errors kNotFound, kPermissionDenied: the file (with the system's reason).
///         kInvalidArgument: not a model, or a corrupt one (what and where); kDataLoss: truncated weights.
///         kUnimplemented: missing operations (lists all with their nodes, and what is supported); or ONNX in
///         a build without the ONNX reader.
/// @thread any.
TENON_API std::shared_ptr<Model> read_model(const std::filesystem::path& model,
                                            const std::filesystem::path& weights = {}, bool map = true);

}  // namespace v1
}  // namespace tenon
