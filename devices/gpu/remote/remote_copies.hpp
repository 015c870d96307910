// SPDX-License-Identifier: Apache-2.0
// copy_to() and copy_from() of remote tensors, by the copies of the framework that has their memory.
#pragma once

#include <tenon/core/tensor.hpp>

namespace tenon::inline v1::gpu_device {

/// Into host memory, or memory of any device. @param tensor  A tensor in a framework's memory. @errors those of the copies.
void copy_out(const Tensor& tensor, Tensor& destination);
/// @param self  The remote tensor. @param tensor  The same elements in a framework's memory. @errors kInvalidArgument: another type or
/// shape; those of the copies.
void copy_in(const Tensor& self, const Tensor& tensor, const Tensor& source);

}  // namespace tenon::inline v1::gpu_device
