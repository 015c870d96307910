// SPDX-License-Identifier: Apache-2.0
// What a test of one hop says.
#pragma once

#include <exception>
#include <string>

#include <tenon/core/proof.hpp>

namespace tenon::tool {

/// The verdict on one hop of a run.
struct HopProof {
  Proof proof = Proof::kRefused;
  std::string how;  ///< What was done and observed, or why it could not be done.
};

/// What `test` says, or why it failed.
template <typename Test>
HopProof guarded(Test&& test) {
  try {
    return test();
  } catch (const std::exception& error) {
    return {Proof::kRefused, std::string("the test failed: ") + error.what()};
  }
}

}  // namespace tenon::tool
