// SPDX-License-Identifier: Apache-2.0
// TopK.
#include <tenon/engine/kernels/reductions/top_k.hpp>
#include <tenon/engine/lower/build/builder.hpp>
#include <tenon/engine/lower/build/table.hpp>

namespace tenon::inline v1::engine {
namespace {

bool lower_top_k(PlanBuilder& builder, const Chain& chain) {
  const auto& node = chain.anchor();
  const auto& attributes = node->get_attributes();
  Value &source = builder.input(node, 0), &values = builder.value(node->output(0)),
        &indices = builder.value(node->output(1));
  if (!kernels::has_top_k(source.type) || element_count(values.shape) == 0) return false;
  const auto rank = static_cast<std::int64_t>(source.shape.size());
  const std::int64_t given = attributes.get_int("axis");
  const auto axis = static_cast<std::size_t>(given < 0 ? given + rank : given);
  kernels::TopK what;
  what.type = source.type;
  what.index_type = indices.type;
  what.k = values.shape[axis];
  what.greatest = attributes.get_string("mode") == "max";
  what.by_index = attributes.get_string("sort") == "index";
  for (std::size_t i = 0; i < source.shape.size(); ++i)
    (i < axis ? what.outer : i > axis ? what.inner : what.extent) *= source.shape[i];
  if (what.k > what.extent || what.extent >= UINT32_MAX) return false;
  const BufferSlice from = builder.plain(source), to = builder.define_plain(values), at = builder.define_plain(indices);
  builder.add_kernel(node, "top k", {from}, {to, at},
                     [what](std::span<void* const> p) { kernels::top_k(what, p[0], p[1], p[2]); });
  return true;
}

}  // namespace

void register_sorting(LoweringTable& table) { table["TopK"] = {lower_top_k, false}; }

}  // namespace tenon::inline v1::engine
