// SPDX-License-Identifier: Apache-2.0
// The verdict of a test on one hop.
#pragma once

#include <exception>
#include <string>

#include <tenon/core/proof.hpp>

namespace tenon::tool {

/// The verdict on one hop of a run.
struct HopProof {
  Proof proof = Proof::kRefused;
  std::string how;  ///< What the test did and observed, or why it could not be done.
};

/// The verdict of `test`; if it throws, a verdict with the reason.
template <typename Test>
HopProof guarded(Test&& test) {
  try {
    return test();
  } catch (const std::exception& error) {
    return {Proof::kRefused, std::string("the test failed: ") + error.what()};
  }
}

}  // namespace tenon::tool
