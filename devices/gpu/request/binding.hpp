// SPDX-License-Identifier: Apache-2.0
// A port's tensor, and what is moved to and from it.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include <tenon/core/ledger.hpp>
#include <tenon/core/shape.hpp>
#include <tenon/core/tensor.hpp>
#include <tenon/devices/gpu/request/location.hpp>
#include <tenon/runtime/device/device.hpp>

namespace tenon::inline v1::gpu_device {

/// Where the kernels of one request find a port.
struct Binding {
  Tensor tensor;                     ///< As it was given. Empty: a batch.
  Tensor mapped;                     ///< Keeps what `memory` is in, where that is not the tensor itself.
  bool is_moved = false;             ///< The tensor is host memory, `memory` is `staging`.
  std::optional<ImageTarget> image;  ///< Set for an output in an image: the tensor lies there, `memory` is `staging`.
  std::shared_ptr<const DeviceBuffer> staging;  ///< For a tensor that is moved, or put into an image.
  BoundMemory memory;
  std::optional<BoundMemory> aside;  ///< Where a shared output belongs: `memory` is `staging`, copied there.
  InputForm form;
  std::vector<Location> items;  ///< One for each tensor of a batch that is in several tensors.
  Shape batch_shape;

  bool is_bound() const { return tensor || !items.empty(); }
  /// @errors kFailedPrecondition: it cannot be used; those of native calls.
  void place(const Gpu& gpu, const Tensor& given, Access access, bool takes_pitch = false);
  /// The same for an input that is given as one tensor per item. @errors kFailedPrecondition.
  void place_batch(const Gpu& gpu, std::span<const Tensor> given);

  /// Kernels write `staging` instead of the output, or the output again. @return whether `memory` is another one now.
  /// @errors those of native calls.
  bool set_aside(const Gpu& gpu, bool is_aside);
  /// Whether kernels that write this find the other's bytes there. @errors those of native calls.
  bool overlaps(const Binding& other) const;
  /// Whether they begin at the same byte. @pre overlaps()
  bool begins_at(const Binding& other) const;

  /// Whether the twin can bring it to where kernels find it, and back. What it moves is host memory that lies packed.
  bool suits_twin() const {
    if (!items.empty() || image || aside) return false;
    return !is_moved || !tensor || (tensor.is_contiguous() && staging->address != 0);
  }
  /// @name As move_in() and move_out(), by the twin. @pre suits_twin(). @errors those of native calls.
  /// @{
  void move_in(TwinQueue& queue, Ledger& ledger) const;
  void move_out(TwinQueue& queue, Inference& inference) const;
  /// @}
  /// Enqueues what brings an input to the device. @errors those of native calls.
  void move_in(cl_command_queue queue, Ledger& ledger) const;
  /// Enqueues what brings an output to where it was wanted. @errors kFailedPrecondition: the policy forbids the copy into
  /// an image; those of native calls.
  void move_out(cl_command_queue queue, Inference& inference) const;

 private:
  void make_staging(const Gpu& gpu, const char* what);
  void put_into_image(cl_command_queue queue, Inference& inference) const;
  void put_back(cl_command_queue queue, Inference& inference) const;
};

}  // namespace tenon::inline v1::gpu_device
