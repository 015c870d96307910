// SPDX-License-Identifier: Apache-2.0
// oneDNN's descriptions of our tensors.
#include <algorithm>
#include <string_view>

#include <tenon/engine/plan/descriptions.hpp>

namespace tenon::inline v1::engine {

dnnl::memory::data_type data_type(ElementType type) {
  using dt = dnnl::memory::data_type;
  switch (type) {
    case ElementType::kF32:
      return dt::f32;
    case ElementType::kBf16:
      return dt::bf16;
    case ElementType::kF16:
      return dt::f16;
    case ElementType::kI32:
      return dt::s32;
    case ElementType::kI8:
      return dt::s8;
    case ElementType::kU8:
      return dt::u8;
    default:
      return dt::undef;
  }
}

ElementType element_type(const md& desc) {
  using dt = dnnl::memory::data_type;
  switch (desc.get_data_type()) {
    case dt::f32:
      return ElementType::kF32;
    case dt::bf16:
      return ElementType::kBf16;
    case dt::f16:
      return ElementType::kF16;
    case dt::s32:
      return ElementType::kI32;
    case dt::s8:
      return ElementType::kI8;
    case dt::u8:
      return ElementType::kU8;
    default:
      return ElementType::kUndefined;
  }
}

bool is_dense(const md& desc) {
  std::size_t bytes = size_bytes(element_type(desc));
  for (auto extent : desc.get_dims()) bytes *= static_cast<std::size_t>(extent);
  return desc.get_ndims() > 0 && desc.get_size() == bytes;
}

md channels_last(ElementType type, const Shape& shape) {
  using tag = dnnl::memory::format_tag;
  constexpr tag kTags[] = {tag::nwc, tag::nhwc, tag::ndhwc};
  if (shape.size() < 3 || shape.size() > 5) return {};
  return md(to_dims(shape), data_type(type), kTags[shape.size() - 3]);
}

md retyped(const md& desc, ElementType type) {
  if (desc.get_ndims() == 0 || desc.get_format_kind() != dnnl::memory::format_kind::blocked) return {};
  if (desc.get_inner_nblks() == 0) return md(desc.get_dims(), data_type(type), desc.get_strides());
  using tag = dnnl::memory::format_tag;
  const int rank = desc.get_ndims();
  if (rank < 3 || rank > 5) return {};
  constexpr tag kTags[2][3] = {{tag::nCw16c, tag::nChw16c, tag::nCdhw16c}, {tag::nCw8c, tag::nChw8c, tag::nCdhw8c}};
  for (const auto& tags : kTags)
    if (desc == md(desc.get_dims(), desc.get_data_type(), tags[rank - 3]))
      return md(desc.get_dims(), data_type(type), tags[rank - 3]);
  return {};
}

bool is_packed(const md& desc, const Shape& shape) {
  return desc.get_ndims() == 0 || is_plain(desc, shape, element_type(desc));
}

dnnl::memory::dims to_dims(const Shape& shape) {
  dnnl::memory::dims dims(shape.begin(), shape.end());
  if (dims.empty()) dims.push_back(1);
  return dims;
}

md plain_desc(ElementType type, const Shape& shape) {
  const auto dt = data_type(type);
  if (dt == dnnl::memory::data_type::undef || shape.size() > DNNL_MAX_NDIMS) return {};
  const auto dims = to_dims(shape);
  dnnl::memory::dims strides(dims.size());
  std::int64_t step = 1;
  for (std::size_t i = dims.size(); i-- > 0;) {
    strides[i] = step;
    step *= std::max<std::int64_t>(dims[i], 1);
  }
  return md(dims, dt, strides);
}

bool is_plain(const md& desc, const Shape& shape, ElementType type) {
  // The C calls, and nothing to compare with: this is asked several times per node.
  const const_dnnl_memory_desc_t handle = desc.get(true);
  int rank = 0, blocks = 0;
  if (handle) dnnl_memory_desc_query(handle, dnnl_query_ndims_s32, &rank);
  if (rank == 0) return true;
  dnnl_data_type_t found{};
  dnnl_format_kind_t kind{};
  dnnl_memory_desc_query(handle, dnnl_query_data_type, &found);
  dnnl_memory_desc_query(handle, dnnl_query_format_kind, &kind);
  if (found != static_cast<dnnl_data_type_t>(data_type(type)) || kind != dnnl_blocked) return false;
  const dnnl_dims_t *dims = nullptr, *strides = nullptr;
  dnnl_memory_desc_query(handle, dnnl_query_dims, static_cast<void*>(&dims));
  dnnl_memory_desc_query(handle, dnnl_query_strides, static_cast<void*>(&strides));
  dnnl_memory_desc_query(handle, dnnl_query_inner_nblks_s32, &blocks);
  const auto extent = [&](std::size_t i) { return static_cast<std::int64_t>(shape[i]); };
  if (shape.empty()) return rank == 1 && (*dims)[0] == 1 && blocks == 0;
  if (static_cast<std::size_t>(rank) != shape.size()) return false;
  for (std::size_t i = 0; i < shape.size(); ++i)
    if ((*dims)[i] != extent(i)) return false;
  if (blocks == 0) {
    // The stride of an axis with one element is meaningless: [N, C, 1, 1] with the channels last is row-major.
    std::int64_t step = 1;
    for (std::size_t i = shape.size(); i-- > 0; step *= std::max<std::int64_t>(extent(i), 1))
      if (shape[i] != 1 && (*strides)[i] != step) return false;
    return true;
  }
  // [N, C, 1, 1] in blocks of C has the same bytes as row-major if no channel is padded.
  if (blocks != 1 || desc.get_inner_idxs()[0] != 1 || shape.size() < 2) return false;
  for (std::size_t i = 2; i < shape.size(); ++i)
    if (shape[i] != 1) return false;
  const auto block = desc.get_inner_blks()[0];
  const auto channels = extent(1);
  return channels % block == 0 && (*strides)[1] == block && (shape[0] == 1 || (*strides)[0] == channels);
}

bool has_native_bf16() { return dnnl::get_effective_cpu_isa() >= dnnl::cpu_isa::avx512_core_bf16; }

bool has_native_int8() {
  const auto isa = dnnl::get_effective_cpu_isa();
  using dnnl::cpu_isa;
  return isa == cpu_isa::avx2_vnni || isa == cpu_isa::avx2_vnni_2 || isa >= cpu_isa::avx512_core_vnni;
}

bool is_slow(const char* implementation) {
  const std::string_view name = implementation;
  return name.substr(0, 3) == "ref" || name.find("ref:") != name.npos || name.substr(0, 8) == "simple:a";
}

}  // namespace tenon::inline v1::engine
