// SPDX-License-Identifier: Apache-2.0
// The numbers in which the device computes, by choice of TENON_NPU_NUMERICS.
#pragma once

#include <cstdint>

#include <tenon/graph/model.hpp>

namespace tenon::npu::compiler {

enum class Numerics : std::uint8_t {
  kF32,  ///< As exact as the CPU's kernels.
  kF16,  ///< As on silicon: every input, weight and result of an operation is rounded to f16, or to 8 bits where it multiplies such.
};

/// TENON_NPU_NUMERICS: "f32" (default) or "f16". Read once. @errors kInvalidArgument: anything else, at each call.
Numerics numerics_from_environment();

/// Makes the model round to f16, ties to even: parameters, constants and all real results, in bodies of loops too. What is larger
/// than 65504 becomes infinite, as f16 has it. An operation itself sums in f32. Fusions of operations are then not found, so that
/// each rounds. Products whose operands are both quantised to 8 bits, or to fewer, are of integers: nothing is rounded to f16 between the operands' quantisation and
/// that of the result, and ranges are moved so that zero is one of their levels. The model's own types stay.
void round_to_f16(Model& model);

}  // namespace tenon::npu::compiler
