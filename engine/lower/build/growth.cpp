// SPDX-License-Identifier: Apache-2.0
// Steps on caches that grow in place.
#include <tenon/engine/lower/build/growth.hpp>

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

#include <tenon/engine/kernels/attention/kv_cache_quant.hpp>
#include <tenon/engine/lower/build/strides.hpp>

namespace tenon::inline v1::engine {
namespace {

Shape room_of(const Value& value, const Growth& growth) {
  Shape room = value.shape;
  room[growth.axis] = growth.capacity;
  return room;
}

/// A cache as runs of bytes: [rows, runs, extent] of which only a part of each run's pitch is in use.
struct Runs {
  std::size_t rows = 1, per_row = 1, inner = 0, pitch = 0;
  std::size_t offset = 0;  ///< Where the first one lies, behind the cache's begin.
};

/// @param inner  Bytes of one position along the axis.
Runs runs_of(const Value& value, const Growth& growth, std::size_t inner, std::size_t offset) {
  Runs runs;
  runs.rows = growth.axis == 0 ? 1 : value.shape[0];
  for (std::size_t i = 1; i < growth.axis; ++i) runs.per_row *= value.shape[i];
  runs.inner = inner;
  runs.pitch = growth.capacity * inner;
  runs.offset = offset;
  return runs;
}

/// Numbers of one position along the axis.
std::size_t numbers_behind(const Value& value, const Growth& growth) {
  std::size_t count = 1;
  for (std::size_t i = growth.axis + 1; i < value.shape.size(); ++i) count *= value.shape[i];
  return count;
}

/// All runs of a cache: its numbers, and the scales that some formats have.
std::vector<Runs> all_runs(const Value& value, const Growth& growth) {
  const std::size_t numbers = numbers_behind(value, growth);
  const CacheFormat& format = growth.format;
  std::vector<Runs> all{runs_of(value, growth, numbers * size_bytes(format.is_narrow() ? format.type : value.type), 0)};
  if (format.group != 0)
    all.push_back(runs_of(value, growth, numbers / format.group * 2 * sizeof(float),
                          format.scales_offset(room_of(value, growth))));
  return all;
}

std::int64_t index_at(ElementType type, const void* indices, std::size_t i) {
  return type == ElementType::kI64 ? static_cast<const std::int64_t*>(indices)[i]
                                   : static_cast<const std::int32_t*>(indices)[i];
}

/// Row i becomes what row indices[i] was; usually every row stays.
class ReorderRowsStep final : public Step {
 public:
  std::unique_ptr<StepState> make_state() const override;
  std::vector<Runs> runs;
  std::size_t extent = 0;  ///< The axis's extent: how much of each run is used.
  ElementType index_type = ElementType::kI64;
};

class ReorderRowsState final : public StepState {
 public:
  explicit ReorderRowsState(const ReorderRowsStep& step) : step_(step) {}
  void rebind(std::span<void* const> pointers) override { pointers_.assign(pointers.begin(), pointers.end()); }
  void run(const dnnl::stream&) override {
    const std::size_t rows = step_.runs.front().rows;
    bool stays = true;
    for (std::size_t row = 0; row < rows; ++row) stays &= source(row) == static_cast<std::int64_t>(row);
    if (stays) return;
    if (control) control->committed = true;
    for (const Runs& runs : step_.runs) move(runs, static_cast<char*>(pointers_[1]) + runs.offset);
  }

 private:
  void move(const Runs& runs, char* cache) const {
    char* const other = static_cast<char*>(pointers_[2]);
    const std::size_t used = step_.extent * runs.inner, row_bytes = runs.per_row * used;
    for (std::size_t row = 0; row < runs.rows; ++row) {
      const std::int64_t from = source(row);
      // The operation's rule: an index out of range gives zeros, which every format writes as such.
      if (from < 0)
        std::memset(other + row * row_bytes, 0, row_bytes);
      else
        for (std::size_t run = 0; run < runs.per_row; ++run)
          std::memcpy(other + row * row_bytes + run * used,
                      cache + (static_cast<std::size_t>(from) * runs.per_row + run) * runs.pitch, used);
    }
    for (std::size_t run = 0; run < runs.rows * runs.per_row; ++run)
      std::memcpy(cache + run * runs.pitch, other + run * used, used);
  }
  /// -1: none.
  std::int64_t source(std::size_t row) const {
    const auto rows = static_cast<std::int64_t>(step_.runs.front().rows);
    std::int64_t index = index_at(step_.index_type, pointers_[0], row);
    if (index < 0) index += rows;
    return index < 0 || index >= rows ? -1 : index;
  }
  const ReorderRowsStep& step_;
  std::vector<void*> pointers_;
};

std::unique_ptr<StepState> ReorderRowsStep::make_state() const { return std::make_unique<ReorderRowsState>(*this); }

}  // namespace

md with_room(ElementType type, const Shape& shape, std::size_t axis, std::size_t capacity) {
  auto dims = to_dims(shape);
  dnnl::memory::dims strides(dims.size());
  std::int64_t step = 1;
  for (std::size_t i = dims.size(); i-- > 0;) {
    strides[i] = step;
    step *= i == axis ? static_cast<std::int64_t>(capacity) : std::max<std::int64_t>(dims[i], 1);
  }
  return md(dims, data_type(type), strides);
}

void define_cache(PlanBuilder& builder, Value& value, const Growth& growth, BufferSlice place) {
  if (!growth.format.is_narrow())
    return builder.define_view(value, with_room(value.type, value.shape, growth.axis, growth.capacity), place);
  const Shape room = room_of(value, growth);
  value.narrow = NarrowCache{place, growth.format, growth.format.scales_offset(room), packed_strides(room)};
}

namespace {

BufferSlice cache_place(PlanBuilder& builder, Value& value) {
  return value.narrow ? value.narrow->place : builder.native(value).place;
}
/// What the next step writes.
void define_grown(PlanBuilder& builder, Value& made, const Growth& growth, BufferSlice cache) {
  if (growth.format.is_narrow())
    define_cache(builder, made, growth, cache);
  else
    builder.define_at(made, with_room(made.type, made.shape, growth.axis, growth.capacity), cache);
}

/// New elements as they are.
KernelStep::Kernel copying(const Runs& runs, std::vector<std::size_t> extents, std::size_t first) {
  return [runs, extents = std::move(extents), first](std::span<void* const> p) {
    for (std::size_t run = 0; run < runs.rows * runs.per_row; ++run) {
      char* to = static_cast<char*>(p[extents.size()]) + run * runs.pitch + first * runs.inner;
      for (std::size_t i = 0; i < extents.size(); ++i) {
        const std::size_t bytes = extents[i] * runs.inner;
        std::memcpy(to, static_cast<const char*>(p[i]) + run * bytes, bytes);
        to += bytes;
      }
    }
  };
}

/// New elements in fewer bits.
KernelStep::Kernel narrowing(const std::vector<Runs>& all, std::vector<std::size_t> extents, std::size_t first,
                             const kernels::KvCacheQuant& format, std::size_t rows_each) {
  return [runs = all.front(), scales = all.back(), extents = std::move(extents), first, format,
          rows_each](std::span<void* const> p) {
    char* const cache = static_cast<char*>(p[extents.size()]);
    for (std::size_t run = 0; run < runs.rows * runs.per_row; ++run) {
      std::size_t at = first;
      for (std::size_t i = 0; i < extents.size(); at += extents[i], ++i) {
        const std::size_t rows = extents[i] * rows_each;
        char* const of_scales = cache + scales.offset + run * scales.pitch + at * scales.inner;
        kernels::narrow_rows(format, static_cast<const float*>(p[i]) + run * rows * format.length, rows,
                             cache + run * runs.pitch + at * runs.inner,
                             format.group ? reinterpret_cast<float*>(of_scales) : nullptr);
      }
    }
  };
}

}  // namespace

void lower_append(PlanBuilder& builder, const std::shared_ptr<Node>& node, const Growth& growth) {
  Value& before = builder.input(node, 0);
  Value& made = builder.value(node->output(0));
  const BufferSlice cache = cache_place(builder, before);
  std::vector<std::size_t> extents;
  std::vector<BufferSlice> places;
  for (std::size_t i = 1; i < node->get_input_size(); ++i) {
    Value& part = builder.input(node, i);
    if (element_count(part.shape) == 0) continue;
    places.push_back(builder.plain(part));
    extents.push_back(part.shape[growth.axis]);
  }
  if (extents.empty()) {
    define_cache(builder, made, growth, cache);
    builder.note_optimized_out(node);
    return;
  }
  define_grown(builder, made, growth, cache);
  const std::vector<Runs> runs = all_runs(made, growth);
  const std::size_t first = before.shape[growth.axis];
  if (!growth.format.is_narrow()) {
    builder.add_kernel(node, "append", places, {cache}, copying(runs.front(), std::move(extents), first));
    return;
  }
  const kernels::KvCacheQuant format{growth.format.type, made.shape.back(), growth.format.group};
  builder.add_kernel(node, "append:" + std::string(name(format.type)), places, {cache},
                     narrowing(runs, std::move(extents), first, format, numbers_behind(made, growth) / format.length));
}

void lower_reorder_rows(PlanBuilder& builder, const std::shared_ptr<Node>& node, const Growth& growth) {
  Value& before = builder.input(node, 0);
  Value& indices = builder.input(node, 1);
  Value& made = builder.value(node->output(0));
  const BufferSlice cache = cache_place(builder, before);
  if (element_count(made.shape) == 0) return define_cache(builder, made, growth, cache);
  auto step = std::make_unique<ReorderRowsStep>();
  step->runs = all_runs(made, growth);
  step->extent = made.shape[growth.axis];
  step->index_type = indices.type;
  std::size_t most = 0;
  for (const Runs& runs : step->runs) most = std::max(most, runs.rows * runs.per_row * step->extent * runs.inner);
  const BufferSlice at = builder.plain(indices), other = builder.scratch(most);
  step->operands = {{at, false}, {cache, true}, {other, true}};
  define_grown(builder, made, growth, cache);
  builder.add_step(node, std::move(step), "reorder rows");
}

}  // namespace tenon::inline v1::engine
