// SPDX-License-Identifier: Apache-2.0
// Makes a shared library a module of elements: libtenon_elements_NAME.so, in a folder that TENON_ELEMENT_PATH lists.
#pragma once

#include <vector>

#include <tenon/core/version.hpp>
#include <tenon/elements/description.hpp>

/// Use it in one source of the module, outside of all namespaces. The registry calls `function` once, when a program first asks for
/// elements that are not loaded yet.
/// @param function  std::vector<tenon::elements::KnownElement>(). If it throws, the module is absent, and the exception's text
/// is the reason. Elements are C++ classes: only the release whose headers the module was compiled with loads it.
#define TENON_ELEMENT_MODULE(function)                                                                             \
  extern "C" __attribute__((visibility("default"))) const char* tenon_elements_release() { return TENON_VERSION; } \
  extern "C" __attribute__((visibility("default"))) void tenon_elements(                                           \
      std::vector<tenon::elements::KnownElement>* all) {                                                           \
    *all = function();                                                                                             \
  }
