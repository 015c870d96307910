// SPDX-License-Identifier: Apache-2.0
// One input from several tensors, one per item of the batch.
#include <tenon/runtime/request/batch.hpp>

#include <cctype>
#include <cstddef>
#include <cstring>
#include <string>

#include <tenon/core/host.hpp>
#include <tenon/graph/node.hpp>
#include <tenon/runtime/exception.hpp>

namespace tenon {
inline namespace v1 {
namespace {

/// The layout that the model gives an input ("[N,C,H,W]", "NCHW", "N..."), or an empty text.
std::string layout_of(const Node& parameter) {
  const auto output = parameter.output(0);
  for (const RTMap* info : {&output.get_rt_info(), &parameter.get_rt_info()}) {
    for (const char* key : {"layout", "layout_0"}) {
      const auto found = info->find(key);
      if (found == info->end()) continue;
      if (!found->second.is<AnyMap>()) return found->second.to_text();
      const auto map = found->second.as<AnyMap>();
      if (const auto text = map.find("layout"); text != map.end()) return text->second.to_text();
    }
  }
  return {};
}

bool starts_with_batch(const std::string& layout) {
  for (const char c : layout) {
    if (c == '[' || std::isspace(static_cast<unsigned char>(c))) continue;
    return c == 'N' || c == 'n';
  }
  return true;  // None given: the first axis is taken for the batch.
}

void check_items(const PortInfo& info, const std::vector<Tensor>& items, const Shape& whole) {
  Shape item = whole;
  item[0] = 1;
  for (const Tensor& tensor : items) {
    if (!tensor || tensor.element_type() != items.front().element_type() || tensor.shape() != item) {
      throw AssertFailure("set_input_tensors/set_tensors error: each tensor for '" + info.label + "' must be of " +
                          std::string(name(info.type)) + " " + to_string(item) + ", got " +
                          (tensor ? to_string(tensor) : "an empty one"));
    }
  }
}

}  // namespace

Shape batch_shape(const PortInfo& info, const std::vector<Tensor>& items) {
  if (const std::string layout = layout_of(*info.node); !starts_with_batch(layout)) {
    throw AssertFailure(
        "set_input_tensors/set_tensors can be used only for inputs with N(batch) dimension at index 0; the layout of "
        "'" +
        info.label + "' is " + layout);
  }
  // The items give the shape; the port decides whether it takes it.
  Shape whole = items.front() ? items.front().shape() : Shape{};
  if (!whole.empty()) {
    if (whole[0] != 1) {
      throw AssertFailure("set_input_tensors/set_tensors error: each tensor for '" + info.label +
                          "' must have a batch of 1, got " + to_string(items.front()));
    }
    whole[0] = items.size();
  }
  if (whole.empty() || !info.fits(whole)) {
    throw AssertFailure("set_input_tensors/set_tensors error: '" + info.label + "' of shape " + info.shape.to_string() +
                        " needs as many tensors as its batch, got " + std::to_string(items.size()) + " of " +
                        to_string(items.front()));
  }
  check_items(info, items, whole);
  return whole;
}

void check_copied_items(const PortInfo& info, const std::vector<Tensor>& items, const Refusal& refusal) {
  for (const Tensor& tensor : items) {
    if (!tensor.is_host_addressable())
      throw AssertFailure("set_input_tensors/set_tensors error: the tensors for '" + info.label +
                          "' can't be used each where it lies (" + refusal.reason +
                          "), and only host memory is copied into one: " + to_string(tensor) + " is none");
    if (!tensor.is_contiguous())
      throw AssertFailure("Strides for batched tensors should be default. ('" + info.label + "' was given " +
                          to_string(tensor) + " with byte strides " + to_string(tensor.byte_strides()) + ")");
  }
}

Tensor joined(const std::vector<Tensor>& items, const Shape& shape) {
  std::size_t at = items.front().offset();
  for (const Tensor& item : items) {
    if (item.memory() != items.front().memory() || item.view() != items.front().view() || item.offset() != at ||
        !item.is_contiguous())
      return Tensor();
    at += item.size_bytes();
  }
  const Tensor& first = items.front();
  return Tensor(TensorInfo{first.element_type(), shape, {}}, first.memory(), first.offset(), first.lease(),
                first.view());
}

void copy_items(const std::vector<Tensor>& items, const Tensor& whole, Ledger& ledger) {
  auto* to = static_cast<std::byte*>(whole.data());
  for (const Tensor& item : items) {
    if (item.element_type() == ElementType::kString)
      copy_strided(item.element_type(), item.shape(), item.data(), item.byte_strides(), to, item.byte_strides());
    else
      std::memcpy(to, item.data(), item.size_bytes());
    to += item.size_bytes();
    ledger.book_copied(copy_in_edge(), item.size_bytes());
  }
  ledger.book_map(copy_in_edge(), false);
}

}  // namespace v1
}  // namespace tenon
