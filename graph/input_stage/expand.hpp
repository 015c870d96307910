// SPDX-License-Identifier: Apache-2.0
// The input stage as standard operations, for readers that know only those.
#pragma once

#include <memory>

#include <tenon/core/export.hpp>
#include <tenon/graph/model.hpp>

namespace tenon {
inline namespace v1 {

/// A copy of `model` in which operations of OpenVINO's opsets 1 to 5 replace every InputStage: conversion, transposes,
/// Interpolate, a 1x1 convolution for the colours, padding, mean and scale. Inputs, outputs and names stay. The last
/// new node gets the stage's friendly name; the others get it followed by "/" and their purpose. Null if there is no
/// InputStage outside of bodies. Values agree with the stage's up to f32 rounding.
/// @errors kInvalidArgument: damaged attributes.  @thread any.  @cost one pass over the nodes.
TENON_API std::shared_ptr<Model> expand_input_stages(const Model& model);

}  // namespace v1
}  // namespace tenon
