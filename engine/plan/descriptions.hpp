// SPDX-License-Identifier: Apache-2.0
// oneDNN's descriptions of our tensors.
#pragma once

#include <dnnl.hpp>

#include <tenon/core/element_type.hpp>
#include <tenon/core/shape.hpp>

namespace tenon::inline v1::engine {

using md = dnnl::memory::desc;

/// oneDNN's name of the type; undef for those that it lacks.
dnnl::memory::data_type data_type(ElementType type);
/// Packed row-major; undefined (ndims 0) where oneDNN cannot describe it. Scalars have dims {1}.
md plain_desc(ElementType type, const Shape& shape);
dnnl::memory::dims to_dims(const Shape& shape);
/// The elements lie in packed row-major order, whatever the layout is called.
bool is_plain(const md& desc, const Shape& shape, ElementType type);
/// The type that a described tensor's elements have.
ElementType element_type(const md& desc);
/// Its elements fill its bytes: no padding, no gaps.
bool is_dense(const md& desc);
/// [N, C, spatial...] with the channels innermost, for 3 to 5 axes; undefined for others.
md channels_last(ElementType type, const Shape& shape);
/// The same strides and blocks for elements of another type; undefined when that cannot be said.
md retyped(const md& desc, ElementType type);
/// The elements lie in packed row-major order in the description's own type.
bool is_packed(const md& desc, const Shape& shape);
/// oneDNN fell back to its scalar code.
bool is_slow(const char* implementation);

}  // namespace tenon::inline v1::engine
