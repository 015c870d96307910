// SPDX-License-Identifier: Apache-2.0
// What a port is bound to: a class for each kind, with the work that each inference needs for it.
#pragma once

#include <array>
#include <cstddef>
#include <utility>
#include <variant>
#include <vector>

#include <tenon/core/frame.hpp>
#include <tenon/core/ledger.hpp>
#include <tenon/core/shape.hpp>
#include <tenon/core/tensor.hpp>
#include <tenon/runtime/request/device_requests.hpp>
#include <tenon/runtime/request/frames.hpp>
#include <tenon/runtime/request/model_state.hpp>
#include <tenon/runtime/request/tensor_way.hpp>

namespace tenon {
inline namespace v1 {

/// The port that a binding is for, and what it works with there.
struct BindingSite {
  const ModelState& model;
  const DeviceRequest& device;
  Ledger& ledger;
  PortRef port;

  const PortInfo& info() const { return model.info(port); }
  /// A tensor of the device's own for this port. @errors as CompiledModelImpl::allocate_input
  Tensor allocate(const Shape& shape) const;
};

/// One tensor and its way to the device.
class TensorPath {
 public:
  TensorPath() = default;
  /// Holds a tensor that is not bound: an input's that waits for its shape, or an output's, which the device asks for.
  explicit TensorPath(Tensor tensor) : tensor_(std::move(tensor)) {}
  /// As take(). @param before  The port's path until now, or null: its staging tensor is used again if it fits.
  TensorPath(const BindingSite& site, Tensor tensor, const TensorPath* before);
  /// Chooses the way of this tensor and binds. @errors as choose_way; nothing is bound then, and the path is as before
  void take(const BindingSite& site, Tensor tensor);

  const Tensor& tensor() const { return tensor_; }
  bool is_bound() const { return way_ != Way::kNone; }
  /// The device has the memory, and no inference needs a map of its own.
  bool is_standing() const { return way_ == Way::kNone || (way_ == Way::kInPlace && !mapped_); }
  bool is_packed() const { return way_ == Way::kPacked; }
  /// The path is that of the same elements of the same memory under the same lease, and setting them again would change nothing.
  bool serves(const Tensor& tensor) const;

  /// Does what one inference needs before it.
  void prepare(const BindingSite& site) {
    begin_access(site);
    bring_input(site);
  }
  /// The first half of prepare(): maps the tensor if the device may use it only while an inference runs.
  void begin_access(const BindingSite& site);
  /// The second half: copies or maps an input for one inference.
  void bring_input(const BindingSite& site);
  void end_access() noexcept { access_ = {}; }
  /// Copies an output that the device could not write in place.
  void take_output(Ledger& ledger) const;
  /// Gives an output's tensor another shape. @errors as Tensor::set_shape
  void set_shape(const Shape& shape);
  /// What the device writes for an output, in the shape of tensor().
  Tensor written(ElementType type);

 private:
  /// The view that is copied to or from `staging_`, or used in place.
  const Tensor& reached() const { return mapped_ ? mapped_ : tensor_; }

  Tensor tensor_;
  Tensor staging_;  ///< Not empty if packed.
  Tensor
      mapped_;  ///< Not empty if each inference maps tensor_ for itself (ChosenWay::bracketed): as it was mapped last.
  Lease access_;  ///< The lease of that map, while an inference runs.
  Way way_ = Way::kNone;
};

// Each kind of binding has these functions: bind() gives what is bound to the device's request, which is another one now;
// for_each() calls use(tensor) for each tensor whose memory the user may know; prepare() does what an inference needs before
// it, and end_access() ends the accesses that it began.

/// A tensor that the runtime made, or none yet. Others know its memory only if get() has lent it.
struct OwnTensor {
  TensorPath path;

  void bind(const BindingSite& site) {
    if (path.is_bound()) path.take(site, path.tensor());
  }
  void for_each(auto use) const {
    if (path.tensor()) use(path.tensor());
  }
  void prepare(const BindingSite& site) { path.prepare(site); }
  void end_access() noexcept { path.end_access(); }
  /// Adopts what set_shape() on the lent tensor made.
  void adopt(const BindingSite& site, const Tensor& made) {
    if (site.port.is_input)
      path.take(site, made);
    else
      path = TensorPath(made);
  }
  /// Makes the tensor of an output of dynamic shape. A tensor that was lent keeps its contents.
  Tensor make_output(const BindingSite& site, const Shape& shape);
};

/// The user's tensor.
struct UserTensor {
  TensorPath path;

  void bind(const BindingSite& site) { adopt(site, path.tensor()); }
  void for_each(auto use) const { use(path.tensor()); }
  void prepare(const BindingSite& site) { path.prepare(site); }
  void end_access() noexcept { path.end_access(); }
  void adopt(const BindingSite& site, Tensor made) { path.take(site, std::move(made)); }
  /// What the device writes, in this shape. @errors kInvalidArgument: the tensor cannot have it
  Tensor output(const BindingSite& site, const Shape& shape);
};

/// A batch in one tensor: the items' own memory where they are adjacent, or a tensor of the runtime's that they are copied into.
struct JoinedBatch {
  TensorPath path;
  std::vector<Tensor> items;  ///< Copied for each inference; none if they are adjacent.

  void bind(const BindingSite& site) { path.take(site, path.tensor()); }
  void for_each(auto use) const {
    if (items.empty()) use(path.tensor());
    for (const Tensor& item : items) use(item);
  }
  void prepare(const BindingSite& site);
  void end_access() noexcept { path.end_access(); }

 private:
  void copy(const BindingSite& site) const;
};

/// The items of a batch, each in place.
struct ItemBatch {
  std::vector<Tensor> items;

  void bind(const BindingSite& site) const;
  void for_each(auto use) const {
    for (const Tensor& item : items) use(item);
  }
  void prepare(const BindingSite&) {}
  void end_access() noexcept {}
};

/// A frame, whose planes are inputs of the device's input stage.
struct FramePlanes {
  std::array<BoundPlane, 4> planes;
  std::size_t bytes = 0;

  void bind(const BindingSite& site) const;
  void for_each(auto use) const {
    for (const BoundPlane& plane : planes) {
      if (plane.source) use(plane.source);
    }
  }
  void prepare(const BindingSite& site);
  void end_access() noexcept {
    for (BoundPlane& plane : planes) plane.access = {};
  }
};

/// In a variant, because binding another kind must not allocate.
using PortBinding = std::variant<OwnTensor, UserTensor, JoinedBatch, ItemBatch, FramePlanes>;

/// The path of a binding that is one tensor; null for the others.
const TensorPath* path_of(const PortBinding& binding);

}  // namespace v1
}  // namespace tenon
