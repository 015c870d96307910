// SPDX-License-Identifier: Apache-2.0
// The edges of textures, one object of each; only asked for by a context's edges().
#pragma once

#include <tenon/core/edge.hpp>

namespace tenon {
inline namespace v1 {
namespace egl {
namespace detail {

const Edge& texture_to_cpu();
const Edge& cpu_to_texture();
const Edge& dmabuf_to_texture();

}  // namespace detail
}  // namespace egl
}  // namespace v1
}  // namespace tenon
