// SPDX-License-Identifier: Apache-2.0
// Loops over rows of samples, which the compiler vectorises.
#include <tenon/drivers/vaapi/process/deinterlace.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>

#include <tenon/drivers/vaapi/process/planes.hpp>

namespace tenon::va {
namespace {

/// Differences up to the first are noise, from the second on motion; both in units of 1/256.
constexpr int kStill = 6, kMoved = 18;

/// Three rows of one picture: the interpolated row, and its neighbours in the kept field.
template <class T>
struct Rows {
  const T *above, *own, *below;
};

template <class T>
Rows<T> rows_of(const Plane& plane, int above, int own, int below) {
  const auto at = [&](int y) { return reinterpret_cast<const T*>(plane.row(y)); };
  return {at(above), at(own), at(below)};
}

template <class T>
void make_row(T* __restrict to, const Rows<T>& now, int count) {
  for (int x = 0; x < count; ++x) to[x] = static_cast<T>((int{now.above[x]} + now.below[x] + 1) >> 1);
}

/// Blends the other field's row, used for still pixels, with the mean of the neighbours, used for moving pixels.
template <class T>
void make_row(T* __restrict to, const Rows<T>& now, const Rows<T>& past, int count) {
  constexpr int kUnit = sizeof(T) == 1 ? 1 : 256;  // Wide samples have their value in the upper bits.
  for (int x = 0; x < count; ++x) {
    const auto change = [x](const T* a, const T* b) { return a[x] > b[x] ? a[x] - b[x] : b[x] - a[x]; };
    const int moved =
        std::max({change(now.own, past.own), change(now.above, past.above), change(now.below, past.below)}) / kUnit;
    const int share = std::clamp(moved - kStill, 0, kMoved - kStill);
    const int mean = (int{now.above[x]} + now.below[x] + 1) >> 1;
    to[x] = static_cast<T>(now.own[x] + (mean - now.own[x]) * share / (kMoved - kStill));
  }
}

template <class T>
void deinterlace_plane(const Plane& to, const Plane& from, const Plane* past, bool bottom, int count) {
  const int kept = bottom && from.height > 1 ? 1 : 0;  // A single row belongs to both fields.
  for (int y = 0; y < from.height; ++y) {
    if (y % 2 == kept) {
      std::memcpy(to.row(y), from.row(y), static_cast<std::size_t>(count) * sizeof(T));
      continue;
    }
    const int above = y > 0 ? y - 1 : y + 1, below = y + 1 < from.height ? y + 1 : y - 1;
    T* row = reinterpret_cast<T*>(to.row(y));
    const Rows<T> now = rows_of<T>(from, above, y, below);
    if (past)
      make_row(row, now, rows_of<T>(*past, above, y, below), count);
    else
      make_row(row, now, count);
  }
}

}  // namespace

void deinterlace(const Pixels& to, const Pixels& from, const Pixels* past, bool bottom) {
  std::array<Plane, 4> sources{}, befores{};
  each_plane(from, [&](std::size_t plane, const Plane& one) { sources[plane] = one; });
  if (past) each_plane(*past, [&](std::size_t plane, const Plane& one) { befores[plane] = one; });
  each_plane(to, [&](std::size_t plane, const Plane& one) {
    const auto run = is_wide(to) ? deinterlace_plane<std::uint16_t> : deinterlace_plane<std::uint8_t>;
    run(one, sources[plane], past ? &befores[plane] : nullptr, bottom, samples_per_row(to, plane));
  });
}

}  // namespace tenon::va
