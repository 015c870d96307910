// SPDX-License-Identifier: Apache-2.0
// Layouts as text, and packed constants by what they were packed from.
#include <tenon/engine/plan/packed_constants.hpp>

#include <tenon/core/error.hpp>

namespace tenon::inline v1::engine {
namespace {

std::string joined(const dnnl::memory::dims& values) {
  std::string text;
  for (const auto value : values) text += (text.empty() ? "" : "x") + std::to_string(value);
  return text;
}

}  // namespace

std::string layout_text(const dnnl::memory::desc& desc) {
  if (desc.get_format_kind() != dnnl::memory::format_kind::blocked) return {};
  return std::to_string(static_cast<int>(desc.get_data_type())) + ' ' + joined(desc.get_dims()) + '/' +
         joined(desc.get_padded_dims()) + " strides " + joined(desc.get_strides()) + " blocks " +
         joined(desc.get_inner_blks()) + '@' + joined(desc.get_inner_idxs()) + " bytes " +
         std::to_string(desc.get_size());
}

Tensor PackedStore::find(const void* source, const dnnl::memory::desc& from, const dnnl::memory::desc& layout) const {
  const std::string from_text = layout_text(from), text = layout_text(layout);
  for (const PackedConstant& packed : *by_address_.at(source)) {
    if (packed.from == from_text && packed.layout == text && packed.bytes.size_bytes() >= layout.get_size())
      return packed.bytes;
  }
  throw Error(Code::kFailedPrecondition,
              "CPU: a constant was packed in another layout than the one wanted here (" + text +
                  "): another number of threads, or another processor; compile the model anew");
}

}  // namespace tenon::inline v1::engine
