// SPDX-License-Identifier: Apache-2.0
// Recurrent layers over a sequence for few rows, where each step reads all weights of the states: a thread keeps the same part of
// them for all steps, and passes over it forth and back, so that as much of it stays in its cache as that holds.
#pragma once

#include <cstddef>
#include <cstdint>

#include <tenon/core/element_type.hpp>

namespace tenon::inline v1::engine::kernels {

/// A layer whose inputs have been multiplied by their weights already.
struct Recurrent {
  enum class Kind : std::uint8_t {
    kTanh,
    kRelu,
    kSigmoid,
    kGru,
    kLstm
  };  ///< The GRU resets what the state gives, not the state.
  Kind kind = Kind::kLstm;
  bool is_reverse = false;  ///< The first direction runs from the end; the second, if there is one, always does.
  ElementType weights = ElementType::kF32;  ///< Or kBf16: numbers are f32 once they are read.
  std::size_t directions = 1, batch = 1, steps = 1, hidden = 0;

  static constexpr std::size_t kMostRows = 8;  ///< The most items of a batch,
  /// fewer where the CPU has instructions for products of bf16, which oneDNN uses.
  static constexpr std::size_t most_rows(ElementType weights) { return weights == ElementType::kBf16 ? 4 : kMostRows; }
  /// Units lie in panels of so many: [direction, panel, input, gate, unit], the last one filled up with zeros. In bf16 two inputs lie
  /// together, [direction, panel, pair, gate, unit, input of the pair], and zeros fill up the last pair, too: one load has both.
  static constexpr std::size_t kPanelUnits = 16;
  std::size_t gates() const { return kind == Kind::kLstm ? 4 : kind == Kind::kGru ? 3 : 1; }
  std::size_t panels() const { return (hidden + kPanelUnits - 1) / kPanelUnits; }
  std::size_t panel_columns() const { return gates() * kPanelUnits; }
  std::size_t columns() const { return directions * panels() * panel_columns(); }
  std::size_t together() const { return weights == ElementType::kBf16 ? 2 : 1; }     ///< Inputs,
  std::size_t panel_rows() const { return (hidden + together() - 1) / together(); }  ///< and rows of them in a panel.
  std::size_t panel_bytes() const { return panel_rows() * panel_columns() * 4; }
  /// Where the weight of a column, counted over all panels, and an input lies.
  std::size_t place(std::size_t column, std::size_t input) const {
    const std::size_t panel = panel_columns(), row = column / panel * panel_rows() + input / together();
    return (row * panel + column % panel) * together() + input % together();
  }
};

/// Packed f32, but for the weights. Gates are in the order of the operations: f, i, c, o of LSTMs, z, r, h of GRUs.
struct RecurrentOperands {
  const float* sums;    ///< [batch, step, direction, panel, gate, unit]: of the inputs, with the biases.
  const float* first;   ///< [batch, direction, hidden]: the state before the first step,
  const float* cell;    ///< and an LSTM's second one.
  const void* weights;  ///< The states', in panels.
  const float* bias;    ///< [direction, panel, unit]: for a GRU, of what the state gives to the third gate.
  float* all;           ///< [batch, direction, step, hidden]: the state after each step,
  float* last;          ///< [batch, direction, hidden]: after the last one,
  float* last_cell;     ///< and an LSTM's second one.
};

/// @param threads  How many the calling arena has.
/// @cost no allocation
void run_recurrent(const Recurrent& what, const RecurrentOperands& operands, std::size_t threads);

}  // namespace tenon::inline v1::engine::kernels
