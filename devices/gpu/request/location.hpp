// SPDX-License-Identifier: Apache-2.0
// Where tensors lie for kernels, and which are used in place.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <variant>
#include <vector>

#include <tenon/core/error.hpp>
#include <tenon/core/tensor.hpp>
#include <tenon/devices/gpu/hardware.hpp>
#include <tenon/devices/gpu/plan/execution.hpp>
#include <tenon/devices/gpu/program/input_source.hpp>

namespace tenon::inline v1::gpu_device {

/// A rectangle of an image, as its calls take it.
struct ImageTarget {
  cl_mem image = nullptr;
  std::array<std::size_t, 3> origin{}, size{};  ///< Pixels.
};

/// How a tensor is used: in place, or moved to or from a buffer of the request's at every inference, where the device has
/// memory of its own.
struct Location {
  bool is_moved = false;
  Tensor mapped;  ///< Keeps what `memory` is in, where that is not the tensor itself.
  BoundMemory memory;
  InputForm form;  ///< How one tensor lies; what is moved is plain.
  std::optional<ImageTarget>
      image{};  ///< Set for an output in an image: the device copies a buffer of the request's there.
};
/// Whether plain_memory() finds it.
bool is_plain(const Gpu& gpu, const Tensor& tensor);
/// A packed tensor in a buffer of the device's, found at the cost of a look; nothing for any other.
std::optional<BoundMemory> plain_memory(const Gpu& gpu, const Tensor& tensor, bool takes_pitch = false);
/// @param takes_pitch  Plain tensors' rows may lie further apart than they are long.
/// @errors none: what cannot be used is refused.
std::variant<Location, Refusal> locate(const Gpu& gpu, const Tensor& tensor, Access access, bool takes_pitch = false);
/// The items of a batch, each in place. @errors none, as locate().
std::variant<std::vector<Location>, Refusal> locate_batch(const Gpu& gpu, std::span<const Tensor> items);

}  // namespace tenon::inline v1::gpu_device
