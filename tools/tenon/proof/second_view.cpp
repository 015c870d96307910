// SPDX-License-Identifier: Apache-2.0
// Maps a frame's descriptors a second time, and writes and checks patterns.
#include <tenon/tools/tenon/proof/second_view.hpp>

#include <algorithm>
#include <cerrno>
#include <cstdint>

#include <sys/mman.h>

#include <tenon/core/error.hpp>

namespace tenon::tool {
namespace {

std::uint8_t pattern(unsigned seed, std::size_t plane, std::size_t row, std::size_t column) {
  std::uint64_t x = seed * 0x9e3779b97f4a7c15ull + plane * 0xbf58476d1ce4e5b9ull + row * 0x94d049bb133111ebull +
                    column * 0xd6e8feb86659fd93ull;
  x ^= x >> 31;
  return static_cast<std::uint8_t>((x * 0xff51afd7ed558ccdull) >> 56);
}

/// Calls visit(plane, y, row, bytes) for each row; ends when that returns false.
template <typename Visit>
bool each_row(const FrameInfo& info, const Rows& rows, Visit&& visit) {
  for (std::size_t p = 0; p < format_info(info.format).plane_count; ++p) {
    const PlaneExtent extent = plane_extent(info, p);
    for (std::size_t y = 0; y < extent.height_px; ++y) {
      auto* row = reinterpret_cast<std::uint8_t*>(rows.base[p] + rows.pitch[p] * static_cast<std::ptrdiff_t>(y));
      if (!visit(p, y, row, extent.row_bytes)) return false;
    }
  }
  return true;
}

}  // namespace

void write_pattern(const FrameInfo& info, const Rows& rows, unsigned seed) {
  each_row(info, rows, [&](std::size_t p, std::size_t y, std::uint8_t* row, std::size_t bytes) {
    for (std::size_t x = 0; x < bytes; ++x) row[x] = pattern(seed, p, y, x);
    return true;
  });
}

bool holds_pattern(const FrameInfo& info, const Rows& rows, unsigned seed) {
  return each_row(info, rows, [&](std::size_t p, std::size_t y, const std::uint8_t* row, std::size_t bytes) {
    for (std::size_t x = 0; x < bytes; ++x)
      if (row[x] != pattern(seed, p, y, x)) return false;
    return true;
  });
}

std::size_t rows_written_over(const FrameInfo& info, const Rows& rows, unsigned seed) {
  std::size_t count = 0;
  each_row(info, rows, [&](std::size_t p, std::size_t y, const std::uint8_t* row, std::size_t bytes) {
    std::size_t run = 0, longest = 0;
    for (std::size_t x = 0; x < bytes; ++x) {
      run = row[x] == pattern(seed, p, y, x) ? run + 1 : 0;
      longest = std::max(longest, run);
    }
    count += longest < std::min<std::size_t>(bytes, 8);
    return true;
  });
  return count;
}

std::size_t row_count(const FrameInfo& info) {
  std::size_t count = 0;
  for (std::size_t p = 0; p < format_info(info.format).plane_count; ++p) count += plane_extent(info, p).height_px;
  return count;
}

SecondView::SecondView(const Frame& frame) {
  try {
    for (std::size_t p = 0; p < frame.plane_count(); ++p) {
      const Tensor& plane = frame.plane(p);
      rows_.pitch[p] = plane.byte_strides()[0];
      if (plane.memory()->borrow_fd() >= 0) {
        rows_.base[p] = map(*plane.memory()) + plane.offset();
      } else {
        rows_.base[p] = static_cast<std::byte*>(plane.data());
        is_second_ = false;
      }
    }
  } catch (...) {
    unmap();
    throw;
  }
}

SecondView::~SecondView() { unmap(); }

std::byte* SecondView::map(const Memory& memory) {
  for (const Mapping& mapping : mappings_)
    if (mapping.memory == &memory) return static_cast<std::byte*>(mapping.address);
  void* const address = ::mmap(nullptr, memory.size_bytes(), PROT_READ | PROT_WRITE, MAP_SHARED, memory.borrow_fd(), 0);
  if (address == MAP_FAILED)
    throw Error(Code::kUnavailable, "the descriptor cannot be mapped a second time", "mmap", errno);
  mappings_.push_back({&memory, address, memory.size_bytes()});
  return static_cast<std::byte*>(address);
}

void SecondView::unmap() noexcept {
  for (const Mapping& mapping : mappings_) ::munmap(mapping.address, mapping.size);
}

}  // namespace tenon::tool
