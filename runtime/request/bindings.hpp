// SPDX-License-Identifier: Apache-2.0
// The tensors of one request, by port, and what is done with them before and after each inference.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <vector>

#include <tenon/core/frame.hpp>
#include <tenon/core/hazards.hpp>
#include <tenon/core/ledger.hpp>
#include <tenon/core/policy.hpp>
#include <tenon/core/ref_counted.hpp>
#include <tenon/core/shape.hpp>
#include <tenon/core/tensor.hpp>
#include <tenon/core/timeline.hpp>
#include <tenon/runtime/request/device_requests.hpp>
#include <tenon/runtime/request/model_state.hpp>
#include <tenon/runtime/request/port_binding.hpp>
#include <tenon/runtime/request/slot_lease.hpp>

namespace tenon {
inline namespace v1 {

/// Connects the user's tensors and frames with the device's request. Setting the same tensors again, preparing and
/// completing allocate nothing once all ports are bound.
/// @thread one at a time, and not while an inference runs, except output().
class Bindings {
 public:
  /// @param devices  Must outlive this object, as `ledger`.
  Bindings(std::shared_ptr<ModelState> model, DeviceRequests& devices, Ledger& ledger);

  /// @errors as InferRequest's functions of these names.
  void set(PortRef port, const Tensor& tensor);
  void set_batch(PortRef port, const std::vector<Tensor>& tensors);
  void set_frame(std::size_t input, const Frame& frame);
  /// The port's tensor, made if there is none. set_shape() on it changes the request.
  Tensor get(PortRef port);

  /// Notes an inference that ends at `end` as a reader of the inputs' memories and a writer of the outputs', so that
  /// others may use them at once. prepare() then waits for what was noted before, and for nothing else: two inferences
  /// that use each other's memory cannot wait for each other. @cost a lock per memory.
  void note(const TimelinePoint& end);
  /// Called after an inference that was not noted: earlier failures of writers of the outputs do not matter any more.
  void wrote_outputs() const;
  /// Called before each inference: adopts new shapes, makes missing tensors, waits for producers on other devices unless the
  /// device does so, and does the copies and maps that every inference needs.
  void prepare();
  /// Called after each inference: copies outputs that the device could not write in place.
  void complete();
  /// Called when an inference is over, or was not started: ends the accesses that prepare() began.
  void end_access() noexcept;
  /// Implements Inference::output.
  Tensor output(std::size_t index, const Shape& shape);
  /// Releases all tensors.
  void clear() noexcept;

 private:
  struct Slot {
    PortBinding binding;
    Ref<SlotLease> lease;  ///< Created when get() first returns the tensor.

    /// The port has a tensor of the user's, or one whose shape cannot change. Tensors lent before have no effect any more.
    void detach() const {
      if (lease) lease->detach();
    }
  };

  Slot& slot(PortRef port) { return (port.is_input ? inputs_ : outputs_)[port.index]; }
  BindingSite site(PortRef port) { return {*model_, devices_.active(), ledger_, port}; }
  /// Calls use(port, slot) for each port.
  template <typename Use>
  void for_each_slot(Use use);
  /// Replaces a binding. Tensors that were lent before no longer change it.
  void replace(PortRef port, PortBinding binding);
  /// Binds each item where it lies. @return false: they are to be copied into one.  @errors as set_batch
  bool use_items(PortRef port, const std::vector<Tensor>& tensors);
  /// Makes a tensor for the port.
  void allocate(PortRef port);
  void bind_fixed_output(PortRef port);
  /// The frame formats that inputs take now; all empty without frames.
  InputVariant::Key key_now();
  bool takes_frames(std::size_t input);
  /// Changes to a variant in which the input takes a tensor.
  void use_tensor(std::size_t input);
  /// Changes to the variant and binds all inputs and outputs but this input, whose old tensor does not fit; it stays if the
  /// device's request can't be made.
  void use_variant_for(std::size_t input, const InputVariant::Key& key);
  /// The slot's tensor for the user, under a lease that reports set_shape() where that can matter.
  Tensor lend(PortRef port, Slot& slot, const Tensor& tensor);
  /// Adopts the shapes that set_shape() gave to lent tensors.
  void follow_shapes();
  /// @errors kFailedPrecondition: nothing is bound to the input, and its tensor cannot be made
  void provide_input(std::size_t index);
  /// Waits for the work that was noted before this inference: before note() was called, or else until now.
  void wait_for_others();

  std::shared_ptr<ModelState> model_;
  DeviceRequests& devices_;
  Ledger& ledger_;
  std::vector<Slot> inputs_;
  std::vector<Slot> outputs_;
  /// Some binding needs work at every inference, or at the next one.
  bool needs_prepare_ = true;
  bool needs_complete_ = false;
  /// prepare() may have begun accesses.
  bool accesses_ = false;
  /// The work that note() found, until it has been waited for.
  struct Earlier {
    Hazards::Points points;
    Access access;
  };
  std::vector<Earlier> earlier_;
  bool noted_ = false;
  /// Some lease has a tensor of a new shape.
  std::shared_ptr<std::atomic<bool>> reshaped_ = std::make_shared<std::atomic<bool>>(false);
};

}  // namespace v1
}  // namespace tenon
