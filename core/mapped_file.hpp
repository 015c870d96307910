// SPDX-License-Identifier: Apache-2.0
// Read-only file mappings as tensors: weights are neither read nor duplicated.
#pragma once

#include <filesystem>

#include <tenon/core/tensor.hpp>

namespace tenon {
inline namespace v1 {

/// The file as a read-only u8 tensor [size]; pages are read when touched. The mapping lives as long as any tensor over
/// it.
/// @errors kNotFound, kPermissionDenied, kResourceExhausted, kInvalidArgument (not a regular file); all name the path.
/// An empty file gives [0].
/// @thread any. A file that another process truncates while mapped raises SIGBUS on access: write model files
/// atomically.
TENON_API Tensor map_file(const std::filesystem::path& path);

}  // namespace v1
}  // namespace tenon
