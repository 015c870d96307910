// SPDX-License-Identifier: Apache-2.0
// Makes a shared library a module of elements: libtenon_elements_NAME.so, in a folder that TENON_ELEMENT_PATH lists.
#pragma once

#include <vector>

#include <tenon/core/version.hpp>
#include <tenon/elements/description.hpp>

/// In one source of the module, outside of all namespaces. The registry calls `function` once, when elements are asked for first.
/// @param function  std::vector<tenon::elements::KnownElement>(): what it throws is why the module is absent.
/// Elements are C++ classes: a module serves the release whose headers it was compiled with, and no other loads it.
#define TENON_ELEMENT_MODULE(function)                                                                             \
  extern "C" __attribute__((visibility("default"))) const char* tenon_elements_release() { return TENON_VERSION; } \
  extern "C" __attribute__((visibility("default"))) void tenon_elements(                                           \
      std::vector<tenon::elements::KnownElement>* all) {                                                           \
    *all = function();                                                                                             \
  }
