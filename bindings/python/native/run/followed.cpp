// SPDX-License-Identifier: Apache-2.0
// Tensors that Python and a request both have, where shapes move: as in OpenVINO, they stay the same tensor.
#include <optional>
#include <utility>
#include <vector>

#include <tenon/bindings/python/native/memory/tensors.hpp>
#include <tenon/bindings/python/native/run/request.hpp>
#include <tenon/runtime/exception.hpp>
#include <tenon/runtime/remote_tensor.hpp>

namespace tenon::python {
namespace {

bool is_same(const Tensor& one, const Tensor& other) {
  return one.memory() == other.memory() && one.offset() == other.offset() && one.shape() == other.shape();
}
bool is_remote(const Tensor& tensor) { return dynamic_cast<const RemoteMemory*>(tensor.memory().get()) != nullptr; }

}  // namespace

nb::object Request::Shared::Followed::object() const {
  if (set) return nb::borrow(set.get());
  nb::object alive = nb::borrow(given.get())();
  return alive.is_none() ? nb::object() : alive;
}

void Request::Shared::take_shapes(InferRequest& request) {
  for (auto& [key, each] : followed) {
    if (!each.set) continue;
    const Tensor now = nb::cast<const Tensor&>(each.set.get());
    if (is_same(now, each.seen)) continue;
    request.set_tensor(each.port, now);
    each.seen = now;
    if (!each.is_output) input_bytes[key] = now.size_bytes();
  }
}

void Request::Shared::give_shapes(InferRequest& request) {
  std::vector<Tensor> old;  // Their owners may be Python's, whose ends may call this request.
  for (auto entry = followed.begin(); entry != followed.end();) {
    Followed& each = entry->second;
    const nb::object object = each.object();
    if (!object.is_valid()) {
      entry = followed.erase(entry);
      continue;
    }
    ++entry;
    if (each.set && !each.is_output) continue;  // The program's own.
    Tensor now;
    try {
      now = request.get_tensor(each.port);
    } catch (const Busy&) {  // Another thread has started the next inference, whose end tells.
      return;
    }
    Tensor& held = nb::cast<Tensor&>(object);
    if (is_same(now, held) || is_remote(now)) continue;
    old.push_back(held);
    // A tensor of the program's stays its own: what it is set to later is no business of this request's.
    held = each.set ? now.with_lease(held.lease()) : now;
    each.seen = held;
  }
}

std::optional<std::size_t> Request::open_port(const Output<const Node>& port) const {
  if (!has_open_ports_) return std::nullopt;
  if (const auto input = find_input(port))
    return inputs()[*input].get_partial_shape().is_dynamic() ? input : std::nullopt;
  for (std::size_t i = 0; i < outputs().size(); ++i) {
    const Output<const Node>& each = outputs()[i];
    const bool is_it = each == port || (!port.get_names().empty() && each.get_names() == port.get_names());
    if (is_it && each.get_partial_shape().is_dynamic()) return inputs().size() + i;
  }
  return std::nullopt;
}

void Request::set_object(const Output<const Node>& port, nb::handle object) {
  const Tensor tensor = tensor_from(object, Sharing::kShare);
  set_tensor(port, tensor);
  if (const auto key = open_port(port); key && nb::isinstance<Tensor>(object) && !is_remote(tensor))
    shared_->followed.insert_or_assign(
        *key, Shared::Followed{port, *key >= inputs().size(), Held(nb::borrow(object)), Held(), tensor});
}

nb::object Request::get_object(const Output<const Node>& port) {
  const Tensor tensor = request_.get_tensor(port);
  const auto key = open_port(port);
  if (!key || is_remote(tensor)) return object_of(tensor);
  if (const auto found = shared_->followed.find(*key); found != shared_->followed.end()) {
    if (nb::object known = found->second.object(); known.is_valid() && is_same(nb::cast<const Tensor&>(known), tensor))
      return known;
    if (found->second.set) return object_of(tensor);  // Its new shape comes with the next inference.
  }
  nb::object made = object_of(tensor);
  nb::object reference = nb::steal(PyWeakref_NewRef(made.ptr(), nullptr));
  if (!reference.is_valid()) throw nb::python_error();
  shared_->followed.insert_or_assign(
      *key, Shared::Followed{port, *key >= inputs().size(), Held(), Held(std::move(reference)), tensor});
  return made;
}

void Request::forget_object(const Output<const Node>& port) {
  if (const auto key = open_port(port)) {
    const auto gone = shared_->followed.extract(*key);  // Dropped when the map is whole again.
  }
}

}  // namespace tenon::python
