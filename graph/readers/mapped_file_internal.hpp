// SPDX-License-Identifier: Apache-2.0
// A file as a read-only tensor of bytes, so that weights are used where they lie.
#pragma once

#include <filesystem>

#include <tenon/core/tensor.hpp>

namespace tenon {
inline namespace v1 {
namespace readers {

/// Maps a whole regular file; the mapping lives as long as any tensor over it. An empty file gives an empty u8 tensor.
///
/// A file that another process shortens while it is mapped makes later reads fault, as with every mapping: replace
/// model files by renaming, as the writer here does.
/// @errors kNotFound; kPermissionDenied; kInvalidArgument: not a regular file; kResourceExhausted: no address space.
Tensor map_file(const std::filesystem::path& path);

/// The bytes [offset, offset + size) of `bytes` as a packed tensor: in place where they are aligned for the type, else
/// copied.
/// @errors kDataLoss: past the end; names `what`.
Tensor tensor_at(const Tensor& bytes, std::uint64_t offset, std::uint64_t size, ElementType type, const Shape& shape,
                 const std::string& what);

}  // namespace readers
}  // namespace v1
}  // namespace tenon
