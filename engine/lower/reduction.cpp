// SPDX-License-Identifier: Apache-2.0
// Reductions: means over all spatial axes by oneDNN's pooling in any layout, rows by our loops.
#include <algorithm>
#include <limits>

#include <tenon/engine/kernels/broadcast.hpp>
#include <tenon/engine/lower/builder.hpp>
#include <tenon/engine/lower/table.hpp>

namespace tenon::inline v1::engine {
namespace {

using dnnl::algorithm;
using dims = dnnl::memory::dims;

struct Reduction {
  std::vector<bool> axes;
  bool keep_dims;
};

bool reduction_of(PlanBuilder& builder, const std::shared_ptr<Node>& node, Reduction& reduction) {
  std::vector<std::int64_t> axes;
  if (!builder.constant_ints(node, 1, axes)) return false;
  const std::size_t rank = node->get_input_shape(0).size();
  reduction.axes.assign(rank, false);
  for (auto axis : axes)
    reduction.axes[static_cast<std::size_t>(axis < 0 ? axis + static_cast<std::int64_t>(rank) : axis)] = true;
  reduction.keep_dims = node->get_attributes().get_bool("keep_dims", false);
  return true;
}

/// Mean or maximum over all spatial axes: global pooling, which works on blocks as they lie.
bool lower_global(PlanBuilder& builder, const std::shared_ptr<Node>& node, const Reduction& reduction, algorithm algo) {
  Value& source = builder.input(node, 0);
  Value& made = builder.value(node->output(0));
  const Shape& shape = source.shape;
  if (shape.size() < 3 || shape.size() > 5) return false;
  for (std::size_t i = 0; i < shape.size(); ++i)
    if (reduction.axes[i] != (i >= 2)) return false;
  const md layout = builder.real(source).desc;
  dims window(shape.begin() + 2, shape.end()), ones(window.size(), 1), zeros(window.size(), 0),
      out{to_dims(shape)[0], to_dims(shape)[1]};
  out.insert(out.end(), window.size(), 1);
  dnnl::primitive_attr attr;
  attr.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  const dnnl::pooling_forward::primitive_desc pd(builder.engine(), dnnl::prop_kind::forward_inference, algo, layout,
                                                 md(out, layout.get_data_type(), dnnl::memory::format_tag::any), ones,
                                                 window, zeros, zeros, zeros, attr, true);
  if (!pd || is_slow(pd.impl_info_str())) return false;
  const Shape pooled(out.begin(), out.end());
  const md dst = pd.dst_desc();
  if (!reduction.keep_dims && !is_packed(dst, pooled)) return false;
  const Place from = builder.real(source).place;
  const Place to = builder.define(made, reduction.keep_dims ? dst : plain_desc(element_type(dst), made.shape));
  auto& step = builder.add_primitive(node, dnnl::pooling_forward(pd), pd.impl_info_str());
  builder.add_argument(step, DNNL_ARG_SRC, from, layout);
  builder.add_argument(step, DNNL_ARG_DST, to, dst, true);
  builder.add_scratchpad(step, pd.scratchpad_desc());
  return true;
}

/// [outer, extent, inner] -> [outer, inner]. Pairwise over short runs, so that long sums keep their precision.
template <typename Fold>
KernelStep::Kernel fold_kernel(std::size_t outer, std::size_t extent, std::size_t inner, float start, float scale,
                               Fold fold) {
  return [=](std::span<void* const> p) {
    const float* x = static_cast<const float*>(p[0]);
    float* out = static_cast<float*>(p[1]);
    kernels::parallel(outer, outer * extent * inner * 4, [&](std::size_t begin, std::size_t end) {
      for (std::size_t row = begin; row < end; ++row) {
        const float* from = x + row * extent * inner;
        float* to = out + row * inner;
        if (inner == 1) {
          constexpr std::size_t kLanes = 16;
          float lanes[kLanes];
          std::fill(lanes, lanes + kLanes, start);
          std::size_t i = 0;
          for (; i + kLanes <= extent; i += kLanes)
            for (std::size_t lane = 0; lane < kLanes; ++lane) lanes[lane] = fold(lanes[lane], from[i + lane]);
          for (std::size_t lane = 0; i < extent; ++i, ++lane) lanes[lane] = fold(lanes[lane], from[i]);
          for (std::size_t width = kLanes / 2; width > 0; width /= 2)
            for (std::size_t lane = 0; lane < width; ++lane) lanes[lane] = fold(lanes[lane], lanes[lane + width]);
          to[0] = lanes[0] * scale;
          continue;
        }
        std::fill(to, to + inner, start);
        for (std::size_t k = 0; k < extent; ++k)
          for (std::size_t i = 0; i < inner; ++i) to[i] = fold(to[i], from[k * inner + i]);
        if (scale != 1)
          for (std::size_t i = 0; i < inner; ++i) to[i] *= scale;
      }
    });
  };
}

bool lower_reduce(PlanBuilder& builder, const Chain& chain) {
  const auto& node = chain.anchor();
  Value& source = builder.input(node, 0);
  Value& made = builder.value(node->output(0));
  Reduction reduction;
  if (made.type != ElementType::kF32 || source.type != ElementType::kF32 || !reduction_of(builder, node, reduction))
    return false;
  if (element_count(source.shape) == 0) return false;
  const std::string_view type = node->get_type_name();
  if (type == "ReduceMean" && lower_global(builder, node, reduction, algorithm::pooling_avg_include_padding))
    return true;
  if (type == "ReduceMax" && lower_global(builder, node, reduction, algorithm::pooling_max)) return true;
  // One run of neighbouring axes; extents of 1 belong to any run.
  std::size_t outer = 1, extent = 1, inner = 1;
  int phase = 0;
  for (std::size_t i = 0; i < source.shape.size(); ++i) {
    if (source.shape[i] == 1) continue;
    if (reduction.axes[i]) {
      if (phase == 2) return false;
      phase = 1;
      extent *= source.shape[i];
    } else {
      if (phase == 1) phase = 2;
      (phase == 0 ? outer : inner) *= source.shape[i];
    }
  }
  KernelStep::Kernel kernel;
  const float infinity = std::numeric_limits<float>::infinity();
  const auto add = [](float a, float b) { return a + b; };
  if (type == "ReduceMean")
    kernel = fold_kernel(outer, extent, inner, 0, 1.f / static_cast<float>(extent), add);
  else if (type == "ReduceSum")
    kernel = fold_kernel(outer, extent, inner, 0, 1, add);
  else if (type == "ReduceMax")
    kernel = fold_kernel(outer, extent, inner, -infinity, 1, [](float a, float b) { return a < b ? b : a; });
  else if (type == "ReduceMin")
    kernel = fold_kernel(outer, extent, inner, infinity, 1, [](float a, float b) { return b < a ? b : a; });
  else
    return false;
  const Place from = builder.plain(source), to = builder.define_plain(made);
  builder.add_kernel(node, "fold", {from}, {to}, std::move(kernel));
  return true;
}

}  // namespace

void register_reduction(LoweringTable& table) {
  for (const char* type : {"ReduceMean", "ReduceSum", "ReduceMax", "ReduceMin"}) table[type] = {lower_reduce, false};
}

}  // namespace tenon::inline v1::engine
