// SPDX-License-Identifier: Apache-2.0
// Programs for OpenVINO's C++ API, which are compiled for the original and for Tenon. What they print is the same.
#pragma once

#include <iostream>
#include <sstream>
#include <string>

#include <openvino/openvino.hpp>
#include <openvino/runtime/exception.hpp>

/// Prints all arguments as a line.
template <typename... T>
void line(const T&... values) {
  (std::cout << ... << values) << '\n';
}

/// Runs code that throws, and prints the exception's class and which of the parts its text has.
template <typename F, typename... Parts>
void refused(const std::string& what, F&& code, const Parts&... parts) {
  const auto print = [&](const char* kind, const std::string& text) {
    std::cout << what << ": " << kind;
    ((std::cout << (text.find(parts) != std::string::npos ? ", says \"" : ", does not say \"") << parts << '"'), ...);
    std::cout << '\n';
  };
  try {
    code();
    line(what, ": nothing thrown");
  } catch (const ov::Busy& error) {
    print("Busy", error.what());
  } catch (const ov::Cancelled& error) {
    print("Cancelled", error.what());
  } catch (
      const ov::Exception& error) {  // AssertFailure and NotImplemented are, too: which of them is the device's choice.
    print("Exception", error.what());
  } catch (const std::exception& error) {
    print("std::exception", error.what());
  }
}

/// x [1,3,4,4] (or of another shape) + 1 2 3 by channel, then ReLU: y.
std::shared_ptr<ov::Model> small_model(ov::Core& core, const std::string& shape = "1,3,4,4");
/// A sum over all inferences: state "sum" [1,2] += x; y is the new state.
std::shared_ptr<ov::Model> stateful_model(ov::Core& core);
void print_values(const std::string& name, const ov::Tensor& tensor, std::size_t most = 8);

void values();
void models();
void inference();
void errors();
void properties();
void preprocessing();
void dynamic_shapes();
void building();
void attributes();
void frontends();
void control_flow();
void passes();
void rewriting();
