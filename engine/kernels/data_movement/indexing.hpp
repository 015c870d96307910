// SPDX-License-Identifier: Apache-2.0
// Gathering and scattering by tensors of indices. Negative indices count from the end of their axis.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <tenon/core/element_type.hpp>
#include <tenon/core/shape.hpp>

namespace tenon::inline v1::engine::kernels {

// All are split over the workers of the calling arena, and the result does not depend on their number: where indices
// repeat, updates take effect in their order.
// @errors kInvalidArgument: an index outside of its axis.

/// Indices of i32 or i64.
struct Indices {
  const void* data = nullptr;
  bool is_wide = false;  ///< i64.
};

/// Slices at tuples of indices: of data [batches, axes..., inner], with an index for each of `axes`.
struct Slices {
  std::size_t batches = 1, count = 0;  ///< Tuples in each batch.
  Shape axes;
  std::size_t inner = 1;  ///< Elements of a slice.
};
/// out: [batches, count, inner] of elements of any size in bytes.
void gather_slices(const Slices& what, std::size_t element_bytes, const void* data, Indices indices, void* out);

enum class Reduction : std::uint8_t { kNone, kSum, kSubtract, kProduct, kLeast, kGreatest, kMean };
/// Whether updates of the type can be reduced; any can be written.
bool reduces(ElementType type, Reduction reduction);

/// out, which holds the data: updates [count, inner] are written or reduced into slices; one batch.
void scatter_slices(const Slices& what, ElementType type, Reduction reduction, Indices indices, const void* updates,
                    void* out);

/// The same without a reduction, where out holds nothing yet: each slice is written once, from the data or the last of
/// its updates.
/// @param sources  Room for 32 bits for each slice of the data.
void scatter_slices_anew(const Slices& what, std::size_t element_bytes, Indices indices, const void* data,
                         const void* updates, std::uint32_t* sources, void* out);

/// Single elements: those of `extents` outside of the axis, at indices along it.
struct Lines {
  std::size_t axis = 0;
  Shape data;     ///< Extents of what is read or changed.
  Shape indices;  ///< Extents of the indices, and of the result or the updates; less or equal outside of the axis.
};
void gather_elements(const Lines& what, std::size_t element_bytes, const void* data, Indices indices, void* out);

/// out, which holds the data: updates are written or reduced into it.
/// @param hits  Room for 32 bits for each element of the data; needed for the mean, or if `keeps_data` is false.
/// @param keeps_data  Elements that are hit take part in their reduction; else the first update replaces them.
void scatter_elements(const Lines& what, ElementType type, Reduction reduction, bool keeps_data, Indices indices,
                      const void* updates, std::uint32_t* hits, void* out);

/// out: [outer, depth, inner] of elements of any size in bytes: `on` where the index is that of the place, else `off`. An
/// index outside is that of no place; with `wraps` negative ones count from the end.
struct OneHot {
  std::size_t outer = 1, depth = 1, inner = 1, element_bytes = 1;
  bool wraps = false;
};
void one_hot(const OneHot& what, Indices indices, const void* on, const void* off, void* out);

}  // namespace tenon::inline v1::engine::kernels
