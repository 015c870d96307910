// SPDX-License-Identifier: Apache-2.0
// Softmax, LogSoftmax, LRN and MVN over the last axes on oneDNN; norms over pixels and groups of channels by our own
// kernels.
#include <algorithm>
#include <span>

#include <tenon/engine/kernels/reductions/group_norm.hpp>
#include <tenon/engine/kernels/reductions/instance_norm.hpp>
#include <tenon/engine/kernels/reductions/softmax.hpp>
#include <tenon/engine/lower/build/post_ops.hpp>
#include <tenon/engine/lower/build/precision.hpp>
#include <tenon/engine/lower/build/table.hpp>

namespace tenon::inline v1::engine {
namespace {

using dnnl::algorithm;

bool lower_softmax(PlanBuilder& builder, const Chain& chain) {
  const auto& node = chain.anchor();
  Value& source = builder.input(node, 0);
  Value& made = builder.value(node->output(0));
  if (made.type != ElementType::kF32 || element_count(made.shape) == 0 || made.shape.empty()) return false;
  const std::size_t rank = made.shape.size();
  const std::int64_t given = node->get_attributes().get_int("axis");
  const std::size_t axis = static_cast<std::size_t>(given < 0 ? given + static_cast<std::int64_t>(rank) : given);
  const bool is_log = std::string_view(node->get_type_name()) == "LogSoftmax";
  std::size_t outer = 1, inner = 1;
  for (std::size_t i = 0; i < axis; ++i) outer *= made.shape[i];
  for (std::size_t i = axis + 1; i < rank; ++i) inner *= made.shape[i];
  if (inner > 1 && !is_log) {
    // Columns side by side: computes a vector of columns at a time, where oneDNN computes each column alone.
    const std::size_t extent = made.shape[axis];
    const BufferSlice from = builder.plain(source);
    const BufferSlice to = builder.define_over(made, plain_desc(made.type, made.shape),
                                               {from, *checked_size_bytes(made.type, made.shape)});
    builder.add_kernel(node, "column softmax", {from}, {to}, [outer, extent, inner](std::span<void* const> p) {
      kernels::softmax_columns(static_cast<const float*>(p[0]), static_cast<float*>(p[1]), outer, extent, inner);
    });
    return true;
  }
  // Sums and exponentials need real numbers, which may lie as bf16.
  const ElementType lies_in = element_type(builder.real(source).desc);
  const BufferSlice from = builder.in_layout(source, plain_desc(lies_in, source.shape));
  const md read = plain_desc(lies_in, source.shape),
           desc = plain_desc(result_type(builder, chain, builder.compute_type()), made.shape);
  KernelKey key{PlanBuilder::key_of(dnnl::primitive::kind::softmax), is_log, axis};
  append(key, read);
  append(key, desc);
  const auto made_kernel = builder.kernel(key, [&]() -> MadeKernel {
    dnnl::primitive_attr attributes;
    attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
    const dnnl::softmax_forward::primitive_desc pd(builder.engine(), dnnl::prop_kind::forward_inference,
                                                   is_log ? algorithm::softmax_log : algorithm::softmax_accurate, read,
                                                   desc, static_cast<int>(axis), attributes, true);
    if (!pd) return {};
    return {dnnl::softmax_forward(pd), pd.impl_info_str(), {pd.scratchpad_desc()}};
  });
  if (!*made_kernel) return false;
  const BufferSlice to =
      read == desc ? builder.define_over(made, desc, {from, desc.get_size()}) : builder.define(made, desc);
  auto& step = builder.add_primitive(node, made_kernel->primitive, made_kernel->name);
  builder.add_argument(step, DNNL_ARG_SRC, from, read);
  builder.add_argument(step, DNNL_ARG_DST, to, desc, true);
  builder.add_scratchpad(step, made_kernel->descs[0]);
  step.after = [is_log, outer, extent = made.shape[axis], inner,
                is_bf16 = element_type(desc) == ElementType::kBf16](std::span<void* const> p) {
    if (is_bf16)
      kernels::spread_nan(static_cast<kernels::Bf16*>(p[1]), outer, extent, inner, is_log);
    else
      kernels::spread_nan(static_cast<float*>(p[1]), outer, extent, inner, is_log);
  };
  return true;
}

/// The values per column that the chain's node of that type multiplies or adds; empty if there is none.
Tensor parameter(PlanBuilder& builder, const Chain& chain, std::string_view type, const Shape& shape) {
  for (std::size_t i = 1; i < chain.nodes.size(); ++i) {
    if (chain.nodes[i]->get_type_name() == type)
      return axis_tensor(builder, chain.nodes[i], chain.nodes[i - 1], shape, shape.size() - 1);
  }
  return {};
}

/// Over the places of each channel, where the channels lie in blocks or innermost: in that layout.
bool lower_channel_norm(PlanBuilder& builder, const Chain& chain, const std::vector<std::int64_t>& axes) {
  const auto& node = chain.anchor();
  Value &source = builder.input(node, 0), &made = builder.value(node->output(0));
  const Shape& shape = source.shape;
  if (chain.nodes.size() > 1 || shape.size() < 3 || axes.size() != shape.size() - 2 || !builder.options().fuse)
    return false;
  for (auto axis : axes)
    if (axis < 0 ? axis + static_cast<std::int64_t>(shape.size()) < 2 : axis < 2) return false;
  const Value::Variant from = builder.real(source);
  const ElementType type = element_type(from.desc);
  if (from.packed || (type != ElementType::kF32 && type != ElementType::kBf16)) return false;
  const md blocked = builder.blocked_desc(shape, type);
  const bool is_blocked = blocked.get_ndims() && from.desc == blocked;
  if (!is_blocked && from.desc != channels_last(type, shape)) return false;
  const auto& attributes = node->get_attributes();
  const std::string mode = attributes.get_string("eps_mode", "inside_sqrt");
  kernels::InstanceNorm what;
  what.type = type;
  // A block of channels is an image with so many of them.
  what.channels = is_blocked ? static_cast<std::size_t>(builder.channel_block()) : shape[1];
  what.images = shape[0] * ((shape[1] + what.channels - 1) / what.channels);
  what.pixels = element_count(shape) / shape[0] / shape[1];
  what.epsilon = static_cast<float>(attributes.get_double("eps"));
  what.is_outside = mode != "inside_sqrt" && mode != "INSIDE_SQRT";
  what.divides = attributes.get_bool("normalize_variance", true);
  const BufferSlice scratch = builder.scratch(what.scratch_bytes());
  const BufferSlice to = builder.define_over(made, from.desc, {from.place, from.desc.get_size()});
  builder.add_kernel(node, "instance norm", {from.place}, {to, scratch},
                     [what](std::span<void* const> p) { what.run(p[0], p[1], p[2]); });
  return true;
}

bool lower_group_norm(PlanBuilder& builder, const Chain& chain) {
  const auto& node = chain.anchor();
  Value &source = builder.input(node, 0), &made = builder.value(node->output(0));
  for (std::size_t i = 0; i < 3; ++i)
    if (node->get_input_element_type(i) != element::f32) return false;
  const Shape& shape = source.shape;
  if (element_count(shape) == 0) return false;
  kernels::GroupNorm what;
  what.pictures = shape[0];
  what.groups = static_cast<std::size_t>(node->get_attributes().get_int("num_groups"));
  what.channels = shape[1] / what.groups;
  what.plane = element_count(shape) / shape[0] / shape[1];
  what.epsilon = static_cast<float>(node->get_attributes().get_double("epsilon"));
  // A group of whole blocks is as much one piece of memory as one in plain layout.
  const auto block = static_cast<std::size_t>(std::max(builder.channel_block(), 1));
  const md blocked = builder.blocked_desc(shape);
  md desc = plain_desc(ElementType::kF32, shape);
  if (blocked.get_ndims() && what.channels % block == 0 && !builder.real(source).packed) {
    what.block = block;
    desc = blocked;
  }
  const BufferSlice scale = builder.plain(builder.input(node, 1)), bias = builder.plain(builder.input(node, 2));
  const BufferSlice from = builder.in_layout(source, desc);
  const BufferSlice to = builder.define_over(made, desc, {from, *checked_size_bytes(made.type, shape)},
                                             {{scale, shape[1] * sizeof(float)}, {bias, shape[1] * sizeof(float)}});
  builder.add_kernel(node, "groups", {from, scale, bias}, {to}, [what](std::span<void* const> p) {
    kernels::group_norm(what, static_cast<const float*>(p[0]), static_cast<const float*>(p[1]),
                        static_cast<const float*>(p[2]), static_cast<float*>(p[3]));
  });
  return true;
}

/// Local response normalization across channels.
bool lower_lrn(PlanBuilder& builder, const Chain& chain) {
  const auto& node = chain.anchor();
  Value &source = builder.input(node, 0), &made = builder.value(node->output(0));
  const auto& attributes = node->get_attributes();
  std::vector<std::int64_t> axes;
  const std::int64_t size = attributes.get_int("size");
  if (source.type != ElementType::kF32 || source.shape.size() != 4 || element_count(source.shape) == 0 ||
      size % 2 == 0 || !builder.constant_ints(node, 1, axes) || axes.size() != 1 || (axes[0] != 1 && axes[0] != -3))
    return false;
  const auto number = [&](const char* name) { return static_cast<float>(attributes.get_double(name)); };
  const float alpha = number("alpha"), beta = number("beta"), bias = number("bias");
  const Value::Variant from = builder.real(source);
  const md desc =
      element_type(from.desc) == ElementType::kF32 ? from.desc : plain_desc(ElementType::kF32, source.shape);
  KernelKey key{PlanBuilder::key_of(dnnl::primitive::kind::lrn), static_cast<std::uint64_t>(size)};
  for (const float value : {alpha, beta, bias}) append(key, value);
  append(key, desc);
  const auto kernel = builder.kernel(key, [&]() -> MadeKernel {
    dnnl::primitive_attr attr;
    attr.set_scratchpad_mode(dnnl::scratchpad_mode::user);
    const dnnl::lrn_forward::primitive_desc pd(builder.engine(), dnnl::prop_kind::forward_inference,
                                               algorithm::lrn_across_channels, desc, desc, size, alpha, beta, bias,
                                               attr, true);
    if (!pd) return {};
    return {dnnl::lrn_forward(pd), pd.impl_info_str(), {pd.scratchpad_desc()}};
  });
  if (!*kernel) return false;
  const BufferSlice src = builder.in_layout(source, desc), dst = builder.define(made, desc);
  auto& step = builder.add_primitive(node, kernel->primitive, kernel->name);
  builder.add_argument(step, DNNL_ARG_SRC, src, desc);
  builder.add_argument(step, DNNL_ARG_DST, dst, desc, true);
  builder.add_scratchpad(step, kernel->descs[0]);
  return true;
}

/// With the Multiply and the Add after it, if the chain has them: a layer normalization.
bool lower_mvn(PlanBuilder& builder, const Chain& chain) {
  const auto& node = chain.anchor();
  Value& source = builder.input(node, 0);
  Value& made = builder.value(chain.last()->output(0));
  const auto& attributes = node->get_attributes();
  if (made.type != ElementType::kF32 || element_count(made.shape) == 0 || node->get_input_size() < 2) return false;
  std::vector<std::int64_t> axes;
  if (!builder.constant_ints(node, 1, axes) || axes.empty()) return false;
  if (lower_channel_norm(builder, chain, axes)) return true;
  if (!attributes.get_bool("normalize_variance", true)) return false;
  const std::string mode = attributes.get_string("eps_mode", "inside_sqrt");
  if (mode != "inside_sqrt" && mode != "INSIDE_SQRT") return false;
  // The trailing axes as a whole: rows of one length.
  const std::size_t rank = made.shape.size();
  std::vector<bool> reduced(rank, false);
  for (auto axis : axes)
    reduced[static_cast<std::size_t>(axis < 0 ? axis + static_cast<std::int64_t>(rank) : axis)] = true;
  std::size_t rows = 1, columns = 1;
  for (std::size_t i = 0; i < rank; ++i) {
    if (i > 0 && reduced[i - 1] && !reduced[i]) return false;
    (reduced[i] ? columns : rows) *= made.shape[i];
  }
  // Parameters vary along the last axis alone.
  if (chain.nodes.size() > 1 && columns != made.shape.back()) return false;
  const Tensor scale = parameter(builder, chain, "Multiply", made.shape),
               shift = parameter(builder, chain, "Add", made.shape);
  auto flags = dnnl::normalization_flags::none;
  if (scale) flags |= dnnl::normalization_flags::use_scale;
  if (shift) flags |= dnnl::normalization_flags::use_shift;
  // The type in which its readers compute.
  const ElementType type = result_type(builder, chain, builder.compute_type());
  const md desc = plain_desc(type, Shape{rows, columns});
  const md parameter_desc = plain_desc(ElementType::kF32, Shape{columns});
  const auto epsilon = static_cast<float>(attributes.get_double("eps"));
  KernelKey key{PlanBuilder::key_of(dnnl::primitive::kind::layer_normalization), static_cast<std::uint64_t>(flags)};
  append(key, epsilon);
  append(key, desc);
  const auto kernel = builder.kernel(key, [&]() -> MadeKernel {
    dnnl::primitive_attr attr;
    attr.set_scratchpad_mode(dnnl::scratchpad_mode::user);
    const dnnl::layer_normalization_forward::primitive_desc pd(builder.engine(), dnnl::prop_kind::forward_inference,
                                                               desc, desc, epsilon, flags, attr, true);
    if (!pd) return {};
    return {dnnl::layer_normalization_forward(pd), pd.impl_info_str(), {pd.scratchpad_desc()}};
  });
  if (!*kernel) return false;
  const BufferSlice from = builder.in_layout(source, plain_desc(type, source.shape));
  const BufferSlice to = builder.define(made, plain_desc(type, made.shape));
  const BufferSlice scale_place = scale ? builder.constant_place(scale) : BufferSlice{},
                    shift_place = shift ? builder.constant_place(shift) : BufferSlice{};
  const std::string name = kernel->name + (scale ? "+Multiply" : "") + (shift ? "+Add" : "");
  auto& step = builder.add_primitive(node, kernel->primitive, name);
  builder.add_argument(step, DNNL_ARG_SRC, from, desc);
  if (scale) builder.add_argument(step, DNNL_ARG_SCALE, scale_place, parameter_desc);
  if (shift) builder.add_argument(step, DNNL_ARG_SHIFT, shift_place, parameter_desc);
  builder.add_argument(step, DNNL_ARG_DST, to, desc, true);
  builder.add_scratchpad(step, kernel->descs[0]);
  builder.note_fused(chain);
  return true;
}

}  // namespace

void register_normalization(LoweringTable& table) {
  table["Softmax"] = {lower_softmax, false};
  table["LogSoftmax"] = {lower_softmax, false};
  table["MVN"] = {lower_mvn, true};
  table["LRN"] = {lower_lrn, false};
  table["GroupNormalization"] = {lower_group_norm, false};
}

}  // namespace tenon::inline v1::engine
