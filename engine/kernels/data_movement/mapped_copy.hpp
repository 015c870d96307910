// SPDX-License-Identifier: Apache-2.0
// Copies in which the position along each axis of the source follows from that along the same axis of the result: pads,
// rotations, reversals.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <tenon/core/shape.hpp>

namespace tenon::inline v1::engine::kernels {

/// Immutable: any number of threads may run it at once.
class MappedCopy {
 public:
  /// For each axis and position of the result the position in the source; negative: the value that fills.
  using Maps = std::vector<std::vector<std::int64_t>>;
  /// @param element_bytes  1, 2, 4 or 8. @param fill  The first so many of its bytes.
  MappedCopy(const Shape& source, const Maps& maps, std::size_t element_bytes, std::array<char, 8> fill);
  /// Rows are split over the workers of the calling arena.
  void run(const void* from, void* to) const;

 private:
  /// Neighbours along the last axis that is not copied as it is.
  struct Run {
    std::size_t to, count;
    std::int64_t from;  ///< Where the first is read; negative: filled.
    std::int64_t step;  ///< 1 or -1.
  };
  void copy_row(const char* from, char* to) const;
  void fill_chunks(char* to, std::size_t count) const;

  std::vector<std::vector<std::int64_t>> outer_;  ///< Byte offsets by position, for the axes before that one.
  std::vector<Run> runs_;
  std::size_t rows_ = 1, row_bytes_ = 0, chunk_bytes_ = 0, element_bytes_ = 1;
  std::array<char, 8> fill_;
};

}  // namespace tenon::inline v1::engine::kernels
