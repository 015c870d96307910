// SPDX-License-Identifier: Apache-2.0
// Lines become keys that hold value and place, so that ranking needs no look at the numbers.
#include <tenon/engine/kernels/reductions/top_k.hpp>

#include <algorithm>
#include <numeric>
#include <vector>

#include <tenon/engine/kernels/reductions/ranking.hpp>
#include <tenon/engine/kernels/simd/broadcast.hpp>

namespace tenon::inline v1::engine::kernels {
namespace {

/// A worker's buffers; grown once, kept for the thread's life.
struct TopKRoom {
  std::vector<std::uint64_t> keys;
  std::vector<std::uint32_t> places;
};
TopKRoom& top_k_room() {
  thread_local TopKRoom made;
  return made;
}

template <typename T>
void find_places(const TopK& what, const T* line, TopKRoom& room) {
  room.places.resize(what.k);
  if constexpr (sizeof(T) <= 4) {
    using Number = std::conditional_t<std::is_same_v<T, float>, float, std::int32_t>;
    room.keys.resize(what.extent);
    for (std::size_t i = 0; i < what.extent; ++i) {
      const std::uint32_t order = order_of(static_cast<Number>(line[i * what.inner]));
      room.keys[i] = ranked(what.greatest ? order : ~order, i);
    }
    rank_greatest(room.keys, what.k);
    for (std::size_t n = 0; n < what.k; ++n) room.places[n] = static_cast<std::uint32_t>(index_of(room.keys[n]));
  } else {
    room.places.resize(what.extent);
    std::iota(room.places.begin(), room.places.end(), 0u);
    const auto before = [&](std::uint32_t a, std::uint32_t b) {
      const T p = line[a * what.inner], q = line[b * what.inner];
      if constexpr (std::is_floating_point_v<T>)
        if (const bool p_nan = p != p, q_nan = q != q; p_nan || q_nan)
          return p_nan && q_nan ? a < b : p_nan == what.greatest;
      if (p != q) return what.greatest ? p > q : p < q;
      return a < b;
    };
    const auto middle = room.places.begin() + static_cast<std::ptrdiff_t>(what.k);
    std::partial_sort(room.places.begin(), middle, room.places.end(), before);
    room.places.resize(what.k);
  }
  if (what.by_index) std::sort(room.places.begin(), room.places.end());
}

template <typename T, typename Index>
void find(const TopK& what, const T* data, T* values, Index* indices) {
  const std::size_t lines = what.outer * what.inner;
  parallel(lines, lines * what.extent * 8, [&](std::size_t begin, std::size_t end) {
    TopKRoom& room = top_k_room();
    for (std::size_t l = begin; l < end; ++l) {
      const std::size_t o = l / what.inner, i = l % what.inner;
      const T* line = data + o * what.extent * what.inner + i;
      find_places(what, line, room);
      const std::size_t to = o * what.k * what.inner + i;
      for (std::size_t n = 0; n < what.k; ++n) {
        values[to + n * what.inner] = line[room.places[n] * what.inner];
        indices[to + n * what.inner] = static_cast<Index>(room.places[n]);
      }
    }
  });
}

}  // namespace

bool has_top_k(ElementType type) {
  switch (type) {
    case ElementType::kF32:
    case ElementType::kF64:
    case ElementType::kI64:
    case ElementType::kI32:
    case ElementType::kI8:
    case ElementType::kU8:
      return true;
    default:
      return false;
  }
}

void top_k(const TopK& what, const void* data, void* values, void* indices) {
  if (what.k == 0) return;
  const auto run = [&]<typename T>(T) {
    if (what.index_type == ElementType::kI64)
      find(what, static_cast<const T*>(data), static_cast<T*>(values), static_cast<std::int64_t*>(indices));
    else
      find(what, static_cast<const T*>(data), static_cast<T*>(values), static_cast<std::int32_t*>(indices));
  };
  switch (what.type) {
    case ElementType::kF32:
      return run(float{});
    case ElementType::kF64:
      return run(double{});
    case ElementType::kI64:
      return run(std::int64_t{});
    case ElementType::kI32:
      return run(std::int32_t{});
    case ElementType::kI8:
      return run(std::int8_t{});
    default:
      return run(std::uint8_t{});
  }
}

}  // namespace tenon::inline v1::engine::kernels
