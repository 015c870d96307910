// SPDX-License-Identifier: Apache-2.0
// The error that a call throws, for tests of refusals.
#pragma once

#include <gtest/gtest.h>

#include <tenon/core/error.hpp>

namespace tenon {

/// Runs `body` and returns what it threw; fails the test if it threw nothing.
template <typename Body>
Error error_of(Body&& body) {
  try {
    body();
  } catch (const Error& error) {
    return error;
  }
  ADD_FAILURE() << "no error was thrown";
  return Error(Code::kOk, "");
}

/// The message of that error, whose code must be `code`.
template <typename Body>
std::string error_of(Body&& body, Code code) {
  const Error error = error_of(std::forward<Body>(body));
  EXPECT_EQ(error.code(), code) << error.what();
  return error.what();
}

}  // namespace tenon
