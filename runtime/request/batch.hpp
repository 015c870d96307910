// SPDX-License-Identifier: Apache-2.0
// One input from several tensors, one per item of the batch.
#pragma once

#include <vector>

#include <tenon/core/error.hpp>
#include <tenon/core/ledger.hpp>
#include <tenon/core/shape.hpp>
#include <tenon/core/tensor.hpp>
#include <tenon/runtime/request/model_state.hpp>

namespace tenon {
inline namespace v1 {

/// The shape that `items` make together. @param items  Two or more, each with a batch of 1.
/// @errors kInvalidArgument, in OpenVINO's words: the items do not form a batch, or the input does not take it.
Shape batch_shape(const PortInfo& info, const std::vector<Tensor>& items);

/// Checks the items before they are copied into one tensor. @errors kInvalidArgument: they are strided, or no host memory, with the
/// device's reason why it does not use them where they lie.
void check_copied_items(const PortInfo& info, const std::vector<Tensor>& items, const Refusal& refusal);

/// The tensor of `shape` that the items form already if they are adjacent in one memory; else an empty one.
Tensor joined(const std::vector<Tensor>& items, const Shape& shape);

/// Copies the items into `whole`, one after the other, and books it. @cost every byte of the input once.
void copy_items(const std::vector<Tensor>& items, const Tensor& whole, Ledger& ledger);

}  // namespace v1
}  // namespace tenon
