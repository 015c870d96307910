// SPDX-License-Identifier: Apache-2.0
// Textures as dma-bufs (EGL_MESA_image_dma_buf_export).
#pragma once

#include <cstdint>

#include <tenon/core/fd.hpp>
#include <tenon/core/tensor.hpp>

namespace tenon {
inline namespace v1 {
namespace egl {

/// A texture as others import it: one plane.
struct ExportedTexture {
  UniqueFd fd;               ///< A dma-buf, the caller's.
  std::uint32_t fourcc = 0;  ///< DRM's name of the format.
  std::uint64_t modifier = 0;
  std::uint32_t offset = 0, pitch = 0;  ///< The first row, and the way from row to row, bytes.
};

/// The texture of a tensor by its dma-buf, for dmabuf::import_frame or another API. Commands that write it must have ended: map
/// the tensor, or wait for fence(), before others read.
/// @errors kUnimplemented: the display lacks the extension (named), or the texture has several planes; kInvalidArgument: a tensor of
/// another kind; those of native calls.
ExportedTexture export_dmabuf(const Tensor& tensor);

}  // namespace egl
}  // namespace v1
}  // namespace tenon
