// SPDX-License-Identifier: Apache-2.0
// Steps on caches that grow in place.
#include <tenon/engine/lower/growth.hpp>

#include <cstring>

namespace tenon::inline v1::engine {
namespace {

/// A cache as runs of bytes: [rows, runs, extent] of which only a part of each run's pitch is in use.
struct Runs {
  std::size_t rows = 1, per_row = 1, inner = 0, pitch = 0;
};

Runs runs_of(const Value& value, const Growth& growth) {
  Runs runs;
  runs.rows = growth.axis == 0 ? 1 : value.shape[0];
  for (std::size_t i = 1; i < growth.axis; ++i) runs.per_row *= value.shape[i];
  runs.inner = size_bytes(value.type);
  for (std::size_t i = growth.axis + 1; i < value.shape.size(); ++i) runs.inner *= value.shape[i];
  runs.pitch = growth.capacity * runs.inner;
  return runs;
}

std::int64_t index_at(ElementType type, const void* indices, std::size_t i) {
  return type == ElementType::kI64 ? static_cast<const std::int64_t*>(indices)[i]
                                   : static_cast<const std::int32_t*>(indices)[i];
}

/// Row i becomes what row indices[i] was; usually every row stays.
class ReorderRowsStep final : public Step {
 public:
  std::unique_ptr<StepState> make_state() const override;
  Runs runs;
  std::size_t used = 0;  ///< Bytes of each run.
  ElementType index_type = ElementType::kI64;
};

class ReorderRowsState final : public StepState {
 public:
  explicit ReorderRowsState(const ReorderRowsStep& step) : step_(step) {}
  void rebind(std::span<void* const> pointers) override { pointers_.assign(pointers.begin(), pointers.end()); }
  void run(const dnnl::stream&) override {
    const Runs& runs = step_.runs;
    bool stays = true;
    for (std::size_t row = 0; row < runs.rows; ++row) stays &= source(row) == static_cast<std::int64_t>(row);
    if (stays) return;
    if (control) control->committed = true;
    char *cache = static_cast<char*>(pointers_[1]), *other = static_cast<char*>(pointers_[2]);
    const std::size_t row_bytes = runs.per_row * step_.used;
    for (std::size_t row = 0; row < runs.rows; ++row) {
      const std::int64_t from = source(row);
      // The operation's rule: an index out of range gives zeros.
      if (from < 0)
        std::memset(other + row * row_bytes, 0, row_bytes);
      else
        for (std::size_t run = 0; run < runs.per_row; ++run)
          std::memcpy(other + row * row_bytes + run * step_.used,
                      cache + (static_cast<std::size_t>(from) * runs.per_row + run) * runs.pitch, step_.used);
    }
    for (std::size_t run = 0; run < runs.rows * runs.per_row; ++run)
      std::memcpy(cache + run * runs.pitch, other + run * step_.used, step_.used);
  }

 private:
  /// -1: none.
  std::int64_t source(std::size_t row) const {
    const auto rows = static_cast<std::int64_t>(step_.runs.rows);
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

void lower_append(PlanBuilder& builder, const std::shared_ptr<Node>& node, const Growth& growth) {
  Value& before = builder.input(node, 0);
  Value& made = builder.value(node->output(0));
  const Place cache = builder.native(before).place;
  const Runs runs = runs_of(made, growth);
  const md desc = with_room(made.type, made.shape, growth.axis, growth.capacity);
  struct Part {
    std::size_t bytes, offset;  // of each run
  };
  std::vector<Part> parts;
  std::vector<Place> places;
  std::size_t at = before.shape[growth.axis] * runs.inner;
  for (std::size_t i = 1; i < node->get_input_size(); ++i) {
    Value& part = builder.input(node, i);
    const std::size_t bytes = part.shape[growth.axis] * runs.inner;
    if (bytes == 0) continue;
    places.push_back(builder.plain(part));
    parts.push_back({bytes, at});
    at += bytes;
  }
  if (parts.empty()) {
    builder.define_view(made, desc, cache);
    builder.note_optimized_out(node);
    return;
  }
  builder.define_at(made, desc, cache);
  const std::size_t count = runs.rows * runs.per_row, pitch = runs.pitch;
  builder.add_kernel(node, "append", places, {cache}, [parts, count, pitch](std::span<void* const> p) {
    char* to = static_cast<char*>(p[parts.size()]);
    for (std::size_t run = 0; run < count; ++run)
      for (std::size_t i = 0; i < parts.size(); ++i)
        std::memcpy(to + run * pitch + parts[i].offset, static_cast<const char*>(p[i]) + run * parts[i].bytes,
                    parts[i].bytes);
  });
}

void lower_reorder_rows(PlanBuilder& builder, const std::shared_ptr<Node>& node, const Growth& growth) {
  Value& before = builder.input(node, 0);
  Value& indices = builder.input(node, 1);
  Value& made = builder.value(node->output(0));
  const Place cache = builder.native(before).place;
  const md desc = with_room(made.type, made.shape, growth.axis, growth.capacity);
  if (element_count(made.shape) == 0) {
    builder.define_view(made, desc, cache);
    return;
  }
  auto step = std::make_unique<ReorderRowsStep>();
  step->runs = runs_of(made, growth);
  step->used = made.shape[growth.axis] * step->runs.inner;
  step->index_type = indices.type;
  const Place at = builder.plain(indices), other = builder.scratch(element_count(made.shape) * size_bytes(made.type));
  step->operands = {{at, false}, {cache, true}, {other, true}};
  builder.define_at(made, desc, cache);
  builder.add_step(node, std::move(step), "reorder rows");
}

}  // namespace tenon::inline v1::engine
