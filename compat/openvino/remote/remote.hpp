// SPDX-License-Identifier: Apache-2.0
// Programs for remote tensors, which are compiled for OpenVINO and for Tenon. What they print is the same.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <string>

#include "../programs/programs.hpp"

/// y = x + 1, for 0 and more: Add, then ReLU.
std::shared_ptr<ov::Model> sum_model(const ov::PartialShape& shape);
/// A state of [1,2], to which x is added; y is the new state.
std::shared_ptr<ov::Model> stateful_model();
/// What the state of that model is after steps, and after it was set to values of the host and to a remote tensor.
void print_states(ov::CompiledModel compiled, const ov::Tensor& remote);
/// The keys that every device has, in order.
std::string keys(const ov::AnyMap& map);
template <typename F>
void run(const char* name, F&& program) {
  line("== ", name);
  try {
    program();
  } catch (const std::exception& error) {
    line(name, " ended by ", error.what());
  }
}
void gpu(ov::Core& core);
void npu(ov::Core& core);
