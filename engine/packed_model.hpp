// SPDX-License-Identifier: Apache-2.0
// What compiling a plan costs and another process may be spared: the model after its passes, and constants as packed.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <tenon/core/tensor.hpp>
#include <tenon/engine/engine.hpp>
#include <tenon/engine/plan/packed_constant.hpp>
#include <tenon/graph/model.hpp>

namespace tenon::inline v1::engine {

/// A model from which a plan is made without passes and without packing. Where a constant is only ever read packed, the
/// model holds a stand-in for it: an address range without memory.
struct PackedModel {
  struct Constant {
    Tensor stand_in;
    std::vector<PackedConstant> packed;
  };
  std::shared_ptr<const Model> model;
  std::vector<Constant> constants;
};

/// A tensor that has an address and a shape but costs no memory until it is read (then it reads as zeros).
/// @errors kResourceExhausted.
Tensor make_stand_in(ElementType type, const Shape& shape);
/// True when any of its pages was read, or nobody can tell.
bool was_touched(const Tensor& stand_in);

/// Of a compiled plan. It compiles the plan once more from the result, so that what is given here is known to serve:
/// constants that some kernel reads unpacked keep their values. @cost the time of restore_plan(), memory for nothing
/// large. @thread any.
PackedModel packed_model_of(const Plan& plan);

/// The plan again. @param options  as for Plan::compile; the number of threads may differ.
/// @errors kFailedPrecondition: a constant is wanted in a layout that is not there, or its values are read.
std::shared_ptr<const Plan> restore_plan(const PackedModel& prepared, const Options& options);

/// Name, version and instruction set of what decides on layouts: "oneDNN 3.11.2 (abc) avx512_core_amx".
std::string layout_authority();

}  // namespace tenon::inline v1::engine
