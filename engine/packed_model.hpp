// SPDX-License-Identifier: Apache-2.0
// What another process can skip when it compiles the plan again: the passes, and the packing of constants.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <tenon/core/tensor.hpp>
#include <tenon/engine/engine.hpp>
#include <tenon/engine/plan/packed_constant.hpp>
#include <tenon/engine/plan/stand_in.hpp>  // IWYU pragma: export
#include <tenon/graph/model.hpp>

namespace tenon::inline v1::engine {

/// A model from which a plan is made without passes and without packing. For a constant that is only read packed, the
/// model holds a stand-in: an address range without memory.
struct PackedModel {
  struct Constant {
    Tensor stand_in;
    std::vector<PackedConstant> packed;
  };
  std::shared_ptr<const Model> model;
  std::vector<Constant> constants;
};

/// The packed model of a compiled plan. Compiles the plan once more from the result to check that it suffices:
/// constants that some kernel reads unpacked keep their values. @cost the time of restore_plan(), and little
/// memory. @thread any.
PackedModel packed_model_of(const Plan& plan);

/// Makes the plan again. @param options  as for Plan::compile; the number of threads may differ.
/// @errors kFailedPrecondition: a constant is needed in a layout that is missing, or its values are read.
std::shared_ptr<const Plan> restore_plan(const PackedModel& prepared, const Options& options);

/// Name, version and instruction set of the library that chooses layouts: "oneDNN 3.11.2 (abc) avx512_core_amx".
std::string layout_authority();

}  // namespace tenon::inline v1::engine
