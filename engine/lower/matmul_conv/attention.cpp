// SPDX-License-Identifier: Apache-2.0
// Lowers attention to one step: see kernels/attention.hpp.
#include <tenon/engine/lower/matmul_conv/attention.hpp>

#include <algorithm>
#include <numeric>

#include <tenon/engine/kernels/attention/attention_tasks.hpp>
#include <tenon/engine/kernels/simd/broadcast.hpp>
#include <tenon/engine/lower/build/precision.hpp>
#include <tenon/engine/lower/build/strides.hpp>
#include <tenon/engine/lower/build/table.hpp>
#include <tenon/engine/lower/matmul_conv/attention_match.hpp>

namespace tenon::inline v1::engine {
namespace {

using kernels::Attention;

/// One operand: where it lies, and its strides along [batch..., positions, numbers] of the result's rank.
struct Lying {
  BufferSlice place;
  ElementType type = ElementType::kF32;
  std::vector<std::size_t> strides;
  Attention::Scales scales = {};  ///< Where keys and values have 8 bits.
};

/// As it lies, if its numbers lie side by side in a type that the kernel reads; else packed as it should.
Lying lie_of(PlanBuilder& builder, const AttentionSide& side, Value& value) {
  Lying lying;
  const std::size_t own = value.shape.size();
  if (value.narrow && !side.is_flipped) {
    const NarrowCache& narrow = *value.narrow;
    const std::size_t group = narrow.format.group;
    return {narrow.place,
            narrow.format.type,
            narrow.strides,
            {group ? narrow.scales_offset : 0, group, group ? narrow.strides[own - 2] / group * 2 : 0}};
  }
  const Value::Variant variant = builder.real(value);
  const auto is_read = [&](const md& desc) {
    if (desc.get_ndims() == 0) return false;
    lying.type = element_type(desc);
    if (!(lying.type == ElementType::kF32 || lying.type == ElementType::kBf16) || !strides_of(desc, own, lying.strides))
      return false;
    if (side.is_flipped) std::swap(lying.strides[own - 1], lying.strides[own - 2]);
    return lying.strides.back() == 1 || value.shape[own - (side.is_flipped ? 2 : 1)] == 1;
  };
  if (is_read(variant.desc)) {
    lying.place = variant.place;
    return lying;
  }
  Shape shape = value.shape;
  if (side.is_flipped) std::swap(shape[own - 1], shape[own - 2]);
  md packed = plain_desc(ElementType::kF32, shape);
  if (side.is_flipped) {
    std::vector<int> order(own);
    std::iota(order.begin(), order.end(), 0);
    std::swap(order[own - 1], order[own - 2]);
    packed = packed.permute_axes(order);
  }
  lying.place = builder.in_layout(value, packed);
  is_read(packed);
  return lying;
}

Lying lie(PlanBuilder& builder, const AttentionSide& side, std::size_t rank) {
  Value& value = builder.value(side.value);
  const std::size_t own = value.shape.size();
  Lying lying = lie_of(builder, side, value);
  // Axes of 1 are the same for all.
  for (std::size_t i = 0; i + 2 < own; ++i)
    if (value.shape[i] == 1) lying.strides[i] = 0;
  lying.strides.insert(lying.strides.begin(), rank - own, 0);
  return lying;
}

/// Where the matrix of each item of the batch begins; of `repeated` neighbours along the last axis, at the same place.
std::size_t begin_of(const Shape& made, std::size_t item, const std::vector<std::size_t>& strides,
                     std::size_t repeated = 1) {
  std::size_t at = 0;
  for (std::size_t axis = made.size() - 2; axis-- > 0; item /= made[axis])
    at += item % made[axis] / (axis + 3 == made.size() ? repeated : 1) * strides[axis];
  return at;
}

Shape extents(const AttentionSide& side) {
  Shape shape = side.value.get_shape();
  if (side.is_flipped) std::swap(shape[shape.size() - 1], shape[shape.size() - 2]);
  return shape;
}

}  // namespace

bool lower_attention(PlanBuilder& builder, const Chain& chain) {
  const auto match = match_attention(builder, chain.last());
  if (!match) return false;
  Value& made = builder.value(chain.last()->output(0));
  const std::size_t rank = made.shape.size();
  const Lying q = lie(builder, match->q, rank), k = lie(builder, match->k, rank), v = lie(builder, match->v, rank);
  Attention what;
  what.queries = made.shape[rank - 2];
  what.keys = extents(match->k)[extents(match->k).size() - 2];
  what.depth = extents(match->q).back();
  what.width = made.shape[rank - 1];
  what.q_type = q.type;
  what.k_type = k.type;
  what.v_type = v.type;
  what.q_row = q.strides[rank - 2];
  what.k_row = k.strides[rank - 2];
  what.v_row = v.strides[rank - 2];
  what.k_scales = k.scales;
  what.v_scales = v.scales;
  what.is_narrow = builder.compute_type() == ElementType::kBf16;
  what.scale = match->scale;
  what.softcap = match->softcap;
  what.is_causal = match->is_causal;
  what.mask = match->mask_kind;
  what.masked = match->masked;
  what.blind = match->blind;
  std::vector<BufferSlice> from{q.place, k.place, v.place};
  std::vector<std::size_t> mask_strides(rank, 0);
  if (match->mask) {
    Value& mask = builder.value(match->mask);
    from.push_back(builder.plain(mask));
    Shape scores = made.shape;
    scores.back() = what.keys;
    const auto strides = kernels::broadcast_strides(mask.shape, scores);
    mask_strides.assign(strides.begin(), strides.end());
    what.mask_row = mask_strides[rank - 2];
    what.mask_column = mask_strides[rank - 1];
  }
  const bool has_scale = static_cast<bool>(match->scale_value);
  if (has_scale) from.push_back(builder.plain(builder.value(match->scale_value)));
  std::vector<std::size_t> sink_strides(rank, 0);
  what.has_sinks = static_cast<bool>(match->sinks);
  if (what.has_sinks) {
    Value& sinks = builder.value(match->sinks);
    from.push_back(builder.plain(sinks));
    Shape rows = made.shape;
    rows.back() = 1;
    const auto strides = kernels::broadcast_strides(sinks.shape, rows);
    sink_strides.assign(strides.begin(), strides.end());
    what.sink_row = sink_strides[rank - 2];
  }
  // In the order in which its reader wants it.
  const ElementType type = result_type(builder, chain, builder.compute_type());
  const md wanted = transposed_result(builder, chain.last(), type);
  std::vector<std::size_t> strides;
  const bool is_wanted = builder.options().fuse && wanted.get_ndims() && strides_of(wanted, rank, strides) &&
                         (strides.back() == 1 || what.width == 1);
  const md result = is_wanted ? wanted : plain_desc(type, made.shape);
  if (!is_wanted) strides = packed_strides(made.shape);
  what.out_type = type;
  what.out_row = strides[rank - 2];
  const std::size_t items = element_count(Shape(made.shape.begin(), made.shape.end() - 2));
  for (std::size_t item = 0; item < items; ++item)
    what.heads.push_back({begin_of(made.shape, item, q.strides),
                          begin_of(made.shape, item, k.strides, match->k.repeated),
                          begin_of(made.shape, item, v.strides, match->v.repeated), begin_of(made.shape, item, strides),
                          begin_of(made.shape, item, mask_strides), begin_of(made.shape, item, sink_strides)});
  const bool is_masked = what.mask != Attention::Mask::kNone, is_narrow = what.is_narrow, has_sinks = what.has_sinks;
  const auto tasks = std::make_shared<const kernels::AttentionTasks>(
      std::move(what), static_cast<std::size_t>(std::max(builder.options().threads, 1)));
  const BufferSlice to = builder.define(made, result), scratch = builder.scratch(tasks->scratch_bytes());
  builder.add_kernel(chain.last(), is_narrow ? "attention:bf16" : "attention", from, {to, scratch},
                     [tasks, is_masked, has_scale, has_sinks](std::span<void* const> p) {
                       const std::size_t scale_at = 3 + is_masked, sinks_at = scale_at + has_scale,
                                         made_at = sinks_at + has_sinks;
                       const float scale = has_scale ? *static_cast<const float*>(p[scale_at]) : 1;
                       tasks->run(p[0], p[1], p[2], is_masked ? p[3] : nullptr, has_sinks ? p[sinks_at] : nullptr,
                                  p[made_at], p[made_at + 1], scale);
                     });
  builder.note_joined(chain);
  return true;
}

void register_attention(LoweringTable& table) { table["ScaledDotProductAttention"] = {lower_attention, false}; }

}  // namespace tenon::inline v1::engine
