// SPDX-License-Identifier: Apache-2.0
// States that attention reads as keys and values, in fewer bits than the model says.
#pragma once

#include <map>
#include <memory>
#include <string>

#include <tenon/core/element_type.hpp>
#include <tenon/core/shape.hpp>
#include <tenon/core/tensor.hpp>
#include <tenon/graph/model.hpp>
#include <tenon/planning/state_ports.hpp>

namespace tenon::inline v1::gpu_device {

/// How a state of f32 lies instead.
struct CacheRows {
  ElementType type =
      ElementType::kF16;    ///< kF16, or kU8 with a scale and a least number for each row (cache_rows.hpp).
  std::size_t columns = 0;  ///< The length of a row.
};
/// By the states' ids.
using CacheTypes = std::map<std::string, CacheRows>;

/// The states that lie in these types: of f32, growing by Concat along another axis than the last, which is known, and read
/// by attention alone. @param keys, values  kF32: as the model says.
CacheTypes cache_types(const Model& model, ElementType keys, ElementType values);

/// The axes along which states of reals grow by Concat, where that is not the last one, by the states' ids.
using GrowingAxes = std::map<std::string, std::size_t>;
GrowingAxes growing_axes(const Model& model);

/// A model whose ports for such states are of the types in which these lie. Those that are joined with new rows are joined as they lie.
/// @param growing  States whose ports are to say so (kGrows).
std::shared_ptr<const Model> with_caches(const planning::StatePorts& ports, const CacheTypes& types,
                                         const GrowingAxes& growing);

/// A state's value as it lies, and the reverse, on the host. @param value  Packed, f32.
Tensor as_cache(const Tensor& value, ElementType type);
Tensor from_cache(const Tensor& lying, const CacheRows& rows);

}  // namespace tenon::inline v1::gpu_device
