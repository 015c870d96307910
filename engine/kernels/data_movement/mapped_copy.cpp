// SPDX-License-Identifier: Apache-2.0
// Copies rows in runs of neighbours.
#include <tenon/engine/kernels/data_movement/mapped_copy.hpp>

#include <algorithm>
#include <cstring>

#include <tenon/engine/kernels/simd/broadcast.hpp>

namespace tenon::inline v1::engine::kernels {

MappedCopy::MappedCopy(const Shape& source, const Maps& maps, std::size_t element_bytes, std::array<char, 8> fill)
    : chunk_bytes_(element_bytes), element_bytes_(element_bytes), fill_(fill) {
  const auto is_identity = [&](std::size_t axis) {
    if (maps[axis].size() != source[axis]) return false;
    for (std::size_t i = 0; i < maps[axis].size(); ++i)
      if (maps[axis][i] != static_cast<std::int64_t>(i)) return false;
    return true;
  };
  std::size_t last = source.size();
  while (last > 0 && is_identity(last - 1)) chunk_bytes_ *= source[--last];
  if (last == 0) {
    runs_ = {{0, 1, 0, 1}};
    row_bytes_ = chunk_bytes_;
    return;
  }
  const auto& map = maps[--last];
  for (std::size_t i = 0; i < map.size(); ++i) {
    if (!runs_.empty()) {
      Run& run = runs_.back();
      const bool fills = run.from < 0 && map[i] < 0;
      const std::int64_t step = map[i] - map[i - 1];
      const bool goes_on =
          run.from >= 0 && map[i] >= 0 && (run.count == 1 ? step == 1 || step == -1 : step == run.step);
      if (goes_on) run.step = step;
      if (fills || goes_on) {
        ++run.count;
        continue;
      }
    }
    runs_.push_back({i, 1, map[i], 1});
  }
  row_bytes_ = map.size() * chunk_bytes_;
  std::size_t stride = source[last] * chunk_bytes_;
  outer_.resize(last);
  for (std::size_t axis = last; axis-- > 0;) {
    for (const std::int64_t at : maps[axis])
      outer_[axis].push_back(at < 0 ? -1 : at * static_cast<std::int64_t>(stride));
    stride *= source[axis];
    rows_ *= maps[axis].size();
  }
}

void MappedCopy::fill_chunks(char* to, std::size_t count) const {
  const std::size_t bytes = count * chunk_bytes_;
  if (std::all_of(fill_.begin(), fill_.begin() + static_cast<std::ptrdiff_t>(element_bytes_),
                  [](char byte) { return byte == 0; })) {
    std::memset(to, 0, bytes);
    return;
  }
  for (std::size_t at = 0; at < bytes; at += element_bytes_) std::memcpy(to + at, fill_.data(), element_bytes_);
}

void MappedCopy::copy_row(const char* from, char* to) const {
  for (const Run& run : runs_) {
    char* out = to + run.to * chunk_bytes_;
    if (!from || run.from < 0) {
      fill_chunks(out, run.count);
      continue;
    }
    const char* in = from + static_cast<std::size_t>(run.from) * chunk_bytes_;
    if (run.step == 1) {
      std::memcpy(out, in, run.count * chunk_bytes_);
      continue;
    }
    for (std::size_t i = 0; i < run.count; ++i)
      std::memcpy(out + i * chunk_bytes_, in - i * chunk_bytes_, chunk_bytes_);
  }
}

void MappedCopy::run(const void* from, void* to) const {
  parallel(rows_, 2 * rows_ * row_bytes_, [&](std::size_t begin, std::size_t end) {
    for (std::size_t row = begin; row < end; ++row) {
      const char* source = static_cast<const char*>(from);
      std::size_t rest = row;
      for (std::size_t axis = outer_.size(); axis-- > 0;) {
        const std::int64_t offset = outer_[axis][rest % outer_[axis].size()];
        rest /= outer_[axis].size();
        if (offset < 0)
          source = nullptr;
        else if (source)
          source += offset;
      }
      copy_row(source, static_cast<char*>(to) + row * row_bytes_);
    }
  });
}

}  // namespace tenon::inline v1::engine::kernels
