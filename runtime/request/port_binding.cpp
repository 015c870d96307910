// SPDX-License-Identifier: Apache-2.0
// The kinds of bindings, and the work of each around an inference.
#include <tenon/runtime/request/port_binding.hpp>

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <utility>

#include <tenon/core/host.hpp>
#include <tenon/runtime/exception.hpp>
#include <tenon/runtime/request/batch.hpp>

namespace tenon {
inline namespace v1 {
namespace {

bool is_same(const Tensor& a, const Tensor& b) {
  return a.memory() == b.memory() && a.view() == b.view() && a.offset() == b.offset() && a.lease() == b.lease() &&
         a.info() == b.info();
}

}  // namespace

Tensor BindingSite::allocate(const Shape& shape) const {
  return port.is_input ? device.compiled().allocate_input(device.first_port(port), shape)
                       : device.compiled().allocate_output(port.index, shape);
}

TensorPath::TensorPath(const BindingSite& site, Tensor tensor, const TensorPath* before) {
  if (before) staging_ = before->staging_;
  take(site, std::move(tensor));
}

void TensorPath::take(const BindingSite& site, Tensor tensor) {
  ChosenWay chosen = choose_way(site.model, site.device, site.port, tensor, site.ledger);
  const bool is_packed = chosen.way == Way::kPacked;
  if (is_packed) {
    const bool fits = staging_ && staging_.shape() == tensor.shape() && staging_.element_type() == site.info().type;
    Tensor staging = fits ? staging_ : site.allocate(tensor.shape());
    site.device.bind(site.port, staging);
    staging_ = std::move(staging);
  } else {
    if (chosen.way == Way::kInPlace) site.device.bind(site.port, chosen.tensor);
    if (staging_) staging_ = {};
  }
  way_ = chosen.way;
  // A packed copy reads or writes the routed view, if there is one.
  tensor_ = is_packed && !chosen.bracketed ? chosen.tensor : std::move(tensor);
  if (chosen.bracketed)
    mapped_ = std::move(chosen.tensor);
  else if (mapped_)
    mapped_ = {};
}

bool TensorPath::serves(const Tensor& tensor) const {
  return (way_ == Way::kInPlace || way_ == Way::kPacked) && is_same(tensor_, tensor);
}

void TensorPath::begin_access(const BindingSite& site) {
  if (!mapped_) return;
  MappedTensor mapped = map_for_device(site.model, site.device, tensor_,
                                       site.port.is_input ? Access::kRead : Access::kWrite, site.ledger);
  access_ = std::move(mapped.access);
  Tensor reached = as_type(mapped.tensor, site.info().type);
  if (is_same(reached, mapped_)) return;
  mapped_ = std::move(reached);
  if (way_ == Way::kInPlace) site.device.bind(site.port, mapped_);
}

void TensorPath::bring_input(const BindingSite& site) {
  if (!site.port.is_input) return;
  if (way_ == Way::kPacked) {
    copy_and_book(reached(), staging_, copy_in_edge(), site.ledger);
  } else if (way_ == Way::kRouted) {
    const Tensor mapped = site.model.shared().router.map(tensor_, site.device.compiled().memory_context(),
                                                         MapOptions{Access::kRead, site.model.policy(), &site.ledger});
    site.device.bind(site.port, as_type(mapped, site.info().type));
  }
}

void TensorPath::take_output(Ledger& ledger) const {
  if (way_ == Way::kPacked) copy_and_book(staging_, reached(), copy_out_edge(), ledger);
}

void TensorPath::set_shape(const Shape& shape) {
  if (tensor_.shape() != shape) tensor_.set_shape(shape);
  if (mapped_ && mapped_.shape() != shape) mapped_.set_shape(shape);
}

Tensor TensorPath::written(ElementType type) {
  if (way_ != Way::kPacked) return as_type(reached(), type);
  if (staging_.shape() != tensor_.shape()) staging_ = Tensor(type, tensor_.shape());
  return staging_;
}

Tensor OwnTensor::make_output(const BindingSite& site, const Shape& shape) {
  Tensor tensor = path.tensor();
  // A new shape is a new view, on new memory when it grows.
  const bool fits_memory =
      tensor && tensor.is_contiguous() &&
      checked_size_bytes(site.info().type, shape).value_or(SIZE_MAX) <= tensor.memory()->size_bytes() - tensor.offset();
  if (fits_memory)
    tensor.set_shape(shape);
  else
    tensor = site.allocate(shape);
  path = TensorPath(tensor);
  return tensor;
}

Tensor UserTensor::output(const BindingSite& site, const Shape& shape) {
  try {
    path.set_shape(shape);
  } catch (const Error& error) {
    const bool has_room = element_count(shape) <= element_count(path.tensor().shape());
    throw AssertFailure("output '" + site.info().label + "' has the shape " + to_string(shape) +
                        " now, for which the tensor set by the user, " + to_string(path.tensor()) + ", is " +
                        (has_room ? "of no use: " + std::string(error.what()) : "too small"));
  }
  return path.written(site.info().type);
}

void JoinedBatch::prepare(const BindingSite& site) {
  path.begin_access(site);
  // The items come first: if the device only takes packed copies, the joined batch is packed.
  if (!items.empty()) copy(site);
  path.bring_input(site);
}

void JoinedBatch::copy(const BindingSite& site) const {
  const auto bracketed = [&](const Tensor& item) { return needs_bracket(site.model, site.device, item); };
  if (std::none_of(items.begin(), items.end(), bracketed)) return copy_items(items, path.tensor(), site.ledger);
  std::vector<MappedTensor> mapped;
  std::vector<Tensor> reached;
  for (const Tensor& item : items) {
    mapped.push_back(bracketed(item) ? map_for_device(site.model, site.device, item, Access::kRead, site.ledger)
                                     : MappedTensor{item, {}});
    reached.push_back(mapped.back().tensor);
  }
  copy_items(reached, path.tensor(), site.ledger);
}

void ItemBatch::bind(const BindingSite& site) const {
  site.device.impl->bind_batch(site.device.first_port(site.port), items);
}

void FramePlanes::bind(const BindingSite& site) const {
  const InputVariant& variant = *site.device.variant;
  for (std::size_t i = 0; i < variant.input_count[site.port.index]; ++i)
    site.device.impl->bind_input(variant.first_input[site.port.index] + i, planes[i].bound());
}

void FramePlanes::prepare(const BindingSite& site) {
  const InputVariant& variant = *site.device.variant;
  const std::span<BoundPlane> used(planes.data(), variant.input_count[site.port.index]);
  for (std::size_t i = 0; i < used.size(); ++i) {
    if (reach_plane(site.model, site.device, used, i, site.ledger) && !used[i].packed)
      site.device.impl->bind_input(variant.first_input[site.port.index] + i, used[i].reached);
    if (used[i].packed) copy_and_book(used[i].reached, used[i].packed, copy_in_edge(), site.ledger);
  }
  site.ledger.book_map(frame_edge(), true);
  site.ledger.book_converted(frame_edge(), bytes);
}

const TensorPath* path_of(const PortBinding& binding) {
  return std::visit(
      [](const auto& bound) -> const TensorPath* {
        if constexpr (requires { bound.path; })
          return &bound.path;
        else
          return nullptr;
      },
      binding);
}

}  // namespace v1
}  // namespace tenon
