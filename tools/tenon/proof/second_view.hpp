// SPDX-License-Identifier: Apache-2.0
// A second mapping of a frame's bytes beside the frame's own, and patterns that show through which one bytes were written.
#pragma once

#include <cstddef>
#include <vector>

#include <tenon/core/frame.hpp>
#include <tenon/core/memory.hpp>
#include <tenon/core/pixel_format.hpp>

namespace tenon::tool {

/// Rows of all planes, from a base address per plane.
struct Rows {
  std::byte* base[4] = {};
  std::ptrdiff_t pitch[4] = {};
};

/// Writes reproducible bytes that differ from row to row, plane to plane and seed to seed.
void write_pattern(const FrameInfo& info, const Rows& rows, unsigned seed);
bool holds_pattern(const FrameInfo& info, const Rows& rows, unsigned seed);
/// The number of rows that were overwritten since: they hold no part of the pattern that is longer than chance explains.
std::size_t rows_written_over(const FrameInfo& info, const Rows& rows, unsigned seed);
/// All rows of all planes.
std::size_t row_count(const FrameInfo& info);

/// Separate mappings of the descriptors of a frame's memory. For memory without a descriptor, the frame's own address.
class SecondView {
 public:
  /// @errors kUnavailable: the descriptor cannot be mapped; kFailedPrecondition: neither descriptor nor address.
  explicit SecondView(const Frame& frame);
  ~SecondView();
  SecondView(const SecondView&) = delete;
  SecondView& operator=(const SecondView&) = delete;

  const Rows& rows() const { return rows_; }
  /// Whether all planes are seen through a descriptor.
  bool is_second() const { return is_second_; }

 private:
  struct Mapping {
    const Memory* memory;
    void* address;
    std::size_t size;
  };
  std::byte* map(const Memory& memory);
  void unmap() noexcept;

  std::vector<Mapping> mappings_;
  Rows rows_;
  bool is_second_ = true;
};

}  // namespace tenon::tool
