// SPDX-License-Identifier: Apache-2.0
// Gather, Broadcast, Tile and Convert by loops of ours.
#include <cstring>

#include <tenon/engine/kernels/simd/convert.hpp>
#include <tenon/engine/kernels/simd/copy.hpp>
#include <tenon/engine/lower/build/builder.hpp>
#include <tenon/engine/lower/build/table.hpp>

namespace tenon::inline v1::engine {
namespace {

using Strides = std::vector<std::ptrdiff_t>;

/// Data [batches * outer, extent, inner], indices [batches, count].
template <typename Index>
KernelStep::Kernel gather_kernel(std::size_t batches, std::size_t outer, std::size_t extent, std::size_t count,
                                 std::size_t inner_bytes) {
  return [=](std::span<void* const> p) {
    const char* data = static_cast<const char*>(p[0]);
    const Index* indices = static_cast<const Index*>(p[1]);
    char* out = static_cast<char*>(p[2]);
    const auto size = static_cast<std::int64_t>(extent);
    kernels::parallel(
        batches * outer * count, 2 * batches * outer * count * inner_bytes, [&](std::size_t begin, std::size_t end) {
          for (std::size_t i = begin; i < end; ++i) {
            std::int64_t index = static_cast<std::int64_t>(indices[i / (outer * count) * count + i % count]);
            if (index < 0) index += size;
            // The operation's rule: an index out of range gives zeros.
            if (index < 0 || index >= size)
              std::memset(out + i * inner_bytes, 0, inner_bytes);
            else
              std::memcpy(out + i * inner_bytes,
                          data + ((i / count) * extent + static_cast<std::size_t>(index)) * inner_bytes, inner_bytes);
          }
        });
  };
}

bool lower_gather(PlanBuilder& builder, const Chain& chain) {
  const auto& node = chain.anchor();
  Value& data = builder.input(node, 0);
  Value& indices = builder.input(node, 1);
  Value& made = builder.value(node->output(0));
  std::vector<std::int64_t> axes;
  if (!builder.constant_ints(node, 2, axes) || axes.size() != 1 || bit_width(data.type) < 8) return false;
  if (element_count(made.shape) == 0) return false;
  const std::size_t rank = data.shape.size();
  std::int64_t batch_axes = node->get_attributes().get_int("batch_dims", 0);
  if (batch_axes < 0) batch_axes += static_cast<std::int64_t>(indices.shape.size());
  const std::size_t axis = static_cast<std::size_t>(axes[0] < 0 ? axes[0] + static_cast<std::int64_t>(rank) : axes[0]);
  std::size_t batches = 1, outer = 1, inner = size_bytes(data.type);
  for (std::size_t i = 0; i < axis; ++i) (i < static_cast<std::size_t>(batch_axes) ? batches : outer) *= data.shape[i];
  for (std::size_t i = axis + 1; i < rank; ++i) inner *= data.shape[i];
  const std::size_t count = element_count(indices.shape) / batches;
  // One known index within one block of memory is a view.
  std::vector<std::int64_t> known;
  if (batches * outer == 1 && count == 1 && builder.constant_ints(node, 1, known)) {
    const std::int64_t index = known[0] < 0 ? known[0] + static_cast<std::int64_t>(data.shape[axis]) : known[0];
    if (index >= 0 && index < static_cast<std::int64_t>(data.shape[axis])) {
      BufferSlice place = builder.plain(data);
      place.offset += static_cast<std::size_t>(index) * inner;
      builder.define_view(made, plain_desc(made.type, made.shape), place);
      builder.note_optimized_out(node);
      return true;
    }
  }
  KernelStep::Kernel kernel;
  if (indices.type == ElementType::kI64)
    kernel = gather_kernel<std::int64_t>(batches, outer, data.shape[axis], count, inner);
  else if (indices.type == ElementType::kI32)
    kernel = gather_kernel<std::int32_t>(batches, outer, data.shape[axis], count, inner);
  else
    return false;
  const BufferSlice from = builder.plain(data), at = builder.plain(indices), to = builder.define_plain(made);
  builder.add_kernel(node, "gather", {from, at}, {to}, std::move(kernel));
  return true;
}

bool add_strided(PlanBuilder& builder, const std::shared_ptr<Node>& node, const kernels::Walk<2>& walk) {
  Value& made = builder.value(node->output(0));
  const std::size_t size = size_bytes(made.type);
  const BufferSlice from = builder.plain(builder.input(node, 0)), to = builder.define_plain(made);
  builder.add_kernel(node, "strided copy", {from}, {to},
                     [walk, size](std::span<void* const> p) { kernels::strided_copy(walk, size, p[1], p[0]); });
  return true;
}

bool lower_broadcast(PlanBuilder& builder, const Chain& chain) {
  const auto& node = chain.anchor();
  const std::string mode = node->get_attributes().get_string("mode", "numpy");
  const Shape from = node->get_input_shape(0), to = node->get_output_shape(0);
  if (bit_width(node->get_output_element_type(0)) < 8 || element_count(to) == 0 || from.size() > to.size())
    return false;
  if (mode != "numpy" && mode != "bidirectional") return false;
  return add_strided(
      builder, node,
      kernels::make_walk<2>(to, {kernels::broadcast_strides(to, to), kernels::broadcast_strides(from, to)}));
}

bool lower_tile(PlanBuilder& builder, const Chain& chain) {
  const auto& node = chain.anchor();
  const Shape to = node->get_output_shape(0);
  Shape from = node->get_input_shape(0);
  if (bit_width(node->get_output_element_type(0)) < 8 || element_count(to) == 0) return false;
  while (from.size() < to.size()) from.insert(from.begin(), 1);
  const Strides source = kernels::broadcast_strides(from, from);
  // Each axis is walked as [repeats, extent].
  Shape split;
  Strides strides;
  for (std::size_t i = 0; i < to.size(); ++i) {
    split.push_back(to[i] / from[i]);
    strides.push_back(0);
    split.push_back(from[i]);
    strides.push_back(source[i]);
  }
  return add_strided(builder, node, kernels::make_walk<2>(split, {kernels::broadcast_strides(split, split), strides}));
}

bool converts_halves() { return dnnl::get_effective_cpu_isa() >= dnnl::cpu_isa::avx2; }

bool lower_convert(PlanBuilder& builder, const Chain& chain) {
  const auto& node = chain.anchor();
  Value& source = builder.input(node, 0);
  Value& made = builder.value(node->output(0));
  if (source.type == made.type) {
    const auto variant = builder.native(source);
    made.quantization = source.quantization;
    builder.define_view(made, variant.desc, variant.place);
    builder.note_optimized_out(node);
    return true;
  }
  const ElementType from_type = source.type, to_type = made.type;
  const bool has_halves = from_type == ElementType::kF16 || to_type == ElementType::kF16;
  if (!kernels::converts(from_type, to_type) || (has_halves && !converts_halves())) return false;
  const std::size_t count = element_count(made.shape);
  const BufferSlice from = builder.plain(source), to = builder.define_plain(made);
  builder.add_kernel(node, "convert", {from}, {to},
                     [=](std::span<void* const> p) { kernels::convert(from_type, p[0], to_type, p[1], count); });
  return true;
}

}  // namespace

void register_gather(LoweringTable& table) {
  table["Gather"] = {lower_gather, false};
  table["Broadcast"] = {lower_broadcast, false};
  table["Tile"] = {lower_tile, false};
  table["Convert"] = {lower_convert, false};
  table["ConvertLike"] = {lower_convert, false};
}

}  // namespace tenon::inline v1::engine
