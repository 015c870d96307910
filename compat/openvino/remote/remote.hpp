// SPDX-License-Identifier: Apache-2.0
// Programs for remote tensors, which are compiled for OpenVINO and for Tenon. What they print is the same.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
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
/// Luma alone + 1: as it lies, or, from images of the original's GPU, with its range of 16 to 235 stretched.
inline std::string luma_text(float value, int luma) {
  const float stretched = std::clamp((static_cast<float>(luma) - 16.0F) * 255.0F / 219.0F, 0.0F, 255.0F);
  const bool is_luma =
      std::abs(value - static_cast<float>(luma) - 1.0F) < 1.0F || std::abs(value - stretched - 1.0F) < 1.0F;
  return is_luma ? " luma " + std::to_string(luma)
                 : " " + std::to_string(value) + ", which is no luma " + std::to_string(luma);
}
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
void gpu_pictures(ov::Core& core);
void npu(ov::Core& core);
/// Where the program is compiled WITH_VA.
void va(ov::Core& core);
