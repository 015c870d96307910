// SPDX-License-Identifier: Apache-2.0
// Programs for OpenVINO's C++ API, which are compiled for the original and for Tenon. What they print is the same.
#pragma once

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <iostream>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include <openvino/op/constant.hpp>
#include <openvino/op/parameter.hpp>
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

/// Prints the first values of a tensor of floats.
inline void print_values(const std::string& name, const ov::Tensor& tensor, std::size_t most = 8) {
  std::cout << name << ' ' << tensor.get_element_type() << tensor.get_shape() << ':';
  const auto precision = std::cout.precision(4);  // Kernels round differently.
  for (std::size_t i = 0; i < std::min(most, tensor.get_size()); ++i) std::cout << ' ' << tensor.data<float>()[i];
  std::cout.precision(precision);
  std::cout << '\n';
}

/// x [1,3,4,4] (or of another shape) + 1 2 3 by channel, then ReLU: y.
std::shared_ptr<ov::Model> small_model(ov::Core& core, const std::string& shape = "1,3,4,4");
/// A sum over all inferences: state "sum" [1,2] += x; y is the new state.
std::shared_ptr<ov::Model> stateful_model(ov::Core& core);

/// A float input of that name, a Constant of that many integers, and the sorted types of a model's nodes, Constants left out.
std::shared_ptr<ov::op::v0::Parameter> f32_input(const ov::PartialShape& shape, const std::string& name = "x");
std::shared_ptr<ov::op::v0::Constant> i64_values(const std::vector<std::int64_t>& values);
std::string sorted_types(const std::shared_ptr<ov::Model>& model);

/// How often each property is among those that a device or a model supports, and how often as one that can be set.
inline void print_known(const std::vector<ov::PropertyName>& supported, std::initializer_list<const char*> names) {
  for (const std::string name : names)
    line(name, ' ', std::count(supported.begin(), supported.end(), name), ' ',
         std::count_if(supported.begin(), supported.end(),
                       [&](const ov::PropertyName& each) { return each == name && each.is_mutable(); }));
}

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
void asking();
void texts_in_patterns();
void states_and_folding();
void samples();
void parts();
void guide_preprocess();
void guide_runtime();
void composites();
void kept_requests();
