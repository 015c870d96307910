// SPDX-License-Identifier: Apache-2.0
// Inputs whose tensors are not one packed buffer: what kernels are written for, beside shapes.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include <tenon/core/element_type.hpp>
#include <tenon/devices/gpu/program/view_source.hpp>
#include <tenon/planning/buffer_slices.hpp>

namespace tenon::inline v1::gpu_device {

/// How the tensor of an input lies. The default is one packed buffer, or one with rows at a pitch where kernels take that.
struct InputForm {
  /// One tensor for each item of the batch, in order.
  std::size_t items = 1;
  /// Elements that lie side by side before the next row, which begins a pitch later; 0: all of an item's.
  std::size_t row = 0;
  /// For images, which components of a pixel are elements 0, 1...: "xy". Empty: the input is in buffers.
  std::string components = {};
  /// Images of integers, which kernels read as they are; else integers are scaled to 0..1.
  bool is_integer = false;

  bool is_image() const { return !components.empty(); }
  bool is_plain() const { return items == 1 && row == 0; }
  friend bool operator==(const InputForm&, const InputForm&) = default;
};

/// An input of such a form.
class InputSource final : public ViewSource {
 public:
  /// @param items  Where each item begins: buffers of their own.  @param item_elements  The number of elements of one item.
  InputSource(ElementType type, InputForm form, std::vector<planning::BufferSlice> items, std::size_t item_elements)
      : type_(type), form_(std::move(form)), items_(std::move(items)), item_elements_(item_elements) {}
  void define(Kernel& kernel, const std::string& name) const override;
  bool is_input() const override { return true; }
  std::size_t row() const override { return form_.row; }

 private:
  ElementType type_;
  InputForm form_;
  std::vector<planning::BufferSlice> items_;
  std::size_t item_elements_;
};

}  // namespace tenon::inline v1::gpu_device
