// SPDX-License-Identifier: Apache-2.0
// Loops over indices: bound by memory, so without vectors.
#include <tenon/engine/kernels/data_movement/indexing.hpp>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>
#include <type_traits>

#include <tenon/core/error.hpp>
#include <tenon/engine/kernels/simd/broadcast.hpp>

namespace tenon::inline v1::engine::kernels {
namespace {

[[noreturn]] void refuse(std::int64_t index, std::size_t extent) {
  throw Error(Code::kInvalidArgument, "CPU: index " + std::to_string(index) + " is outside an axis of " +
                                          std::to_string(extent) + "; expected " +
                                          std::to_string(-static_cast<std::int64_t>(extent)) + " to " +
                                          std::to_string(static_cast<std::int64_t>(extent) - 1));
}

template <typename Index>
std::size_t place_of(Index index, std::size_t extent) {
  const auto size = static_cast<std::int64_t>(extent);
  const auto at = static_cast<std::int64_t>(index) + (index < 0 ? size : 0);
  if (at < 0 || at >= size) refuse(index, extent);
  return static_cast<std::size_t>(at);
}

std::size_t slices_of(const Slices& what) {
  std::size_t slices = 1;
  for (const std::size_t extent : what.axes) slices *= extent;
  return slices;
}

/// The slice that a tuple names.
template <typename Index>
std::size_t slice_of(const Slices& what, const Index* tuple) {
  std::size_t at = 0;
  for (std::size_t i = 0; i < what.axes.size(); ++i) at = at * what.axes[i] + place_of(tuple[i], what.axes[i]);
  return at;
}

template <typename Body>
void with_indices(Indices indices, const Body& body) {
  if (indices.is_wide)
    body(static_cast<const std::int64_t*>(indices.data));
  else
    body(static_cast<const std::int32_t*>(indices.data));
}

/// Calls body() with a number of the size of the elements.
template <typename Body>
void with_size(std::size_t bytes, const Body& body) {
  switch (bytes) {
    case 1:
      return body(std::uint8_t{});
    case 2:
      return body(std::uint16_t{});
    case 4:
      return body(std::uint32_t{});
    default:
      return body(std::uint64_t{});
  }
}

/// Calls body() with a number of the type; reduces() says which have one.
template <typename Body>
void with_type(ElementType type, const Body& body) {
  switch (type) {
    case ElementType::kF32:
      return body(float{});
    case ElementType::kF64:
      return body(double{});
    case ElementType::kI64:
      return body(std::int64_t{});
    case ElementType::kI32:
      return body(std::int32_t{});
    case ElementType::kU8:
      return body(std::uint8_t{});
    default:
      return body(std::int8_t{});
  }
}

/// Integers wrap; the least and greatest keep `held` beside a NaN.
template <Reduction kHow, typename T>
T reduced(T held, T value) {
  if constexpr (kHow == Reduction::kNone) return value;
  if constexpr (kHow == Reduction::kLeast) return std::min(held, value);
  if constexpr (kHow == Reduction::kGreatest) return std::max(held, value);
  using Wrapping = std::conditional_t<std::is_integral_v<T>, std::uint64_t, T>;
  const auto a = static_cast<Wrapping>(held), b = static_cast<Wrapping>(value);
  if constexpr (kHow == Reduction::kSum || kHow == Reduction::kMean) return static_cast<T>(a + b);
  if constexpr (kHow == Reduction::kSubtract) return static_cast<T>(a - b);
  if constexpr (kHow == Reduction::kProduct) return static_cast<T>(a * b);
}

template <typename Body>
void with_reduction(Reduction how, const Body& body) {
  switch (how) {
#define TENON_CASE(name) \
  case Reduction::name:  \
    return body(std::integral_constant<Reduction, Reduction::name>{});
    TENON_CASE(kNone)
    TENON_CASE(kSum)
    TENON_CASE(kSubtract)
    TENON_CASE(kProduct)
    TENON_CASE(kLeast)
    TENON_CASE(kGreatest)
    TENON_CASE(kMean)
#undef TENON_CASE
  }
}

template <Reduction kHow, typename T>
void reduce_row(const T* from, std::size_t count, T* to) {
  if constexpr (kHow == Reduction::kNone) {
    std::memcpy(to, from, count * sizeof(T));
  } else {
    for (std::size_t i = 0; i < count; ++i) to[i] = reduced<kHow>(to[i], from[i]);
  }
}

/// Workers share either the elements of every slice, or the slices: each then takes the updates of its own.
template <Reduction kHow, typename T, typename Index>
void scatter(const Slices& what, const Index* indices, const T* updates, T* out) {
  constexpr std::size_t kLongBytes = 4096;
  const std::size_t depth = what.axes.size(), bytes = 2 * what.count * what.inner * sizeof(T);
  if (what.inner * sizeof(T) >= kLongBytes) {
    parallel(what.inner, bytes, [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = 0; i < what.count; ++i)
        reduce_row<kHow>(updates + i * what.inner + begin, end - begin,
                         out + slice_of(what, indices + i * depth) * what.inner + begin);
    });
    return;
  }
  constexpr std::size_t kParts = 64;
  const std::size_t slices = slices_of(what), part = (slices + kParts - 1) / kParts;
  parallel((slices + part - 1) / part, bytes, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = 0; i < what.count; ++i) {
      const std::size_t at = slice_of(what, indices + i * depth);
      if (at < begin * part || at >= end * part) continue;
      reduce_row<kHow>(updates + i * what.inner, what.inner, out + at * what.inner);
    }
  });
}

/// The lines of elements along the axis, seen as [outer, extent, inner] in the indices; the data may be larger.
class LineWalk {
 public:
  explicit LineWalk(const Lines& what) : length(what.data[what.axis]), what_(what) {
    for (std::size_t i = 0; i < what.data.size(); ++i) {
      (i < what.axis ? outer : i > what.axis ? inner : extent) *= what.indices[i];
      if (i <= what.axis) continue;
      stride *= what.data[i];
      is_dense &= what.data[i] == what.indices[i];
    }
  }
  /// Where the line of an outer index and one of an inner index begins in the data.
  std::size_t outer_at(std::size_t index) const { return at(index, 0, what_.axis, stride * length); }
  std::size_t inner_at(std::size_t index) const {
    return is_dense ? index : at(index, what_.axis + 1, what_.data.size(), 1);
  }
  std::size_t outer = 1, extent = 1, inner = 1;
  std::size_t stride = 1, length = 1;  ///< The axis's, in the data.

 private:
  /// @param step  The stride of axis last - 1.
  std::size_t at(std::size_t index, std::size_t first, std::size_t last, std::size_t step) const {
    std::size_t offset = 0;
    for (std::size_t i = last; i-- > first; step *= what_.data[i]) {
      offset += index % what_.indices[i] * step;
      index /= what_.indices[i];
    }
    return offset;
  }
  const Lines& what_;
  bool is_dense = true;  ///< Inner elements follow each other in the data as in the indices.
};

/// Calls body(outer, first inner, last inner): lines share no element of the data.
template <typename Body>
void for_lines(const LineWalk& walk, std::size_t bytes, const Body& body) {
  if (walk.outer >= walk.inner) {
    parallel(walk.outer, bytes, [&](std::size_t begin, std::size_t end) {
      for (std::size_t o = begin; o < end; ++o) body(o, std::size_t{0}, walk.inner);
    });
  } else {
    parallel(walk.inner, bytes, [&](std::size_t begin, std::size_t end) {
      for (std::size_t o = 0; o < walk.outer; ++o) body(o, begin, end);
    });
  }
}

template <typename T>
T mean_of(T sum, std::uint32_t hits) {
  const T count = static_cast<T>(hits);
  if constexpr (std::is_integral_v<T>)
    return static_cast<T>(sum / count - (sum % count != 0 && sum < 0));
  else
    return sum / count;
}

template <Reduction kHow, typename T, typename Index>
void scatter_lines(const LineWalk& walk, bool keeps_data, const Index* indices, const T* updates, std::uint32_t* hits,
                   T* out) {
  const bool counts = kHow == Reduction::kMean || !keeps_data;
  const std::size_t bytes = walk.outer * walk.extent * walk.inner * (2 * sizeof(T) + sizeof(Index));
  for_lines(walk, bytes, [&](std::size_t o, std::size_t begin, std::size_t end) {
    const std::size_t line = walk.outer_at(o);
    const auto each = [&](const auto& body) {
      for (std::size_t a = 0; a < walk.extent; ++a) {
        const std::size_t row = (o * walk.extent + a) * walk.inner;
        for (std::size_t i = begin; i < end; ++i)
          body(row + i, line + place_of(indices[row + i], walk.length) * walk.stride + walk.inner_at(i));
      }
    };
    if (!counts) {
      each([&](std::size_t from, std::size_t to) { out[to] = reduced<kHow>(out[to], updates[from]); });
      return;
    }
    each([&](std::size_t, std::size_t to) { hits[to] = keeps_data ? 1 : 0; });
    each([&](std::size_t from, std::size_t to) {
      out[to] = hits[to]++ == 0 ? updates[from] : reduced<kHow>(out[to], updates[from]);
    });
    if constexpr (kHow == Reduction::kMean) {
      each([&](std::size_t, std::size_t to) {
        if (hits[to] > 1) out[to] = mean_of(out[to], hits[to]);
        hits[to] = 0;  // Where indices repeat, it is divided once.
      });
    }
  });
}

}  // namespace

void gather_slices(const Slices& what, std::size_t element_bytes, const void* data, Indices indices, void* out) {
  const std::size_t slices = slices_of(what), depth = what.axes.size(), bytes = what.inner * element_bytes;
  with_indices(indices, [&](const auto* at) {
    const auto copy = [&](const auto& move) {
      parallel(what.batches * what.count, what.batches * what.count * (2 * bytes + depth * sizeof *at),
               [&](std::size_t begin, std::size_t end) {
                 for (std::size_t i = begin; i < end; ++i)
                   move(i, i / what.count * slices + slice_of(what, at + i * depth));
               });
    };
    if (what.inner > 1)
      return copy([&](std::size_t to, std::size_t from) {
        std::memcpy(static_cast<char*>(out) + to * bytes, static_cast<const char*>(data) + from * bytes, bytes);
      });
    with_size(element_bytes, [&]<typename T>(T) {
      copy([&](std::size_t to, std::size_t from) { static_cast<T*>(out)[to] = static_cast<const T*>(data)[from]; });
    });
  });
}

bool reduces(ElementType type, Reduction reduction) {
  switch (type) {
    case ElementType::kF32:
    case ElementType::kF64:
    case ElementType::kI64:
      return true;
    case ElementType::kI32:
    case ElementType::kU8:
    case ElementType::kI8:
      return reduction != Reduction::kMean;  // Its sum may need more bits.
    default:
      return reduction == Reduction::kNone && bit_width(type) >= 8;
  }
}

void scatter_slices(const Slices& what, ElementType type, Reduction reduction, Indices indices, const void* updates,
                    void* out) {
  if (what.count == 0 || what.inner == 0) return;
  with_indices(indices, [&](const auto* at) {
    const auto run = [&]<typename T>(auto how, T) {
      scatter<decltype(how)::value>(what, at, static_cast<const T*>(updates), static_cast<T*>(out));
    };
    if (reduction == Reduction::kNone)
      return with_size(size_bytes(type),
                       [&](auto zero) { run(std::integral_constant<Reduction, Reduction::kNone>{}, zero); });
    with_type(type, [&](auto zero) { with_reduction(reduction, [&](auto how) { run(how, zero); }); });
  });
}

void scatter_slices_anew(const Slices& what, std::size_t element_bytes, Indices indices, const void* data,
                         const void* updates, std::uint32_t* sources, void* out) {
  const std::size_t slices = slices_of(what), depth = what.axes.size(), bytes = what.inner * element_bytes;
  std::fill_n(sources, slices, 0);
  with_indices(indices, [&](const auto* at) {
    for (std::size_t i = 0; i < what.count; ++i)
      sources[slice_of(what, at + i * depth)] = static_cast<std::uint32_t>(i + 1);
  });
  parallel(slices, 2 * slices * bytes, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      const char* from = sources[i] == 0 ? static_cast<const char*>(data) + i * bytes
                                         : static_cast<const char*>(updates) + (sources[i] - 1) * bytes;
      std::memcpy(static_cast<char*>(out) + i * bytes, from, bytes);
    }
  });
}

void gather_elements(const Lines& what, std::size_t element_bytes, const void* data, Indices indices, void* out) {
  const LineWalk walk(what);
  with_indices(indices, [&](const auto* at) {
    with_size(element_bytes, [&]<typename T>(T) {
      const T* from = static_cast<const T*>(data);
      T* to = static_cast<T*>(out);
      const std::size_t bytes = walk.outer * walk.extent * walk.inner * (2 * sizeof(T) + sizeof *at);
      for_lines(walk, bytes, [&](std::size_t o, std::size_t begin, std::size_t end) {
        const T* line = from + walk.outer_at(o);
        for (std::size_t a = 0; a < walk.extent; ++a) {
          const std::size_t row = (o * walk.extent + a) * walk.inner;
          for (std::size_t i = begin; i < end; ++i)
            to[row + i] = line[place_of(at[row + i], walk.length) * walk.stride + walk.inner_at(i)];
        }
      });
    });
  });
}

void scatter_elements(const Lines& what, ElementType type, Reduction reduction, bool keeps_data, Indices indices,
                      const void* updates, std::uint32_t* hits, void* out) {
  const LineWalk walk(what);
  if (walk.outer * walk.extent * walk.inner == 0) return;
  with_indices(indices, [&](const auto* at) {
    const auto run = [&]<typename T>(auto how, T) {
      scatter_lines<decltype(how)::value>(walk, keeps_data, at, static_cast<const T*>(updates), hits,
                                          static_cast<T*>(out));
    };
    if (reduction == Reduction::kNone)
      return with_size(size_bytes(type),
                       [&](auto zero) { run(std::integral_constant<Reduction, Reduction::kNone>{}, zero); });
    with_type(type, [&](auto zero) { with_reduction(reduction, [&](auto how) { run(how, zero); }); });
  });
}

void one_hot(const OneHot& what, Indices indices, const void* on, const void* off, void* out) {
  const std::size_t rows = what.outer * what.depth;
  with_indices(indices, [&](const auto* at) {
    with_size(what.element_bytes, [&]<typename T>(T) {
      const T yes = *static_cast<const T*>(on), no = *static_cast<const T*>(off);
      T* to = static_cast<T*>(out);
      parallel(rows, rows * what.inner * (sizeof(T) + sizeof *at), [&](std::size_t begin, std::size_t end) {
        for (std::size_t row = begin; row < end; ++row) {
          const auto place = static_cast<std::int64_t>(row % what.depth),
                     before = place - static_cast<std::int64_t>(what.depth);
          const auto* own = at + row / what.depth * what.inner;
          for (std::size_t i = 0; i < what.inner; ++i) {
            const auto index = static_cast<std::int64_t>(own[i]);
            to[row * what.inner + i] = index == place || (what.wraps && index == before) ? yes : no;
          }
        }
      });
    });
  });
}

}  // namespace tenon::inline v1::engine::kernels
